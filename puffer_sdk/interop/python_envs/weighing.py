"""Rewards of several numbers as one.  an environment, weights -> the same, which pays their sum

At the end of an episode its info has the sums of each number: reward_0, reward_1, ...
"""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import gymnasium
import numpy as np
from numpy.typing import NDArray

from ...base.errors import RunError
from .interfaces import ParallelEnv, Value, info_of


class Sums:
    """Weighs the rewards of one agent, and sums them up by their places."""

    def __init__(self, weights: Sequence[float]):
        self.weights = np.array(weights, np.float64)
        self.begin()

    def begin(self) -> None:
        self.sums: NDArray[np.float64] = np.zeros(len(self.weights))

    def weigh(self, reward: Value) -> float:
        """Raises RunError where there are more or fewer numbers than weights."""
        found = np.asarray(reward)
        if found.shape != self.weights.shape or found.dtype.kind not in "buif":
            raise RunError("the reward does not have a number for each of vec.reward_weights",
                           expected=f"{len(self.weights)} numbers",
                           actual=f"{type(reward).__name__} of shape {found.shape}")
        self.sums += found
        return float(self.weights @ found)

    def shown(self) -> dict[str, float]:
        return {f"reward_{place}": float(value) for place, value in enumerate(self.sums)}


class Weighted(gymnasium.Wrapper[Any, Any, Any, Any]):
    """An environment of Gymnasium's interface."""

    def __init__(self, env: Any, weights: Sequence[float]):
        super().__init__(env)
        self.own = Sums(weights)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None
              ) -> tuple[Value, dict[str, Value]]:
        self.own.begin()
        return self.env.reset(seed=seed, options=options)

    def step(self, action: Value) -> tuple[Value, float, bool, bool, dict[str, Value]]:
        ob, reward, terminated, truncated, info = self.env.step(action)
        earned = self.own.weigh(reward)
        if terminated or truncated:
            info = {**info, **self.own.shown()}
        return ob, earned, terminated, truncated, info


class WeightedAgents:
    """A pettingzoo.ParallelEnv."""

    def __init__(self, env: ParallelEnv, weights: Sequence[float]):
        self.env = env
        self.own = {agent: Sums(weights) for agent in env.possible_agents}

    def __getattr__(self, name: str) -> Any:
        return getattr(self.env, name)

    def reset(self, *, seed: Any = None, options: dict[str, Any] | None = None) -> Value:
        for own in self.own.values():
            own.begin()
        return self.env.reset(seed=seed, options=options)

    def step(self, actions: Value) -> Value:
        obs, rewards, terminated, truncated, infos = self.env.step(actions)
        earned = {agent: self.own[agent].weigh(reward) for agent, reward in rewards.items()}
        ended = {agent: {**info_of(infos, agent), **self.own[agent].shown()} for agent in rewards
                 if terminated.get(agent) or truncated.get(agent)}
        return obs, earned, terminated, truncated, {**infos, **ended}
