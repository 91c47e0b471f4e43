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
from typing import TYPE_CHECKING, ClassVar, Protocol

from ..base import paths
from ..settings.values import Config

if TYPE_CHECKING:
    from typing_extensions import Self

    from .build import Build
    from .child_pipe import Link
    from .library import EnvLibrary, Library


class Opener(Protocol):
    """What opens an environment: a CompiledEnv, or a PythonEnv of interop/."""

    @property
    def name(self) -> str: ...
    @property
    def folder(self) -> Path | None: ...
    @property
    def modules(self) -> tuple[str, ...]: ...
    def where_played(self, workers: int) -> str: ...
    def open(self, config: Config, /) -> EnvLibrary: ...


@dataclass(frozen=True)
class CompiledEnv:
    """What opens a compiled environment."""

    library: Path           # NAME-HASH.so
    folder: Path            # the environment's
    name: str               # the environment's
    # that a process which opens many of them should have imported
    modules: ClassVar[tuple[str, ...]] = ()

    def where_played(self, workers: int) -> str:
        """In which processes, where that is for the user to choose; else ""."""
        return ""

    @classmethod
    def of(cls, built: Build) -> CompiledEnv:
        return cls(built.library, built.spec.folder, built.spec.name)

    def open(self, config: Config) -> Library:
        from .library import Library

        return Library(self.library, self.folder)


@dataclass(frozen=True)
class EnvJob:
    """One environment and its settings. Pickled on its way to the child."""

    opener: Opener
    config: Config

    @classmethod
    def of(cls, built: Build, config: Config, **more: object) -> Self:
        """The job for a built environment; more: what a subclass adds."""
        return cls(opener=CompiledEnv.of(built), config=config, **more)

    @property
    def name(self) -> str:
        """The environment's."""
        return self.opener.name

    @property
    def folder(self) -> Path | None:
        """A compiled environment's."""
        return self.opener.folder

    def open(self) -> EnvLibrary:
        """The library, opened: for the child."""
        return self.opener.open(self.config)


def describe_work(job: EnvJob, link: Link) -> dict[str, object]:
    """A child's target: the sizes that the library states."""
    about = job.open().describe(job.config.env)
    return {"obs_size": about.obs_size, "obs_dtype": about.obs_dtype.name,
            "act_sizes": list(about.act_sizes)}


def count_agents(folder: Path) -> int:
    """The agents of one env use the settings of its ini, by its init; it is built for that.

    Raises BuildError, UsageError, and RunError where init dies or does not return.
    """
    from ..settings import config
    from . import build, child_process

    built = build.build(folder)
    resolved = config.resolve(folder, spec=built.spec)
    agents: int = child_process.run(
        "puffer_sdk.env.job:count_work", EnvJob.of(built, resolved), lambda kind, payload: None,
        cwd=paths.working_dir(folder), step_timeout=resolved.vec.step_timeout)
    return agents


def count_work(job: EnvJob, link: Link) -> int:
    """The child's target of count_agents."""
    return job.open().agents_per_env(job.config.env, link.watches())
