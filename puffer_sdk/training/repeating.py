"""A run once more.  --as-trained: the environment of its copies; --like: its settings, and what
differs from it"""
from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from ..base import paths, trust
from ..base.errors import UsageError
from ..interop.python_envs import makers
from ..interop.python_envs.env_source import CompiledSource, Prepared, PythonSource
from ..settings import inifile, torch_class
from ..settings.values import Config
from . import provenance
from .run_records import Code
from .runs import Run
from .this_machine import machine

OLDER = "it was trained by an earlier version of puffer-sdk"
MACHINE = {"cpu": "processor", "compiler": "compiler", "puffer_sdk": "puffer-sdk",
           "python": "Python", "numpy": "NumPy"}     # what may change results


def prepare_as_trained(run: Run, source: CompiledSource | PythonSource,
                       settings: Mapping[str, object] | None, *, verbose: bool) -> Prepared:
    """The environment of a run's copies, with its settings and these over them.

    Raises UsageError where copies are missing or damaged, where they are somebody else's and
    nobody trusts them, or where packages have changed since.
    """
    code = _code_of(run)
    folder = _trusted_copies(run, code)
    own: dict[str, object] = {}
    for full, spec in torch_class.specs(run.settings()).items():
        file, _, name = spec.rpartition(":")
        found = next(each for each in code["files"] if Path(each).name == Path(file).name)
        own[full] = f"{folder / found}:{name}"
    torch_class.name_all(own, None)
    prepared = replace(_of_copies(source, folder, code), theirs=True).prepare(
        {**own, **(settings or {})}, ini=run.config_path, verbose=verbose)
    if left := provenance.changes(code, provenance.look(prepared, prepared.config)):
        raise _missing(run, left)
    # resources have no copies: they are where the environment is today
    return prepared if source.folder is None else replace(
        prepared, cwd=paths.working_dir(source.folder))


def changed_since(run: Run, prepared: Prepared, trained: Config) -> list[str]:
    """Names of files and packages that have changed since this run was trained; of an older
    version's run none is known. trained: the settings of its weights."""
    code, spec = run.info.get("code"), trained.policy.torch_class
    if not code:
        return []
    network = replace(trained.policy, torch_class=torch_class.find(spec) if spec else "")
    return provenance.changes(code, provenance.look(prepared, replace(trained, policy=network)))


def prepare_like(run: Run, source: CompiledSource | PythonSource,
                 settings: Mapping[str, object] | None, *, verbose: bool) -> Prepared:
    """The environment with the settings of a run alone, then --config's, then these."""
    code = run.info.get("code")
    if code and trust.equal(code.get("mac"), provenance.seal(run, code["files"])):
        torch_class.name_all(run.settings(), source.folder)
    return replace(source, theirs=True).prepare(settings, ini=run.config_path, verbose=verbose)


def env_of(like: str | Path) -> str | Path | None:
    """The environment of a run that is given by its folder, in the project that holds runs/; None:
    this is no folder of a run, but a number."""
    folder = Path(like).expanduser()
    if not (folder / "run.json").is_file():
        return None
    folder = folder.resolve()
    run, project = Run(folder), folder.parents[2]
    if ":" in run.env:
        return run.env
    places = (project, project / run.env)
    return next((each for each in places if each.name == run.env and paths.is_env_folder(each)),
                run.env)


def differences(run: Run, config: Config, made: provenance.Made) -> list[str]:
    """What is not as it was in this run, a line each: settings, code, machine."""
    before = run.settings()
    now = {f"{each.section}.{each.key}": each.text
           for each in inifile.parse(config.to_ini(), run.config_path)[0]}
    said = [f"{name} {before.get(name, 'none')} -> {now.get(name, 'none')}"
            for name in dict.fromkeys([*now, *before]) if now.get(name) != before.get(name)]
    code = run.info.get("code")
    if not code:
        return [*said, f"the code of run {run.number} is not known: {OLDER}"]
    if names := provenance.changes(code, made):
        said.append(f"changed code: {', '.join(names)}")
    then, here = code.get("machine"), machine()
    if then:
        pairs = [(what, dict(then).get(name), dict(here).get(name))
                 for name, what in MACHINE.items()]
        said += [f"{what} {old} -> {new}" for what, old, new in pairs if old != new]
    return said


def _code_of(run: Run) -> Code:
    code = run.info.get("code")
    if not code:
        raise UsageError("this run has no copies of its code", where=run.folder, actual=OLDER,
                         hint="leave out --as-trained: the code of today is played")
    return code


def _trusted_copies(run: Run, code: Code) -> Path:
    """The folder of a run's copies, all there and as they were."""
    folder = run.folder / "code"
    needed = {name: each for name, each in code["files"].items()
              if not name.endswith(".ini") and name not in code.get("loop", ())}
    own = {Path(spec.rpartition(":")[0]).name
           for spec in torch_class.specs(run.settings()).values()}
    lacking = [name for name, each in needed.items() if not each["copied"]
               or name.startswith(provenance.ELSEWHERE) and Path(name).name not in own]
    if lacking:
        raise _missing(run, lacking)
    for name, each in needed.items():
        try:
            found = hashlib.sha256(paths.content(folder / name)).hexdigest()
        except OSError:
            raise _missing(run, [name]) from None
        if found != each["sha256"]:
            raise UsageError("a copy of the code is not what the run was trained with",
                             where=folder / name, expected=f"the SHA-256 {each['sha256'][:12]}...",
                             actual=f"{found[:12]}...")
    if not trust.equal(code.get("mac"), provenance.seal(run, code["files"])):
        trust.require(str(folder), what="this run holds code that no command of yours copied",
                      where=run.folder, verb="run")
    return folder


def _of_copies(source: CompiledSource | PythonSource, folder: Path, code: Code
               ) -> CompiledSource | PythonSource:
    """What ENV means among the copies."""
    if isinstance(source, CompiledSource):
        parents = dict.fromkeys((folder / name).parent for name in code["files"])
        found = next((each for each in parents if paths.is_env_folder(each)), None)
        if found is None:
            raise UsageError("this run's copies hold no environment in C", where=folder)
        return replace(source, folder=found)
    target, _, name = source.name.rpartition(":")
    own = [Path(each) for each in code["files"] if not each.endswith(".ini")]
    if makers.read_name(source.name).kind != makers.CALLABLE:
        if own:
            raise UsageError("the modules that register this environment are no copies",
                             where=source.name, expected="FILE.py:NAME or MODULE:NAME",
                             actual=source.name,
                             hint="leave out --as-trained: the code of today is played")
        return source                   # packages alone: their versions are compared
    module = target.replace(".", "/")
    ends = (Path(target).name,) if target.endswith(".py") else (f"{module}.py",
                                                                f"{module}/__init__.py")
    copy = next((each for each in own for end in ends if f"/{each}".endswith(f"/{end}")), None)
    if copy is None:
        raise UsageError(f"this run's copies hold no {ends[0]}", where=folder,
                         hint="leave out --as-trained: the code of today is played")
    return replace(source, name=f"{folder / copy}:{name}")


def _missing(run: Run, names: list[str]) -> UsageError:
    shown = ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")
    return UsageError("the environment cannot be as it was trained", where=run.folder,
                      expected="copies of all code, and the same versions of packages",
                      actual=f"not there, or not as it was: {shown}",
                      hint="leave out --as-trained: the code of today is played")
