"""The memory that a vec and its workers share: the trainer's rows, counters, logs.

One block without a name, which ends with the last process that holds it, also after kill -9.
Sizes: N rows (agents of all envs), D observation numbers, K heads, L lanes, E envs.
"""
from __future__ import annotations

import contextlib
import mmap
import os
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import DTypeLike, NDArray

from ...env.seeds import mix_seed

LANE_BYTES, COUNTER_BYTES = 192, 64     # sizeof(Lane), sizeof(LaneCounter) of lanes.h
DONE_AT = 64                            # bytes from a lane's beginning to its `done`
GO, DONE, COMMAND, STATE = 0, 16, 32, 33        # int32s from a lane's beginning
ENV, PULSE = 17, 18                     # int64s
PHASE = 38                              # int32s
STEP, RESET, CALL = range(3)            # LANE_STEP, ... of lanes.h: what a worker is asked for
FINE, RAISED, DEAD, SILENT, LATE, REPLACED = range(6)  # LANE_FINE, ... of lanes.h: how a lane is
RESETS = 2                              # PUFFER_RESET of puffer_abi.h, a phase
EXTRAS = 32                             # names that an env may add to its log
NAMES_BYTES = 4096                      # of a lane's list of these names
LOG_COUNT, LOG_RETURN, LOG_LENGTH, LOG_EXTRAS = 0, 1, 2, 3     # columns of `log`


ArrayPlan = tuple[str, tuple[int, ...], DTypeLike]      # name, shape, dtype


class Layout(Protocol):
    """What a block is laid out by."""

    def arrays(self) -> list[ArrayPlan]: ...


class LanePart(Protocol):
    """One lane's share of a vec: games.base.Part."""

    @property
    def first(self) -> int: ...
    @property
    def seeds(self) -> Sequence[int]: ...


@dataclass(frozen=True)
class Sizes:
    """What the block is laid out by."""

    lanes: int
    envs: int
    rows: int               # N
    obs_size: int           # D
    obs_dtype: np.dtype[Any]
    heads: int              # K
    mask_size: int
    alive: bool

    def arrays(self) -> list[ArrayPlan]:
        """In their order. The first two are whole pages of their own with
        what a GPU reads: observations and actions."""
        n = self.rows
        return [("observations", (n, self.obs_size), self.obs_dtype),
                ("actions", (n, self.heads), np.float32),
                ("rewards", (n,), np.float32), ("terminals", (n,), np.float32),
                ("truncations", (n,), np.float32),
                ("final_observations", (n, self.obs_size), self.obs_dtype),
                ("has_final", (n,), np.uint8),
                ("action_mask", (n, self.mask_size), np.uint8),
                ("alive", (n * self.alive,), np.uint8),
                ("restarts", (self.envs,), np.int32),
                ("lanes", (self.lanes, LANE_BYTES), np.uint8), ("bell", (COUNTER_BYTES,), np.uint8),
                ("log", (self.envs, LOG_EXTRAS + 2 * EXTRAS), np.float64),
                ("names", (self.lanes, NAMES_BYTES), np.uint8)]


class Block:
    """The lanes' counters in shared memory, and arrays that a subclass declares: attributes by
    their names.

    fd      of the memory, open until it was passed to the workers
    """

    lanes: NDArray[np.uint8]
    bell: NDArray[np.uint8]

    def __init__(self, sizes: Layout, fd: int | None = None):
        places, total = [], 0
        for name, shape, dtype in sizes.arrays():
            count = int(np.prod(shape)) * np.dtype(dtype).itemsize
            places.append((name, shape, dtype, total, count))
            total += -(-count // 64) * 64
        total = -(-max(1, total) // mmap.PAGESIZE) * mmap.PAGESIZE
        if fd is None:
            fd = _anonymous_file()
            os.ftruncate(fd, total)
        self.fd: int | None = fd
        self.memory = mmap.mmap(fd, total)
        self.bytes = np.frombuffer(self.memory, np.uint8)
        for name, shape, dtype, at, count in places:
            setattr(self, name, self.bytes[at:at + count].view(dtype).reshape(shape))
        self.words = [row.view(np.int32) for row in self.lanes]
        self.notes = [row.view(np.int64) for row in self.lanes]

    def state(self, lane: int) -> int:
        """FINE, ..."""
        return int(self.words[lane][STATE])

    def close_fd(self) -> None:
        """The memory stays mapped, but cannot be passed to another process any more."""
        if self.fd is not None:
            with contextlib.suppress(OSError):
                os.close(self.fd)
            self.fd = None


class PoolBlock(Block):
    """The block of a PoolVec, laid out by Sizes.

    at_work where each lane writes which environment it is in: one int64 each
    """

    observations: NDArray[Any]
    actions: NDArray[np.float32]
    rewards: NDArray[np.float32]
    terminals: NDArray[np.float32]
    truncations: NDArray[np.float32]
    final_observations: NDArray[Any]
    has_final: NDArray[np.uint8]
    action_mask: NDArray[np.uint8]
    alive: NDArray[np.uint8]
    restarts: NDArray[np.int32]
    log: NDArray[np.float64]
    names: NDArray[np.uint8]

    def __init__(self, sizes: Sizes, fd: int | None = None):
        super().__init__(sizes, fd)
        self.at_work = [cells(notes)[ENV:ENV + 1] for notes in self.notes]

    def clear(self) -> None:
        """All but the lanes' counters, as it was before copies were made."""
        for name in ("observations", "actions", "rewards", "terminals", "truncations",
                     "final_observations", "has_final", "restarts", "log", "names"):
            getattr(self, name)[:] = 0
        self.action_mask[:] = 1
        self.alive[:] = 1

    def restarts_of(self, part: LanePart) -> NDArray[np.int32]:
        """(envs of this lane,) int32: restarts of each. A view."""
        return self.restarts[part.first:part.first + len(part.seeds)]

    def seed_of(self, part: LanePart, env: int) -> int:
        """What env number `env`, over all lanes, was seeded with when it was last made."""
        return seed_after(part.seeds[env - part.first], int(self.restarts[env]))


def cells(array: NDArray[Any]) -> memoryview[Any]:
    """An array (n,), in which a number is written in a third of the time."""
    return array.data


def seed_after(seed: int, restarts: int) -> int:
    """The seed of a copy after so many restarts: it begins with another episode."""
    return mix_seed(seed, restarts - 1) if restarts else seed


def _anonymous_file() -> int:
    if hasattr(os, "memfd_create"):
        return os.memfd_create("puffer-lanes")
    handle, name = tempfile.mkstemp()
    os.unlink(name)
    return handle
