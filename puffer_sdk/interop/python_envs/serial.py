"""Python environments in this process.  a PufferApi whose functions are Python

For PoolVecs without workers: a debugger sees everything, and nothing runs beside it.
"""
from __future__ import annotations

from ...env import abi
from ...env.shared_memory import ANEW, PYTHON, SOME_ENV, WATCH
from .env_worker import Failure
from .games.base import RESET, STEP, EnvError
from .probe_env import BATCH

PLACE = WATCH.fields["env"][1] // 8     # of `env` among the int64s of a watch
_serial: dict[str, object] = {}


def run(pool, phase: int, work, watch) -> None:
    """Something that the pool's only lane does; what it raises becomes the pool's failure.

    watch   a PufferWatch*: whoever watches sees when a call does not return, or ends the process
    """
    if pool._failure is not None:
        return
    if watch:
        show_in(pool, watch)
        anew = pool.library.max_restarts and pool._block.restarts.any()
        watch.seed = (pool.seed + 2**63) % 2**64 - 2**63
        watch.env, watch.phase = SOME_ENV, (ANEW if anew else PYTHON) + phase
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


def show_in(pool, watch) -> None:
    """Have the lane write which environment is at work into a watch that a parent reads: that is
    still there when a crash has ended this process. Of copies that one object steps, nobody knows.
    """
    if pool._own_watches or pool._shown_in == watch or pool.library.facts.kind == BATCH:
        return
    pool._shown_in = watch
    place = memoryview(abi.ffi().buffer(watch)).cast("q")[PLACE:PLACE + 1]
    pool._block.at_work[0] = place
    if pool._lane is not None:
        pool._lane.place = place


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
