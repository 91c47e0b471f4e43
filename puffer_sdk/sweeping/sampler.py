"""What to try next.  finished and running trials -> settings, and the reason for them

    sampler = Sampler(Space({...}), start={...})
    for _ in range(100):
        suggestion = sampler.ask()
        score, cost = train(**suggestion.settings)
        sampler.tell(suggestion, score, cost)
    print(sampler.best().settings)

Two Gaussian processes model the score and the logarithm of the cost. Each suggestion has one of two
aims, drawn by chance. "best": the greatest expected improvement over the best mean score so far.
"front": the greatest expected gain of the area below the curve of best score against log cost, so
that what is nearly as good and far cheaper is found too. Either is multiplied by the chance that
the trial does not fail, and divided by a power of what it will cost: compute is what a sweep
spends, and many cheap trials teach more than a dear one. Every LAVISH-th suggestion is not divided:
where no trial has learned yet, the cheapest look as good as any. Trials still running count as if
they had reached what the model expects, so that parallel suggestions differ.

What `ask` returns depends on the seed and on the trials alone: a sampler that is told the same
trials again suggests the same settings. minimize=True of a score is maximize of its negative,
exactly.
"""
from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ..base.errors import UsageError
from .gaussian import GaussianProcess
from .space import Space
from .warping import unwarped, warped

RUNNING, DONE, FAILED, STOPPED = "running", "done", "failed", "stopped"
SPREAD = 5                  # trials over the whole space before a model chooses
THRIFT = (1.0, 0.5)         # the power of its cost by which a suggestion's gain is divided
LAVISH = 10                 # one suggestion of so many looks at no cost
FAR, NEAR, KEPT = 600, 1400, 200    # candidates: anywhere, near good trials, weighed in full
SHARE = 20                  # the models' parameters are those of a multiple of n / SHARE trials
GRID = 24                   # costs, evenly spaced in the logarithm
AIMS = ("front", "best")


@dataclass
class Trial:
    """One suggestion, and what came of it.

    settings    what to run: the space's names, and what its repair added
    point       float64 [d]: where that is in the cube
    reason      one sentence: why the sampler chose it
    score       in the metric's unit, and cost in any one unit; None until told
    """

    number: int
    settings: dict
    point: np.ndarray
    reason: str
    state: str = RUNNING
    score: float | None = None
    cost: float | None = None


