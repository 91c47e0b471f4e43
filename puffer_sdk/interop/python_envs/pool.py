"""What opens a Python environment.  Maker, Facts -> PoolLibrary, in place of a Library"""
from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence

import numpy as np

from ...base import ui
from ...base.errors import RunError
from ...settings.automatic import available_cores
from .games.base import SAME_STEP
from .lanes import library
from .makers import Maker
from .pool_vec import PoolVec
from .probe_env import Facts, probe
from .serial import serial_api
from .worker_processes import Process, raised, start


class PoolLibrary:
    """What opens a Python environment, in place of a compiled one's Library.

    maker, facts    the environment
    workers         processes; 0: none, everything happens in this process
    free            in training, workers do not wait for each other within a rollout
    autoreset       one of AUTORESET
    max_restarts    maximum restarts of each copy after it raised an exception, or after its worker
    process died or hung step_timeout, start_timeout     seconds without an answer, in a step, and
    while it is made reward_scale    factor of rewards as_itself       raise what an environment
    raised, and not a RunError about it tell            called with a line about each worker process
    that was replaced
    """

    folder = path = None
    armed = False           # whether its code may not fork
    vec_kind = PoolVec

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

    @property
    def api(self):
        """The PufferApi that VecEnv and the trainer call."""
        return library().lanes_api() if self.workers else serial_api()

    def describe(self, env_settings: Mapping | None = None):
        return self.facts.description(self.name)

    def agents_per_env(self, env_settings: Mapping | None = None, watches=None) -> int:
        return self.facts.rows

    @contextlib.contextmanager
    def among_resources(self):
        yield

    def screen(self) -> Frames:
        """What takes pictures of this environment."""
        return Frames(self.facts)

    def take(self, count: int) -> list[Process]:
        """So many processes, those that are idle first."""
        alive = [process for process in self.idle if process.alive]
        taken, self.idle[:] = alive[:count], alive[count:]      # the list: copies of us share it
        return taken + [start() for _ in range(count - len(taken))]

    def close(self) -> None:
        """End all processes that no vec holds."""
        for process in self.idle:
            process.end()
        self.idle.clear()


class Frames:
    """Pictures of an environment that draws itself: render_mode="rgb_array".

    asked_fps   frames per second that its metadata ask for; 0: none
    """

    def __init__(self, facts: Facts):
        self.asked_fps = facts.fps

    def render(self, vec: PoolVec, env: int) -> np.ndarray:
        """(H, W, 3) uint8"""
        frame = vec.render(env)
        found = np.asarray(frame)
        if frame is None or found.ndim != 3 or found.shape[2] not in (3, 4):
            raise RunError("render() returned no image", where=f"env {env}",
                           expected="(H, W, 3) uint8",
                           actual="None" if frame is None else f"{found.shape} {found.dtype}",
                           hint="it was created with render_mode='rgb_array'")
        return np.ascontiguousarray(found[..., :3].astype(np.uint8))


def find_facts(maker: Maker, timeout: float) -> tuple[Facts, Process]:
    """The Facts of what this makes, found in a worker process, which is then idle.

    Raises UsageError where it is no environment that we know how to play, RunError where its code
    raises something, dies or does not return.
    """
    library()                           # compiled, if it must be, before a worker needs it
    process = start()
    try:
        process.send(("probe", maker))
        kind, found = process.answer(timeout)
        if kind == "raised":
            raise raised(found, None)
    except TimeoutError:
        process.end()
        raise RunError(f"the environment was not created within {timeout:g} seconds",
                       where=maker.name, hint="a longer limit is [vec] start_timeout") from None
    except EOFError:
        process.end()
        raise RunError(f"the worker process ended while creating the environment: {process.cause}",
                       where=maker.name) from None
    except BaseException:
        process.end()
        raise
    return found, process


def facts_here(maker: Maker) -> Facts:
    """find_facts in this process, for a vec without workers."""
    env = maker()
    try:
        return probe(env)
    finally:
        with contextlib.suppress(Exception):
            env.close()
