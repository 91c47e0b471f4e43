"""play --watch: rebuild when a file is saved, during the game.  a job -> rebuilt libraries

A thread of the game's process runs the compiler, so the window keeps going.
"""
from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from ..base.errors import PufferError
from ..base.spec import Spec
from ..env import build, header, watch
from ..interop.python_envs.env_source import CompiledSource
from ..policy.players import PlayersJob
from ..settings.values import Config

EVERY = 0.05            # seconds between two looks at the folder


@dataclass(frozen=True)
class Rebuilt:
    """A rebuilt library."""

    library: Path
    spec: Spec
    config: Config
    same_state: bool        # the struct's fields and the [env] settings are unchanged
    seconds: float          # since the file was saved


@dataclass(frozen=True)
class PlayJob(PlayersJob):
    """What the child needs to play in a window."""

    director: Path          # our library around raylib
    raylib: Path
    headers: Path           # raylib's, to rebuild with
    source: CompiledSource
    settings: dict[str, str]        # over the inis'
    watch: bool
    paused: bool
    seat: int               # the agent that keys drive
    ticks: int | None       # end after so many
    pictures: Path          # folder that pictures are saved in
    seed: int               # of the first game
    spec: Spec              # of what was built


class Rebuilder:
    """Watches an environment's folder, from when it is created."""

    def __init__(self, job: PlayJob):
        self.folder, self.job = job.source.folder, job
        self._config = job.config
        self._spec: Spec | None = None
        self._newest: Rebuilt | PufferError | None = None
        self._lock = threading.Lock()
        threading.Thread(target=self._run, daemon=True).start()

    def take(self) -> Rebuilt | PufferError | None:
        """The newest result since the last call, if there is one."""
        with self._lock:
            found, self._newest = self._newest, None
        return found

    def _run(self) -> None:
        before = watch.stamps(self.folder)
        self._spec = header.read(self.folder)
        while True:
            watch.wait(self.folder, before, EVERY)
            began, before = time.perf_counter(), watch.stamps(self.folder)
            try:
                found: Rebuilt | PufferError = self._rebuild(began)
            except PufferError as error:
                found = error
            with self._lock:
                self._newest = found

    def _rebuild(self, began: float) -> Rebuilt:
        built, resolved = build_player(self.job.source, self.job.headers, self.job.settings)
        same = self._spec is not None and resolved.env == self._config.env and \
            _state(built.spec) == _state(self._spec)
        self._spec, self._config = built.spec, resolved
        return Rebuilt(built.library, built.spec, resolved, same, time.perf_counter() - began)


def _state(spec: Spec) -> list[tuple[str, str]]:
    return [(field.name, field.type) for field in (*spec.fields, *spec.log_fields)]


def build_player(source: CompiledSource, headers: Path, settings: Mapping[str, object], *,
                 verbose: bool = False) -> tuple[build.Build, Config]:
    """The library for play, compiled quickly, with the keys that NAME.c reads.

    headers     of the raylib for the desktop
    settings    over the inis' values
    """
    wanted = source.resolve(settings, warn_unread=False)
    built = build.build(source.folder, env_settings=wanted.env, opt="-O1", raylib_headers=headers,
                        keys=True, verbose=verbose)
    return built, source.resolve(settings, built.spec)
