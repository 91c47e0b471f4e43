"""What run.json and the metadata of checkpoints hold, as types that base/records.py checks.

Files may hold more than these: what a later version adds is no error.
"""
from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

MOST = 1 << 62          # of steps, epochs, bytes and process ids


@dataclass
class Group:
    """The processes that share a run."""

    id: str | None = None
    size: int = 1
    hosts: list[str] = field(default_factory=list)


@dataclass
class Played:
    """A Score, as it is kept."""

    policy: str
    unit: str
    count: int
    ticks: int
    unfinished: int
    mean: dict[str, float | None]
    interval: dict[str, float | None]
    zero_sum: bool = False
    span: int = 0


@dataclass
class Claim:
    """What a run says of its best weights."""

    step: int
    metric: str | None
    trained: Played
    random: Played
    least: bool = False
    rated: bool = False
    unmoved: list[str] = field(default_factory=list)

    def __post_init__(self):
        _check_counts(self, "step")


@dataclass
class Look:
    """An evaluation of the best weights so far."""

    step: int
    score: Played
    of_envs: dict[str, list[float | None]]


@dataclass
class Info:
    """What run.json must hold, and may; it may hold more."""

    status: Literal["running", "finished", "interrupted", "failed"]
    tag: str | None = None
    started: str | None = None
    ended: str | None = None
    pid: int | None = None
    pid_started: int | None = None
    host: str | None = None
    step: int | None = None
    total: int | None = None
    group: Group | None = None
    evaluation: Claim | None = None

    def __post_init__(self):
        _check_counts(self, "pid", "pid_started", "step", "total")


@dataclass
class Env:
    """facts["env"], as far as every environment has it."""

    name: str
    obs_size: int
    obs_dtype: str
    act_sizes: list[int]
    layout: dict[str, Any] | None = None


@dataclass
class Counters:
    """facts["counters"], where a run goes on from it"""

    epoch: int
    global_step: int
    minibatch_carry: float
    optimizer_steps: int

    def __post_init__(self):
        _check_counts(self, "epoch", "global_step", "optimizer_steps")


@dataclass
class Reached:
    """facts["goal"]"""

    goal: str
    step: int
    seconds: float


@dataclass
class Restarts:
    """facts["replay"]["restarts"]"""

    ticks: int
    epochs: int
    entries: float
    length: float


@dataclass
class Replay:
    """facts["replay"]"""

    epoch: int
    bytes: int
    checksum: int
    restarts: Restarts

    def __post_init__(self):
        _check_counts(self, "epoch", "bytes")


@dataclass
class Evaluations:
    """facts["evaluations"]: looks.State"""

    spent: int = 0
    looked: int = 0
    promise: float | None = None
    length: float = 0.0
    tail: float = 2.5
    noted: int = 0
    entries: float = 0.0
    logged: float = 0.0
    began: float = 0.0
    endless: bool = False
    attempts: int = 0
    pause: int = 0
    spans: dict[str, tuple[float, float]] = field(default_factory=dict)
    best: Look | None = None
    goal: Reached | None = None
    claim: Claim | None = None

    def __post_init__(self):
        _check_counts(self, "spent", "looked", "attempts", "pause")


@dataclass
class FormerTrain:
    """What earlier versions had in [train] in place of obs_scale."""

    scale_obs: bool | None = None
    encoder_scale: float | None = None


@dataclass
class Facts:
    """What the metadata of a checkpoint must hold, and may; it may hold more."""

    env: Env
    config: dict[str, dict[str, Any]]
    counters: dict[str, int | float]
    epoch: int
    step: int
    seconds: float
    checksum: str = ""
    goal: Reached | None = None
    kept: bool = True
    started: bool = True
    replay: Replay | None = None
    evaluations: Evaluations | None = None
    evaluation: Claim | None = None
    row: list[tuple[str, float | None]] | None = None

    def __post_init__(self):
        _check_counts(self, "epoch", "step")
        if not 0 <= self.seconds < 1e12:
            raise ValueError("seconds is out of range")


def _check_counts(record: object, *names: str) -> None:
    for name in names:
        if not 0 <= (getattr(record, name) or 0) < MOST:
            raise ValueError(f"{name} is out of range")
