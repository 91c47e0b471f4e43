"""A clock that only our calls move: the same readings in every play.

What an info tells of elapsed time is then the same as well, and what still differs is no clock's.
"""
import itertools
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from unittest import mock

CLOCKS = ("time", "monotonic", "perf_counter", "process_time")
BEGIN, TICK = 1_000_000_000, 1_000_000      # nanoseconds; of each reading


@contextmanager
def counting() -> Iterator[None]:
    """Each reading of Python's clocks is a millisecond after the one before."""
    readings = itertools.count(BEGIN, TICK)
    with ExitStack() as patches:
        for name in CLOCKS:
            patches.enter_context(mock.patch.object(time, name, lambda: next(readings) / 1e9))
            patches.enter_context(mock.patch.object(time, f"{name}_ns", lambda: next(readings)))
        yield


class Stopwatch:
    """Seconds that passed, without most of those in which other processes had the core."""

    def __init__(self) -> None:
        self.cpu, self.wall = time.process_time(), time.perf_counter()

    @property
    def seconds(self) -> float:
        return max(time.process_time() - self.cpu, (time.perf_counter() - self.wall) / 4)
