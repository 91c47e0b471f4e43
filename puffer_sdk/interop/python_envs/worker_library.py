"""What opens a Python environment.  Maker, Facts -> WorkerLibrary: its processes and its limits"""
from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Protocol
from weakref import WeakSet

from ...base import ui
from ...env.abi import CObject
from ...env.library import Description
from ...settings.automatic import available_cores
from .games.base import SAME_STEP
from .lanes import library
from .makers import Maker
from .probe_env import Facts
from .serial import serial_api
from .worker_processes import Process, start


class Indexed(Protocol):
    """A vec. indices: the env_index of its copies"""

    indices: range


class WorkerLibrary:
    """What opens a Python environment, in place of a compiled one's Library.

    maker, facts    the environment
    workers         processes; 0: none, everything happens in this process
    free_running    in training, workers do not wait for each other within a rollout
    autoreset       one of AUTORESET
    max_restarts    maximum restarts of each copy after it raised an exception, or after its worker
                    process died or hung
    step_timeout, start_timeout     seconds without an answer, in a step, and while it is made
    reward_scale    factor of rewards
    as_itself       raise what an environment raised, and not a RunError about it
    tell            called with a line about each worker process that was replaced
    """

    folder: Path | None = None
    path: Path | None = None
    armed = False           # whether its code may not fork

    def __init__(self, maker: Maker, facts: Facts, *, workers: int | str = "auto",
                 free_running: bool = False, autoreset: str = SAME_STEP, max_restarts: int = 0,
                 step_timeout: float = 10.0, start_timeout: float = 60.0,
                 reward_scale: float = 1.0, as_itself: bool = False, idle: Sequence[Process] = ()):
        self.maker, self.facts, self.name = maker, facts, maker.name
        self.workers = available_cores() if workers == "auto" else int(workers)
        self.free_running, self.autoreset = free_running, autoreset
        self.max_restarts = max_restarts
        self.step_timeout, self.start_timeout = step_timeout, start_timeout
        self.reward_scale = reward_scale
        self.as_itself, self.tell = as_itself, ui.warn
        self.idle: list[Process] = list(idle)
        self.living: WeakSet[Indexed] = WeakSet()

    @property
    def api(self) -> CObject:
        """The PufferApi that VecEnv and the trainer call."""
        return library().lanes_api() if self.workers else serial_api()

    def describe(self, env_settings: Mapping[str, float] | None = None) -> Description:
        return self.facts.description(self.name)

    def agents_per_env(self, env_settings: Mapping[str, float] | None = None,
                       watches: CObject = None) -> int:
        return self.facts.rows

    @contextlib.contextmanager
    def among_resources(self) -> Iterator[None]:
        yield

    def take(self, count: int) -> list[Process]:
        """So many processes, those that are idle first."""
        alive = [process for process in self.idle if process.alive]
        taken, self.idle[:] = alive[:count], alive[count:]      # the list: copies of us share it
        return taken + [start() for _ in range(count - len(taken))]

    def free_indices(self, count: int) -> range:
        """The lowest numbers for so many copies that none of another living vec has: two that live
        at the same time may need a port each."""
        start = 0
        for taken in sorted((vec.indices for vec in self.living), key=lambda each: each.start):
            if start + count > taken.start:
                start = max(start, taken.stop)
        return range(start, start + count)

    def close(self) -> None:
        """End all processes that no vec holds."""
        for process in self.idle:
            process.end()
        self.idle.clear()
