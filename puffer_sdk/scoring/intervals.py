"""Means and shares with 95 % intervals.  values, and the cluster of each -> mean, width"""
from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


def clustered_mean(values: ArrayLike, clusters: ArrayLike, weights: ArrayLike | None = None
                   ) -> tuple[float, float | None]:
    """Mean over the clusters' weighted means, and the half width of its 95 % interval.

    weights     of the values within their cluster; clusters weigh alike
    The width is None if there is only one cluster.
    """
    import numpy as np

    values = np.asarray(values, float)
    weights = np.ones(len(values)) if weights is None else np.asarray(weights, float)
    _, index = np.unique(np.asarray(clusters), return_inverse=True)
    means = np.bincount(index, values * weights) / np.bincount(index, weights)
    if len(means) < 2:
        return float(means.mean()), None
    half = student_t(len(means) - 1) * means.std(ddof=1) / math.sqrt(len(means))
    return float(means.mean()), float(half)


def share_interval(values: ArrayLike, clusters: ArrayLike) -> tuple[float, float, float]:
    """Mean over the clusters' means of values in [0, 1], and the ends of its 95 % interval.

    Wilson's score interval, for as many independent values as would give the clusters' spread: no
    width of 0 where all were won.
    """
    import numpy as np

    values = np.asarray(values, float)
    _, index = np.unique(np.asarray(clusters), return_inverse=True)
    means = np.bincount(index, values) / np.bincount(index)
    mean, spread = float(means.mean()), float(means.var(ddof=1)) if len(means) > 1 else 0.0
    n = float(len(values) if 0 < mean < 1 else len(means))      # all alike: perhaps one game, often
    n, z = min(n, mean * (1 - mean) * len(means) / spread if spread else n), 1.959964
    middle = (mean + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * math.sqrt(mean * (1 - mean) / n + z * z / (4 * n * n))
    return mean, min(mean, max(0.0, middle - half)), max(mean, min(1.0, middle + half))


def student_t(freedom: int) -> float:
    """The 97.5 % point of Student's t, good to 1 %: two exact values, then a series in 1/freedom
    (Abramowitz and Stegun 26.7.5)."""
    if freedom < 3:
        return (12.706, 4.303)[freedom - 1]
    z = 1.959964
    return (z + (z**3 + z) / (4 * freedom) + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * freedom**2)
            + (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / (384 * freedom**3))
