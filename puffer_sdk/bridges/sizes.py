"""How large rewards and bytes are.  random play -> a factor of rewards, the size of observations

The native trainer learns values of about 1 best: its optimiser takes steps of one size, whatever
the loss. So rewards are multiplied by 1 / RMS of the discounted returns of random play. And where
observations are pictures of large bytes, a policy is certain of what it knows nothing about: they
are divided by 255. Both are found once, before a run, and stand in the run's config.ini.
"""
from __future__ import annotations

import math

import numpy as np

from ..env.living import living, random_actions

COPIES = 4              # and steps of each
TICKS = 128
LARGE = 16.0            # RMS of the bytes of pictures; ids and cells have less
LONGEST = 16.0          # length of a row of observations, as the encoder should see it


def encoder_scale(size: float, count: int) -> float:
    """The factor with which rows of so many numbers, of this RMS, are no longer than LONGEST."""
    length = size * math.sqrt(count)
    return float(f"{LONGEST / length:.6g}") if LONGEST < length < math.inf else 1.0


def measure(vec, gamma: float, seed: int) -> tuple[float, float]:
    """(factor of rewards, RMS of observations) by TICKS steps at random.

    The factor is 1 / RMS of discounted returns, 1 where nothing was earned. Steps whose return is 0
    do not count: it is the size of what is earned, however seldom.
    """
    vec.reset()
    rng, returns = np.random.default_rng(seed), np.zeros(vec.num_agents)
    earned, seen = [], []
    for _ in range(TICKS):
        rows = vec.observations[living(vec)].astype(np.float64)
        seen.append(np.mean(rows**2) if rows.size else 0.0)
        vec.step(random_actions(vec, rng))
        returns = returns * gamma + vec.rewards
        earned.append(returns[returns != 0] ** 2)
        returns[vec.terminals != 0] = 0
    squares = np.concatenate(earned)
    size = math.sqrt(squares.mean()) if len(squares) else 0.0
    factor = 1 / size if size > 0 and math.isfinite(size) else 1.0
    return float(f"{factor:.6g}"), math.sqrt(np.mean(seen))
