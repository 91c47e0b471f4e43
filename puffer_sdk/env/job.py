"""What a child process needs to open an environment.  Build, Config -> EnvJob -> Library

Each command that runs env code in a child adds to it what its own target needs:

    @dataclass(frozen=True)
    class PlayJob(EnvJob):
        seed: int

    child.run("package.module:work", PlayJob.of(built, config, seed=1), on_event)
"""
from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ..settings.values import Config

if TYPE_CHECKING:
    from .build import Build
    from .library import Library


@dataclass(frozen=True)
class EnvJob:
    """One environment and its settings. Pickled on its way to the child."""

    library: Path           # NAME-HASH.so
    folder: Path            # the environment's
    name: str               # the environment's
    config: Config

    @classmethod
    def of(cls, built: Build, config: Config, **more):
        """The job for a built environment; more: what a subclass adds."""
        return cls(library=built.library, folder=built.spec.folder, name=built.spec.name,
                   config=config, **more)

    def open(self) -> Library:
        """The library, opened: for the child."""
        from .library import Library

        return Library(self.library, self.folder)
