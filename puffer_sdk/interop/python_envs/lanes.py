"""lanes.c, compiled and opened.  lanes.h -> the functions that wait and wake"""
from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import cffi
import numpy as np
from numpy.typing import NDArray

from ...env import abi
from ...env.abi import CObject
from ...env.helper import Helper
from .shared_rows import RAISED, Block

SPINS = 20              # looks before the parent sleeps: in a virtual machine each costs much
FOREVER = 2**62         # nanoseconds
LANES = Helper(Path(__file__).with_name("lanes.c"), "the workers' library",
               "compiling what worker processes need, once for this machine ...")


def ffi() -> cffi.FFI:
    """Declarations of lanes.h; it shares the environment ABI's types."""
    return LANES.ffi


def build(*, verbose: bool = False) -> Path:
    """The library, compiled once for a machine. Raises BuildError, RunError."""
    return LANES.build(verbose=verbose)


def library() -> CObject:
    """The library, opened."""
    return LANES.library


class AskedLanes:
    """The lanes of a block, as their parent asks them and waits for them.

    c       the Lanes* of lanes.h
    """

    def __init__(self, block: Block, num_envs: int, *, limits: tuple[float, float] | None = None,
                 seeds: Sequence[int] = (), first_row: NDArray[np.int64] | None = None):
        """limits: seconds after which a step and a reset count as hung; None: never. seeds,
        first_row: of the envs, where a trainer asks for them"""
        def at(kind: str, array: NDArray[Any]) -> CObject:
            return ffi().cast(kind, array.ctypes.data)
        self.count = count = len(block.lanes)
        self.seeds = np.array(seeds, np.uint32)
        rows = np.zeros(0, np.int64) if first_row is None else first_row
        sent, (since, progress) = np.zeros(count, np.int32), np.zeros((2, count), np.int64)
        self._kept = (block, rows, sent, since, progress)       # pointers do not keep them
        self._library = library()
        step, reset = (int(seconds * 1e9) for seconds in limits) if limits else (FOREVER, FOREVER)
        self.c: CObject = ffi().new("Lanes*", {
            "lanes": at("Lane*", block.lanes), "bell": at("LaneCounter*", block.bell),
            "sent": at("int32_t*", sent), "count": count, "num_envs": num_envs, "spins": SPINS,
            "bad_lane": -1, "limit": step, "reset_limit": reset, "since": at("int64_t*", since),
            "progress": at("int64_t*", progress), "seeds": at("uint32_t*", self.seeds),
            "first_row": at("int64_t*", rows)})

    @property
    def fine(self) -> bool:
        """Whether no lane has failed."""
        return bool(self.c.bad_lane < 0)

    def fail(self) -> None:
        """No step from now on."""
        self.c.bad_lane, self.c.bad_state = 0, RAISED

    def send(self, command: int, lane: int | None = None) -> None:
        """Ask a lane for STEP, RESET or CALL; None: all."""
        first, count = (0, self.count) if lane is None else (lane, 1)
        self._library.lanes_send(self.c, first, count, command)

    def receive(self, lane: int | None = None) -> bool:
        """Wait until it is done. False where it failed."""
        first, count = (0, self.count) if lane is None else (lane, 1)
        return not self._library.lanes_receive(self.c, first, count, abi.ffi().NULL)

    def ready(self, lane: int) -> bool:
        return bool(self._library.lanes_ready(self.c, lane))

    def wait_for(self, busy: NDArray[np.uint8], wanted: int) -> bool:
        """Wait until so many of the lanes with busy[lane] are done. False where one failed."""
        return not self._library.lanes_any(
            self.c, ffi().cast("unsigned char*", busy.ctypes.data), wanted)
