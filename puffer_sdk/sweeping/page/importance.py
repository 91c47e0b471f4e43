"""What the models of a sweep predict.  trials -> slices through the best, importance of settings"""
from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ..gaussian import Floats, GaussianProcess
from ..space import Row, Settings, Space

GRID = 40               # places of a slice
LEVELS, BASES = 12, 64  # of the importance: values of one setting, and of all others
LEAST = 6               # trials before a model says anything


class Models:
    """Gaussian processes of score and log cost, of the finished trials.

    settings    one dict a trial; scores and costs in the same order
    """

    def __init__(self, rows: Mapping[str, Row], settings: Sequence[Settings],
                 scores: Sequence[float], costs: Sequence[float]):
        self.space = Space(rows)
        self.points = np.array([self.space.point(each) for each in settings])
        self.scores, self.costs = np.array(scores, float), np.log(np.maximum(costs, 1e-9))
        self.seen = self.space.features(self.points) if len(settings) else np.zeros((0, 1))
        self.useful = len(settings) >= LEAST and np.ptp(self.scores) > 0
        if self.useful:
            self.score = self._fit(self.scores)
            self.cost = self._fit(self.costs)

    def _fit(self, values: Floats) -> GaussianProcess:
        model = GaussianProcess(self.seen.shape[1])
        some = np.linspace(0, len(values) - 1, min(len(values), 300)).astype(int)
        return model.search(self.seen[some], values[some]).fit(self.seen, values)

    def slice(self, side: int, at: Floats) -> tuple[list[object], Floats, Floats]:
        """(values, mean, deviation) of the score along one setting, the others as at `at`."""
        each = self.space.dimensions[side]
        shares = (np.arange(each.levels) + 0.5) / each.levels if each.levels else \
            np.linspace(0, 1, GRID)
        points = np.tile(at, (len(shares), 1))
        points[:, side] = shares
        mean, deviation = self.score.predict(self.space.features(self.space.snap(points)))
        return [each.value(share) for share in shares], mean, deviation

    def importance(self, top: bool = False) -> list[tuple[float, float]]:
        """Of each setting alone: its share of the variance of score and of log cost in the models.
        top: among the best quarter of trials."""
        rng = np.random.default_rng(0)
        best = np.argsort(-self.scores)[:max(LEAST, len(self.scores) // 4)]
        bases = rng.random((BASES * 4, len(self.space)))
        if top:     # each setting alone: effects of several together count for none
            bases = np.column_stack([self.points[rng.choice(best, len(bases)), side]
                                     for side in range(len(self.space))])
        found = []
        total = [np.var(model.predict_mean(self._features(bases))) or 1.0
                 for model in (self.score, self.cost)]
        bases = bases[:BASES]
        for side in range(len(self.space)):
            values = np.quantile(self.points[best, side], np.linspace(0, 1, LEVELS)) if top \
                else (np.arange(LEVELS) + 0.5) / LEVELS
            tiled = np.repeat(bases[None], LEVELS, 0)
            tiled[:, :, side] = values[:, None]
            there = self._features(tiled.reshape(-1, len(self.space)))
            score, cost = (float(min(1.0, np.var(
                model.predict_mean(there).reshape(LEVELS, BASES).mean(1)) / whole))
                for model, whole in zip((self.score, self.cost), total))
            found.append((score, cost))
        return found

    def _features(self, points: Floats) -> Floats:
        return self.space.features(self.space.snap(points))
