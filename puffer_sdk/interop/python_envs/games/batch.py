"""Environments that step all their copies by their own code: gymnasium.vector, EnvPool, ALE."""
from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ....base.errors import UsageError
from .. import shared_rows
from ..interfaces import ManyEnvs, Value
from ..makers import ENVPOOL, Maker
from ..masks import MASK, flat_masks
from ..shared_rows import PULSE, PoolBlock
from .base import NUMBERS, Lane, Part

LARGEST = 2**31 - 1     # of a seed: C++ takes an int
PLACES = ("env_id",)    # of infos: which copy it is, and nothing about its episode


class BatchLane(Lane[ManyEnvs]):
    """One gymnasium.vector.VectorEnv that steps all environments of this lane by itself.

    Where it resets only in the step after an ending, the row has no agent in that step: training
    sees no step without an action. Where it does not reset itself, the lane resets it at once.
    """

    def __init__(self, part: Part, block: PoolBlock):
        super().__init__(part, block)
        self.earned, self.ages = np.zeros(self.count), np.zeros(self.count)
        mode = (getattr(self.envs[0], "metadata", None) or {}).get("autoreset_mode")
        self.never_resets = str(getattr(mode, "value", mode)).lower() == "disabled"

    def make(self, number: int) -> ManyEnvs:
        if number:
            return self.envs[0]
        env = self.part.maker.batch(self.count, self.small_seeds())
        if env.num_envs != self.count:
            raise UsageError("the number of copies differs", expected=self.count,
                             actual=env.num_envs, hint="take num_envs as a keyword")
        return env

    def reset_env(self, number: int, seed: int | None) -> None:
        if not number:
            begins = seed is not None and not self.part.maker.seeded_when_made
            obs, infos = reset_with(self.envs[0], self.small_seeds()) \
                if begins else self.envs[0].reset()
            self._look_at_all(obs, "reset")
            self.facts.observations.write_all(self.observations, obs)
            self.alive[:] = 1
            self._write_masks(obs, infos, slice(None))

    def space_of(self, row: int) -> Value:
        return self.envs[0].single_observation_space

    def _look_at_all(self, obs: Value, when: str) -> None:
        if (0, when) not in self.looked:
            for row in self.rows:
                self.look(row, of_row(obs, row), when)

    def _reset_all(self) -> None:
        super()._reset_all()
        self.earned[:] = self.ages[:] = 0

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
        self._look_at_all(obs, "step")
        if self.dirty:
            self.clear()
        terminated, truncated = np.asarray(terminated, bool), np.asarray(truncated, bool)
        over = (terminated | truncated) & lived
        self.rewards[:] = earned = np.where(lived, rewards, 0.0)
        self.earned += earned
        self.ages += lived
        plan.write_all(self.observations, obs)
        self.alive[:] = 1
        infos = infos if isinstance(infos, dict) else {}
        self._write_masks(obs, infos, slice(None))
        if over.any():
            self._end(over, terminated, infos)

    def _end(self, over: NDArray[np.bool_], terminated: NDArray[np.bool_],
             infos: dict[str, Any]) -> None:
        """Episodes of these rows are over; what is written there may be the next one's already."""
        self.dirty = True
        self.terminals[over], self.truncations[over] = 1, ~terminated[over]
        finals = infos.get("final_obs")
        if finals is None:
            self.finals[over] = self.observations[over]
        else:
            for row in np.flatnonzero(over).tolist():
                self.put(row, self.save[row], of_row(finals, row), "step")
        self._record_all(over, infos if finals is None else infos.get("final_info"))
        self.has_final[over] = 1
        if self.never_resets:
            obs, infos = self.envs[0].reset(options={"reset_mask": over})
            self.facts.observations.write_all(self.observations, obs)
            self._write_masks(obs, infos, over)
        elif finals is None:                # it resets in the next step
            self.alive[over] = 0
            if self.masks is not None:
                self.masks[over] = 1        # nothing may be legal after the end

    def _write_masks(self, obs: Value, infos: Value, rows: slice | NDArray[np.bool_]) -> None:
        """The masks of these rows, if there are any. A copy that gives none may do everything."""
        if self.masks is None:
            return
        masks, flags = (obs[MASK], None) if self.facts.mask_key else \
            (infos.get(MASK), infos.get(f"_{MASK}")) if isinstance(infos, dict) else (None, None)
        if masks is None:
            self.masks[rows] = 1
            return
        found = flat_masks(masks, self.count, self.masks.shape[1])
        if flags is not None:
            found |= ~np.asarray(flags, bool)[:, None]
        self.masks[rows] = found[rows]

    def _record_all(self, over: NDArray[np.bool_], infos: Value) -> None:
        """record() for all these rows: numbers of infos are arrays, one entry a copy."""
        self.log[over, shared_rows.LOG_COUNT] += 1
        self.log[over, shared_rows.LOG_RETURN] += self.earned[over]
        self.log[over, shared_rows.LOG_LENGTH] += self.ages[over]
        self.earned[over] = self.ages[over] = 0
        for name, values in numbers_of(infos).items():
            flags = infos.get(f"_{name}")
            rows = np.flatnonzero(over if flags is None else over & np.asarray(flags, bool))
            if values.dtype == object:      # what is no number in every copy
                rows = rows[[isinstance(value, NUMBERS) for value in values[rows]]]
            column = self.column_of(name) if len(rows) else 0
            if column:
                self.log[rows, column] += 1
                self.log[rows, column + 1] += values[rows].astype(np.float64)

    def frame(self, number: int) -> Value:
        return frame_of(self.part.maker, self.envs[0], number)

    def restart_all(self, error: Exception) -> bool:
        """restart() of all copies: one object steps them."""
        if (self.anew >= self.part.max_restarts).any():
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


def numbers_of(infos: Value) -> dict[str, NDArray[Any]]:
    """What a vector's infos hold for each copy that may be numbers: {name: (copies,)}.

    `_NAME` says which copies gave NAME, if it exists.
    """
    if not isinstance(infos, dict):
        return {}
    return {name: values for name, values in infos.items()
            if isinstance(name, str) and isinstance(values, np.ndarray) and values.ndim == 1
            and values.dtype.kind in "buifO" and name not in (*PLACES, MASK, "final_obs")
            and not (name[:1] == "_" and name[1:] in infos)}


def frame_of(maker: Maker, env: Any, number: int) -> Value:
    """The rendered image of one of its copies, or None. EnvPool renders that one, others all."""
    frames = env.render(number) if maker.kind == ENVPOOL else env.render()
    return None if frames is None else frames[0 if maker.kind == ENVPOOL else number]


def reset_with(env: ManyEnvs, seeds: list[int]) -> Value:
    """Gymnasium takes a list of seeds, ALE an array, others a single one."""
    from gymnasium.error import Error

    for form in (seeds, np.array(seeds), seeds[0]):
        try:
            return env.reset(seed=form)
        except (TypeError, ValueError, AssertionError, Error) as error:
            problem = error
    raise problem


def of_row(obs: Value, row: int) -> Value:
    """One environment's part of a batch of observations."""
    if isinstance(obs, dict):
        return {key: of_row(part, row) for key, part in obs.items()}
    if isinstance(obs, tuple):
        return tuple(of_row(part, row) for part in obs)
    return obs[row]
