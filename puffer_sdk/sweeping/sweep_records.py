"""What the files of a sweep hold, as types that base/records.py checks.

Files may hold more than these: what a later version adds is no error.
"""
from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from typing import Any, Literal

from ..base import records
from ..base.errors import Damaged, UsageError
from .space import Space
from .sweep_plan import Plan

Facts = dict[str, Any]      # of a trial or of a sweep: what a Trial or a Study has, as JSON


@dataclass
class Folder:
    """sweep.json"""

    storage: str
    name: str
    mac: str = ""       # of the storage, by whoever named it


@dataclass
class Holder:
    """The process that runs a trial."""

    pid: int
    pid_started: int | None = None
    host: str | None = None


@dataclass
class Trial:
    """The facts of a trial."""

    settings: dict[str, Any] | None = None
    seed: int = 0
    reason: str | None = None
    holder: Holder | None = None
    beat: float = 0.0
    start: bool = False
    cost: float | None = None
    error: str | None = None
    fell: str | None = None
    run: str | None = None
    steps: int | None = None
    ended: float | None = None
    wall: float = 0.0
    share: float = 0.0
    last: float | None = None
    missing: float | None = None
    reached: bool | None = None
    curve: list[float | None] = field(default_factory=list)
    repeats: int | None = None
    trial: int | None = None
    verdict: Literal["best", "default"] | None = None
    surplus: bool = False

    def __post_init__(self) -> None:
        for name in ("beat", "cost", "ended", "wall", "share", "missing"):
            if not -1e12 < (getattr(self, name) or 0) < 1e12:
                raise ValueError(f"{name} is out of range")
        if not all(re.fullmatch(r"[\w.]+", name) for name in self.settings or ()):
            raise ValueError("settings are not named SECTION.KEY")


@dataclass
class Study:
    """The facts of a sweep."""

    plan: dict[str, Any]
    began: float = 0.0
    beat: float = 0.0
    spent: float = 0.0
    seeds: int = 0
    open: bool = False
    over: bool = False
    judged: bool = False

    def __post_init__(self) -> None:
        for name in ("began", "beat", "spent", "seeds"):
            if not 0 <= getattr(self, name) < 1e12:
                raise ValueError(f"{name} is out of range")


def read_trial(text: object, score: object, ended: bool, plan: Plan | None,
               space: Space | None) -> Facts:
    """The facts of a trial, as they are stored. Raises Damaged.

    ended   with a score, which is checked as well
    plan, space     of the sweep, where they are known
    """
    where, what = "puffer", "its record"
    facts: Facts = records.parse(records.convert(text, str, where, what), where, what)
    read = records.convert(facts, Trial, where, what)
    reached = 0.0
    if ended:
        reached = records.convert(score, float, "score", what)
        cost = records.convert(read.cost, float, "cost", what)
        if not (math.isfinite(reached) and cost >= 0) or read.settings is None:
            raise Damaged(f"{what} is damaged", expected="settings, cost and a finite score",
                          actual=f"score {reached:g}")
    if plan and space and read.settings is not None:
        try:
            with records.read_as(what, "settings"):
                space.point({**plan.start, **read.settings})
        except UsageError as error:
            raise Damaged(f"{what} is damaged", where="settings", expected=error.expected,
                          actual=error.actual) from None
        if plan.to_goal and ended and (reached <= 0 or read.reached is None
                                       or not read.reached and read.missing is None):
            raise Damaged(f"{what} is damaged", expected="reached, and what is missing")
    return facts
