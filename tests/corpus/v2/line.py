"""Walk along a line from a random place: its right end is won, its left end is lost."""
import gymnasium
import numpy as np
from gymnasium import spaces


class Line(gymnasium.Env):
    """The observation is where one stands; 40 steps are an episode at most."""

    def __init__(self, length=7):
        self.observation_space = spaces.Box(0.0, 1.0, (1,), np.float32)
        self.action_space = spaces.Discrete(2)
        self.length = length

    def look(self):
        return np.array([self.at / self.length], np.float32)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.at, self.tick = 1 + int(self.np_random.integers(self.length - 1)), 0
        return self.look(), {}

    def step(self, action):
        self.at += 1 if action else -1
        self.tick += 1
        won, lost = self.at == self.length, self.at == 0
        return self.look(), float(won) - float(lost), won or lost, self.tick >= 40, {}
