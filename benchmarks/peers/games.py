"""Environments that all vectorisers are raced on. They know no library but Gymnasium and NumPy."""
import time

import gymnasium
import numpy as np
from gymnasium import spaces


class Empty(gymnasium.Env):
    """Does nothing: what a step costs is the vectoriser's."""

    observation_space = spaces.Box(-1.0, 1.0, (4,), np.float32)
    action_space = spaces.Discrete(2)

    def __init__(self):
        self.ob, self.info = np.zeros(4, np.float32), {}

    def reset(self, *, seed=None, options=None):
        return self.ob, self.info

    def step(self, action):
        return self.ob, 0.0, False, False, self.info


class Sleeper(Empty):
    """A step takes 1 ms, every tenth one 10 ms, at random: what a simulator that waits does."""

    def reset(self, *, seed=None, options=None):
        super(Empty, self).reset(seed=seed)
        return self.ob, self.info

    def step(self, action):
        time.sleep(0.010 if self.np_random.random() < 0.1 else 0.001)
        return self.ob, 0.0, False, False, self.info


class Structured(gymnasium.Env):
    """An observation of 3.7 KB in parts of several types, as NetHack's."""

    observation_space = spaces.Dict({
        "glyphs": spaces.Box(0, 5976, (21, 79), np.int16),
        "stats": spaces.Box(-1e6, 1e6, (27,), np.int64),
        "items": spaces.Box(0, 5976, (55,), np.int16),
        "where": spaces.Tuple((spaces.Box(-1.0, 1.0, (3,), np.float32), spaces.Discrete(6)))})
    action_space = spaces.Discrete(8)

    def __init__(self):
        self.observation_space.seed(0)
        self.ob, self.info = self.observation_space.sample(), {}

    def reset(self, *, seed=None, options=None):
        return self.ob, self.info

    def step(self, action):
        return self.ob, 0.0, False, False, self.info


class StructuredFlat(Structured):
    """Without the Tuple: Stable-Baselines3 and TorchRL take a flat Dict only."""

    observation_space = spaces.Dict({key: Structured.observation_space[key]
                                     for key in ("glyphs", "stats", "items")})


class StructuredAnew(StructuredFlat):
    """A new Dict in each step: TorchRL writes the reward into the one that it is given."""

    def reset(self, *, seed=None, options=None):
        return dict(self.ob), self.info

    def step(self, action):
        return dict(self.ob), 0.0, False, False, self.info


def cartpole():
    return gymnasium.make("CartPole-v1")


def breakout():
    """The rules of examples/breakout, in Python."""
    from breakout import Breakout
    return Breakout()


def minigrid():
    """MiniGrid's 8x8 room without its text: an image of 7 x 7 x 3 bytes."""
    from minigrid.wrappers import ImgObsWrapper
    return ImgObsWrapper(gymnasium.make("MiniGrid-Empty-8x8-v0"))


MAKERS = {"empty": Empty, "sleepers": Sleeper, "structured": Structured,
          "cartpole": cartpole, "breakout": breakout, "minigrid": minigrid}
ACTIONS = {"empty": 2, "sleepers": 2, "structured": 8, "cartpole": 2, "breakout": 3,
           "minigrid": 7}
