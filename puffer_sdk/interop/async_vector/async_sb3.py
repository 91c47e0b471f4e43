"""Python environments for Stable-Baselines3.  functions that make environments -> SB3Vector"""
from __future__ import annotations

import multiprocessing
import warnings
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode
from numpy.typing import NDArray
from stable_baselines3.common.vec_env import VecEnv

from ..python_envs.interfaces import Value
from .lane import Env
from .vector_parent import Vector

if TYPE_CHECKING:
    from stable_baselines3.common.vec_env.base_vec_env import (
        VecEnvIndices,
        VecEnvObs,
        VecEnvStepReturn,
    )

Result = TypeVar("Result")

class SB3Vector(VecEnv):
    """Environments in Python, stepped by worker processes, for Stable-Baselines3.

    env_fns         functions, one for each environment, that return a gymnasium.Env. They reach
                    the workers by cloudpickle: lambdas and local classes do
    start_method    as SubprocVecEnv has it. It changes nothing: workers are new processes
    workers         processes; "auto": one per core. Results do not depend on it
    shared_memory, copy, max_concurrency, start_timeout     as Vector has them

    Replaces SubprocVecEnv, and DummyVecEnv for programs that do not use `envs`, which live
    elsewhere: make_vec_env(name, 64, vec_env_cls=SB3Vector). What an environment raises is raised
    here as itself. Raises what Vector raises.
    """

    def __init__(self, env_fns: Sequence[Callable[[], Env]], start_method: str | None = None, *,
                 workers: int | str = "auto", shared_memory: bool = True, copy: bool = True,
                 max_concurrency: int | None = None, start_timeout: float = 60.0):
        multiprocessing.get_context(start_method)       # ValueError for one that there is not
        self.vector = _Single(env_fns, shared_memory, copy, workers=workers,
                              autoreset_mode=AutoresetMode.SAME_STEP,
                              max_concurrency=max_concurrency, start_timeout=start_timeout)
        super().__init__(self.vector.num_envs, self.vector.single_observation_space,
                         self.vector.single_action_space)

    # -- running

    def reset(self) -> VecEnvObs:
        """Observations, with the seeds and options that seed() and set_options() have left."""
        self.vector._begin_reset(list(self._seeds), [given or None for given in self._options])
        observations: VecEnvObs
        observations, found = self.vector.reset_wait()
        self.reset_infos = [found.get(env, {}) for env in range(self.num_envs)]
        self._reset_seeds()
        self._reset_options()
        return observations

    def step_async(self, actions: NDArray[Any]) -> None:
        """Begin step(); step_wait() ends it. actions: an array or a list, one for each."""
        self.vector.step_async(actions)

    def step_wait(self) -> VecEnvStepReturn:
        """(observations, rewards (n,) float32, dones (n,) bool, infos)"""
        observations, rewards, over, cut, found = self.vector.step_wait()
        dones = over | cut
        infos = [found.get(env, {}) for env in range(self.num_envs)]
        for env in np.flatnonzero(dones):
            begun = infos[env]          # the lane puts how the old one ended among these
            final = begun.pop("final_obs")
            infos[env] = {**begun.pop("final_info"), "terminal_observation": final}
            self.reset_infos[env] = begun
        for info, truncated in zip(infos, cut & ~over):
            info["TimeLimit.truncated"] = bool(truncated)
        return observations, rewards.astype(np.float32), dones, infos

    def close(self) -> None:
        self.vector.close()

    # -- what Stable-Baselines3 asks of every VecEnv

    def get_images(self) -> Sequence[NDArray[np.uint8] | None]:
        """A frame of each environment, for render()."""
        if self.render_mode != "rgb_array":
            warnings.warn(f"there are no pictures: render_mode is {self.render_mode!r}, not "
                          "'rgb_array'", stacklevel=2)
            return [None] * self.num_envs
        return self.env_method("render")

    def has_attr(self, attr_name: str) -> bool:
        """Whether all environments have it, or one of their wrappers."""
        def has(env: Env) -> bool:
            try:
                env.get_wrapper_attr(attr_name)
            except AttributeError:
                return False
            return True
        return all(self.vector.apply(has))

    def get_attr(self, attr_name: str, indices: VecEnvIndices = None) -> list[Any]:
        return self._apply(lambda env: env.get_wrapper_attr(attr_name), indices)

    def set_attr(self, attr_name: str, value: Any, indices: VecEnvIndices = None) -> None:
        self._apply(lambda env: setattr(env, attr_name, value), indices)

    def env_method(self, method_name: str, *args: Any, indices: VecEnvIndices = None,
                   **kwargs: Any) -> list[Any]:
        return self._apply(lambda env: env.get_wrapper_attr(method_name)(*args, **kwargs), indices)

    def env_is_wrapped(self, wrapper_class: type[gymnasium.Wrapper],
                       indices: VecEnvIndices = None) -> list[bool]:
        """Whether a wrapper of this class is around them."""
        def wrapped(env: Env) -> bool:
            while isinstance(env, gymnasium.Wrapper):
                if isinstance(env, wrapper_class):
                    return True
                env = env.env
            return False
        return self._apply(wrapped, indices)

    def _apply(self, function: Callable[[Env], Result], indices: VecEnvIndices) -> list[Result]:
        envs = [range(self.num_envs)[env] for env in self._get_indices(indices)]    # -1: the last
        return self.vector.apply(function, envs)


class _Single(Vector):
    """A Vector whose infos stay those of single environments: a dict of them, by index."""

    def _merged(self, found: dict[int, dict[str, Any]]) -> dict[int, dict[str, Any]]:
        return found

    def _each_action(self, actions: Value) -> list[Value]:
        return list(actions)
