"""Environments of Gymnasium's interface, one agent each: rows of actions -> rows."""
from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ....base.errors import PufferError, UsageError
from .. import masks, probe_env
from ..interfaces import SingleEnv, Value
from ..shared_rows import PULSE, PoolBlock, cells
from .base import NEXT_STEP, SAME_STEP, UNFIT, Lane, Part

NEVER = 1 << 60


class SingleLane(Lane[SingleEnv]):
    """Environments of Gymnasium's interface, one agent each.

    tick        steps of this lane so far
    starts      the tick in which each environment was reset
    limits      steps after which a TimeLimit that was taken off ends each one's episode
    soonest     no episode meets its limit before this tick
    ended       rows whose endings stand in the shared memory
    """

    def __init__(self, part: Part, block: PoolBlock):
        self.limits: list[int] = []
        self.tick, self.soonest = 0, 0
        self.starts, self.ended = [0] * len(part.seeds), list[int]()
        super().__init__(part, block)
        self.steps = [self.looking(number) for number in range(self.count)]
        self.earned = cells(self.rewards)
        # a Box is written in the loop below; for any other space there are functions
        leaf = part.facts.observations.box
        self.boxes = [row.reshape(leaf.shape) for row in self.observations] if leaf else None

    def make(self, number: int) -> SingleEnv:
        env = self.part.maker(self.part.index + number)
        inner, limit = probe_env.peel(env)
        if hasattr(inner, "action_space"):
            inner.action_space.seed(self.seeds[number])
        self.limits[number:number + 1] = [limit or NEVER]
        return self.only_once(inner)

    def space_of(self, row: int) -> Value:
        return self.envs[row].observation_space

    def write_mask(self, row: int, ob: Value, info: Mapping[str, Value]) -> None:
        if not self.facts.mask_method:
            super().write_mask(row, ob, info)
        elif self.masks is not None:        # after an ending, nothing may be legal
            method = masks.method_of(self.envs[row])
            self.masks[row] = 1 if method is None or row in self.waiting else \
                masks.flat_mask(method(), self.facts.mask_size)

    def looking(self, number: int) -> Callable[[Value], Value]:
        """The first step of an environment, which holds what it returns to the space; later ones
        are its own."""
        def step(action: Value) -> Value:
            found = own(action)
            self.steps[number] = own
            if isinstance(found, tuple) and len(found) == 5:
                self.look_at_step(number, *found)
            return found
        own: Callable[[Value], Value] = self.envs[number].step
        return step

    def reset_env(self, number: int, seed: int | None) -> None:
        ob, info = self.start(number, seed)
        self.starts[number] = self.tick
        self.look(number, ob, "reset")
        self.put(number, self.write[number], ob, "reset")
        self.write_mask(number, ob, info)

    def cut_all(self) -> None:
        super().cut_all()
        self.ended[:] = self.rows

    def step_all(self) -> None:
        """This loop is what a step costs besides the environment's own code: calls, attributes and
        arrays are left out of it where nothing has happened."""
        actions = self.read(self.actions)
        if self.ended:
            self._clear_ended()
        self.tick = tick = self.tick + 1
        late, box = tick >= self.soonest, self.boxes is not None
        rows: Sequence[Any] = self.boxes or self.write
        place, earned, returns, waiting = self.place, self.earned, self.returns, self.waiting
        masked, first = self.masks is not None, self.part.first
        self.notes[PULSE] += 1
        for number, (step, action, row) in enumerate(zip(self.steps, actions, rows)):
            place[0] = first + number
            if waiting and number in waiting:
                self._step_waiting(number)
                continue
            found = None
            try:
                found = step(action)
                ob, reward, terminated, truncated, info = found
            except Exception as error:
                self._failed(number, error, found)
                continue
            try:
                earned[number] = reward
            except (TypeError, ValueError):
                earned[number] = reward = self.plain(number, reward)
            returns[number] += reward
            if terminated or truncated or (
                    late and tick - self.starts[number] >= self.limits[number]):
                ob, info = self._over(number, ob, info, bool(terminated))
            try:
                if box:
                    row[...] = ob
                else:
                    row(ob)
            except UNFIT as error:
                self.blame(number, ob, "step", error)
            if masked:
                self.write_mask(number, ob, info)
        if late:
            self.soonest = min(map(int.__add__, self.starts, self.limits))

    def _clear_ended(self) -> None:
        terminals, truncations, has_final = self.marks
        for row in self.ended:
            terminals[row] = truncations[row] = has_final[row] = 0
        self.ended.clear()

    def _over(self, number: int, ob: Value, info: Mapping[str, Value], terminated: bool
              ) -> tuple[Value, Mapping[str, Value]]:
        """An episode is over. (what its row shows now, the info that belongs to it)"""
        self.ended.append(number)
        self.end(number, ob, terminated)
        self.lengths[number] = self.tick - self.starts[number]
        self.record(number, number, info)
        if self.part.autoreset == SAME_STEP:
            ob, info = self.start(number, None) if self.given.worlds else self.envs[number].reset()
            self.starts[number] = self.tick
        else:
            self.waiting.add(number)
        return ob, info

    def _step_waiting(self, number: int) -> None:
        """A step of an environment that has ended and is not reset."""
        if self.part.autoreset != NEXT_STEP:
            raise UsageError(f"env {self.part.first + number} has ended and was not reset",
                             hint="autoreset is disabled: call reset()")
        self.waiting.remove(number)
        self.reset_env(number, None)
        self.earned[number] = 0.0

    def _failed(self, number: int, error: Exception, found: object) -> None:
        """After an exception in a step: recreate the environment, or raise the exception."""
        if isinstance(error, PufferError) or not self.restart(number, error):
            if isinstance(error, (ValueError, TypeError)) and "unpack" in str(error):
                raise self._not_five(found) from error
            raise error
        self.steps[number] = self.envs[number].step
        terminals, truncations, _ = self.marks
        terminals[number] = truncations[number] = 1     # it is cut, without a final row
        self.ended.append(number)
        self.earned[number] = self.returns[number] = 0.0
        self.reset_env(number, self.seeds[number])

    def _not_five(self, found: object) -> UsageError:
        size = len(found) if isinstance(found, Sequence) else None
        return UsageError("step() does not return five values", actual=f"{size} values",
                          expected="observation, reward, terminated, truncated, info",
                          hint=probe_env.old_interface(self.envs[self.here]) if size == 4 else None)
