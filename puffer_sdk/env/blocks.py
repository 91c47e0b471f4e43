"""Memory for arrays that C and GPUs write as well.  shapes -> arrays in whole pages, pointers"""
from __future__ import annotations

import mmap
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from .abi import CObject, ffi

PRIVATE = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS     # a child that forks off has its own


def in_one_block(*wanted: tuple[tuple[int, ...], DTypeLike]
                 ) -> tuple[NDArray[np.uint8], list[NDArray[Any]]]:
    """Zeros of these (shape, dtype), each on a cache line, and the whole pages that hold them all.

    The pages are nobody else's, so that a GPU may be let in to read and write there.
    """
    sizes = [int(np.prod(shape)) * np.dtype(dtype).itemsize for shape, dtype in wanted]
    pages = -(-max(1, sum(size + 64 for size in sizes)) // mmap.PAGESIZE)
    block = np.frombuffer(mmap.mmap(-1, pages * mmap.PAGESIZE, PRIVATE), np.uint8)
    arrays: list[NDArray[Any]] = []
    at = 0
    for (shape, dtype), size in zip(wanted, sizes):
        arrays.append(block[at:at + size].view(np.dtype(dtype)).reshape(shape))
        at += -(-size // 64) * 64
    return block, arrays


def available_memory() -> int:
    """Bytes that this process may still hope to get."""
    try:
        for line in Path("/proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    except OSError:
        pass
    return 1 << 62


def pointer(kind: str, array: NDArray[np.generic] | None) -> CObject:
    """Where a buffer begins, as C takes it; NULL without one."""
    return ffi().NULL if array is None else ffi().cast(kind, array.ctypes.data)
