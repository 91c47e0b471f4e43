"""Hand an environment to PufferLib.  an env folder -> binding.c, or files for a pull request

    bind("my_env")                      my_env/binding.c, to edit by hand
    export_ocean("my_env", output="pr") pr/ocean/my_env/  my_env.h, my_env.c, binding.c
                                        pr/config/my_env.ini
                                        pr/resources/my_env/my_env_weights.bin, and what it opens
                                        pr/CHECKLIST.md: what remains to do by hand

PufferLib's own files are never written. Before the export is moved into place, it is built and
compared with the original: both play the same game, step for step.
"""
from __future__ import annotations

import hashlib
import os
import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from ..base import files, paths
from ..base.errors import BuildError, RunError, UsageError
from ..base.spec import Spec
from ..env import binding, build, child_process, header
from ..env.child_pipe import Link
from ..env.job import EnvJob
from ..settings import config, inifile
from ..settings.encoder import FLAT
from ..settings.table import ENCODER, FUNCTIONS
from ..settings.values import Config
from ..training import runs

if TYPE_CHECKING:
    from ..policy.export import TrainedPolicy

# Settings that PufferLib does not read; nor does it read any of [eval] and [check]
OURS = {"vec": {"step_timeout", "device"}, "policy": {"torch_class", "encoder"},
        "train": {"stop_at_goal", "obs_scale", "scale_obs", "encoder_scale", "backend", "device",
                  "precision", "norm_adv", "norm_returns", "target_kl", "reward_clip",
                  "minibatch_carry", "async", *(
                      name.partition(".")[2] for name in FUNCTIONS)}}
CHANGES_TRAINING = ("encoder", "obs_scale", "scale_obs", "encoder_scale", "norm_adv", "reward_clip")
SECTIONS = ("base", "env", "vec", "policy", "train")
STEPS = 400             # ticks that the export and the original must agree on


@dataclass(frozen=True)
class Bound:
    """A written binding.c."""

    path: Path
    spec: Spec
    notes: tuple[str, ...]          # what its author should know


@dataclass
class OceanExport:
    """A written export."""

    folder: Path
    name: str
    files: list[str] = field(default_factory=list)      # relative, sorted
    todo: list[str] = field(default_factory=list)       # what remains by hand


@dataclass(frozen=True)
class Sizes:
    obs_size: int
    act_sizes: tuple[int, ...]


# -- bind ----------------------------------------------------------------------------


def bind(env: str | os.PathLike[str] | None = None, *, force: bool = False) -> Bound:
    """Write ENV's binding.c for PufferLib 4.0, and build it once.

    force    replace an existing binding.c
    Raises UsageError if one exists, and BuildError if the environment breaks the contract; the
    folder is then unchanged.
    """
    folder = paths.find_env(env)
    if paths.is_packaged(folder):
        raise UsageError("examples of the package are read-only", where=folder,
                         hint=f"copy it first: cp -r {folder} .")
    if paths.is_form5(paths.header_of(folder)):
        raise UsageError(f"{folder.name} has PufferLib 5.0's form, which needs no binding.c",
                         where=paths.header_of(folder), hint="builds use the header as it stands")
    target = folder / "binding.c"
    before = files.read(target) if os.path.lexists(target) else None
    if before is not None and not force:
        raise UsageError("binding.c exists already", where=target,
                         hint="edit it, or replace it with --force")
    try:
        if before is not None:          # read the header, not the old binding
            files.remove(target)
        spec, settings, sizes = examine(folder)
        text = render(spec, settings.env, sizes)
        files.write_if_changed(target, text)
        build.build(folder)
    except BaseException:
        files.remove(target)
        if before is not None:
            files.write(target, before)
        raise
    return Bound(target, spec, tuple(notes(spec, settings.env, sizes)))


def examine(folder: Path) -> tuple[Spec, Config, Sizes]:
    """Its Spec, its settings, and the sizes that follow from both."""
    built = build.build(folder)
    settings = config.resolve(folder, spec=built.spec)
    job = EnvJob.of(built, settings)
    seen = child_process.run("puffer_sdk.env.job:describe_work", job, lambda kind, payload: None,
                         cwd=paths.working_dir(folder))
    return built.spec, settings, Sizes(seen["obs_size"], tuple(seen["act_sizes"]))


