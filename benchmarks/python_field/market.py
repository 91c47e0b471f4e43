"""Trade one share against cash, with a fee, over a fixed number of days."""

import gymnasium as gym
import numpy as np
from gymnasium import spaces

HOLD, BUY, SELL = range(3)

PRICE_MIN, PRICE_MAX = 10.0, 1000.0
VOLUME_MAX = 1e6


class Market(gym.Env):
    """Each day choose to hold, buy or sell, and for what fraction.

    Buying spends that fraction of the cash, selling gives up that fraction of
    the shares; both at today's close, which is the last of the prices shown.
    The reward is the log return of the whole account to the next day's close.
    The episode is truncated after the last day and ends early if the account
    falls below RUIN of its start.
    """

    metadata = {"render_modes": []}

    START_CASH = 10_000.0
    FEE = 0.002
    RUIN = 0.8
    WINDOW = 8

    def __init__(self, days=120, render_mode=None):
        self.days = days
        self.render_mode = render_mode
        window = self.WINDOW
        self.observation_space = spaces.Dict(
            {
                "prices": spaces.Box(PRICE_MIN, PRICE_MAX, (window,), np.float32),
                "returns": spaces.Box(-1.0, 1.0, (window - 1,), np.float32),
                "volume": spaces.Box(0.0, VOLUME_MAX, (1,), np.float32),
                # cash, shares held, share of the days left
                "account": spaces.Box(
                    np.zeros(3, dtype=np.float32),
                    np.array([1e8, 1e6, 1.0], dtype=np.float32),
                ),
            }
        )
        self.action_space = spaces.Tuple(
            (spaces.Discrete(3), spaces.Box(0.0, 1.0, (1,), np.float32))
        )

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        rng = self.np_random
        self._draw_history(rng)
        self.today = self.WINDOW - 1
        self.last_day = self.today + self.days
        self.cash = self.START_CASH
        self.shares = 0.0
        return self._observe(), self._info()

    def step(self, action):
        kind, fraction = action
        before = self._wealth()
        self._trade(int(kind), float(np.clip(fraction[0], 0.0, 1.0)))
        self.today += 1
        after = self._wealth()

        reward = float(np.log(after / before))
        terminated = bool(after < self.RUIN * self.START_CASH)
        truncated = not terminated and self.today >= self.last_day
        return self._observe(), reward, terminated, truncated, self._info()

    def _draw_history(self, rng):
        """Draw all prices and volumes: a random walk with slow trends."""
        length = self.WINDOW + self.days + 1
        trend = 0.0
        price = rng.uniform(60.0, 160.0)
        prices, volumes = [], []
        for _ in range(length):
            trend = 0.95 * trend + 0.002 * rng.normal()
            move = trend + 0.018 * rng.normal()
            price = min(max(price * np.exp(move), PRICE_MIN), PRICE_MAX)
            volume = np.exp(11.5 + 0.8 * rng.normal() + 5.0 * abs(move))
            prices.append(price)
            volumes.append(min(volume, VOLUME_MAX))
        self.prices = np.array(prices)
        self.volumes = np.array(volumes)

    def _trade(self, kind, fraction):
        price = self.prices[self.today]
        if kind == BUY:
            spent = fraction * self.cash
            self.cash -= spent
            self.shares += spent * (1.0 - self.FEE) / price
        elif kind == SELL:
            sold = fraction * self.shares
            self.shares -= sold
            self.cash += sold * price * (1.0 - self.FEE)

    def _wealth(self):
        return self.cash + self.shares * self.prices[self.today]

    def _observe(self):
        end = self.today + 1
        prices = self.prices[end - self.WINDOW : end]
        days_left = (self.last_day - self.today) / self.days
        return {
            "prices": prices.astype(np.float32),
            "returns": np.diff(np.log(prices)).astype(np.float32),
            "volume": np.array([self.volumes[self.today]], dtype=np.float32),
            "account": np.array(
                [self.cash, self.shares, max(0.0, days_left)], dtype=np.float32
            ),
        }

    def _info(self):
        return {"wealth": float(self._wealth()), "day": self.today}
