"""Scores as the model sees them, and back.  scores, higher is better -> half of them as ranks

A run that diverged must not flatten the differences between those that learned: the worse half
counts by its ranks alone, as normal deviates of the better half's size. (After the half-rank
warping of Vizier, Song et al. 2024, "The Vizier Gaussian Process Bandit Algorithm".)
"""
from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np

NORMAL = NormalDist()


def warped(scores: np.ndarray) -> np.ndarray:
    """[n] -> [n]: in the same order, with the better half as it was."""
    scores = np.array(scores, float)
    middle = np.median(scores)
    worse = scores < middle
    size = math.sqrt(np.mean((scores[~worse] - middle) ** 2)) or 1.0
    ranks = np.searchsorted(np.sort(scores), scores[worse], side="right")
    scores[worse] = middle + size * np.array(
        [NORMAL.inv_cdf((rank - 0.5) / len(scores)) for rank in ranks])
    return scores


def unwarped(values: np.ndarray, scores: np.ndarray) -> np.ndarray:
    """What scores the warped `values` stand for, where `scores` were warped; none is below the
    worst of them."""
    known, first = np.unique(warped(scores), return_index=True)
    return np.where(values > known[-1], values, np.interp(values, known, scores[first]))
