"""Scores as the model sees them, and back.  scores, higher is better -> normal deviates

A Gaussian process expects values that look normal. Scores do not: most short trainings learn
nothing, a few learn much, and one that diverged is far below all others. So the model sees the
ranks of scores, as normal deviates (a Gaussian copula). What a trial gains is counted in the
score's own units, for which `unwarped` is the way back.
"""
from __future__ import annotations

from statistics import NormalDist

import numpy as np

from .gaussian import Floats

NORMAL = NormalDist()


def warped(scores: Floats) -> Floats:
    """[n] -> [n]: in the same order, equal ones equal, as if drawn from a normal distribution."""
    ordered = np.sort(scores)
    below, until = (np.searchsorted(ordered, scores, side=side) for side in ("left", "right"))
    return np.array([NORMAL.inv_cdf(rank) for rank in (below + until) / (2 * len(scores))])


def unwarped(values: Floats, scores: Floats) -> Floats:
    """What scores the warped `values` stand for, where `scores` were warped; none is below the
    worst of them. Above the best, a straight line goes on as from the median to the best."""
    known, first = np.unique(warped(scores), return_index=True)
    reached = scores[first]
    over = np.maximum(values - known[-1], 0.0)
    slope = (reached[-1] - np.median(scores)) / max(known[-1], 1e-9)
    found: Floats = np.interp(values, known, reached) + slope * over
    return found
