"""One evaluation of a policy, and the state of a run's evaluations.  Entries -> Look

Checkpoints hold both; run_records.py has their types.
"""
from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from ..scoring.entries import Entries
from ..scoring.intervals import clustered_mean
from ..scoring.kept_scores import Claim, KeptScore, Shown
from ..scoring.score import Score
from ..scoring.words import FAR
from .run_records import KeptLook, KeptPeak, KeptState, Reached

STILL = 1e-5            # of a number's size: what moves by less has not moved
OF_BEFORE = 2           # episodes that the expected length of one counts for


@dataclass
class Look:
    """One evaluation.

    of_envs     {"perf": mean of each env, None where it logged none}, and its rates, where they
                are of the whole span: for comparisons
    """

    step: int
    score: Score
    of_envs: dict[str, list[float | None]]
    shown: Shown = field(default_factory=Shown)     # by the play, for a claim


@dataclass
class State:
    """Kept in checkpoints, so that a resumed run repeats every evaluation."""

    spent: int = 0                  # agent steps of evaluations so far
    seconds: float = 0.0            # and the time of those that training waited for
    looked: int = 0                 # step of the last choosing evaluation
    promise: float | None = None    # the window's value then
    length: float = 0.0             # ticks of an episode, by the last evaluation; 0: unknown
    tail: float = 2.5               # the longest episode of a play over their mean
    noted: int = 0                  # agent steps of training since its envs started ...
    entries: float = 0.0            # ... what it logged ...
    logged: float = 0.0             # ... and ticks of these episodes
    began: float = 0.0              # ticks of an episode in the run's first eighth; 0: unknown
    endless: bool = False           # whether that one's episodes do not all end
    attempts: int = 0               # to confirm the goal
    pause: int = 0                  # step before which the goal is not tried again
    spans: dict[str, tuple[float, float]] = field(default_factory=dict)     # least, greatest logged
    rivals: int = 0                 # earlier weights that the best ones met
    best: KeptLook | None = None    # of the best weights
    peak: KeptPeak | None = None    # of training's means
    goal: Reached | None = None     # when it was confirmed
    claim: Claim | None = None      # what the run says at its end

    @classmethod
    def of(cls, kept: KeptState | None) -> State:
        """The state that a checkpoint holds; None: that of a new run."""
        state = cls()
        for name, value in (kept or {}).items():
            if hasattr(state, name):
                setattr(state, name, value)
        return state

    def note(self, log: Mapping[str, float], steps: int, first: float) -> None:
        """An epoch of training, of so many agent steps, logged this. first: steps of a run's
        beginning"""
        self.noted += steps
        self.entries += log.get("n", 0.0)
        self.logged += log.get("n", 0.0) * log.get("episode_length", 0.0)
        if self.entries and not self.looked and self.noted <= first:
            self.began = self.logged / self.entries
        self.note_spans(log)

    def note_spans(self, log: Mapping[str, float]) -> None:
        for name, value in log.items():
            if name != "n" and math.isfinite(value):
                low, high = self.spans.get(name, (value, value))
                self.spans[name] = min(low, value), max(high, value)

    def compared(self, names: list[str]) -> tuple[str, list[str]]:
        """(what policies are compared by, what would come before it, is logged, and never moved):
        the first of these names that ever moved, or else the first that is logged."""
        logged = [name for name in dict.fromkeys(names) if name in self.spans]
        moved = [name for name in logged
                 if np.ptp(self.spans[name]) > STILL * max(map(abs, self.spans[name]))]
        metric = next(iter(moved or logged), "episode_return")
        return metric, logged[:logged.index(metric)] if metric in logged else []

    def is_peak(self, step: int, metric: str, value: float, pause: float) -> bool:
        """Whether a value of training is below none before, and the last peak so many steps ago.
        """
        peak = self.peak
        if peak and peak["metric"] == metric and (
                step - peak["step"] < pause or value < peak["value"]):
            return False
        self.peak = {"step": step, "metric": metric, "value": value}
        return True

    def has_lost(self, metric: str, sign: float, means: Mapping[str, float]) -> bool:
        """Whether training's means say by themselves that much was unlearned: of all between the
        worst ever logged and the peak. Then an evaluation that agrees needs to prove nothing."""
        peak = self.peak
        if peak is None or peak["metric"] != metric or metric not in means:
            return False
        worst = min(sign * each for each in self.spans.get(metric, (0.0,)))
        return peak["value"] - sign * means[metric] > FAR * (peak["value"] - worst)

    def kept(self) -> KeptState:
        """JSON-able; what changes later is copied."""
        return {"spent": self.spent, "seconds": self.seconds, "looked": self.looked,
                "promise": self.promise,
                "length": self.length, "tail": self.tail, "noted": self.noted,
                "entries": self.entries, "logged": self.logged, "began": self.began,
                "endless": self.endless, "attempts": self.attempts, "pause": self.pause,
                "spans": dict(self.spans), "rivals": self.rivals, "best": self.best,
                "peak": self.peak, "goal": self.goal, "claim": self.claim}


def without_episodes(score: Score) -> KeptScore:
    kept: KeptScore = {
        "policy": score.policy, "unit": score.unit, "count": score.count, "ticks": score.ticks,
        "unfinished": score.unfinished, "mean": score.mean, "interval": score.interval,
        "zero_sum": score.zero_sum, "span": score.span}
    if score.opponent:
        kept["opponent"] = score.opponent
    return kept


def kept_of(look: Look) -> KeptLook:
    """A Look for the state: without its episodes, which checkpoints would write each time."""
    return {"step": look.step, "score": without_episodes(look.score), "of_envs": look.of_envs}


def is_less(new: Sequence[float | None], old: Sequence[float | None], sign: float, surely: bool
            ) -> bool:
    """Whether what the envs of one evaluation logged is less than that of another, on the same
    seeds. sign: -1 where less is better, for whether it is more; surely: by more than chance"""
    pairs = [(ours, theirs) for ours, theirs in zip(new, old)
             if ours is not None and theirs is not None]
    if len(pairs) < 2:
        return False
    gaps = np.subtract(*zip(*pairs))
    gap, half = clustered_mean(gaps, range(len(gaps)))
    return half is not None and sign * gap < -half * surely


def length_of(entries: Entries, expected: float, endless: float) -> float:
    """Ticks of an episode, as far as a play shows; `endless` in a world that logs and ends nothing.

    expected    before: worth as much as OF_BEFORE episodes
    """
    finished = int(entries.finished.sum())
    if not finished and entries.alone.any():
        return max(1.0, endless)
    if not finished:
        return float(max(expected, entries.ages.max(initial=1)))
    return float(entries.ages.sum() + OF_BEFORE * expected) / (finished + OF_BEFORE)


def of_envs(entries: Entries, names: Iterable[str]) -> dict[str, list[float | None]]:
    """{"perf": its mean in each env that counts, None where it logged none}."""
    found: dict[str, list[float | None]] = {}
    counted = entries.counted
    for name in dict.fromkeys(names):
        each = [entry for entry in counted if name in entry]
        if each:
            envs, n = [entry["env"] for entry in each], np.array([entry["n"] for entry in each])
            sums = np.bincount(envs, n * [entry[name] for entry in each], entries.kept)
            found[name] = [total / weight if weight else None for total, weight in zip(
                sums.tolist(), np.bincount(envs, n, entries.kept).tolist())]
    return found
