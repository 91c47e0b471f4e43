"""What the files of a sweep hold, as types that base/records.py checks.

Files may hold more than these: what a later version adds is no error.
"""
from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any, Literal


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

    def __post_init__(self):
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

    def __post_init__(self):
        for name in ("began", "beat", "spent", "seeds"):
            if not 0 <= getattr(self, name) < 1e12:
                raise ValueError(f"{name} is out of range")
