"""What a checked VecEnv refuses.  its arrays, before and after a step -> nothing, or an error

Its own price is reading all rows twice a step; without it, C takes whatever it is given.
"""
from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..base.errors import BadNumber, UsageError
from .row_spaces import RowSpaces

ENV_HINT = "the environment wrote it; `puffer-sdk check` finds the line"


class StepChecks:
    """Refuses a step before the first reset, actions that no head has or that a mask forbids, and
    observations and rewards that are not finite."""

    def __init__(self, vec: RowSpaces):
        self.vec, self.began = vec, False

    def after_reset(self) -> None:
        self.began = True
        self._written(rewards=False)

    def before_step(self) -> None:
        """Raises UsageError; nothing was stepped."""
        vec = self.vec
        if not self.began:
            raise UsageError("step() before the first reset()", where=f"tick {vec.ticks}",
                             hint="begin with vec.reset()")
        alive = np.ones(vec.num_agents, bool) if vec.alive is None else vec.alive != 0
        first = 0
        for head, width in enumerate(vec.act_sizes):
            actions = vec.actions[:, head]
            fits = np.isfinite(actions)
            if width > 1:
                fits &= (actions >= 0) & (actions < width) & (actions == np.floor(actions))
            self._refuse(actions, alive & ~fits, head, "is no action of its head" if width > 1
                         else "is not finite",
                         f"a whole number from 0 to {width - 1}" if width > 1 else "finite values")
            if vec.action_mask is not None and width > 1:
                mask = vec.action_mask[:, first:first + width]
                chosen = np.where(alive, actions, 0).astype(np.intp)
                legal = mask[np.arange(len(mask)), chosen] != 0
                legal |= ~vec.action_mask.any(1)            # it waits
                self._refuse(actions, alive & ~legal, head, "is forbidden by action_mask",
                             "an action whose byte in action_mask is not 0")
            first += width

    def _refuse(self, actions: NDArray[np.float32], wrong: NDArray[np.bool_], head: int,
                what: str, expected: str) -> None:
        if wrong.any():
            agent = int(np.argmax(wrong))
            raise UsageError(f"an action {what}", expected=expected, actual=f"{actions[agent]:g}",
                             where=f"tick {self.vec.ticks}, vec.actions[{agent}, {head}]")

    def after_step(self) -> None:
        """Raises BadNumber."""
        self._written(rewards=True)

    def _written(self, *, rewards: bool) -> None:
        vec = self.vec
        arrays = {"observations": vec.observations, **({"rewards": vec.rewards} if rewards else {})}
        for name, array in arrays.items():
            if array.dtype.kind != "f":
                continue
            bad = ~np.isfinite(array)
            if vec.alive is not None:
                bad[vec.alive == 0] = False
            if bad.any():
                place = tuple(int(index) for index in np.argwhere(bad)[0])
                row, element = [*place, -1][:2]
                raise BadNumber(f"{name} not finite: {array[place]}", hint=ENV_HINT,
                                where=f"tick {vec.ticks}, vec.{name}[{', '.join(map(str, place))}]",
                                row=row, element=element, value=float(array[place]))
