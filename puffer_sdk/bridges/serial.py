"""Python environments in this process.  a PufferApi whose functions are Python

For PoolVecs without workers: a debugger sees everything, and nothing runs beside it.
"""
from __future__ import annotations

from ..env import abi
from .games.base import EnvError
from .worker import Failure

_serial: dict[str, object] = {}


def run(pool, work) -> None:
    """Something that the pool's only lane does; what it raises becomes the pool's failure."""
    if pool._failure is not None:
        return
    try:
        work()
    except BaseException as error:
        if isinstance(error, EnvError) and isinstance(error.cause, KeyboardInterrupt):
            pool._failure = error.cause
        else:
            pool._failure = pool._shown(pool._raised(Failure.of(error)))


def serial_api():
    """A PufferApi whose functions are Python: for PoolVecs without workers."""
    if not _serial:
        c = abi.ffi()

        def of(vec):
            return c.from_handle(c.cast("void*", vec))

        functions = {
            "step": c.callback("void(PufferVec*, int32_t, int32_t, int32_t, PufferWatch*)",
                               lambda vec, *_: run(of(vec), of(vec)._lane.step)),
            "reset": c.callback("void(PufferVec*, int32_t, int32_t, PufferWatch*)",
                                lambda vec, *_: run(of(vec), of(vec)._lane.reset)),
            "num_envs": c.callback("int32_t(const PufferVec*)",
                                   lambda vec: len(of(vec)._seeds)),
            "env_seed": c.callback("uint32_t(const PufferVec*, int32_t)",
                                   lambda vec, env: of(vec)._seeds[env])}
        _serial["functions"] = functions
        _serial["api"] = c.new("PufferApi*", {
            "abi_version": abi.number("PUFFER_ABI_VERSION"),
            "struct_size": c.sizeof("PufferApi"), **functions})
    return _serial["api"]