def render(spec: Spec, env_settings: Mapping[str, float], sizes: Sizes) -> str:
    """The text of the binding.c."""
    types = {f.name: f.type for f in spec.settable}
    settings = [(name, types[name]) for name in env_settings if name in types]
    return binding.template("projects/ocean_binding.c.jinja").render(
        spec=spec, ini=f"{spec.name}.ini", obs_size=sizes.obs_size, act_sizes=_braces(sizes),
        num_atns=len(sizes.act_sizes), guarded=spec.obs_count is None,
        rewritten_acts=spec.act_widths is None, settings=settings,
        sets_agents=any(name == "num_agents" for name, _ in settings),
        frees_truncations=spec.has_truncations, logs=spec.log_values)


def notes(spec: Spec, env_settings: Mapping[str, float], sizes: Sizes) -> list[str]:
    """What PufferLib does differently."""
    said = []
    if spec.obs_size and spec.obs_count is None:
        said.append(f"OBS_SIZE is {sizes.obs_size} from now on: settings that would change "
                    f"{_tidy(spec.obs_size)} are refused")
    if spec.has_truncations:
        said.append("PufferLib has no truncations: a time limit counts as terminal there")
    if spec.comes_and_goes:
        said.append("PufferLib has a fixed number of agents: inactive rows act there, and are "
                    "trained on")
    if spec.mask_at:
        said.append("PufferLib reads no mask from observations: illegal actions are possible there")
    unread = [name for name in env_settings if name not in {f.name for f in spec.settable}]
    if unread:
        said.append(f"no struct field is named as [env] {', '.join(unread)}: not in the binding")
    return said


def _tidy(expression: str) -> str:
    """As a person types it: the preprocessor puts blanks around every token."""
    text = re.sub(r"\s*(->|\.)\s*", r"\1", expression.strip())
    text = re.sub(r"\(\s+", "(", re.sub(r"\s+\)", ")", text))
    return text[1:-1] if re.fullmatch(r"\([^()]*\)", text) else text


def _braces(sizes: Sizes) -> str:
    return "{" + ", ".join(map(str, sizes.act_sizes)) + "}"


# -- export --------------------------------------------------------------------------


def export_ocean(env: str | os.PathLike[str] | None = None, output: str | Path | None = None, *,
                 model: str | Path | None = None, runs_dir: Path | None = None) -> OceanExport:
    """Prepare a pull request to PufferLib: its layout in a new folder, checked against ENV.

    output    a new or empty folder; the default is NAME_ocean
    model     the policy to include: "best" (the default) or "latest" of the newest run, a run's
              number or folder, or a checkpoint file
    Raises UsageError for a refused folder or model, BuildError if the export does not play like
    ENV, RunError if it cannot be written.
    """
    folder = paths.find_env(env)
    target = files.typed(output) if output else Path.cwd() / f"{folder.name}_ocean"
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise UsageError("the folder for the export is not empty", where=target,
                         hint="choose another one: --output FOLDER")
    if not target.parent.is_dir():
        raise UsageError("the folder for the export cannot be made", where=target)
    policy = _find_policy(folder, model, runs_dir)
    spec, settings, sizes = examine(folder)
    with files.private("puffer-ocean-") as name:
        draft = OceanExport(target, folder.name)
        tree = Path(name) / "tree"
        _write_tree(tree, folder, spec, settings, sizes, policy, draft)
        compare(folder, spec, settings, tree / "ocean" / folder.name, Path(name))
        draft.files = sorted(path.relative_to(tree).as_posix() for path in tree.rglob("*")
                             if path.is_file())
        try:
            for file in draft.files:
                files.mkdir((target / file).parent)
                files.move(tree / file, target / file)
        except OSError as error:
            files.rmtree(target, ignore_errors=True)
            raise RunError("the export cannot be written", where=target,
                           detail=error.strerror or str(error)) from None
    return draft


