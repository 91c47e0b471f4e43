"""What counts as solved.  "score >= 800" -> Goal

A goal names one thing that the environment logs, as [eval] goal does, or that games tell.
"""
from __future__ import annotations

import re
from dataclasses import dataclass

from .texts import parse_number, show

# of one side; what is logged is of both
OF_GAMES = ("win_rate", "draw_rate", "episode_return", "opponent_return", "episode_length")
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
