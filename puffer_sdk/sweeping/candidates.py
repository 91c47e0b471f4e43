"""Points that a sampler weighs.  a space, a random generator -> points of its cube"""
from __future__ import annotations

import numpy as np

from .gaussian import Floats
from .space import Space

INNER = 0.8                     # of each side: what the first trials are spread over
SIZES = (0.02, 0.08, 0.2)       # how far a setting is moved, as shares of its range


def spread(space: Space, seed: int, number: int) -> Floats:
    """[d]: the next point of an additive recurrence in d dimensions, shifted by the seed. It avoids
    the corners, where trainings cost most or learn nothing."""
    d = len(space)
    ratio = 2.0
    for _ in range(60):             # the root of x^(d + 1) = x + 1
        ratio = (1 + ratio) ** (1 / (d + 1))
    shift = np.random.default_rng(seed).random(d)
    at = (shift + (number + 1) * ratio ** -np.arange(1.0, d + 1)) % 1.0
    return 0.5 + INNER * (at - 0.5)


def anywhere(space: Space, rng: np.random.Generator, count: int) -> Floats:
    """[count, d]"""
    return space.snap(rng.random((count, len(space))))


def near(space: Space, rng: np.random.Generator, centres: Floats, count: int) -> Floats:
    """[count, d]: points that differ from one of `centres` in one or several settings, a setting
    with levels by about one level or more."""
    d = len(space)
    start = centres[rng.integers(len(centres), size=count)]
    share = rng.choice([0.0, 0.3, 1.0], (count, 1))
    moved = rng.random((count, d)) < share
    moved[np.arange(count), rng.integers(d, size=count)] = True
    size = np.maximum(rng.choice(SIZES, (count, 1)),
                      [1 / each.levels if each.levels else 0.0 for each in space.dimensions])
    points = np.clip(start + rng.normal(0, 1, (count, d)) * size * moved, 0, 1)
    for k, each in enumerate(space.dimensions):
        if each.kind == "choice":       # no choice is near another
            points[:, k] = np.where(moved[:, k], rng.random(count), start[:, k])
    return space.snap(points)


def distinct(points: Floats) -> Floats:
    """[n, d] -> [m, d]: without duplicates, which a weighted sum finds far faster than a comparison
    of rows."""
    weights = np.sqrt(np.arange(2.0, 2 + points.shape[1]))
    return points[np.unique(points @ weights, return_index=True)[1]]
