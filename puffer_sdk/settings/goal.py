"""What counts as solved.  "score >= 800" and log entries -> reached, or not yet

A goal names one thing that the environment logs, as [eval] goal does. Training judges it by means
over at least ENTRIES log entries, so that a lucky episode is not taken for skill.
"""
from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from .texts import parse_number, show

ENTRIES = 100
FORM = "NAME >= NUMBER, or NAME <= NUMBER"


@dataclass(frozen=True)
class Goal:
    """`name` is to be at least (or at most) `value`."""

    name: str               # of a log field: "score", "perf", "episode_return", ...
    at_least: bool
    value: float

    def __str__(self) -> str:
        return f"{self.name} {'>=' if self.at_least else '<='} {show(self.value)}"

    def is_met(self, value: float) -> bool:
        return value >= self.value if self.at_least else value <= self.value


def parse_goal(text: str) -> Goal | None:
    """The goal that a text states; None for an empty text. Raises ValueError."""
    if not text.strip():
        return None
    match = re.fullmatch(r"\s*([A-Za-z_]\w*)\s*(>=|<=)\s*(\S+)\s*", text)
    if not match:
        raise ValueError(FORM)
    return Goal(match[1], match[2] == ">=", float(parse_number(match[3])))


class GoalWatch:
    """Looks at the logs of a run, epoch by epoch, until the goal is reached."""

    def __init__(self, goal: Goal | None):
        self.goal, self.reached = goal, False
        self.forget()

    def forget(self) -> None:
        """Begin a new mean: the environments were made anew."""
        self.entries = self.total = 0.0

    def look(self, log: Mapping[str, float]) -> bool:
        """True once: when a mean over ENTRIES log entries first meets the goal.

        log     what VecEnv.log() gave for the last epoch: means, and their number n
        """
        if self.goal is None or self.reached or self.goal.name not in log:
            return False
        self.entries += log["n"]
        self.total += log["n"] * log[self.goal.name]
        if self.entries < ENTRIES:
            return False
        self.reached = self.goal.is_met(self.total / self.entries)
        self.forget()
        return self.reached
