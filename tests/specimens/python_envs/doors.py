"""specimens/doors in Python: games that end soon or late, or never, by how they go."""
import gymnasium
import numpy as np
from gymnasium import spaces


class ShortWins(gymnasium.Env):
    """A lamp says which of two keys fits; the right one opens the door in `odds` of ten games.

    win, loss   ticks of a won game and of a lost one; 0: it never ends,
                and a won one pays each tick
    """

    win, loss, odds = 5, 60, 6

    def __init__(self):
        self.observation_space = spaces.Box(-1.0, 1.0, (2,), np.float32)
        self.action_space = spaces.Discrete(2)

    def look(self):
        lamp = 0.0 if self.tick else 2.0 * self.key - 1.0
        return np.array([lamp, 0.0], np.float32)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.tick, self.opens, self.key = 0, False, int(self.np_random.integers(2))
        return self.look(), {}

    def step(self, action):
        if self.tick == 0:
            self.opens = action == self.key and self.np_random.integers(10) < self.odds
        self.tick += 1
        over = self.tick == (self.win if self.opens else self.loss)
        paid = 0.1 if self.opens and not self.win else float(over and self.opens)
        return self.look(), paid, bool(over), False, {}


class LongWins(ShortWins):
    win, loss = 60, 5


class EndlessWins(ShortWins):
    win, loss = 0, 20


class TwoModes(ShortWins):
    win, loss, odds = 100, 100, 5
