"""Scores as runs and checkpoints keep them.  types that base/records.py checks

Nothing here imports NumPy: shell completion reads runs.
"""
from __future__ import annotations

from typing import Annotated, TypedDict

import msgspec

Count = Annotated[int, msgspec.Meta(ge=0, lt=1 << 62)]      # in files: of steps, bytes, processes


class _KeptScore(TypedDict):
    policy: str
    unit: str
    count: int
    ticks: int
    unfinished: int
    mean: dict[str, float | None]
    interval: dict[str, float | None]


class KeptScore(_KeptScore, total=False):
    """A Score, as runs and checkpoints keep it: without its episodes."""

    zero_sum: bool
    span: int
    opponent: str


class FarNumbers(TypedDict):
    """Numbers of an observation whose size, times train.obs_scale, is far from 1."""

    count: Count
    of: Count
    size: float             # of the one that is farthest
    factors: str            # an obs_scale that brings them near; "" where it is long


class Shown(TypedDict, total=False):
    """What the play of a claim showed."""

    held: list[float]       # the action that is taken on nearly every tick
    far: FarNumbers


class _Claim(TypedDict):
    step: Count
    metric: str
    trained: KeptScore
    random: KeptScore


class Claim(_Claim, total=False):
    """What a run says of its best weights, those of `step`."""

    least: bool             # whether less is better
    rated: bool             # whether episodes do not all end
    unmoved: list[str]      # measures that come before `metric` and never moved
    shown: Shown            # by the play of these weights
    last: KeptScore         # of the last weights, where they are worse than these by more than
    last_step: Count        # chance; and their step
