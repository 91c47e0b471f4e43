"""Means with 95 % intervals.  values, and the cluster of each -> mean, half width"""
from __future__ import annotations

import math


def clustered_mean(values, clusters) -> tuple[float, float | None]:
    """Mean over values, and the half width of its 95 % interval over cluster means.

    The width is None if there is only one cluster.
    """
    import numpy as np

    values, clusters = np.asarray(values, float), np.asarray(clusters)
    _, index = np.unique(clusters, return_inverse=True)
    sums, counts = np.bincount(index, values), np.bincount(index)
    means = sums / counts
    if len(means) < 2:
        return float(values.mean()), None
    half = student_t(len(means) - 1) * means.std(ddof=1) / math.sqrt(len(means))
    return float(values.mean()), float(half)


def student_t(freedom: int) -> float:
    """The 97.5 % point of Student's t, good to 1 %: two exact values, then a series in 1/freedom
    (Abramowitz and Stegun 26.7.5)."""
    if freedom < 3:
        return (12.706, 4.303)[freedom - 1]
    z = 1.959964
    return (z + (z**3 + z) / (4 * freedom) + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * freedom**2)
            + (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / (384 * freedom**3))
