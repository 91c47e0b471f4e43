"""An environment under settings, and all that its results depend on.  ENV, settings -> Subject"""
from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from .. import __version__
from ..base import paths
from ..base.errors import BuildError, PufferError, RunError
from ..base.spec import Spec
from ..env import build as building
from ..env import child_process, header, watch
from ..env.child_process import Payload
from ..env.job import CompiledEnv, EnvJob
from ..env.obs_spec import ObsField
from ..interop.python_envs import env_source
from ..interop.python_envs.env_source import CompiledSource, PythonEnv, PythonSource
from ..interop.python_envs.probe_env import BATCH
from ..interop.python_envs.python_spec import PythonSpec
from ..settings.values import Config
from ..toolchain import compilers
from ..training import backends
from ..training.this_machine import machine
from . import measuring
from .keeping import Facts, key_of

FORMAT = 2              # of the data; also part of what results depend on
MADE = {".md", ".html", ".gif", ".mp4"}     # made from an environment, not part of it


@dataclass(frozen=True)
class Subject:
    """An environment under settings, and all that results depend on.

    ini         a file of settings over the environment's own
    settings    as the user gave them
    spec        as its source or its spaces state it; None if that cannot be told
    opener      None if it cannot be opened, and broken says why
    code        hash of the author's files
    home        the folder of the author's files
    made        where the page is written, unless somebody says; kept: where results are kept
    patience    seconds that a step may take
    built_as    changes with what was built or probed
    about       what the page says of it, besides what the running environment tells
    stages      besides those that every environment has: names in stages.STAGES
    envs, ticks     of the play that is compared with itself, at most
    deals       threads, or worker processes, of each time; spread: what envs are dealt over
    parts       of an observation, where check does not look at them
    """

    source: CompiledSource | PythonSource
    ini: Path | None
    settings: Mapping[str, object]
    config: Config
    spec: Spec | PythonSpec | None
    opener: CompiledEnv | PythonEnv | None
    broken: PufferError | None
    code: str
    home: Path
    made: Path
    kept: Path
    cwd: Path
    patience: float
    built_as: str | None
    about: Facts
    stages: tuple[str, ...]
    envs: int
    ticks: int
    deals: tuple[int, ...]
    spread: str
    parts: tuple[ObsField, ...] = ()

    @property
    def name(self) -> str:
        return self.source.name

    @property
    def ref(self) -> str | Path:
        """What train, eval and the others take as ENV."""
        found: str | Path = self.source.ref
        return found

    @cached_property
    def key(self) -> str:
        """A key of everything but the settings: sources, compiler, machine, this package."""
        from ..training.native import trainer_sources as trainer

        compiler = compilers.find_compiler()
        return key_of(FORMAT, __version__, self.name, self.code, compiler.key, self.built_as,
                      machine(),
                      [hashlib.sha256(paths.content(path, 1 << 30)).hexdigest()
                       for path in trainer.for_cpu()])

    def values(self, *sections: str) -> dict[str, object]:
        """Resolved settings of these sections; of all sections if none is given."""
        return {full: value for full, value in self.config.items()
                if not sections or full.partition(".")[0] in sections}

    def job(self, threads: int | None = None) -> EnvJob:
        """What a child needs to open it. Raises the error that stopped that.

        threads     that step it, or worker processes
        """
        if self.opener is None:
            raise self.broken or RunError(f"{self.name} cannot be opened")
        resolved = backends.with_class_file(self.config, self.cwd)
        if threads:
            resolved = replace(resolved, vec=replace(resolved.vec, num_threads=threads,
                                                     num_workers=threads))
        return EnvJob(self.opener, resolved)

    def run(self, target: str, job: EnvJob | measuring.RatesJob,
            on_event: Callable[[str, Payload], None] = lambda kind, payload: None) -> Facts:
        """target(job) in a child process."""
        found: Facts = child_process.run(f"puffer_sdk.reporting.measuring:{target}", job, on_event,
                                         cwd=self.cwd, step_timeout=self.patience)
        return found

    def shorten(self, text: str) -> str:
        """A text without this machine's paths."""
        home = str(self.home)
        return text.replace(f"{home}/", "").replace(home, self.home.name)


def open_subject(env: str | os.PathLike[str] | None, settings: Mapping[str, object] | None,
                 ini: Path | None = None, *, verbose: bool) -> Subject:
    """Read, configure and open ENV; ini: settings over those of its own ini. A header that breaks
    the contract, or Python that raises something when it is made, leaves `broken` set.

    Raises UsageError for a refused setting and a name that leads nowhere; BuildError if compiling
    fails for reasons that no rule of `check` covers.
    """
    source, given = env_source.find(env, ini), dict(settings or {})
    if isinstance(source, CompiledSource):
        return _open_compiled(source, ini, given, verbose)
    return _open_python(source, ini, given, verbose)


