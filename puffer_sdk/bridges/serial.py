"""Python environments in this process.  a PufferApi whose functions are Python

For PoolVecs without workers: a debugger sees everything, and nothing runs beside it.
"""
from __future__ import annotations

import numpy as np

from ..env import abi
from ..env.page import PYTHON, SOME_ENV
from . import shared
from .games.base import RESET, STEP, EnvError
from .probing import BATCH
from .worker import Failure

LOOK = 0.1              # seconds between two looks at what the lane does
_serial: dict[str, object] = {}


def run(pool, phase: int, work, watch) -> None:
    """Something that the pool's only lane does; what it raises becomes the pool's failure.

    watch   a PufferWatch*: whoever watches sees when a call does not return, or ends the process
    """
    if pool._failure is not None:
        return
    if watch:
        pool._shown_at = watch
        watch.seed = (pool.seed + 2**63) % 2**64 - 2**63
        watch.env, watch.phase = SOME_ENV, PYTHON + phase
        watch.pulse += 1
    try:
        work()
    except BaseException as error:
        pool._bad_step = int(watch.step) if watch else pool.ticks
        if isinstance(error, EnvError) and isinstance(error.cause, KeyboardInterrupt):
            pool._failure = error.cause
        else:
            pool._failure = pool._shown(pool._raised(Failure.of(error)))
    finally:
        if watch:
            watch.phase = 0
            watch.pulse += 1


def mirror(pool) -> None:
    """Runs on a thread, for a parent that watches: its watch shows that one environment after
    the other is at work, and names the one that has been for a while. A crash does not say whose
    it is: by then another one may be at work."""
    notes, seen = pool._block.lanes[0].view(np.int64), None
    while not pool._closing.wait(LOOK):
        state = int(notes[shared.PULSE]), int(notes[shared.ENV])
        watch = pool._shown_at
        if watch is None or not watch.phase:
            continue
        if state != seen:
            watch.env = SOME_ENV
            watch.pulse += 1
        elif pool.library.facts.kind != BATCH:
            watch.env = state[1]
        seen = state


def step(pool, watch) -> None:
    run(pool, STEP, pool._lane.step, watch)


def reset(pool, watch) -> None:
    run(pool, RESET, pool._lane.reset, watch)


def serial_api():
    """A PufferApi whose functions are Python: for PoolVecs without workers."""
    if not _serial:
        c = abi.ffi()

        def of(vec):
            return c.from_handle(c.cast("void*", vec))

        functions = {
            "step": c.callback("void(PufferVec*, int32_t, int32_t, int32_t, PufferWatch*)",
                               lambda vec, *more: step(of(vec), more[-1])),
            "reset": c.callback("void(PufferVec*, int32_t, int32_t, PufferWatch*)",
                                lambda vec, *more: reset(of(vec), more[-1])),
            "num_envs": c.callback("int32_t(const PufferVec*)",
                                   lambda vec: len(of(vec)._seeds)),
            "env_seed": c.callback("uint32_t(const PufferVec*, int32_t)",
                                   lambda vec, env: of(vec)._seeds[env])}
        _serial["functions"] = functions
        _serial["api"] = c.new("PufferApi*", {
            "abi_version": abi.number("PUFFER_ABI_VERSION"),
            "struct_size": c.sizeof("PufferApi"), **functions})
    return _serial["api"]
