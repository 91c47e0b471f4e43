"""How large an environment's rewards are.  random play -> the factor of rewards in training

The native trainer learns values of about 1 best: its optimiser takes steps of one size, whatever
the loss. So rewards are multiplied by 1 / RMS of the discounted returns of random play. The factor
is measured once, before a run, and stands in the run's config.ini.
"""
from __future__ import annotations

import math

import numpy as np

from ..env.living import random_actions

COPIES = 4              # and steps of each
TICKS = 128


def measure_scale(vec, gamma: float, seed: int) -> float:
    """1 / RMS of the discounted returns of so many steps at random; 1 where nothing was earned.

    Steps whose return is 0 do not count: it is the size of what is earned, however seldom.
    """
    vec.reset()
    rng, returns = np.random.default_rng(seed), np.zeros(vec.num_agents)
    total, count = 0.0, 0
    for _ in range(TICKS):
        vec.step(random_actions(vec, rng))
        returns = returns * gamma + vec.rewards
        total += float((returns ** 2).sum())
        count += int((returns != 0).sum())
        returns[vec.terminals != 0] = 0
    size = math.sqrt(total / count) if count else 0.0
    return float(f"{1 / size:.6g}") if size > 0 and math.isfinite(size) else 1.0
