"""A Python environment as commands open it.  Maker, Facts -> PoolLibrary, in place of a Library"""
from __future__ import annotations

import contextlib
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ...base.errors import RunError
from .lanes import library
from .makers import Maker
from .pool_vec import PoolVec
from .probe_env import Facts, beside, probe
from .worker_library import WorkerLibrary
from .worker_processes import Process, raised, start


class PoolLibrary(WorkerLibrary):
    """A WorkerLibrary that says what a vec of it is, and what takes its pictures."""

    vec_kind = PoolVec

    def screen(self) -> Frames:
        """What takes pictures of this environment."""
        return Frames(self.facts)


class Frames:
    """Pictures of an environment that draws itself: render_mode="rgb_array".

    asked_fps   frames per second that its metadata ask for; 0: none
    """

    def __init__(self, facts: Facts):
        self.asked_fps = facts.fps

    def render(self, vec: PoolVec, env: int) -> NDArray[np.uint8]:
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
        facts: Facts = found
        facts = _second(process, facts, timeout)
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
    return facts, process


def _second(process: Process, facts: Facts, timeout: float) -> Facts:
    """The Facts once a second instance was made; it may hang or end the process."""
    try:
        kind, found = process.answer(timeout)
        return found if kind == "facts" else facts
    except TimeoutError:
        process.end()
        return replace(facts, alone=f"it was not created within {timeout:g} seconds")
    except EOFError:
        return replace(facts, alone=f"the process ended: {process.cause}")


def facts_here(maker: Maker) -> Facts:
    """find_facts in this process, for a vec without workers."""
    env = maker()
    try:
        return beside(probe(env), maker, env)
    finally:
        with contextlib.suppress(Exception):
            env.close()
