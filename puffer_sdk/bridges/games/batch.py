"""Environments that step all their copies by their own code: gymnasium.vector, EnvPool, ALE."""
from __future__ import annotations

import numpy as np

from ...base.errors import UsageError
from .base import Lane


class BatchLane(Lane):
    """One gymnasium.vector.VectorEnv that steps all environments of this lane by itself.

    Where it resets only in the step after an ending, nobody lives in that step: the row's agent is
    gone, and what is trained on has no step without an action.
    """

    def make(self, number: int):
        if number:
            return self.envs[0]
        env = self.part.maker.batch(self.count)
        if env.num_envs != self.count:
            raise UsageError("the environment has another number of copies", expected=self.count,
                             actual=env.num_envs, hint="take num_envs as a keyword")
        return env

    def reset_env(self, number: int, seed: int | None) -> None:
        if number:
            return
        seeds = None if seed is None else [int(each) for each in self.part.seeds]
        try:
            obs, _ = self.envs[0].reset(seed=seeds)
        except (TypeError, ValueError):     # one seed for all of them
            obs, _ = self.envs[0].reset(seed=None if seed is None else int(seed))
        self.observations[:] = np.asarray(obs).reshape(self.observations.shape)
        self.alive[:] = 1

    def step_all(self) -> None:
        lived = self.alive != 0
        obs, rewards, terminated, truncated, infos = self.envs[0].step(
            np.asarray(self.read(self.actions)))
        if self.dirty:
            self.clear()
        rows = np.asarray(obs).reshape(self.observations.shape)
        terminated, truncated = np.asarray(terminated, bool), np.asarray(truncated, bool)
        over = (terminated | truncated) & lived
        self.rewards[:] = np.where(lived, rewards, 0.0)
        self.observations[:] = rows
        self.alive[:] = 1
        for row in np.flatnonzero(lived):
            self.returns[row] += float(rewards[row])
            self.lengths[row] += 1
        finals = infos.get("final_obs") if isinstance(infos, dict) else None
        for row in np.flatnonzero(over):
            self.dirty = True
            self.terminals[row], self.truncations[row] = 1, not terminated[row]
            self.has_final[row] = 1
            if finals is None:              # it resets in the next step
                self.finals[row], self.alive[row] = rows[row], 0
            else:
                self.finals[row] = np.asarray(finals[row]).reshape(-1)
            self.record(int(row), int(row), {})

    def close(self) -> None:
        del self.envs[1:]
        super().close()
