"""Copies as a VecEnv of Stable-Baselines3.  a name or folder, n -> PufferSB3"""
from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import gymnasium
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray
from stable_baselines3.common.vec_env import VecEnv

from ...base.errors import UsageError
from ...base.number_limits import whole_number
from ...env.spaces import ROW, mask_of
from .opened import RENDER_MODES, Opened, drawn
from .steps import Steps

if TYPE_CHECKING:
    from stable_baselines3.common.vec_env.base_vec_env import (
        VecEnvIndices,
        VecEnvObs,
        VecEnvStepReturn,
    )

    from .opened import Copies


class PufferSB3(VecEnv):
    """Copies of an environment in C, for the algorithms of Stable-Baselines3. Parameters: see
    to_sb3.

    Infos have `terminal_observation` and `TimeLimit.truncated` where an episode ends, `episode`
    with its return, length and seconds as Monitor has them, and what the environment logs, by its
    own names. `action_masks()` is what MaskablePPO of sb3-contrib asks for. Heads of both kinds at
    once are refused: Stable-Baselines3 has no Tuple of actions.
    """

    def __init__(self, env: str | os.PathLike[str], num_envs: int = 1, *, seed: int = 0,
                 threads: int = 1, env_settings: Mapping[str, float] | None = None,
                 render_mode: str | None = None, observations: str = ROW):
        whole_number("num_envs", num_envs, 1, 2**24)
        self.opened = opened = Opened(env, env_settings, render_mode, observations)
        if isinstance(opened.actions.space, spaces.Tuple):
            raise UsageError("Stable-Baselines3 has no algorithm for discrete and continuous heads "
                             "at once", where=opened.name, actual=str(opened.actions.space))
        self.copies, self.threads, self.render_mode = num_envs, threads, render_mode
        self.metadata = {"render_modes": list(RENDER_MODES)}
        self.vec: Copies | None = None
        self._steps: Steps | None = None
        self._first_seed: int | None = seed         # None: the copies have begun with it
        self._actions: NDArray[Any] | None = None   # those of step_async()
        super().__init__(num_envs * opened.agents, opened.observations.space, opened.actions.space)
        self.seed(seed)

    # -- running

    def seed(self, seed: int | None = None) -> Sequence[int | None]:
        """What the next reset() begins with: copy i with seed + i."""
        first = int(np.random.default_rng().integers(2**32)) if seed is None else int(seed)
        self._first_seed = first
        self._seeds = [first + row // self.opened.agents for row in range(self.num_envs)]
        return list(self._seeds)

    def reset(self) -> VecEnvObs:
        """Observations (n, D), or a dict of parts, of new episodes everywhere."""
        vec = self.vec
        if vec is None or self._first_seed is not None:
            first = self._first_seed or 0
            vec = self.vec = self.opened.vec([first + copy for copy in range(self.copies)],
                                             threads=self.threads, last=vec)
            self._first_seed = None
        vec.reset()
        self._returns = np.zeros(self.num_envs)
        self._lengths = np.zeros(self.num_envs, np.int64)
        self.reset_infos = self._infos(vec)
        self._reset_seeds()
        self._reset_options()
        self._steps = Steps(vec, self.opened.agents, threads=self.threads)
        return self.opened.observations.batch(self._steps.last)

    def step_async(self, actions: NDArray[Any]) -> None:
        """Keep actions (n,) or (n, K) for step_wait(). Raises UsageError before reset()."""
        if self._steps is None:
            raise UsageError("there is no episode to step", expected="reset() before the first")
        self._actions = actions

    def step_wait(self) -> VecEnvStepReturn:
        """(observations, rewards (n,) float32, dones (n,) bool, infos)

        Raises UsageError for an action that does not exist.
        """
        steps = self._steps
        if steps is None:
            raise UsageError("there is no step to wait for", expected="step_async() before it")
        rewards, _, truncated, dones, count = steps.step(self._actions, self.opened.actions.write)
        self._returns += rewards
        self._lengths += 1
        infos = self._infos(steps.vec)
        if count:
            self._end(steps, count, truncated, infos)
        steps.last = steps.vec.observations.copy()
        self.opened.show(steps.vec)
        return self.opened.observations.batch(steps.last), rewards, dones, infos

    def _end(self, steps: Steps, count: int, truncated: NDArray[np.bool_],
             infos: list[dict[str, Any]]) -> None:
        over, finals, columns, there = steps.end(count, steps.last)
        self.opened.warn_of_missing(steps.vec, over)
        logged = columns[:, over].T.tolist()
        for env, final, values in zip(over.tolist(), self.opened.observations.each(finals), logged):
            infos[env] |= {
                "terminal_observation": final,
                "TimeLimit.truncated": bool(truncated[env]),
                "episode": {"r": float(self._returns[env]), "l": int(self._lengths[env])}}
            if there[env]:
                infos[env] |= dict(zip(steps.names, values))
        self._returns[over] = 0
        self._lengths[over] = 0

    def _infos(self, vec: Copies) -> list[dict[str, Any]]:
        if vec.action_mask is None:
            return [{} for _ in range(self.num_envs)]
        return [{"action_mask": mask} for mask in mask_of(vec.action_mask)]

    def action_masks(self) -> NDArray[np.bool_]:
        """(n, mask size) bool. Raises UsageError before reset(), and where there is no mask."""
        if self.vec is None:
            raise UsageError("there is no action mask yet", expected="reset() first")
        if self.vec.action_mask is None:
            raise UsageError("this environment has no action mask", where=self.opened.name)
        legal: NDArray[np.bool_] = self.vec.action_mask != 0
        return legal

    # -- what Stable-Baselines3 asks of every VecEnv

    def close(self) -> None:
        if self.vec is not None:
            self.vec.close()

    def get_images(self) -> Sequence[NDArray[np.uint8] | None]:
        """A frame (H, W, 3) uint8 of each copy, for render()."""
        vec = None if self.render_mode is None or self.vec is None else drawn(self.vec)
        if vec is None:
            return [None] * self.num_envs
        return [vec.frame(copy) for copy in range(self.copies)]

    def get_attr(self, attr_name: str, indices: VecEnvIndices = None) -> list[Any]:
        return [getattr(self, attr_name) for _ in self._get_indices(indices)]

    def set_attr(self, attr_name: str, value: Any, indices: VecEnvIndices = None) -> None:
        raise UsageError("C environments have no attributes to set",
                         where=attr_name, hint="settings of the environment: env_settings={...}")

    def env_method(self, method_name: str, *args: Any, indices: VecEnvIndices = None,
                   **kwargs: Any) -> list[Any]:
        if method_name == "action_masks":
            masks = self.action_masks()
            return [masks[env] for env in self._get_indices(indices)]
        raise UsageError("C environments have no methods to call", where=method_name,
                         expected="action_masks")

    def env_is_wrapped(self, wrapper_class: type[gymnasium.Wrapper],
                       indices: VecEnvIndices = None) -> list[bool]:
        """True for Monitor alone: infos have `episode`."""
        from stable_baselines3.common.monitor import Monitor

        return [wrapper_class is Monitor for _ in self._get_indices(indices)]