def _find_policy(folder: Path, model: str | Path | None,
                 runs_dir: Path | None) -> TrainedPolicy | None:
    """The requested policy, or that of the newest run; None if there is none."""
    from ..policy import export

    home = paths.runs_dir(folder, runs_dir)
    if model in (None, "best", "latest") and runs.latest_run(home, with_checkpoint=True) is None:
        if model is not None:
            raise UsageError("there is no trained policy yet", where=home,
                             hint=f"{runs.hint_to_train(home)}, or leave the option out")
        return None
    path, _ = export.find_checkpoint(folder, model, runs_dir)
    policy = export.read_policy(path)
    if policy.parts:
        raise UsageError("PufferLib's network sees a flat row, and this policy's sees more",
                         where=path, expected="policy.encoder = flat",
                         actual=policy.config.policy.encoder,
                         hint="train with --policy.encoder flat, then export again")
    return policy


def _write_tree(tree: Path, folder: Path, spec: Spec, settings: Config, sizes: Sizes,
                policy: TrainedPolicy | None, draft: OceanExport) -> None:
    """All files of the pull request, and what remains to do by hand."""
    home = tree / "ocean" / spec.name
    files.mkdir(home)
    for path in paths.c_files(folder):
        files.write(home / path.name, files.read(path))
    for path in sorted(p for p in folder.rglob("*.h") if p.parent != folder
                       and not {"build", "runs", "tests", "resources"}
                       & set(p.relative_to(folder).parts)):
        place = home / path.relative_to(folder)
        files.mkdir(place.parent)
        files.write(place, files.read(path))
    if spec.binding is None:
        files.write(home / "binding.c", render(spec, settings.env, sizes))
        draft.todo += [f"binding.c: {note}" for note in notes(spec, settings.env, sizes)]
    usable = None if spec.by_agent else _usable(policy, sizes, draft)
    draft.todo += ["there are no weights here: train it with PufferLib"] * spec.by_agent
    _write_demo(home, folder, spec, settings, sizes, usable)
    _write_ini(tree, folder, settings, draft)
    _copy_resources(tree, folder, spec, draft)
    if usable is not None:
        from ..policy.export import pack
        weights = tree / "resources" / spec.name / f"{spec.name}_weights.bin"
        files.mkdir(weights.parent)
        files.write(weights, pack(usable))
    text = binding.template("projects/ocean_checklist.md.jinja").render(
        spec=spec, todo=draft.todo, policy=usable, goal=settings.eval.goal)
    files.write(tree / "CHECKLIST.md", text)


def _usable(policy: TrainedPolicy | None, sizes: Sizes,
            draft: OceanExport) -> TrainedPolicy | None:
    """The policy if PufferLib's puffernet can play it; else None, and the reason in todo."""
    if policy is None:
        draft.todo.append("there is no trained policy here, so the demo plays at random: train, "
                          "then export again")
        return None
    if policy.config.policy.torch_class:
        reason = "it is a custom network (policy.torch_class)"
    elif (policy.obs_size, policy.act_sizes) != (sizes.obs_size, sizes.act_sizes):
        reason = "it was trained with other sizes"
    else:
        return policy
    draft.todo.append(f"the newest policy was left out: {reason}. Train one with PufferLib")
    return None


def _write_demo(home: Path, folder: Path, spec: Spec, settings: Config, sizes: Sizes,
                policy: TrainedPolicy | None) -> None:
    """NAME.c: the author's if it needs nothing of ours, else one that PufferLib can compile."""
    program = folder / f"{spec.name}.c"
    text = paths.text(program) if program.is_file() else ""
    if spec.by_agent:               # PufferLib 5.0 has a program for all
        return
    if text and "_config.h" not in text:
        return
    types = {f.name: f.type for f in spec.settable}
    values = [(name, binding.c_literal(value, types[name]))
              for name, value in settings.env.items() if name in types]
    observations = next(f.type for f in spec.fields if f.name == "observations")
    demo = binding.template("projects/ocean_demo.c.jinja").render(
        spec=spec, settings=values, obs_size=sizes.obs_size, act_sizes=_braces(sizes),
        num_atns=len(sizes.act_sizes), policy=policy, keys=function_text(text, "c_keys"),
        obs_type=observations.rstrip("* "))
    files.write(home / f"{spec.name}.c", demo)


def function_text(source: str, name: str) -> str | None:
    """The definition of a C function; None if there is none."""
    found = re.search(rf"^(?:static\s+)?(?:inline\s+)?void\s+{name}\s*\([^)]*\)\s*\{{", source,
                      re.M)
    if not found:
        return None
    depth = 0
    tokens = re.compile(r'"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])*\'|//[^\n]*|/\*.*?\*/|[{}]', re.S)
    for token in tokens.finditer(source, found.end() - 1):
        depth += {"{": 1, "}": -1}.get(token[0], 0)
        if depth == 0:
            return source[found.start():token.end()]
    return None


