"""Scores as runs and checkpoints keep them.  types that base/records.py checks

Nothing here imports NumPy: shell completion reads runs.
"""
from __future__ import annotations

from typing import Annotated, TypedDict

import msgspec

from ..base.documents import says

Count = Annotated[int, msgspec.Meta(ge=0, lt=1 << 62)]      # in files: of steps, bytes, processes


# Fields that a Score and what is kept of it share
Unit = Annotated[str, says('"per episode" or "episodes do not end"')]
Counted = Annotated[int, says("episodes that were counted; log entries, where none end")]
Ticks = Annotated[int, says("how long each env was played, at most, in ticks")]
Unfinished = Annotated[int, says("agents that ended fewer episodes than were to count")]
Means = Annotated[dict[str, float | None], says(
    "of each field of the log, in its own unit; and what comes in 1000 ticks")]
Intervals = Annotated[dict[str, float | None], says(
    "half width of each 95 % interval; null with one env")]
ZeroSum = Annotated[bool, says("whether the rewards of each env's agents added up to 0")]
Span = Annotated[int, says("ticks of each env that its rates are of; 0: of unlike ones")]
Opponent = Annotated[str, says('whom it met, in an env of teams; "": it played all agents')]


class _KeptScore(TypedDict):
    policy: Annotated[str, says('"trained" or "random"')]
    unit: Unit
    count: Counted
    ticks: Ticks
    unfinished: Unfinished
    mean: Means
    interval: Intervals


class KeptScore(_KeptScore, total=False):
    """A Score, as runs and checkpoints keep it: without its episodes."""

    zero_sum: ZeroSum
    span: Span
    opponent: Opponent


class FarNumbers(TypedDict):
    """Numbers of an observation whose size, times train.obs_scale, is far from 1."""

    count: Annotated[Count, says("how many")]
    of: Annotated[Count, says("of how many")]
    size: Annotated[float, says("of the one that is farthest")]
    factors: Annotated[str, says('an obs_scale that brings them near; "" where it is long')]


class Shown(TypedDict, total=False):
    """What the play of a claim showed."""

    held: Annotated[list[float], says("the action that is taken on nearly every tick")]
    far: Annotated[FarNumbers, says("numbers that a network reads badly")]


class _Claim(TypedDict):
    step: Annotated[Count, says("agent steps after which it had these weights")]
    metric: Annotated[str, says("what says which weights are the best")]
    trained: Annotated[KeptScore, says("of the best weights")]
    random: Annotated[KeptScore, says("of random play")]


class Claim(_Claim, total=False):
    """What a run says of its best weights, those of `step`."""

    least: Annotated[bool, says("whether less is better")]
    rated: Annotated[bool, says("whether episodes do not all end")]
    unmoved: Annotated[list[str], says("measures that come before `metric` and never moved")]
    shown: Annotated[Shown, says("by the play of these weights")]
    last: Annotated[KeptScore, says(
        "of the last weights, where they are worse than these by more than chance")]
    last_step: Annotated[Count, says("their step")]
