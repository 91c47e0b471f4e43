"""What to try next.  finished and running trials -> settings, and the reason for them

    sampler = Sampler(Space({...}), start={...})
    for _ in range(100):
        suggestion = sampler.ask()
        score, cost = train(**suggestion.settings)
        sampler.tell(suggestion, score, cost)
    print(sampler.best().settings)

Two Gaussian processes model the ranks of scores, as normal deviates, and the logarithm of the cost.
A suggestion has the greatest expected gain of the area below the curve of best score against log
cost (expected hypervolume improvement), so that what is nearly as good and far cheaper is found
too. The area is in the score's own units, and goes on to what the dearest settings of the space are
expected to cost, tried or not; what is no better than the median of the first trials counts as
nothing, and the uncertainty of the cost counts as well. The gain is multiplied by the
chance that the trial does not fail. Where a lucky result hides what the model believes better, and
more area is lost by it than any new trial is expected to gain, its settings run once again.

Without a front, the gain is the expected improvement over the best mean, divided by a power of what
the trial costs. Every LAVISH-th is not divided: where no trial has learned yet, the cheapest look
as good as any.

Trials still running count as if they had reached what the model expects, so that parallel
suggestions differ.

What `ask` returns depends on the seed and on the trials alone: a sampler that is told the same
trials again suggests the same settings. minimize=True of a score is maximize of its negative,
exactly.
"""
from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..base.errors import UsageError
from . import candidates
from .front import SHARES, Front, at_nodes, hidden
from .gaussian import Floats, GaussianProcess
from .space import Settings, Space
from .warping import unwarped, warped

RUNNING, DONE, FAILED, STOPPED = "running", "done", "failed", "stopped"
SPREAD = 5                  # trials over the whole space before a model chooses
EARLY = 10                  # trials whose median score counts as nothing
THRIFT = (1.0, 0.5)         # without a front: powers of the cost by which the gain is divided
LAVISH = 10                 # and one suggestion of so many looks at no cost
FAR, NEAR, KEPT = 200, 400, 150     # candidates: anywhere, near good trials, weighed in full
POLISHED, AROUND = 5, 60    # and so many near the best of them
SHARE = 8                   # the models' parameters are those of a multiple of n / SHARE trials


@dataclass
class Trial:
    """One suggestion, and what came of it.

    settings    what to run: the space's names, and what its repair added
    point       float64 [d]: where that is in the cube
    reason      one sentence: why the sampler chose it
    score       in the metric's unit, and cost in any one unit; None until told
    """

    number: int
    settings: Settings
    point: Floats
    reason: str
    state: str = RUNNING
    score: float | None = None
    cost: float | None = None

    @property
    def result(self) -> tuple[float, float]:
        """Score and cost of a trial that is done. Raises ValueError for another."""
        if self.score is None or self.cost is None:
            raise ValueError(f"trial {self.number} has no result")
        return self.score, self.cost


