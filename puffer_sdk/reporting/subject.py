"""An environment under settings, and all that its results depend on.  ENV, settings -> Subject"""
from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import ClassVar

from .. import __version__
from ..base import paths
from ..base.errors import BuildError, PufferError, RunError
from ..env import build as building
from ..env import child_process, header, watch
from ..env.job import CompiledEnv, EnvJob
from ..interop.python_envs import env_source
from ..interop.python_envs.env_source import CompiledSource, Prepared, PythonSource
from ..interop.python_envs.probe_env import BATCH
from ..settings.values import Config
from ..toolchain import compilers
from ..training import backends
from . import machine, measuring
from .keeping import key_of

FORMAT = 2              # of the data; also part of what results depend on
MADE = {".md", ".html", ".gif", ".mp4"}     # made from an environment, not part of it


@dataclass(frozen=True)
class Subject:
    """An environment under settings, and all that results depend on. One class for each kind.

    ini         a file of settings over the environment's own
    settings    as the user gave them
    spec        as its source or its spaces state it; None if that cannot be told
    broken      why it cannot be opened
    code        hash of the author's files
    """

    source: CompiledSource | PythonSource
    ini: Path | None
    settings: Mapping[str, object]
    config: Config
    spec: object | None
    opener: CompiledEnv | env_source.PythonEnv | None
    broken: PufferError | None
    code: str

    @property
    def name(self) -> str:
        return self.source.name

    @property
    def ref(self) -> object:
        """What train, eval and the others take as ENV."""
        return self.source.ref

    @cached_property
    def key(self) -> str:
        """A key of everything but the settings: sources, compiler, machine, this package."""
        from ..training.native import trainer_sources as trainer

        compiler = compilers.find_compiler()
        return key_of(FORMAT, __version__, self.name, self.code, compiler.key, self.built_as,
                      machine.machine(),
                      [digest_of(paths.content(path, 1 << 30)) for path in trainer.for_cpu()])

    def values(self, *sections: str) -> dict[str, object]:
        """Resolved settings of these sections; of all sections if none is given."""
        return {full: value for full, value in self.config.items()
                if not sections or full.partition(".")[0] in sections}

    def job(self, kind: type[EnvJob] = EnvJob, *, threads: int | None = None, **more) -> EnvJob:
        """What a child needs to open it. Raises the error that stopped that.

        threads     that step it, or worker processes
        """
        if self.opener is None:
            raise self.broken
        resolved = backends.with_class_file(self.config, self.cwd)
        if threads:
            resolved = replace(resolved, vec=replace(resolved.vec, num_threads=threads,
                                                     num_workers=threads))
        return kind(opener=self.opener, config=resolved, **more)

    def run(self, target: str, job: EnvJob | measuring.RatesJob,
            on_event=lambda kind, payload: None):
        """target(job) in a child process."""
        return child_process.run(f"puffer_sdk.reporting.measuring:{target}", job, on_event,
                         cwd=self.cwd, step_timeout=self.patience)

    def shorten(self, text: str) -> str:
        """A text without this machine's paths."""
        home = str(self.home)
        return text.replace(f"{home}/", "").replace(home, self.home.name)


@dataclass(frozen=True)
class CompiledSubject(Subject):
    """An environment in C.

    build   None if the header breaks the contract
    """

    build: building.Build | None = None

    # besides those that every environment has: key of the data -> name in stages.STAGES
    stages: ClassVar[dict[str, str]] = {"rates": "rates beside Squared", "web": "web"}
    envs, ticks = 32, 256               # of the play that is compared with itself, at most
    deals = (1, 1, 2)                   # threads, or worker processes, of each time
    spread = "threads"                  # over which envs are dealt
    parts = ()                          # of an observation, where check does not look at them

    @property
    def home(self) -> Path:
        """The folder of the author's files."""
        return self.source.folder

    @property
    def made(self) -> Path:
        """Where the page is written, unless somebody says."""
        return paths.build_dir(self.source.folder)

    @property
    def kept(self) -> Path:
        """Where results are kept."""
        return self.made / "report"

    @property
    def cwd(self) -> Path:
        return paths.working_dir(self.source.folder)

    @property
    def patience(self) -> float:
        return self.config.vec.step_timeout

    @property
    def built_as(self) -> str | None:
        return self.build.library.name if self.build else None

    def about(self) -> dict:
        """What the page says of it, besides what the running environment tells."""
        spec = self.spec
        flags = self.build.command[1:] if self.build else []
        return {"struct": spec.struct if spec else None,
                "binding": "written by hand" if spec and spec.binding else "generated",
                "obs_size": spec.obs_count if spec else None,
                "act_sizes": list(spec.act_widths or ()) if spec else None,
                "log_names": list(spec.log_names) if spec else None,
                "flags": [flag for flag in flags if "/" not in flag
                          and flag not in ("-o", "-include")
                          and not flag.startswith("-DPUFFER")]}


