"""A tiny shooter: clear the marching rows before they land."""

import gymnasium as gym
import numpy as np
from gymnasium import spaces

FIELD = 18  # the field is FIELD x FIELD cells
SCALE = 2  # pixels a cell in the observation
SHIP_ROW = FIELD - 1

NOOP, LEFT, RIGHT, FIRE = range(4)

ENEMY_COLOR = 120
BOMB_COLOR = 80
SHOT_COLOR = 200
SHIP_COLOR = 255


class Invaders(gym.Env):
    """The observation is one grey image of the field.

    Rewards: +1 an enemy shot, -1 a bomb that hits. The episode ends when all
    enemies are shot, when one reaches the ship's row, or with the last life.
    """

    metadata = {"render_modes": ["rgb_array"], "render_fps": 15}

    def __init__(self, lives=3, max_steps=400, render_mode=None):
        self.start_lives = lives
        self.max_steps = max_steps
        self.render_mode = render_mode
        side = FIELD * SCALE
        self.observation_space = spaces.Box(0, 255, (side, side, 1), np.uint8)
        self.action_space = spaces.Discrete(4)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.lives = self.start_lives
        self.score = 0.0
        self.steps = 0
        self.ship = int(self.np_random.integers(4, FIELD - 4))
        self.enemies = [(row, col) for row in (1, 3, 5) for col in range(2, 14, 2)]
        self.march = 1 if self.np_random.random() < 0.5 else -1
        self.shots = []
        self.bombs = []
        return self._observe(), self._info()

    def step(self, action):
        self.steps += 1
        if action == LEFT:
            self.ship = max(1, self.ship - 1)
        elif action == RIGHT:
            self.ship = min(FIELD - 2, self.ship + 1)
        elif action == FIRE and len(self.shots) < 2:
            self.shots.append((SHIP_ROW, self.ship))

        kills = self._move_shots()
        if self.steps % 4 == 0:
            self._march()
        hits = self._move_bombs()
        self._drop_bombs()

        reward = float(kills - hits)
        self.score += reward
        self.lives -= hits
        landed = any(row >= SHIP_ROW for row, _ in self.enemies)
        terminated = landed or not self.enemies or self.lives <= 0
        truncated = not terminated and self.steps >= self.max_steps
        return self._observe(), reward, terminated, truncated, self._info()

    def render(self):
        if self.render_mode == "rgb_array":
            frame = self._observe().repeat(6, axis=0).repeat(6, axis=1)
            return frame.repeat(3, axis=2)
        return None

    def _move_shots(self):
        """Move every shot up two cells; return how many enemies were hit."""
        kills = 0
        flying = []
        for row, col in self.shots:
            for cell in ((row - 1, col), (row - 2, col)):
                if cell in self.enemies:
                    self.enemies.remove(cell)
                    kills += 1
                    break
            else:
                if row - 2 >= 0:
                    flying.append((row - 2, col))
        self.shots = flying
        return kills

    def _march(self):
        """Step sideways, or down and back at an edge."""
        cols = [col + self.march for _, col in self.enemies]
        if cols and (min(cols) < 0 or max(cols) >= FIELD):
            self.march = -self.march
            self.enemies = [(row + 1, col) for row, col in self.enemies]
        else:
            self.enemies = [(row, col + self.march) for row, col in self.enemies]

    def _move_bombs(self):
        """Move every bomb down a cell; return how many hit the ship."""
        hits = 0
        falling = []
        for row, col in self.bombs:
            row += 1
            if row < SHIP_ROW:
                falling.append((row, col))
            elif abs(col - self.ship) <= 1:
                hits += 1
        self.bombs = falling
        return hits

    def _drop_bombs(self):
        lowest = {}
        for row, col in self.enemies:
            lowest[col] = max(row, lowest.get(col, 0))
        for col, row in sorted(lowest.items()):
            if row + 1 < SHIP_ROW and self.np_random.random() < 0.03:
                self.bombs.append((row + 1, col))

    def _observe(self):
        image = np.zeros((FIELD, FIELD), dtype=np.float32)
        for row, col in self.enemies:
            image[row, col] = ENEMY_COLOR
        for row, col in self.bombs:
            image[row, col] = BOMB_COLOR
        for row, col in self.shots:
            image[row, col] = SHOT_COLOR
        image[SHIP_ROW, self.ship - 1 : self.ship + 2] = SHIP_COLOR
        image = image.repeat(SCALE, axis=0).repeat(SCALE, axis=1)
        return image[:, :, np.newaxis].astype(np.uint8)

    def _info(self):
        return {"lives": self.lives, "score": self.score}
