"""The memory that a parent and its child share.  a file descriptor -> Page

    stop flag | one PufferWatch a worker | a ring of bytes that carries events
"""
from __future__ import annotations

import mmap
import time
from collections.abc import Callable

import numpy as np

WORKERS = 64                        # watches on the page
RING = 1 << 20                      # bytes of the event ring
HEADER = 64
WATCH = np.dtype([("step", "i8"), ("env", "i8"), ("seed", "i8"), ("phase", "i4"),
                  ("pulse", "i4")])                         # PufferWatch of puffer_abi.h
PAGE = HEADER + WORKERS * WATCH.itemsize + RING
SOME_ENV = -2                       # in a watch: one of the envs, but which one is unknown
PYTHON = 8                          # added to a phase: it is Python that runs in that process
ANEW = 16                           # added in place of PYTHON: copies have other seeds by now
PHASES = ("idle", "init", "c_reset", "c_step", "c_close", "c_render")
STARTING = (1, 2)                   # phases: init and c_reset


class Page:
    """The shared memory: [stop, written, read, handled] as int64, the watches, the ring.

    written and read count bytes; handled counts events that the parent has dealt with.
    """

    def __init__(self, fd: int):
        self.map = mmap.mmap(fd, PAGE)
        raw = np.frombuffer(self.map, np.uint8)
        self.head = raw[:32].view(np.int64)
        end = HEADER + WORKERS * WATCH.itemsize
        self.watches = raw[HEADER:end].view(WATCH)
        self.ring = raw[end:]

    def write(self, data: bytes, alive: Callable[[], bool] = lambda: True) -> None:
        """Append bytes, waiting for room."""
        view = np.frombuffer(data, np.uint8)
        while len(view) and alive():
            start = int(self.head[1])
            room = RING - (start - int(self.head[2]))
            count = min(room, len(view), RING - start % RING)
            if count == 0:
                time.sleep(0.002)
                continue
            self.ring[start % RING:start % RING + count] = view[:count]
            self.head[1] = start + count
            view = view[count:]

    def read(self) -> bytes:
        """All bytes that have come since the last call."""
        start, end = int(self.head[2]), int(self.head[1])
        out = b""
        while start < end:
            count = min(end - start, RING - start % RING)
            out += self.ring[start % RING:start % RING + count].tobytes()
            start += count
        self.head[2] = start
        return out
