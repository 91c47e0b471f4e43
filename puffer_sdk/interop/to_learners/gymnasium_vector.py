"""Many copies as a gymnasium.vector.VectorEnv.  a name or folder, n -> PufferVector"""
from __future__ import annotations

import os
from collections import deque
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from ...base.errors import UsageError
from ...base.number_limits import whole_number
from ...env.agent_slots import living
from ...env.spaces import ROW, mask_of
from ..python_envs.games.base import AUTORESET, DISABLED, NEXT_STEP, SAME_STEP
from .gymnasium_env import Observation
from .opened import RENDER_MODES, USUAL_FPS, Opened, drawn, renew
from .steps import Steps

if TYPE_CHECKING:
    from .opened import Copies

MODES = {NEXT_STEP: AutoresetMode.NEXT_STEP, SAME_STEP: AutoresetMode.SAME_STEP,
         DISABLED: AutoresetMode.DISABLED}
Infos = dict[str, object]


class PufferVector(VectorEnv[Observation, object, NDArray[Any]]):
    """Copies of an environment in C, stepped together. Parameters: see to_vector.

    reset(seed=s) begins in env i what PufferEnv begins with seed s + i; a list has one for each.
    Infos: action_mask; final_obs and final_info (what the environment logs of an episode) with
    "same_step", the log's names alone otherwise; `alive` with a variable number of agents.
    """

    metadata: dict[str, Any] = {"render_modes": list(RENDER_MODES), "render_fps": USUAL_FPS}

    def __init__(self, env: str | os.PathLike[str], num_envs: int = 1, *,
                 autoreset: str | None = None, threads: int = 1,
                 env_settings: Mapping[str, float] | None = None, render_mode: str | None = None,
                 observations: str = ROW, copy: bool = True):
        whole_number("num_envs", num_envs, 1, 2**24)
        self.opened = opened = Opened(env, env_settings, render_mode, observations)
        self.autoreset = autoreset or (NEXT_STEP if opened.agents == 1 else SAME_STEP)
        self._check(copy)
        self.copies, self.threads, self.copy = num_envs, threads, copy
        self.num_envs, self.render_mode = num_envs * opened.agents, render_mode
        self.autoreset_mode = MODES[self.autoreset]         # as Gymnasium's own vectors name it
        self.metadata = {**self.metadata, "autoreset_mode": self.autoreset_mode}
        self.single_observation_space = opened.observations.space
        self.single_action_space = opened.actions.space
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self.action_space = batch_space(self.single_action_space, self.num_envs)
        self.vec: Copies | None = None
        self._steps: Steps | None = None
        self._before: NDArray[Any] | None = None            # a copy of the step before
        self._waiting = np.zeros(self.num_envs, bool)       # ended, and not shown anew
        self._some_wait = False
        names = opened.about.log_names
        self._log_names = (*names, *(f"_{name}" for name in names))

    def _check(self, copy: bool) -> None:
        opened, mode = self.opened, self.autoreset
        if mode not in AUTORESET:
            raise UsageError(f"autoreset cannot be {mode!r}", expected=" or ".join(AUTORESET),
                             actual=repr(mode))
        if mode == SAME_STEP:
            return
        if opened.agents > 1 or opened.about.whole_steps:
            raise UsageError(
                "autoreset must be 'same_step' here", where=opened.name, expected="'same_step'",
                actual=repr(mode), hint="a copy has several agents, whose episodes end separately"
                if opened.agents > 1 else "its binding steps all copies or none")
        if not copy:
            raise UsageError("copy=False needs autoreset='same_step'", actual=repr(mode),
                             expected="'same_step'", hint="in other modes an observation that is "
                             "handed out differs from the row in C")

    # -- running

    def reset(self, *, seed: int | Sequence[int | None] | None = None,
              options: dict[str, Any] | None = None) -> tuple[Observation, Infos]:
        """(observations (n, D), infos). options {"reset_mask": bool (n,)}: these envs alone, for
        autoreset="disabled"; with a seed they are recreated, without one they continue.

        Raises UsageError for a mask or seeds that do not fit.
        """
        mask = (options or {}).get("reset_mask")
        if mask is not None:
            return self._reset_some(np.asarray(mask, bool), seed)
        super().reset(seed=seed if isinstance(seed, (int, np.integer)) else None)
        vec = self.vec
        if seed is not None or vec is None:
            seeds = [int(self.np_random.integers(2**63)) if each is None else each
                     for each in self._seeds(seed)]
            vec = self.vec = self.opened.vec(seeds, threads=self.threads, last=vec)
        vec.reset()
        self._steps = steps = Steps(vec, self.opened.agents, threads=self.threads,
                                    reuse=not self.copy)
        self._waiting[:] = self._some_wait = False
        self._before = None if self.copy or self.opened.keeps_finals else steps.last.copy()
        self.opened.show(vec)
        return self.opened.observations.batch(steps.last), self._infos(vec)

    def _seeds(self, seed: int | Sequence[int | None] | None) -> list[int | None]:
        """One a copy."""
        if seed is None:
            return [None] * self.copies
        if isinstance(seed, (int, np.integer)):
            return [int(seed) + copy for copy in range(self.copies)]
        if len(seed) != self.copies:
            raise UsageError("there must be a seed for each copy", expected=self.copies,
                             actual=len(seed))
        return [None if each is None else int(each) for each in seed]

    def _reset_some(self, mask: NDArray[np.bool_], seed: int | Sequence[int | None] | None
                    ) -> tuple[Observation, Infos]:
        steps = self._steps
        if self.autoreset != DISABLED or steps is None:
            raise UsageError("reset_mask is for autoreset='disabled', after a first reset()",
                             actual=f"autoreset={self.autoreset!r}")
        if mask.shape != (self.num_envs,) or not mask.any():
            raise UsageError("reset_mask does not fit", expected=f"({self.num_envs},) bool with a "
                             "True in it", actual=f"{mask.shape}, {int(mask.sum())} True")
        seeds = self._seeds(seed)
        for env in np.flatnonzero(mask).tolist():
            own = seeds[env]
            if own is not None:
                renew(steps.vec, env, own)
            elif not self._waiting[env]:                        # the others have begun anew
                steps.vec.reset_range(env, 1)
        self._waiting[mask] = False
        self._some_wait = bool(self._waiting.any())
        rows = self._rows(steps.vec)
        rows[self._waiting] = steps.last[self._waiting]
        steps.last = rows
        return self.opened.observations.batch(rows), self._infos(steps.vec)

    def step(self, actions: object) -> tuple[
            Observation, NDArray[np.float32], NDArray[np.bool_], NDArray[np.bool_], Infos]:
        """(observations (n, D), rewards (n,) float32, terminations, truncations (n,) bool, infos)

        Raises UsageError before reset(), for actions that do not exist, and with "disabled" where
        envs have ended and were not reset.
        """
        steps = self._steps
        if steps is None:
            raise UsageError("there is no episode to step", expected="reset() before the first")
        vec = steps.vec
        if self.autoreset == DISABLED and self._some_wait:
            raise UsageError("some envs have ended",
                             where=f"env {np.flatnonzero(self._waiting)[0]}",
                             expected="reset(options={'reset_mask': ended}) before the next step")
        if self._before is not None:
            self._before[...] = vec.observations
        # those that wait begin: their rows show what with
        rewards, terminated, truncated, ends, count = steps.step(
            actions, self.opened.actions.write, self._waiting if self._some_wait else None)
        if self._some_wait:
            self._waiting[:] = self._some_wait = False
        rows, infos = self._rows(vec), self._infos(vec)
        if count:
            self._end(steps, count, ends, rows, infos)
        steps.last = rows
        self.opened.show(vec)
        return self.opened.observations.batch(rows), rewards, terminated, truncated, infos

    def _end(self, steps: Steps, count: int, ends: NDArray[np.bool_], rows: NDArray[Any],
             infos: Infos) -> None:
        """Say in infos how episodes went, and what they saw last: there, or in these rows."""
        over, finals, columns, there = steps.end(
            count, steps.last if self._before is None else self._before)
        self.opened.warn_of_missing(steps.vec, over)
        logs = dict(zip(self._log_names, [*columns, *[there] * len(columns)]))
        if self.autoreset == SAME_STEP:
            batch = np.empty(self.num_envs, object)         # of None
            each = map(batch.__setitem__, over.tolist(), self.opened.observations.each(finals))
            deque(each, 0)                                  # a loop takes twice as long
            mask = ends if self.copy else ends.copy()
            infos |= {"final_obs": batch, "_final_obs": mask, "final_info": logs,
                      "_final_info": mask}
            return
        rows[over] = finals
        self._waiting[over] = self._some_wait = True
        infos |= logs

    def _rows(self, vec: Copies) -> NDArray[Any]:
        return vec.observations.copy() if self.copy else vec.observations

    def _infos(self, vec: Copies) -> Infos:
        infos: Infos = {}
        if vec.action_mask is not None:
            infos |= {"action_mask": mask_of(vec.action_mask),
                      "_action_mask": np.ones(self.num_envs, bool)}
        if vec.alive is not None:
            infos |= {"alive": living(vec), "_alive": np.ones(self.num_envs, bool)}
        return infos

    # -- drawing

    def render(  # type: ignore[override]  # Gymnasium knows no copy that draws nothing
            self) -> tuple[NDArray[np.uint8] | None, ...] | None:
        """A frame (H, W, 3) uint8 of each copy, or None where it draws nothing; None for "human",
        which draws the first. Raises UsageError before reset()."""
        vec = drawn(self.vec)
        if vec is None:
            return None
        frames = tuple(vec.frame(copy) for copy in range(
            1 if self.render_mode == "human" else self.copies))
        return frames if self.render_mode == "rgb_array" else None

    def close_extras(self, **kwargs: object) -> None:
        if self.vec is not None:
            self.vec.close()