def _open_compiled(source: CompiledSource, ini: Path | None, settings: dict[str, object],
                   verbose: bool) -> Subject:
    folder = source.folder
    spec, problems = header.inspect(folder)
    if refused := header.refusal(problems):
        raise refused
    resolved = source.resolve(settings, spec, warn_unread=False)
    built, broken = None, next(iter(problems), None)
    if broken is None:
        try:
            built = building.build(folder, verbose=verbose)
        except BuildError as error:
            if error.code is None:
                raise
            broken = error
    flags = built.command[1:] if built else []
    about = {"struct": spec.struct if spec else None,
             "binding": "written by hand" if spec and spec.binding else "generated",
             "obs_size": spec.obs_count if spec else None,
             "act_sizes": list(spec.act_widths or ()) if spec else None,
             "log_names": list(spec.log_names) if spec else None,
             "flags": [flag for flag in flags if "/" not in flag
                       and flag not in ("-o", "-include") and not flag.startswith("-DPUFFER")]}
    made = paths.build_dir(folder)
    return Subject(
        source, ini, settings, resolved, spec, CompiledEnv.of(built) if built else None, broken,
        hash_files(folder), home=folder, made=made, kept=made / "report",
        cwd=paths.working_dir(folder), patience=resolved.vec.step_timeout,
        built_as=built.library.name if built else None, about=about,
        stages=("rates", "web"), envs=32, ticks=256, deals=(1, 1, 2), spread="threads")


def _open_python(source: PythonSource, ini: Path | None, settings: dict[str, object],
                 verbose: bool) -> Subject:
    prepared = opener = spec = broken = None
    about: Facts = {}
    parts: tuple[ObsField, ...] = ()
    by_itself = False
    try:
        prepared = source.prepare(settings, verbose=verbose)
    except RunError as error:
        broken, code = error, hash_loaded(source.name, (), {})
    else:
        opener = prepared.opener
        assert isinstance(opener, PythonEnv)
        facts, spec = opener.facts, PythonSpec(source.name, opener.facts)
        about, parts = _about_python(spec), spec.row().described
        code = hash_loaded(source.name, facts.files, facts.packages)
        # its own code steps all copies of a worker, by one seed for all of them
        by_itself = facts.kind == BATCH and not opener.maker.seeded_when_made
    made = source.runs_dir()
    return Subject(
        source, ini, settings, prepared.config if prepared else source.resolve(settings), spec,
        opener, broken, code, home=Path.cwd(), made=made,
        kept=made / ".report",              # a folder that `runs` does not look into
        cwd=Path.cwd(), patience=prepared.patience if prepared else 0.0,
        built_as=spec.hash() if spec else None, about=about, parts=parts,
        stages=("rates", "profile"),
        envs=8, ticks=128,                  # a step may take many milliseconds
        deals=(1, 1, 1) if by_itself else (1, 1, 2), spread="" if by_itself else "worker processes")


def _about_python(spec: PythonSpec) -> Facts:
    """What it is, by its spaces and its packages."""
    facts, row = spec.facts, spec.row()
    return {"kind": KINDS[facts.kind], "packages": facts.packages,
            "agents": list(facts.agents) if facts.rows > 1 else [],
            "obs_size": facts.observations.size, "act_sizes": list(facts.actions.sizes),
            "obs_parts": [{"name": part.name, "first": part.first, "last": part.last,
                           "described": part.described or
                           ("a number" if part.count == 1 else f"{part.count} numbers")}
                          for part in row.described],
            "act_parts": [{"name": name, "width": width} for name, width in zip(
                row.heads or [""] * len(facts.actions.sizes), facts.actions.sizes)],
            "limit": facts.limit, "render_modes": list(facts.modes)}


KINDS = {"single": "one agent, Gymnasium's interface",
         "parallel": "several agents, PettingZoo's interface",
         "batch": "copies that are stepped by its own code, Gymnasium's vector interface"}


def hash_loaded(name: str, files: tuple[str, ...], packages: Mapping[str, str]) -> str:
    """SHA-256 over the author's files that were loaded, and the versions of packages."""
    target, _, _ = name.rpartition(":")
    digest = hashlib.sha256(name.encode() + repr(sorted(packages.items())).encode())
    for path in sorted({*files, *([str(Path(target).resolve())] if target.endswith(".py")
                                  else [])}):
        with suppress(OSError):
            digest.update(Path(path).name.encode() + b"\0"
                          + hashlib.sha256(paths.content(path, 1 << 30)).digest())
    return digest.hexdigest()[:16]


def hash_files(folder: Path) -> str:
    """SHA-256 over names and bytes of the author's files."""
    digest = hashlib.sha256()
    for name in sorted(watch.stamps(folder)):
        path = Path(name)
        if path.suffix in MADE or (path.suffix == ".json" and path.with_suffix(".html").exists()):
            continue
        with suppress(OSError):
            digest.update(os.path.relpath(path, folder).encode() + b"\0"
                          + hashlib.sha256(paths.content(path, 1 << 30)).digest())
    return digest.hexdigest()[:16]
