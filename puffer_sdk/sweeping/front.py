"""The best score at each cost.  log costs, scores -> a staircase, and gains

A trial gains the area that it adds below the staircase: score times log cost, above a floor.
"""
from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from .gaussian import Floats

BEYOND = 0.1            # the area goes on so far above the dearest trial, as a share of their range
NODES, SHARES = np.polynomial.hermite_e.hermegauss(16)      # a normal variable's mean of a function
SHARES = SHARES / SHARES.sum()


class Front:
    """The staircase of trials: levels[i] is reached at log cost edges[i - 1]; levels[0] is the
    floor.

    costs       [n]: their log costs
    scores      [n]: their scores, the better higher
    floor       the score that counts as nothing
    reach       the log cost of the dearest settings: the area goes on to there

    members [k]: which trials are steps, the cheapest first; edges [k], levels [k + 1]
    """

    def __init__(self, costs: Floats, scores: Floats, floor: float,
                 reach: float = -math.inf):
        order = np.argsort(costs, kind="stable")
        best = np.maximum.accumulate(np.append(floor, scores[order]))
        self.members = order[np.diff(best) > 0]
        self.edges, self.levels = costs[self.members], np.append(floor, scores[self.members])
        self.end = max(costs.max() + BEYOND * np.ptp(costs), reach)

    def level(self, cost: Floats) -> Floats:
        """[m]: the best score at log costs [m] or less."""
        return self.levels[np.searchsorted(self.edges, cost, side="right")]

    def gain(self, drawn: Floats, cost: Floats, deviation: Floats) -> Floats:
        """[m]: the area that trials are expected to add (expected hypervolume improvement).

        drawn       [m, len(NODES)]: their scores at NODES deviations from the mean
        cost        [m]: the mean of their log costs; deviation [m]: of that, independent of scores
        """
        reached = improvement(-cost[:, None], deviation[:, None], -np.append(self.edges, self.end))
        widths = np.diff(reached, axis=1, prepend=0.0)
        over = np.maximum(drawn[:, :, None] - self.levels, 0.0)
        gained: Floats = (widths * np.einsum("j,ijk->ik", SHARES, over)).sum(1)
        return gained


def at_nodes(mean: Floats, deviation: Floats, function: Callable[[Floats], Floats]) -> Floats:
    """[m, len(NODES)]: a function of normal variables, to be weighed by SHARES."""
    return function(mean[:, None] + deviation[:, None] * NODES)


def hidden(costs: Floats, scores: Floats, means: Floats) -> Floats:
    """[n]: the area that each result loses because it is better than its mean: the front of
    results is recommended, so a lucky one hides settings with better means.

    costs       [n]: log costs
    scores      [n]: mean results of different settings
    means       [n]: what the model believes of these settings
    """
    order = np.argsort(costs, kind="stable")
    highest = np.maximum.accumulate(scores[order])
    top = np.searchsorted(highest, highest)         # whose result is the best so far
    shown = np.maximum.accumulate(means[order][top])
    lost = np.maximum.accumulate(means[order]) - shown
    width = np.diff(costs[order], append=costs.max())
    return np.bincount(order[top], lost * width, minlength=len(costs)).astype(np.float64)


def improvement(mean: Floats, deviation: Floats, reached: Floats) -> Floats:
    """By how much a normal variable is expected to exceed `reached`; shapes are broadcast."""
    over = (mean - reached) / deviation
    below = 0.5 * np.vectorize(math.erfc, otypes=[float])(-over / math.sqrt(2))
    found: Floats = deviation * (over * below + np.exp(-0.5 * over * over) / math.sqrt(2 * math.pi))
    return found
