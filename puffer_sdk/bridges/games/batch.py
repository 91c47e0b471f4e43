"""Environments that step all their copies by their own code: gymnasium.vector, EnvPool, ALE."""
from __future__ import annotations

import numpy as np

from ...base.errors import UsageError
from ..makers import ENVPOOL, Maker
from ..shared import PULSE, Block
from .base import RENDER, Lane, Part

LARGEST = 2**31 - 1     # of a seed: C++ takes an int


class BatchLane(Lane):
    """One gymnasium.vector.VectorEnv that steps all environments of this lane by itself.

    Where it resets only in the step after an ending, nobody lives in that step: the row's agent is
    gone, and what is trained on has no step without an action. Where it does not reset at all, it
    is asked to at once.
    """

    def __init__(self, part: Part, block: Block):
        super().__init__(part, block)
        self.returns, self.lengths = np.zeros(self.count), np.zeros(self.count)
        mode = (getattr(self.envs[0], "metadata", None) or {}).get("autoreset_mode")
        self.never_resets = str(getattr(mode, "value", mode)).lower() == "disabled"

    def make(self, number: int):
        if number:
            return self.envs[0]
        env = self.part.maker.batch(self.count, self.small_seeds())
        if env.num_envs != self.count:
            raise UsageError("the environment has another number of copies", expected=self.count,
                             actual=env.num_envs, hint="take num_envs as a keyword")
        return env

    def reset_env(self, number: int, seed: int | None) -> None:
        if not number:
            begins = seed is not None and not self.part.maker.seeded_when_made
            obs, _ = reset_with(self.envs[0], self.small_seeds()) \
                if begins else self.envs[0].reset()
            self.facts.observations.write_all(self.observations, obs)
            self.alive[:] = 1

    def small_seeds(self) -> list[int]:
        return [int(seed) & LARGEST for seed in self.seeds]

    def step_all(self) -> None:
        plan, lived = self.facts.observations, self.alive != 0
        self.notes[PULSE] += 1
        try:
            obs, rewards, terminated, truncated, infos = self.envs[0].step(
                np.asarray(self.read(self.actions)))
        except Exception as error:
            if not self.restart_all(error):
                raise
            self.cut_all()
            return
        if self.dirty:
            self.clear()
        terminated, truncated = np.asarray(terminated, bool), np.asarray(truncated, bool)
        over = (terminated | truncated) & lived
        self.rewards[:] = earned = np.where(lived, rewards, 0.0)
        self.returns += earned
        self.lengths += lived
        plan.write_all(self.observations, obs)
        self.alive[:] = 1
        if over.any():
            self._end(over, terminated, infos)

    def _end(self, over, terminated, infos) -> None:
        """Episodes of these rows are over; what is written there may be the next one's already."""
        self.dirty = True
        self.terminals[over], self.truncations[over] = 1, ~terminated[over]
        finals = infos.get("final_obs") if isinstance(infos, dict) else None
        for row in np.flatnonzero(over).tolist():
            if finals is None:
                self.finals[row] = self.observations[row]
            else:
                self.save_checked(row, of_row(finals, row))
            self.record(row, row, {})
        self.has_final[over] = 1
        if self.never_resets:
            obs, _ = self.envs[0].reset(options={"reset_mask": over})
            self.facts.observations.write_all(self.observations, obs)
        elif finals is None:                # it resets in the next step
            self.alive[over] = 0

    def render(self, number: int):
        found: list = []
        self._run(RENDER, lambda: found.append(frame_of(self.part.maker, self.envs[0], number)))
        return found[0]

    def restart_all(self, error: Exception) -> bool:
        """restart() of all copies: one object steps them."""
        if (self.anew >= self.part.restarts).any():
            return False
        self.anew[1:] += 1
        self.seeds = [self.seed_of(number) for number in range(self.count)]
        self.fresh = True
        if not self.restart(0, error):
            return False
        self.envs[1:] = self.envs[:1] * (self.count - 1)
        return True

    def close(self) -> None:
        del self.envs[1:]
        super().close()


def frame_of(maker: Maker, env, number: int):
    """What it draws of one of its copies, or None. EnvPool is told which, others draw all."""
    frames = env.render(number) if maker.kind == ENVPOOL else env.render()
    return None if frames is None else frames[0 if maker.kind == ENVPOOL else number]


def reset_with(env, seeds: list[int]):
    """Gymnasium takes a list of seeds, ALE an array, others a single one."""
    from gymnasium.error import Error

    for form in (seeds, np.array(seeds), seeds[0]):
        try:
            return env.reset(seed=form)
        except (TypeError, ValueError, AssertionError, Error) as error:
            problem = error
    raise problem


def of_row(obs, row: int):
    """One environment's part of a batch of observations."""
    if isinstance(obs, dict):
        return {key: of_row(part, row) for key, part in obs.items()}
    if isinstance(obs, tuple):
        return tuple(of_row(part, row) for part in obs)
    return obs[row]
