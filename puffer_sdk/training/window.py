"""What a run has reached: means over its latest log entries.  logs, epoch by epoch -> means

One epoch may hold a handful of episodes, and its mean little truth. A window holds whole epochs,
weighted by their entries: the last tenth of the run; less where that holds more than MOST entries,
and more where it holds fewer than LEAST.
"""
from __future__ import annotations

from collections import deque
from collections.abc import Mapping

from ..settings.goal import ENTRIES as LEAST
from ..settings.goal import Goal

MOST = 1000
SHARE = 0.1             # of the run's steps


class Window:
    """Call add() with the log of each epoch; `means` then holds the window's."""

    def __init__(self):
        self.rows: deque[tuple[int, dict[str, float]]] = deque()
        self.entries = 0.0

    def add(self, step: int, log: Mapping[str, float]) -> None:
        """step: agent steps so far. log: what VecEnv.log() gave, with its number n"""
        if log:
            self.rows.append((step, dict(log)))
            self.entries += log["n"]
        while len(self.rows) > 1:
            first, oldest = self.rows[0]
            left = self.entries - oldest["n"]
            if not (left >= MOST or (left >= LEAST and first < (1 - SHARE) * step)):
                break
            self.rows.popleft()
            self.entries = left

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
        """Whether it holds enough entries to be judged by."""
        return self.entries >= LEAST

    @property
    def state(self) -> list:
        """For a checkpoint; load() takes it."""
        return [[step, log] for step, log in self.rows]

    def load(self, state: list) -> None:
        self.rows = deque((int(step), dict(log)) for step, log in state)
        self.entries = sum(log["n"] for _, log in self.rows)


class Best:
    """The best window so far: by what the goal names, or else by perf.

    met     {"metric", "value", "step"} of the best, or None
    """

    def __init__(self, goal: Goal | None):
        self.metric = goal.name if goal else "perf"
        self.sign = 1.0 if goal is None or goal.at_least else -1.0
        self.met: dict | None = None

    def look(self, step: int, window: Window) -> bool:
        """Whether this window is the best so far. Too few entries are none."""
        value = window.means.get(self.metric)
        if not window.full or value is None or value != value:
            return False
        if self.met and self.met["metric"] == self.metric \
                and self.sign * value <= self.sign * self.met["value"]:
            return False
        self.met = {"metric": self.metric, "value": value, "step": step}
        return True