class Sampler:
    """Suggests trials, one or several at a time, and learns from reported results.

    space       a Space
    seed        of every draw
    minimize    whether a lower score is better
    start       settings to run first, such as the defaults
    method      "gp" as above, or "random"
    front       whether cheap trials count for themselves; False searches for the best score alone
    """

    def __init__(self, space: Space, *, seed: int = 0, minimize: bool = False,
                 start: Mapping[str, Any] | None = None, method: str = "gp", front: bool = True):
        if method not in ("gp", "random"):
            raise UsageError("there is no such method", expected="gp or random",
                             actual=repr(method))
        self.space, self.seed, self.method = space, seed, method
        self.sign, self.counts_cost = -1.0 if minimize else 1.0, front
        self.start = None if start is None else dict(start)
        if start is not None:
            space.point(start)
        self.trials: list[Trial] = []
        columns = space.features(np.full((1, len(space)), 0.5)).shape[1]
        self.scores, self.costs, self.failures = (GaussianProcess(columns) for _ in range(3))
        self._searched: dict[int, tuple[bytes, bytes]] = {}
        self._anywhere = candidates.anywhere(space, np.random.default_rng(seed), FAR)

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
            point = candidates.spread(self.space, self.seed, number)
            reason = "spread over the space"
        else:
            point, reason = self._promising(rng, done, number)
        return self.add(self.space.settings(point), reason)

    def add(self, settings: Mapping[str, Any], reason: str = "given") -> Trial:
        """A trial with settings from elsewhere, running: a repeat, or one of an earlier sweep."""
        trial = Trial(len(self.trials), dict(settings), self.space.point(settings), reason)
        self.trials.append(trial)
        return trial

    def tell(self, trial: Trial, score: float, cost: float = 1.0) -> None:
        """Report a trial's score and cost. Raises UsageError for a score that is not finite (see
        fail), a cost that is not above 0, or a trial that was already reported."""
        self._expect_running(trial)
        if not math.isfinite(score):
            raise UsageError(f"trial {trial.number} has no finite score", expected="a number",
                             actual=str(score), hint="for a failed run: fail(trial)")
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
            raise UsageError(f"trial {trial.number} belongs to another sampler")
        if trial.state != RUNNING:
            raise UsageError(f"trial {trial.number} was already reported", expected="one result",
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
                      key=lambda trial: (trial.result[1], trial.number))
        found, highest = [], -math.inf
        for trial, mean in zip(done, self._means(done) if done else ()):
            if mean > highest:
                found.append(trial)
                highest = mean
        return found

    def _means(self, done: list[Trial]) -> Floats:
        """[n]: the model's mean at trials, with the better higher; the scores themselves while
        there are too few for a model."""
        if len(done) < 3:
            return self.sign * np.array([trial.score for trial in done])
        self._learn_scores()
        return self.scores.predict_mean(
            self.space.features(np.array([trial.point for trial in done])))

    def _learn_scores(self) -> None:
        """Fits the model of scores to whole trials, and to those that were stopped."""
        points = [trial.point for trial in self.trials if trial.state in (DONE, STOPPED)]
        self._fit(self.scores, self.space.features(np.array(points)), self._told(), warped)

    def _told(self) -> Floats:
        """[n]: the scores of whole trials and of stopped ones, the better higher."""
        return self.sign * np.array([
            trial.score for trial in self.trials if trial.state in (DONE, STOPPED)])

    # ---- choosing ------------------------------------------------------------------------------

    def _promising(self, rng: np.random.Generator, done: list[Trial],
                   number: int) -> tuple[Floats, str]:
        points = np.array([trial.point for trial in done])
        costs = np.log([trial.result[1] for trial in done])
        seen = self.space.features(points)
        self._learn_scores()
        self._fit(self.costs, seen, costs)
        told = self._told()
        means = unwarped(self.scores.predict_mean(seen), told)
        early = [self.sign * trial.result[0] for trial in self.trials[:EARLY]
                 if trial.state == DONE]
        dearest = self.costs.predict_mean(self.space.features(self._anywhere)).max()
        front = Front(costs, means, float(np.median(early) if early else told.min()), dearest)
        again, lost = self._doubtful(done, costs, np.maximum(means, front.levels[0]))
        good = points[np.union1d(np.argsort(-means)[:5], front.members)]
        self._suppose_running()
        power = 0.0 if self.counts_cost or number % LAVISH == 0 else rng.choice(THRIFT)

        def weigh(asked: Floats) -> tuple[Floats, Floats]:
            there = self.space.features(asked)
            drawn = at_nodes(*self.scores.predict(there), lambda values: unwarped(values, told))
            cost, deviation = self.costs.predict(there)
            gained = front.gain(drawn, cost, deviation) if self.counts_cost else \
                np.maximum(drawn - means.max(), 0.0) @ SHARES
            return asked, gained * self._survival(there) * np.exp(power * (costs.min() - cost))

        asked, worth = weigh(self._likely(rng, good, front, told))
        best = asked[np.argsort(-worth, kind="stable")[:POLISHED]]
        around = weigh(candidates.distinct(candidates.near(self.space, rng, best, AROUND)))
        asked, worth = (np.concatenate(pair) for pair in zip((asked, worth), around))
        for at in np.argsort(-worth, kind="stable"):
            if self._is_new(asked[at]):
                break
        if self.counts_cost and lost > worth[at]:
            return again.point, f"as trial {again.number}: its score may have been luck"
        return asked[at], self._reason(asked[at:at + 1], front, told)

    def _likely(self, rng: np.random.Generator, good: Floats, front: Front, told: Floats) -> Floats:
        """[KEPT, d]: points anywhere and near good trials. One half has the highest mean scores
        above what their costs have bought, the other half is drawn."""
        asked = candidates.distinct(np.vstack([
            candidates.anywhere(self.space, rng, FAR),
            candidates.near(self.space, rng, good, NEAR)]))
        there = self.space.features(asked)
        above = unwarped(self.scores.predict_mean(there), told)
        if self.counts_cost:
            above = above - front.level(self.costs.predict_mean(there))
        order = np.argsort(-above, kind="stable")
        kept: Floats = asked[np.concatenate([order[:KEPT // 2],
                                             rng.permutation(order[KEPT // 2:])[:KEPT // 2]])]
        return kept

    def _doubtful(self, done: list[Trial], costs: Floats,
                  means: Floats) -> tuple[Trial, float]:
        """The trial whose result hides most of what the model believes better, and the area that
        is lost by it: 0 where its settings have run twice, or are running."""
        groups: dict[bytes, list[int]] = {}
        for k, trial in enumerate(done):
            groups.setdefault(trial.point.tobytes(), []).append(k)
        scores = self.sign * np.array([trial.score for trial in done])
        averages = [np.array([values[each].mean() for each in groups.values()])
                    for values in (costs, scores, means)]
        running = [trial.point.tobytes() for trial in self.trials if trial.state == RUNNING]
        once = [len(each) == 1 and key not in running for key, each in groups.items()]
        lost = np.where(once, hidden(*averages), 0.0)
        at = int(np.argmax(lost))
        return done[list(groups.values())[at][0]], float(lost[at])

    def _reason(self, point: Floats, front: Front, told: Floats) -> str:
        """point [1, d] -> what is expected of it, in the score's own units."""
        there = self.space.features(point)
        (mean,), (deviation,) = self.scores.predict(there)
        cost = self.costs.predict_mean(there)
        middle, low, high, beaten = self.sign * np.append(unwarped(np.array(
            [mean, mean - deviation, mean + deviation]), told), front.level(cost))
        return (f"expects {middle:.3g} ({min(low, high):.3g} to {max(low, high):.3g}) at a cost of "
                f"{math.exp(cost[0]):.3g}; the best so far at that cost is {beaten:.3g}")

    def _suppose_running(self) -> None:
        """Running trials reach what the model expects: less is left to learn around them."""
        running = np.array([trial.point for trial in self.trials if trial.state == RUNNING])
        if not len(running):
            return
        there = self.space.features(running)
        for model in (self.scores, self.costs):
            values = np.concatenate([model.weighed, model.predict_mean(there)])
            model.fit(np.vstack([model.points, there]), values)

    def _survival(self, there: Floats) -> Floats:
        """[n]: the chance that a trial does not fail, by a model of which ones did."""
        ended = [trial for trial in self.trials if trial.state != RUNNING]
        failed = np.array([trial.state == FAILED for trial in ended], float)
        if failed.min() == failed.max():
            return np.ones(len(there))
        seen = self.space.features(np.array([trial.point for trial in ended]))
        chance: Floats = 1 - self._fit(self.failures, seen, failed).predict_mean(there)
        return chance.clip(1e-3, 1)

    def _fit(self, model: GaussianProcess, points: Floats, values: Floats,
             seen_as: Callable[[Floats], Floats] = np.asarray) -> GaussianProcess:
        """Fits a model to trials in their order, whose values it sees as `seen_as` makes them. The
        search for its parameters is repeated each time that the trials grew by a SHARE, on the
        first so many of them: what is found depends on the trials alone, not on how often anybody
        asked."""
        step = max(1, 2 ** math.floor(math.log2(max(1, len(values) / SHARE))))
        count = len(values) // step * step
        key = points[:count].tobytes(), values[:count].tobytes()
        if self._searched.get(id(model)) != key:
            model.search(points[:count], seen_as(values[:count]))
            self._searched[id(model)] = key
        return model.fit(points, seen_as(values))

    def _is_new(self, point: Floats) -> bool:
        """Whether the settings of a point, repaired, were not asked for before."""
        settings = self.space.settings(point)
        return all(settings != trial.settings for trial in self.trials)
