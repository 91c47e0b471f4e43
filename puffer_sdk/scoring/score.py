"""Score a play.  Entries -> a Score: means, their intervals, rates

A score is the mean of what the environment logs: of each env the first entries, as entries.py
counts them, and envs weigh alike. An environment that logs nothing is measured by its rewards and
endings. What comes in 1000 ticks, of the first [eval] steps of every env, is known whether episodes
end or not. Intervals are 95 %, by Student's t over envs (agents of one env are not independent).
"""
from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Annotated

import numpy as np

from ..base.documents import says
from .entries import Entries, Entry
from .games import WIN
from .intervals import clustered_mean, share_interval
from .kept_scores import (
    Counted,
    Intervals,
    Means,
    Opponent,
    Span,
    Ticks,
    Unfinished,
    Unit,
    ZeroSum,
)

PER_EPISODE = "per episode"
ENDLESS = "episodes do not end"
PLACE = ("env", "agent", "seat", "seed", "tick", "n")       # of an entry: what is no measure
ORDER = ("win_rate", "draw_rate", "perf", "score", "episode_return", "episode_length")
RETURN_RATE, ENTRY_RATE = "return_per_1000_ticks", "entries_per_1000_ticks"
RATES = (RETURN_RATE, ENTRY_RATE)
FEW = 10                # episodes below which an interval says nothing


@dataclass(frozen=True)
class Score:
    """The score of one player."""

    policy: Annotated[str, says('"trained", "random" or "idle"')]
    unit: Unit
    count: Counted
    ticks: Ticks
    unfinished: Unfinished
    mean: Means
    interval: Intervals
    zero_sum: ZeroSum = False
    span: Span = 0
    episodes: Annotated[list[Entry], says(
        "each counted entry: env, seed, tick, n and its log fields; agent, if one agent's episode "
        "ended; against an opponent, seat and the measures",
        items={"type": "object", "additionalProperties": {"type": ["number", "null"]}})] \
        = field(default_factory=list, repr=False)
    opponent: Opponent = ""

    @property
    def whole(self) -> bool:
        """Whether all agents have ended their quota of episodes."""
        return self.unit == PER_EPISODE and self.settled

    @property
    def settled(self) -> bool:
        """Whether all agents have their quota of episodes, or of entries if none end."""
        return not self.unfinished and self.count > 0


def score_of(entries: Entries, policy: str, opponent: str = "") -> Score:
    """The score of a play, with its rates: only_episodes() drops them."""
    counted = entries.counted
    mean: dict[str, float | None] = {}
    interval: dict[str, float | None] = {}
    envs, weights = [each["env"] for each in counted], [each["n"] for each in counted]
    for name in measures_of(counted):
        mean[name], interval[name] = clustered_mean(
            [each[name] for each in counted], envs, weights)
    if WIN in mean:         # chance has a share of it, even where all envs happen to agree
        share, low, high = share_interval([each[WIN] for each in counted], envs)
        half = max(interval[WIN] or 0.0, share - low, high - share)
        interval[WIN] = min(half, max(share, 1 - share))    # of two envs, Student's t goes beyond
    span = span_of(entries)
    rows, endings = entries.rows, bool(entries.ended[:entries.kept].any())
    short = entries.seen & (entries.finished < entries.quota) & ~entries.done[entries.env_of]
    unfinished = int(short[:rows].sum())
    for name, rates in rates_of(entries).items() if span or unfinished else ():
        mean[name], interval[name] = clustered_mean(rates, range(len(rates)))
    return Score(policy, PER_EPISODE if endings else ENDLESS, round(sum(weights)), entries.tick,
                 unfinished, mean, interval, entries.zero_sum, span, counted, opponent)


def span_of(entries: Entries) -> int:
    """Ticks of each env that its rates are of; 0 where these are not equally many."""
    clocks = entries.clocks[:entries.kept].clip(max=entries.span)
    return int(clocks.min()) if entries.seen.any() and (clocks == clocks[0]).all() else 0


def measures_of(counted: list[Entry]) -> list[str]:
    """What entries measure, the usual names first."""
    names = [name for name in (counted[0] if counted else ()) if name not in PLACE]
    return sorted(names, key=lambda name: ORDER.index(name) if name in ORDER else len(ORDER))


def rates_of(entries: Entries) -> dict[str, np.ndarray]:
    """What came in 1000 ticks, for each env that counts: rewards of an agent, and log entries."""
    kept, there = entries.kept, entries.agents_of_envs[:entries.kept] > 0
    scale = 1000.0 / entries.per_env(entries.rated).clip(1)     # 0: Ctrl-C came first
    return {RETURN_RATE: (entries.per_env(entries.earned) * scale)[:kept][there],
            ENTRY_RATE: (entries.entered * scale)[:kept][there]}


def comparable(scores: Iterable[Score]) -> list[Score]:
    """Scores that stand beside each other: where one's episodes do not all end, all have rates;
    else none has."""
    scores = list(scores)
    return scores if any(not score.whole for score in scores) else list(map(only_episodes, scores))


def only_episodes(score: Score) -> Score:
    mean, interval = ({name: value for name, value in part.items() if name not in RATES}
                      for part in (score.mean, score.interval))
    return replace(score, mean=mean, interval=interval)