@dataclass(frozen=True)
class PythonSubject(Subject):
    """An environment in Python."""

    prepared: Prepared | None = None

    stages: ClassVar[dict[str, str]] = {"rates": "rates", "profile": "profile"}
    envs, ticks = 8, 128                # a step may take many milliseconds

    @property
    def by_itself(self) -> bool:
        """Whether its own code steps all copies of a worker, by one seed for all of them."""
        return self.spec is not None and self.spec.facts.kind == BATCH \
            and not self.prepared.opener.maker.seeded_when_made

    @property
    def deals(self) -> tuple[int, ...]:
        return (1, 1, 1) if self.by_itself else (1, 1, 2)

    @property
    def spread(self) -> str:
        return "" if self.by_itself else "worker processes"

    @property
    def home(self) -> Path:
        return Path.cwd()

    cwd = home

    @property
    def made(self) -> Path:
        return self.source.runs_dir()

    @property
    def kept(self) -> Path:
        return self.made / ".report"        # a folder that `runs` does not look into

    @property
    def patience(self) -> float:
        return self.prepared.patience

    @property
    def built_as(self) -> str | None:
        return self.spec.hash() if self.spec else None

    @property
    def parts(self) -> tuple:
        return self.spec.row().described if self.spec else ()

    def about(self) -> dict:
        """What it is, by its spaces and its packages."""
        if self.spec is None:
            return {}
        facts, row = self.spec.facts, self.spec.row()
        numbers = range(len(facts.actions.sizes))
        return {"kind": KINDS[facts.kind], "packages": facts.packages,
                "agents": list(facts.agents) if facts.rows > 1 else [],
                "obs_size": facts.observations.size, "act_sizes": list(facts.actions.sizes),
                "obs_parts": [{"name": part.name, "first": part.first, "last": part.last,
                               "described": part.described or described(part)}
                              for part in row.described],
                "act_parts": [{"name": name, "width": width} for name, width in zip(
                    row.heads or ["" for _ in numbers], facts.actions.sizes)],
                "limit": facts.limit, "render_modes": list(facts.modes)}


KINDS = {"single": "one agent, Gymnasium's interface",
         "parallel": "several agents, PettingZoo's interface",
         "batch": "copies that are stepped by its own code, Gymnasium's vector interface"}


def described(part) -> str:
    return "a number" if part.count == 1 else f"{part.count} numbers"


def open_subject(env, settings: Mapping[str, object] | None, ini: Path | None = None, *,
                 verbose: bool) -> Subject:
    """Read, configure and open ENV; ini: settings over those of its own ini. A header that breaks
    the contract, or Python that raises something when it is made, leaves `broken` set.

    Raises UsageError for a refused setting and a name that leads nowhere; BuildError if compiling
    fails for reasons that no rule of `check` covers.
    """
    source = env_source.find(env, ini)
    opened = _open_compiled if source.in_c else _open_python
    return opened(source, ini, dict(settings or {}), verbose)


def _open_compiled(source: CompiledSource, ini: Path | None, settings: dict,
                   verbose: bool) -> CompiledSubject:
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
    return CompiledSubject(source, ini, settings, resolved, spec, built and CompiledEnv.of(built),
                           broken, hash_files(folder), built)


def _open_python(source: PythonSource, ini: Path | None, settings: dict,
                 verbose: bool) -> PythonSubject:
    try:
        prepared = source.prepare(settings, verbose=verbose)
    except RunError as error:
        return PythonSubject(source, ini, settings, source.resolve(settings), None, None, error,
                             hash_loaded(source.name, (), {}))
    facts = prepared.opener.facts
    return PythonSubject(source, ini, settings, prepared.config, prepared.spec, prepared.opener,
                         None, hash_loaded(source.name, facts.files, facts.packages), prepared)


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


def digest_of(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
