"""An environment under settings, and all that its results depend on.  ENV, settings -> Subject"""
from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from .. import __version__
from ..base import paths
from ..base.errors import BuildError, PufferError
from ..base.spec import Spec
from ..env import build as building
from ..env import child, header, watch
from ..settings import config
from ..settings.config import Config
from ..toolchain import compilers
from . import machine
from .keeping import key_of

FORMAT = 1              # of the data; also part of what results depend on
MADE = {".md", ".html", ".gif", ".mp4"}     # made from an environment, not part of it


@dataclass(frozen=True)
class Subject:
    """An environment under settings, and all that results depend on."""

    folder: Path
    settings: Mapping[str, object]          # as the user gave them
    config: Config
    spec: Spec | None                       # None if the header breaks the contract
    build: building.Build | None
    broken: PufferError | None              # why it is not built
    source: str                             # hash of the author's files

    @property
    def name(self) -> str:
        return self.folder.name

    @cached_property
    def key(self) -> str:
        """A key of everything but the settings: sources, compiler, machine, this package."""
        from ..training.native import sources

        compiler = compilers.find_compiler()
        return key_of(FORMAT, __version__, self.name, self.source, compiler.key,
                      self.build.library.name if self.build else None, machine.machine(),
                      [digest_of(path.read_bytes()) for path in sources.for_cpu()])

    def values(self, *sections: str) -> dict[str, object]:
        """Resolved settings of these sections; of all sections if none is given."""
        return {full: value for full, value in self.config.items()
                if not sections or full.partition(".")[0] in sections}

    def job(self) -> dict:
        """What a child needs to open it. Raises the error that stopped its build."""
        if self.build is None:
            raise self.broken
        from ..training.backends import with_class_file
        return {"library": str(self.build.library), "folder": str(self.folder),
                "config": with_class_file(self.config, self.folder).to_dict()}

    def run(self, target: str, job: dict, on_event=lambda kind, payload: None):
        """target(job) in a child process."""
        return child.run(f"puffer_sdk.reporting.measuring:{target}", job, on_event,
                             cwd=paths.working_dir(self.folder),
                             step_timeout=self.config.vec.step_timeout)


def open_subject(env, settings: Mapping[str, object] | None, *, verbose: bool) -> Subject:
    """Read, configure and build ENV. A header that breaks the contract leaves `broken` set.

    Raises UsageError for a refused setting; BuildError if compiling fails for reasons that no
    rule of `check` covers.
    """
    folder = paths.find_env(env)
    spec, problems, _ = header.examine(folder)
    uncoded = [problem for problem in problems if problem.code is None]
    if uncoded and len(uncoded) == len(problems):
        raise uncoded[0]
    resolved = config.resolve(folder, settings, spec=spec, warn_unread=False)
    built, broken = None, next(iter(problems), None)
    if broken is None:
        try:
            built = building.build(folder, verbose=verbose)
        except BuildError as error:
            if error.code is None:
                raise
            broken = error
    return Subject(folder, dict(settings or {}), resolved, spec, built, broken, hash_files(folder))


def hash_files(folder: Path) -> str:
    """SHA-256 over names and bytes of the author's files."""
    digest = hashlib.sha256()
    for name in sorted(watch.stamps(folder)):
        path = Path(name)
        if path.suffix in MADE or (path.suffix == ".json" and path.with_suffix(".html").exists()):
            continue
        with suppress(OSError):
            digest.update(os.path.relpath(path, folder).encode() + b"\0"
                          + hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()[:16]


def digest_of(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
