"""Copies as a VecEnv of Stable-Baselines3.  a name or folder, n -> PufferSB3"""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from gymnasium import spaces
from stable_baselines3.common.vec_env import VecEnv

from ...base.errors import UsageError
from ...base.number_limits import whole_number
from ...env.spaces import ROW, Actions, Observations, mask_of
from .opened import Opened
from .steps import Steps


class PufferSB3(VecEnv):
    """Copies of an environment in C, for the algorithms of Stable-Baselines3.

    env             a name or folder, as `puffer_sdk.make` takes it
    num_envs        copies. Each agent of a copy is an env here: num_envs x agents in all
    threads         how many step at a time; the result does not depend on it
    env_settings    [env] values over those of the ini
    render_mode     None, "rgb_array" or "human"
    observations    "row" (MlpPolicy), or "dict": named parts (MultiInputPolicy)

    Infos have `terminal_observation` and `TimeLimit.truncated` where an episode ends, `episode`
    with its return, length and seconds as Monitor has them, and what the environment logs, by its
    own names. `action_masks()` is what MaskablePPO of sb3-contrib asks for. Heads of both kinds at
    once are refused: Stable-Baselines3 has no Tuple of actions.
    """

    def __init__(self, env, num_envs: int = 1, *, seed: int = 0, threads: int = 1,
                 env_settings: Mapping[str, float] | None = None, render_mode: str | None = None,
                 observations: str = ROW):
        whole_number("num_envs", num_envs, 1, 2**24)
        self.opened = opened = Opened(env, env_settings, render_mode)
        self._observations = Observations(opened.about, opened.row, observations)
        self._actions = Actions(opened.about)
        if isinstance(self._actions.space, spaces.Tuple):
            raise UsageError("Stable-Baselines3 has no algorithm for discrete and continuous heads "
                             "at once", where=opened.name, actual=str(self._actions.space))
        self.copies, self.threads, self.render_mode = num_envs, threads, render_mode
        self.metadata = {"render_modes": ["rgb_array", "human"]}
        self.vec = self._steps = self._last = None
        self._first_seed, self._waits = seed, None
        super().__init__(num_envs * opened.agents, self._observations.space, self._actions.space)
        self.seed(seed)

    # -- running

    def seed(self, seed: int | None = None) -> Sequence[int | None]:
        """What the next reset() begins with: copy i with seed + i."""
        first = int(np.random.default_rng().integers(2**32)) if seed is None else int(seed)
        self._first_seed = first
        self._seeds = [first + row // self.opened.agents for row in range(self.num_envs)]
        return list(self._seeds)

    def reset(self):
        if self._first_seed is not None:
            seeds = [self._first_seed + copy for copy in range(self.copies)]
            self.vec = self.opened.vec(seeds, threads=self.threads, last=self.vec)
            self._first_seed = None
        self.vec.reset()
        self._returns = np.zeros(self.num_envs)
        self._lengths = np.zeros(self.num_envs, np.int64)
        self.reset_infos = self._infos()
        self._reset_seeds()
        self._reset_options()
        self._steps = Steps(self.vec, self.opened.agents, threads=self.threads)
        self._last = self.vec.observations.copy()
        return self._observations.batch(self._last)

    def step_async(self, actions: np.ndarray) -> None:
        if self.vec is None:
            raise UsageError("there is no episode to step", expected="reset() before the first")
        self._waits = actions

    def step_wait(self):
        vec = self.vec
        rewards, _, truncated, dones, count = self._steps.step(self._waits, self._actions.write)
        self._returns += rewards
        self._lengths += 1
        infos = self._infos()
        if count:
            self._end(count, truncated, infos)
        self._last = vec.observations.copy()
        if self.render_mode == "human":
            vec.frame(0)
        return self._observations.batch(self._last), rewards, dones, infos

    def _end(self, count: int, truncated: np.ndarray, infos: list[dict]) -> None:
        over, finals, columns, there = self._steps.end(count, self._last)
        logged, names = columns[:, over].T.tolist(), self._steps.names
        for env, final, values in zip(over.tolist(), self._observations.each(finals), logged):
            infos[env] |= {
                "terminal_observation": final,
                "TimeLimit.truncated": bool(truncated[env]),
                "episode": {"r": float(self._returns[env]), "l": int(self._lengths[env])}}
            if there[env]:
                infos[env] |= dict(zip(names, values))
        self._returns[over] = 0
        self._lengths[over] = 0

    def _infos(self) -> list[dict[str, Any]]:
        if self.vec.action_mask is None:
            return [{} for _ in range(self.num_envs)]
        masks = mask_of(self.vec.action_mask)
        return [{"action_mask": mask} for mask in masks]

    def action_masks(self) -> np.ndarray:
        """(num_envs, mask size) bool"""
        if self.vec.action_mask is None:
            raise UsageError("this environment has no action mask", where=self.opened.name)
        return self.vec.action_mask != 0

    # -- what Stable-Baselines3 asks of every VecEnv

    def close(self) -> None:
        if self.vec is not None:
            self.vec.close()

    def get_images(self) -> Sequence[np.ndarray | None]:
        """A frame of each copy, for render()."""
        if self.render_mode is None or self.vec is None:
            return [None] * self.num_envs
        return [self.vec.frame(copy) for copy in range(self.copies)]

    def get_attr(self, attr_name: str, indices=None) -> list[Any]:
        return [getattr(self, attr_name) for _ in self._get_indices(indices)]

    def set_attr(self, attr_name: str, value: Any, indices=None) -> None:
        raise UsageError("C environments have no attributes to set",
                         where=attr_name, hint="settings of the environment: env_settings={...}")

    def env_method(self, method_name: str, *args, indices=None, **kwargs) -> list[Any]:
        if method_name == "action_masks":
            masks = self.action_masks()
            return [masks[env] for env in self._get_indices(indices)]
        raise UsageError("C environments have no methods to call", where=method_name,
                         expected="action_masks")

    def env_is_wrapped(self, wrapper_class, indices=None) -> list[bool]:
        """True for Monitor alone: infos have `episode`."""
        from stable_baselines3.common.monitor import Monitor

        return [wrapper_class is Monitor for _ in self._get_indices(indices)]
