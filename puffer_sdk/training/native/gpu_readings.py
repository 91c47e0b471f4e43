"""The GPUs of a native trainer: which ones, and their clocks.  a Handle -> Gpu, kernels, peaks"""
from __future__ import annotations

from typing import Any, TypedDict

from .handle import Handle


class Gpu(TypedDict):
    """A GPU that trains. Versions are (major, minor), memory is in bytes."""

    name: str
    compute_capability: tuple[int, int]
    driver: tuple[int, int]
    runtime: tuple[int, int]
    emulated: bool
    gpus: int               # how many share the work
    envs_on_gpu: bool
    memory: int
    used: int
    stack: int              # of a thread whose environment recurses; 0: none does
    unpinned: str           # CUDA's reason for copying the envs' rows twice, or ""


def choose_gpus(device: str, count: int) -> list[int]:
    """The numbers of the first `count` GPUs that can train; where there are fewer, those from 0 on,
    and opening them says what is wrong."""
    from ...toolchain import gpu
    usable = [] if device == "cpu" or gpu.is_emulated() else \
        [number for number, _ in gpu.list_usable()]
    return usable[:count] if len(usable) >= count else list(range(count))


def first_gpu(handle: Handle) -> Gpu | None:
    """The first GPU; None for the CPU trainer."""
    out: Any = handle.ffi.new("PufferTrainerDevice*")
    if not handle.invoke("device", out):
        return None
    return {"name": handle.text(out.name),
            "compute_capability": (int(out.major), int(out.minor)),
            "driver": _version(out.driver), "runtime": _version(out.runtime),
            "emulated": bool(out.emulated), "gpus": int(out.gpus),
            "envs_on_gpu": bool(out.envs_on_gpu), "memory": int(out.memory),
            "used": int(out.used), "stack": int(out.stack), "unpinned": handle.text(out.unpinned)}


def kernels(handle: Handle) -> dict[str, dict[str, float]]:
    """{name: {"calls", "seconds", "bytes", "flops"}}, since the beginning."""
    found, index = {}, 0
    out: Any = handle.ffi.new("PufferTrainerKernel*")
    while handle.invoke("kernel", index, out):
        index += 1
        found[handle.text(out.name)] = {
            name: getattr(out, name) for name in ("calls", "seconds", "bytes", "flops")}
    return found


def peaks(handle: Handle) -> tuple[float, float]:
    """Bytes/s of a copy and FLOP/s of a product, at best."""
    rates: Any = handle.ffi.new("double[2]")
    handle.invoke("peaks", rates, rates + 1)
    return rates[0], rates[1]


def _version(number: int) -> tuple[int, int]:
    """CUDA writes 13.1 as 13010."""
    return number // 1000, number % 1000 // 10
