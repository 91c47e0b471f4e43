"""Which of two ways to do a thing is faster.  two functions, in turns -> the faster"""
from __future__ import annotations

import time
from collections.abc import Callable

TRIALS = 16             # of each, before it is decided: the median counts


class ThreadAutotune:
    """Times two functions that do the same, one each turn."""

    def __init__(self) -> None:
        self._seconds: tuple[list[float], list[float]] = ([], [])

    def turn(self, *ways: Callable[[], None]) -> None:
        """Call the one whose turn it is."""
        which = len(self._seconds[0]) > len(self._seconds[1])
        began = time.perf_counter()
        ways[which]()
        self._seconds[which].append(time.perf_counter() - began)

    @property
    def over(self) -> bool:
        return len(self._seconds[1]) == TRIALS

    @property
    def first_is_faster(self) -> bool:
        first, second = (sorted(each)[TRIALS // 2] for each in self._seconds)
        return first <= second
