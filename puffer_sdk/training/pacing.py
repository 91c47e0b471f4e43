"""How often to save, by the clock.  the duration of a save -> when the next one is due

Checkpoints at checkpoint_interval, at restarts and at the end are kept. Others replace one another:
at the start, and every few seconds. A signal saves the last whole epoch, if the current one takes
longer than the worker's RESCUE seconds.
"""
from __future__ import annotations

import time

SNAPSHOT = 1.0                      # seconds between snapshots that must wait for the GPU
CLOCK = 2.0                         # seconds between checkpoints that replace one another; more
CLOCK_SHARE = 0.01                  # ... where saving would take more than this share of them,
CLOCK_MOST = 60.0                   # ... but never more than this


class Pace:
    """When one run's worker saves."""

    def __init__(self) -> None:
        self._snapshot = self._saved = self._durable = time.perf_counter()
        self._clock = CLOCK

    def save_is_due(self) -> bool:
        return time.perf_counter() - self._saved > self._clock

    def takes_snapshot(self, wanted: bool) -> bool:
        """Whether one is taken now: if it is wanted, or due."""
        now = time.perf_counter()
        taken = wanted or now - self._snapshot > SNAPSHOT
        self._snapshot = now if taken else self._snapshot
        return taken

    def durable_is_due(self) -> bool:
        """Whether a save has to wait for the disk."""
        return time.perf_counter() - self._durable > CLOCK_MOST

    def saved(self, began: float, *, durable: bool) -> None:
        """began: when it did, by time.perf_counter()"""
        self._saved = time.perf_counter()
        self._durable = self._saved if durable else self._durable
        self._clock = min(max(CLOCK, (self._saved - began) / CLOCK_SHARE), CLOCK_MOST)
