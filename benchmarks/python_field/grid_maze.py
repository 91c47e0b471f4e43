"""A small maze: turn and walk to the exit, and pick up the coins on the way."""

import gymnasium as gym
import numpy as np
from gymnasium import spaces

# Row and column change for each facing: north, east, south, west.
HEADINGS = ((-1, 0), (0, 1), (1, 0), (0, -1))

TURN_LEFT, TURN_RIGHT, FORWARD = range(3)
WALL, AGENT, ITEM = range(3)


class GridMaze(gym.Env):
    """The grid shows walls (channel 0), the agent (1) and coins and exit (2).

    Rewards: -0.01 a step, +0.2 a coin, +1 at the exit, which ends the episode.
    """

    metadata = {"render_modes": ["rgb_array"], "render_fps": 8}

    def __init__(self, size=9, coins=4, max_steps=200, render_mode=None):
        if size < 5 or size % 2 == 0:
            raise ValueError("size must be odd and at least 5")
        self.size = size
        self.coin_count = coins
        self.max_steps = max_steps
        self.render_mode = render_mode
        self.observation_space = spaces.Dict(
            {
                "grid": spaces.Box(0, 255, (size, size, 3), np.uint8),
                "facing": spaces.Discrete(4),
            }
        )
        self.action_space = spaces.Discrete(3)
        self.steps = 0

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.steps = 0
        self.walls = self._carve()
        self.position = (1, 1)
        self.exit = (self.size - 2, self.size - 2)
        self.facing = int(self.np_random.integers(4))
        self.coins = self._scatter_coins()
        self._draw_canvas()
        return self._observe(), self._info()

    def step(self, action):
        self.steps += 1
        reward = -0.01
        if action == TURN_LEFT:
            self.facing = (self.facing - 1) % 4
        elif action == TURN_RIGHT:
            self.facing = (self.facing + 1) % 4
        elif action == FORWARD:
            self._walk()

        if self.position in self.coins:
            self.coins.remove(self.position)
            self._canvas[self.position][ITEM] = 0
            reward += 0.2

        terminated = self.position == self.exit
        if terminated:
            reward += 1.0
        truncated = not terminated and self.steps >= self.max_steps
        return self._observe(), reward, terminated, truncated, self._info()

    def render(self):
        if self.render_mode == "rgb_array":
            return self._canvas.repeat(16, axis=0).repeat(16, axis=1)
        return None

    def _walk(self):
        row = self.position[0] + HEADINGS[self.facing][0]
        col = self.position[1] + HEADINGS[self.facing][1]
        if self.walls[row, col]:
            return
        self._canvas[self.position][AGENT] = 0
        self.position = (row, col)
        self._canvas[self.position][AGENT] = 255

    def _carve(self):
        """Carve a perfect maze by a random depth-first walk over the odd cells."""
        walls = np.ones((self.size, self.size), dtype=bool)
        walls[1, 1] = False
        trail = [(1, 1)]
        while trail:
            row, col = trail[-1]
            choices = []
            for d_row, d_col in HEADINGS:
                far = (row + 2 * d_row, col + 2 * d_col)
                inside = 0 < far[0] < self.size and 0 < far[1] < self.size
                if inside and walls[far]:
                    choices.append((far, (row + d_row, col + d_col)))
            if not choices:
                trail.pop()
                continue
            far, between = choices[self.np_random.integers(len(choices))]
            walls[between] = False
            walls[far] = False
            trail.append(far)
        return walls

    def _scatter_coins(self):
        free = [
            (int(row), int(col))
            for row, col in np.argwhere(~self.walls)
            if (row, col) != self.position and (row, col) != self.exit
        ]
        picks = self.np_random.choice(len(free), self.coin_count, replace=False)
        return {free[i] for i in picks}

    def _draw_canvas(self):
        self._canvas = np.zeros((self.size, self.size, 3), dtype=np.uint8)
        self._canvas[self.walls, WALL] = 255
        self._canvas[self.exit][ITEM] = 255
        for coin in self.coins:
            self._canvas[coin][ITEM] = 128
        self._canvas[self.position][AGENT] = 255

    def _observe(self):
        return {"grid": self._canvas.copy(), "facing": self.facing}

    def _info(self):
        return {"coins_left": len(self.coins), "steps": self.steps}
