"""Modelled compute.  settings, steps -> CPU seconds that training takes on a quiet core

`cost = compute` counts a trial's work, not its time: a busy machine does not change a search, and
machines may differ. An agent step costs the time of the environment, of the network in the rollout
and, multiplied by the replay ratio, in learning; each minibatch adds the fixed cost of a gradient
step, mostly Muon's. The weight of each is measured once, at the start of the sweep, in short
trainings of settings from its space.
"""
from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..settings.values import Config
from .gaussian import Floats

ROUNDS = 20_000         # of the fit


def parts(config: Config) -> Floats:
    """float64 [10]: the amount of each kind of work of one agent step, before weighting."""
    width, layers = config.policy.hidden_size, config.policy.num_layers
    train = config.train
    replay, updates = train.replay_ratio, train.replay_ratio / train.minibatch_size
    return np.array([
        1.0, 1.0 / config.vec.total_agents,             # the environment, a call of it
        width, layers * width ** 2,                     # the rollout
        replay, replay * width, replay * layers * width ** 2,
        updates, updates * width ** 2, updates * layers * width ** 3])      # Muon


def seconds(weights: Sequence[float], config: Config, steps: int) -> float:
    """CPU seconds of so many agent steps under these settings."""
    return float(steps * (parts(config) @ np.asarray(weights)))


def fit(rows: Floats, times: Floats) -> Floats:
    """Weights of at least 0 for which rows @ weights is near times, by its relative error."""
    scaled = rows / times[:, None]
    size = scaled.mean(0)
    scaled = scaled / size
    square, aim = scaled.T @ scaled, scaled.sum(0)
    rate = 1 / np.linalg.eigvalsh(square)[-1]
    weights = np.full(len(size), 1 / len(size))
    for _ in range(ROUNDS):
        weights = np.maximum(0, weights - rate * (square @ weights - aim))
    found: Floats = weights / size
    return found