class Sampler:
    """Asks for trials, one at a time or several at once, and learns from what it is told.

    space       a Space
    seed        of every draw
    minimize    whether a lower score is better
    start       settings to run first, such as the defaults
    method      "gp" as above, or "random"
    front       whether cheap trials count for themselves; False searches for the best score alone
    """

    def __init__(self, space: Space, *, seed: int = 0, minimize: bool = False,
                 start: Mapping | None = None, method: str = "gp", front: bool = True):
        if method not in ("gp", "random"):
            raise UsageError("there is no such method", expected="gp or random",
                             actual=repr(method))
        self.space, self.seed, self.method = space, seed, method
        self.sign, self.aims = -1.0 if minimize else 1.0, AIMS if front else ("best",)
        self.start = None if start is None else dict(start)
        if start is not None:
            space.point(start)
        self.trials: list[Trial] = []
        columns = space.features(np.full((1, len(space)), 0.5)).shape[1]
        self.scores, self.costs, self.failures = (GaussianProcess(columns) for _ in range(3))
        self._searched: dict[int, tuple] = {}

    # ---- ask and tell --------------------------------------------------------------------------

    def ask(self, number: int | None = None) -> Trial:
        """The next trial. It counts as running until tell(), stop() or fail().

        number  of the draw, where several samplers share a search; as a rule, that of the trial
        """
        number = len(self.trials) if number is None else number
        rng = np.random.default_rng([self.seed, number])
        done = [trial for trial in self.trials if trial.state == DONE]
        if not number and self.start is not None:
            repair = self.space.repair or dict
            return self.add(repair(dict(self.start)), "the settings to start from")
        if self.method == "random":
            point, reason = rng.random(len(self.space)), "drawn at random"
        elif number < SPREAD or len(done) < 3:
            point, reason = self._spread(number), "spread over the whole space"
        else:
            point, reason = self._promising(rng, done, lavish=number % LAVISH == 0)
        return self.add(self.space.settings(point), reason)

    def add(self, settings: Mapping, reason: str = "given") -> Trial:
        """A trial with settings from elsewhere, running: a repeat, or one of an earlier sweep."""
        trial = Trial(len(self.trials), dict(settings), self.space.point(settings), reason)
        self.trials.append(trial)
        return trial

    def tell(self, trial: Trial, score: float, cost: float = 1.0) -> None:
        """What a trial reached and what it cost. Raises UsageError for a score that is not finite
        (see fail), a cost that is not above 0, or a trial that was told before."""
        self._expect_running(trial)
        if not math.isfinite(score):
            raise UsageError(f"trial {trial.number} has no finite score", expected="a number",
                             actual=str(score), hint="a run that broke down: fail(trial)")
        if not (math.isfinite(cost) and cost > 0):
            raise UsageError(f"trial {trial.number} has no cost", expected="a number above 0",
                             actual=str(cost))
        trial.state, trial.score, trial.cost = DONE, float(score), float(cost)

    def stop(self, trial: Trial, score: float) -> None:
        """The trial was ended early, at a score that promised little. Settings like these are
        known to reach no more; its cost is not that of a whole trial, and is not learned from."""
        self.tell(trial, score)
        trial.state, trial.cost = STOPPED, None

    def fail(self, trial: Trial) -> None:
        """The trial crashed, hung or diverged: it is avoided, and says nothing of score or cost."""
        self._expect_running(trial)
        trial.state = FAILED

    def _expect_running(self, trial: Trial) -> None:
        if trial.number >= len(self.trials) or self.trials[trial.number] is not trial:
            raise UsageError(f"trial {trial.number} is not of this sampler")
        if trial.state != RUNNING:
            raise UsageError(f"trial {trial.number} was told before", expected="one result",
                             actual=f"it is {trial.state}")

    # ---- what was found ------------------------------------------------------------------------

    def best(self) -> Trial:
        """The finished trial whose mean score the model believes highest, so that one lucky run
        among noisy ones does not win."""
        done = [trial for trial in self.trials if trial.state == DONE]
        if not done:
            raise UsageError("no trial has finished", expected="one or more")
        return done[int(np.argmax(self._means(done)))]

    def front(self) -> list[Trial]:
        """Trials that no cheaper one beats, by the model's mean; the cheapest first."""
        done = sorted((trial for trial in self.trials if trial.state == DONE),
                      key=lambda trial: (trial.cost, trial.number))
        found, highest = [], -math.inf
        for trial, mean in zip(done, self._means(done) if done else ()):
            if mean > highest:
                found.append(trial)
                highest = mean
        return found

    def _means(self, done: list[Trial]) -> np.ndarray:
        """[n]: the model's mean at trials, with the better higher; the scores themselves while
        there are too few for a model."""
        if len(done) < 3:
            return self.sign * np.array([trial.score for trial in done])
        self._learn_scores()
        return self.scores.predict_mean(
            self.space.features(np.array([trial.point for trial in done])))

    def _learn_scores(self) -> None:
        """Fits the model of scores to whole trials, and to those that were stopped."""
        told = [trial for trial in self.trials if trial.state in (DONE, STOPPED)]
        self._fit(self.scores, self.space.features(np.array([trial.point for trial in told])),
                  warped(self.sign * np.array([trial.score for trial in told])))

    # ---- choosing ------------------------------------------------------------------------------

    def _spread(self, number: int) -> np.ndarray:
        """The next point of an additive recurrence in d dimensions, shifted by the seed."""
        d = len(self.space)
        ratio = 2.0
        for _ in range(60):             # the root of x^(d + 1) = x + 1
            ratio = (1 + ratio) ** (1 / (d + 1))
        shift = np.random.default_rng(self.seed).random(d)
        return (shift + (number + 1) * ratio ** -np.arange(1.0, d + 1)) % 1.0

    def _promising(self, rng: np.random.Generator, done: list[Trial],
                   lavish: bool) -> tuple[np.ndarray, str]:
        points, costs = (np.array([trial.point for trial in done]),
                         np.log([trial.cost for trial in done]))
        seen = self.space.features(points)
        self._learn_scores()
        self._fit(self.costs, seen, costs)
        means = self.scores.predict_mean(seen)
        order = np.argsort(costs, kind="stable")
        front = np.maximum.accumulate(means[order])
        edge = order[np.append(True, np.diff(front) > 1e-9)]
        candidates = self._candidates(rng, points, np.union1d(np.argsort(-means)[:5], edge))
        self._suppose_running()
        there = self.space.features(candidates)
        # the best by the mean, and some by chance: only they are weighed in full
        likely = np.argsort(-self.scores.predict_mean(there), kind="stable")
        kept = np.concatenate([likely[:KEPT // 2], rng.permutation(likely[KEPT // 2:])[:KEPT // 2]])
        candidates, there = candidates[kept], there[kept]
        mean, deviation = self.scores.predict(there)
        cost = self.costs.predict_mean(there)
        # the best mean score that each cost on a grid has bought so far
        grid = np.linspace(costs.min(), costs.max(), GRID)
        at = np.searchsorted(costs[order], grid, side="right") - 1
        bought = np.append(means.min(), front[at])      # before the cheapest trial: nothing yet
        gain = improvement(mean[:, None], deviation[:, None], bought)
        reach = np.searchsorted(grid, cost, side="left")    # the first on the grid that is as dear
        if self.aims[rng.integers(len(self.aims))] == "front":
            shares = np.where(np.arange(GRID) >= reach[:, None], gain[:, 1:], 0.0)
            gained = shares.mean(1) + gain[:, 0] * np.maximum(grid[0] - cost, 0)
        else:
            gained = gain[:, -1]
        thrift = 0.0 if lavish else THRIFT[rng.integers(len(THRIFT))]
        worth = gained * self._survival(there) * np.exp(-thrift * (cost - cost.min()))
        for at in np.argsort(-worth, kind="stable"):
            if self._is_new(candidates[at]):
                break
        told = self.sign * np.array([
            trial.score for trial in self.trials if trial.state in (DONE, STOPPED)])
        middle, low, high, beaten = self.sign * unwarped(np.array([
            mean[at], mean[at] - deviation[at], mean[at] + deviation[at],
            bought[min(reach[at], GRID)]]), told)
        return candidates[at], (
            f"expects {middle:.3g} ({min(low, high):.3g} to {max(low, high):.3g}) at a cost of "
            f"{math.exp(cost[at]):.3g}; the best so far at that cost is {beaten:.3g}")

    def _candidates(self, rng, points: np.ndarray, good: np.ndarray) -> np.ndarray:
        """[n, d]: anywhere, and around good trials in one or several settings."""
        d = len(self.space)
        centres = points[good][rng.integers(len(good), size=NEAR)]
        size = rng.choice([0.02, 0.08, 0.2], (NEAR, 1))
        moved = rng.random((NEAR, d)) < rng.choice([1.0 / d, 0.3, 1.0], (NEAR, 1))
        near = np.clip(centres + rng.normal(0, 1, (NEAR, d)) * size * moved, 0, 1)
        for k, each in enumerate(self.space.dimensions):
            if each.kind == "choice":       # no choice is near another
                near[:, k] = np.where(moved[:, k], rng.random(NEAR), centres[:, k])
        return np.unique(self.space.snap(np.vstack([rng.random((FAR, d)), near])), axis=0)

    def _suppose_running(self) -> None:
        """Running trials reach what the model expects: less is left to learn around them."""
        running = np.array([trial.point for trial in self.trials if trial.state == RUNNING])
        if not len(running):
            return
        there = self.space.features(running)
        for model in (self.scores, self.costs):
            values = np.concatenate([model.weighed, model.predict_mean(there)])
            model.fit(np.vstack([model.points, there]), values)

    def _survival(self, there: np.ndarray) -> np.ndarray:
        """[n]: the chance that a trial does not fail, by a model of which ones did."""
        ended = [trial for trial in self.trials if trial.state != RUNNING]
        failed = np.array([trial.state == FAILED for trial in ended], float)
        if failed.min() == failed.max():
            return np.ones(len(there))
        seen = self.space.features(np.array([trial.point for trial in ended]))
        return np.clip(1 - self._fit(self.failures, seen, failed).predict_mean(there), 1e-3, 1)

    def _fit(self, model: GaussianProcess, points: np.ndarray, values: np.ndarray):
        """Fits a model to trials in their order. The search for its parameters is repeated each
        time that the trials grew by a SHARE, on the first so many of them: what is found depends
        on the trials alone, not on how often anybody asked."""
        step = max(1, 2 ** math.floor(math.log2(max(1, len(values) / SHARE))))
        count = len(values) // step * step
        key = points[:count].tobytes(), values[:count].tobytes()
        if self._searched.get(id(model)) != key:
            model.search(points[:count], values[:count])
            self._searched[id(model)] = key
        return model.fit(points, values)

    def _is_new(self, point: np.ndarray) -> bool:
        """Whether the settings of a point, repaired, were not asked for before."""
        settings = self.space.settings(point)
        return all(settings != trial.settings for trial in self.trials)


def improvement(mean: np.ndarray, deviation: np.ndarray, reached: np.ndarray) -> np.ndarray:
    """By how much a normal variable is expected to exceed `reached`; shapes are broadcast."""
    over = (mean - reached) / deviation
    below = 0.5 * np.vectorize(math.erfc, otypes=[float])(-over / math.sqrt(2))
    return deviation * (over * below + np.exp(-0.5 * over * over) / math.sqrt(2 * math.pi))
