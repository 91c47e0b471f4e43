"""What run.json and the metadata of checkpoints hold, as types that base/records.py checks.

Files may hold more than these: what a later version adds is no error. What every version has is in
a class of its own, which begins with an underscore.
"""
from __future__ import annotations

from typing import Annotated, Any, Literal, TypedDict

import msgspec

from ..scoring.kept_scores import Claim, Count, KeptScore
from ..settings.world_values import Change

Seconds = Annotated[float, msgspec.Meta(ge=0, lt=1e12)]


class Group(TypedDict, total=False):
    """The processes that share a run."""

    id: str | None
    size: int
    hosts: list[str]


class KeptLook(TypedDict):
    """An evaluation of the best weights so far: looks.Look."""

    step: int
    score: KeptScore
    of_envs: dict[str, list[float | None]]


class Machine(TypedDict):
    """What results were computed with: this_machine.py."""

    cpu: str
    cores: int
    memory_gib: int | None
    system: str
    compiler: str
    python: str
    numpy: str
    puffer_sdk: str


class CodeFile(TypedDict):
    sha256: str
    copied: bool            # into the run's folder code/


class _Code(TypedDict):
    hash: str
    files: dict[str, CodeFile]


class Code(_Code, total=False):
    """info["code"]: what the run was made of, as provenance.py describes it."""

    loop: list[str]
    packages: dict[str, str]
    flags: list[str]
    commit: str | None
    dirty: bool | None
    machine: Machine
    command: str
    before: list[str]
    mac: str


Status = Literal["running", "finished", "interrupted", "failed"]


class WithStatus(TypedDict):
    """What run.json must hold."""

    status: Status


class Info(TypedDict, total=False):
    """run.json; empty where it cannot be read."""

    status: Status
    tag: str | None
    started: str | None
    ended: str | None
    pid: Count | None
    pid_started: Count | None
    host: str | None
    step: Count | None
    total: Count | None
    group: Group | None
    evaluation: Claim | None
    error: str
    model: str
    code: Code | None


class _Env(TypedDict):
    name: str
    obs_size: int
    obs_dtype: str
    act_sizes: list[int]


class Env(_Env, total=False):
    """facts["env"]"""

    layout: dict[str, Any] | None
    actions: dict[str, Any] | None
    spec_hash: str | None
    masked: bool
    comes_and_goes: bool


class _Counters(TypedDict):
    epoch: Count
    global_step: Count
    minibatch_carry: float
    optimizer_steps: Count


class Counters(_Counters, total=False):
    """facts["counters"], where a run goes on from it"""

    return_rms: float       # these are of later versions
    rate_factor: float
    highest_return: float


class Reached(TypedDict):
    """facts["goal"]: when an evaluation confirmed it"""

    goal: str
    step: int
    seconds: float


class KeptRestarts(TypedDict):
    """facts["replay"]["restarts"]: action_log.Restarts"""

    ticks: int
    epochs: int
    entries: float
    length: float


class _Replay(TypedDict):
    epoch: Count
    bytes: Count
    checksum: int
    restarts: KeptRestarts


class Replay(_Replay, total=False):
    """facts["replay"]"""

    worlds: list[Change]    # since the envs' start


class KeptWindow(TypedDict):
    """facts["window"]: log_window.Window"""

    rows: list[tuple[int, dict[str, float]]]
    total: float


class KeptPeak(TypedDict):
    """The weights of `step`, at which training's mean of `metric` was the best so far."""

    step: int
    metric: str
    value: float


class KeptState(TypedDict, total=False):
    """facts["evaluations"]: looks.State"""

    spent: Count
    seconds: float
    looked: Count
    promise: float | None
    length: float
    tail: float
    noted: int
    entries: float
    logged: float
    began: float
    endless: bool
    attempts: Count
    pause: Count
    spans: dict[str, tuple[float, float]]
    rivals: Count
    best: KeptLook | None
    peak: KeptPeak | None
    goal: Reached | None
    claim: Claim | None


class FormerTrain(TypedDict, total=False):
    """What earlier versions had in [train] in place of obs_scale."""

    scale_obs: bool | None
    encoder_scale: float | None


class _Facts(TypedDict):
    env: Env
    config: dict[str, dict[str, Any]]
    counters: dict[str, float]
    epoch: Count
    step: Count
    seconds: Seconds


class Facts(_Facts, total=False):
    """The metadata of a checkpoint, as the docstring of checkpoint.py describes them."""

    format_version: int
    checksum: str
    goal: Reached | None
    kept: bool
    started: bool
    replay: Replay | None
    evaluations: KeptState | None
    evaluation: Claim | None
    row: list[tuple[str, float | None]] | None
    window: KeptWindow | list[tuple[int, dict[str, float]]]
    own: dict[str, Any]     # own_state.py
    worlds: list[Change]    # what has changed of the envs' settings, for envs that start anew
    weights: str            # the file of PufferLib that they were read from (flat.py)
