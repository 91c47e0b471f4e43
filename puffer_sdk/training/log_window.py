"""Means over a run's latest log entries, for display.  logs -> means

Episodes that ended need not be like the others: evaluations.py measures.

One epoch may hold a handful of episodes, and its mean little truth. A window holds whole epochs,
weighted by their entries: the last tenth of the run; less where that holds more than MOST entries,
and more where it holds fewer than LEAST.
"""
from __future__ import annotations

from collections import deque
from collections.abc import Mapping

from .run_records import KeptWindow

LEAST = 100
MOST = 1000
SHARE = 0.1             # of the run's steps


class Window:
    """Call add() with the log of each epoch; `means` then holds the window's.

    total       entries of the run so far
    last        agent steps at the end of the last epoch that logged anything
    """

    def __init__(self) -> None:
        self.rows: deque[tuple[int, dict[str, float]]] = deque()
        self.entries = self.total = 0.0

    def add(self, step: int, log: Mapping[str, float]) -> None:
        """step: agent steps so far. log: what VecEnv.log() gave, with its number n"""
        if log:
            self.rows.append((step, dict(log)))
            self.entries += log["n"]
            self.total += log["n"]
        while len(self.rows) > 1:
            first, oldest = self.rows[0]
            left = self.entries - oldest["n"]
            if not (left >= MOST or (left >= LEAST and first < (1 - SHARE) * step)):
                break
            self.rows.popleft()
            self.entries = left

    @property
    def last(self) -> int | None:
        return self.rows[-1][0] if self.rows else None

    @property
    def means(self) -> dict[str, float]:
        """{"perf": mean, ..., "n": entries}; {} before the first entry."""
        if not self.rows:
            return {}
        n = sum(log["n"] for _, log in self.rows)
        names = [name for name in self.rows[-1][1] if name != "n"]
        return {**{name: sum(log["n"] * log.get(name, 0.0) for _, log in self.rows) / n
                   for name in names}, "n": n}

    @property
    def full(self) -> bool:
        """Whether it holds enough entries to promise anything."""
        return self.entries >= LEAST

    @property
    def state(self) -> KeptWindow:
        """For a checkpoint; load() takes it, and the list of rows that format 1 has."""
        return {"rows": list(self.rows), "total": self.total}

    def load(self, state: KeptWindow | list[tuple[int, dict[str, float]]]) -> None:
        rows = state if isinstance(state, list) else state["rows"]
        self.rows = deque((step, dict(log)) for step, log in rows)
        self.entries = sum(log["n"] for _, log in self.rows)
        self.total = self.entries if isinstance(state, list) else state["total"]
