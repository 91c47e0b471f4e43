"""A cart on a short track: bring it to rest at a marker, in a steady wind."""

import gymnasium as gym
import numpy as np
from gymnasium import spaces


class Cart(gym.Env):
    """Observation: position, speed, marker position, wind, share of time left.

    The reward each step lies in [0, 1]: closeness to the marker, less near the
    ends of the track, less a small price for thrust. Parking at the marker
    ends the episode with a bonus of 5; so does leaving the track, without one.
    """

    metadata = {"render_modes": []}

    TRACK = 3.0  # the track runs from -TRACK to TRACK
    MAX_SPEED = 2.0
    MAX_WIND = 0.3
    THRUST = 2.5
    DRAG = 0.1
    DT = 0.1
    PARKED = 0.08
    BONUS = 5.0

    def __init__(self, max_steps=150, render_mode=None):
        self.max_steps = max_steps
        self.render_mode = render_mode
        # The last step of an episode may end a little past the track's end.
        reach = self.TRACK + self.MAX_SPEED * self.DT
        high = np.array(
            [reach, self.MAX_SPEED, self.TRACK, self.MAX_WIND, 1.0], dtype=np.float32
        )
        low = -high
        low[4] = 0.0
        self.observation_space = spaces.Box(low, high, dtype=np.float32)
        self.action_space = spaces.Box(-1.0, 1.0, (1,), np.float32)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.steps = 0
        self.x = self.np_random.uniform(-1.5, 1.5)
        self.v = self.np_random.uniform(-0.2, 0.2)
        self.target = self.np_random.uniform(-2.0, 2.0)
        self.wind = self.np_random.uniform(-0.25, 0.25)
        return self._observe(), self._info()

    def step(self, action):
        thrust = float(np.clip(action[0], -1.0, 1.0))
        self._advance(thrust)
        self.steps += 1

        off_track = abs(self.x) > self.TRACK
        parked = self._gap() < self.PARKED and abs(self.v) < self.PARKED
        terminated = off_track or parked
        truncated = not terminated and self.steps >= self.max_steps

        reward = self._reward(thrust)
        if parked:
            reward += self.BONUS
        return self._observe(), reward, terminated, truncated, self._info()

    def _advance(self, thrust):
        """Semi-implicit Euler: the new speed moves the cart."""
        force = self.THRUST * thrust + self.wind - self.DRAG * self.v
        self.v += force * self.DT
        self.v = min(max(self.v, -self.MAX_SPEED), self.MAX_SPEED)
        self.x += self.v * self.DT

    def _gap(self):
        return abs(self.x - self.target)

    def _reward(self, thrust):
        closeness = np.exp(-self._gap())
        margin = np.sqrt(max(0.0, 1.0 - (self.x / self.TRACK) ** 2))
        reward = closeness * (0.5 + 0.5 * margin) - 0.05 * thrust**2
        return float(max(reward, 0.0))

    def _observe(self):
        time_left = 1.0 - self.steps / self.max_steps
        return np.array(
            [self.x, self.v, self.target, self.wind, max(0.0, time_left)],
            dtype=np.float32,
        )

    def _info(self):
        return {"gap": self._gap(), "steps": self.steps}