def _write_ini(tree: Path, folder: Path, settings: Config, draft: OceanExport) -> None:
    """config/NAME.ini: the author's lines, without what PufferLib does not read."""
    ini = config.find_ini(folder)
    target = tree / "config" / f"{folder.name}.ini"
    files.mkdir(target.parent)
    lines, dropped = inifile.keep(paths.text(ini, "strict", "utf-8-sig") if ini else "", _is_read)
    if not any(line.strip() == "[base]" for line in lines):
        lines = ["[base]", f"env_name = {folder.name}", "", *lines]
    body = re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip()
    files.write(target, body + "\n")
    if settings.policy.encoder == FLAT:         # as PufferLib's is
        dropped = [name for name in dropped if name != ENCODER]
    if dropped:
        draft.todo.append("config: PufferLib does not read " + ", ".join(dropped) + "; left out")
    changed = [name for name in dropped if name.rpartition(".")[2] in CHANGES_TRAINING]
    if changed:
        draft.todo.append(f"config: {', '.join(changed)} changed training here: tune again")


def _is_read(section: str, key: str | None) -> bool:
    """Whether PufferLib reads a setting, or (key None) a section."""
    return key not in OURS.get(section, ()) and (section in SECTIONS or
                                                 section.startswith("sweep"))


def _copy_resources(tree: Path, folder: Path, spec: Spec, draft: OceanExport) -> None:
    """The files that the environment opens, at the same places below resources/."""
    source = paths.working_dir(folder) / "resources"
    own = source / spec.name
    chosen = own if own.is_dir() else source if source.parent == folder else None
    if chosen is None or not chosen.is_dir():
        return
    stray = []
    for path in sorted(p for p in chosen.rglob("*") if p.is_file() and not p.is_symlink()):
        place = tree / "resources" / path.relative_to(source)
        files.mkdir(place.parent)
        files.write(place, files.read(path))
        if own not in path.parents:
            stray.append(path.relative_to(source).as_posix())
    if stray:
        draft.todo.append(f"resources: move {', '.join(stray[:5])} to resources/{spec.name}/, "
                          "where PufferLib keeps each environment's own, and correct the paths "
                          "in C")
    draft.todo.append("resources: say where each file comes from, and its licence")


# -- the proof -----------------------------------------------------------------------


def compare(folder: Path, spec: Spec, settings: Config, exported: Path, scratch: Path,
            what: str = "the exported environment") -> None:
    """Build the export through its binding.c, and check that it plays like the original.

    what    it is, for the BuildError that is raised where it does not
    """
    twin = shutil.copytree(exported.parents[1], scratch / "twin",
                           symlinks=True) / "ocean" / exported.name
    played = []
    for place in (folder, twin):
        played.append(child_process.run("puffer_sdk.projects.ocean:play_work",
                                EnvJob.of(build.build(place), settings),
                                lambda kind, payload: None, cwd=paths.working_dir(place)))
    if played[0] != played[1]:
        raise BuildError(f"{what} does not play like the original",
                         where=folder, expected=played[0]["hash"], actual=played[1]["hash"],
                         hint="does the header change with the macros of binding.c?")
    if config.resolve(twin, spec=header.read(twin)).env != settings.env:
        raise BuildError("the exported config changes the original's [env]", where=folder)


def play_work(job: EnvJob, link: Link) -> dict[str, object]:
    """In the child: random play, as a hash of all that was seen."""
    import numpy as np

    from ..env.agent_slots import random_actions
    from ..env.copies import make_copies

    library, settings = job.open(), job.config.env
    draw, digest = np.random.default_rng(0), hashlib.sha256()
    with make_copies(library, 4, link.watches(), env_settings=settings, seed=1) as vec:
        digest.update(vec.reset().data)
        for _ in range(STEPS):
            vec.actions[:] = random_actions(vec, draw)
            observations, rewards, terminals, _ = vec.step()
            for array in (observations, rewards, terminals):
                digest.update(array.data)
        log = vec.log()
    return {"hash": digest.hexdigest()[:16], "log": {k: float(v) for k, v in log.items()}}
