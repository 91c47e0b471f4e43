"""play --watch: rebuild when a file is saved, beside the running game.  a job -> news, now and then

The compiler runs in a thread of the game's process, so the window goes on meanwhile.
"""
from __future__ import annotations

import threading
import time
from dataclasses import dataclass
from pathlib import Path

from ..base.errors import PufferError
from ..base.spec import Spec
from ..env import build, header, watch
from ..policy.evaluate import PlayersJob
from ..settings import config
from ..settings.values import Config

EVERY = 0.05            # seconds between two looks at the folder


@dataclass(frozen=True)
class News:
    """A library that was rebuilt."""

    library: Path
    config: Config
    same_state: bool        # the struct's fields and the [env] settings are as they were
    seconds: float          # from the save to here


@dataclass(frozen=True)
class PlayJob(PlayersJob):
    """What the child needs to play in a window."""

    director: Path          # our library around raylib
    raylib: Path
    headers: Path           # raylib's, to rebuild with
    settings: dict[str, str]        # over the ini's
    watch: bool
    paused: bool
    ticks: int | None       # end after so many
    pictures: Path          # folder that pictures are saved in
    seed: int               # of the first game


class Rebuilder:
    """Watches an environment's folder from its making on."""

    def __init__(self, job: PlayJob):
        self.folder, self.job = job.folder, job
        self._config = job.config
        self._spec: Spec | None = None
        self._news: News | PufferError | None = None
        self._lock = threading.Lock()
        threading.Thread(target=self._run, daemon=True).start()

    def news(self) -> News | PufferError | None:
        """What has happened since the last call, if anything."""
        with self._lock:
            found, self._news = self._news, None
        return found

    def _run(self) -> None:
        before = watch.stamps(self.folder)
        self._spec = header.read(self.folder)
        while True:
            watch.wait(self.folder, before, EVERY)
            began, before = time.perf_counter(), watch.stamps(self.folder)
            try:
                found: News | PufferError = self._rebuild(began)
            except PufferError as error:
                found = error
            with self._lock:
                self._news = found

    def _rebuild(self, began: float) -> News:
        built, resolved = build_player(self.folder, self.job.headers, self.job.settings)
        same = self._spec is not None and resolved.env == self._config.env and \
            _state(built.spec) == _state(self._spec)
        self._spec, self._config = built.spec, resolved
        return News(built.library, resolved, same, time.perf_counter() - began)


def _state(spec: Spec) -> list[tuple[str, str]]:
    return [(field.name, field.type) for field in (*spec.fields, *spec.log_fields)]


def build_player(folder: Path, headers: Path, settings: dict[str, object], *,
                 verbose: bool = False) -> tuple[build.Build, Config]:
    """The library that play steps and draws, compiled quickly, with the keys that NAME.c reads.

    headers     of the raylib that serves the desktop
    settings    over the ini's
    """
    wanted = config.resolve(folder, settings, warn_unread=False)
    built = build.build(folder, env_settings=wanted.env, opt="-O1", raylib_headers=headers,
                           keys=True, verbose=verbose)
    return built, config.resolve(folder, settings, spec=built.spec)
