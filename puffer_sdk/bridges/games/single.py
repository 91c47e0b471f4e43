"""Environments of Gymnasium's interface, one agent each: rows of actions -> rows."""
from __future__ import annotations

from ...base.errors import UsageError
from .. import probing
from ..shared import Block
from .base import NEXT_STEP, SAME_STEP, Lane, Part

NEVER = 1 << 60


class SingleLane(Lane):
    """Environments of Gymnasium's interface, one agent each."""

    def __init__(self, part: Part, block: Block):
        self.limits: list[int] = []
        super().__init__(part, block)
        self.scores = [0.0] * self.count

    def make(self, number: int):
        env = self.part.maker()
        inner, limit = probing.peel(env)
        if hasattr(inner, "action_space"):
            inner.action_space.seed(self.part.seeds[number])
        self.limits[number:number + 1] = [limit or NEVER]
        return inner

    def reset_env(self, number: int, seed: int | None) -> None:
        ob, info = probing.start(self.envs[number], seed)
        self.write_checked(number, ob)
        if self.masks is not None:
            self.write_mask(number, ob, info)

    def step_all(self) -> None:
        actions = self.read(self.actions)
        if self.dirty:
            self.clear()
        if self.waiting:
            self._step_waiting(actions)
            return
        for number in range(self.count):
            self.note(number)
            self.scores[number] = self._step_one(number, actions[number])
        self.rewards[:] = self.scores

    def _step_waiting(self, actions) -> None:
        """A step while some environments have ended and are not reset."""
        for number in range(self.count):
            self.note(number)
            if number not in self.waiting:
                self.rewards[number] = self._step_one(number, actions[number])
            elif self.part.autoreset == NEXT_STEP:
                self.waiting.remove(number)
                self.reset_env(number, None)
                self.rewards[number] = 0.0
            else:
                raise UsageError(f"env {self.part.first + number} has ended and was not reset",
                                 hint="autoreset is disabled: call reset()")

    def _step_one(self, number: int, action) -> float:
        try:
            found = self.envs[number].step(action)
            ob, reward, terminated, truncated, info = found
        except Exception as error:
            if not self.restart(number, error):
                if isinstance(error, (ValueError, TypeError)) and "unpack" in str(error):
                    raise self._not_five(found) from error
                raise
            self.dirty = True               # the episode is cut: a truncation without a final row
            self.terminals[number] = self.truncations[number] = 1
            self.returns[number], self.lengths[number] = 0.0, 0
            self.reset_env(number, None)
            return 0.0
        self.lengths[number] += 1
        self.returns[number] += reward
        if self.lengths[number] >= self.limits[number]:
            truncated = True
        if terminated or truncated:
            self.end(number, ob, bool(terminated))
            self.record(number, number, info)
            if self.part.autoreset == SAME_STEP:
                ob, info = self.envs[number].reset()
            else:
                self.waiting.add(number)
        try:
            self.write[number](ob)
        except (ValueError, IndexError, TypeError, KeyError) as error:
            self.blame(ob, error)
        if self.masks is not None:
            self.write_mask(number, ob, info)
        return reward

    def _not_five(self, found) -> UsageError:
        size = len(found) if hasattr(found, "__len__") else None
        return UsageError("step() does not return five values", actual=f"{size} values",
                          expected="observation, reward, terminated, truncated, info",
                          hint=probing.old_interface(self.envs[self.here]) if size == 4 else None)
