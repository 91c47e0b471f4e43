"""The environments of one worker.  rows of actions -> rows of what they caused

A lane steps some environments one after another and writes their results into the shared rows.
Endings follow the contract of compiled environments: an environment resets itself in the step that
ended it (SAME_STEP), so the row already shows the next episode, and the final observation has a row
of its own. With NEXT_STEP the following step resets, ignores the action and earns nothing; with
DISABLED only reset() resets.

An episode that ends is logged: its return, its length, and the numbers in its last info.
"""
from __future__ import annotations

import json
import random
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Generic, NoReturn, TypeVar

import numpy as np
from numpy.typing import NDArray

from ....base.errors import PufferError
from .. import probe_env, shared_rows, space_checks
from ..interfaces import AnyEnv, Value
from ..makers import Maker
from ..masks import MASK, flat_mask
from ..oddities import Oddity, refuse
from ..probe_env import Facts
from ..shared_rows import PoolBlock, Sizes, cells
from .reset_values import ResetValues, World, check_name

SAME_STEP, NEXT_STEP, DISABLED = "same_step", "next_step", "disabled"
AUTORESET = (SAME_STEP, NEXT_STEP, DISABLED)
INIT, RESET, STEP, CLOSE, RENDER = 1, 2, 3, 4, 5        # phases of puffer_abi.h
NUMBERS = (bool, int, float, np.number, np.bool_)       # of infos, which are logged
UNFIT = (ValueError, IndexError, TypeError, KeyError)   # what an observation may raise if written
EnvKind = TypeVar("EnvKind", bound=AnyEnv)


@dataclass(frozen=True)
class Part:
    """One lane's share of a vec.

    lane        its number
    first       the index of its first environment, over all lanes
    seeds       one for each of its environments
    max_restarts    maximum restarts of each
    scale       factor of rewards, as trainers see them; logs are of the environment's own
    cut         whether the first step only cuts the episodes that another worker left behind
    worlds      what resets are to give them, by their numbers in this lane
    index       env_index of the first
    """

    maker: Maker
    facts: Facts
    sizes: Sizes
    lane: int
    first: int
    seeds: tuple[int, ...]
    autoreset: str = SAME_STEP
    max_restarts: int = 0
    scale: float = 1.0
    cut: bool = False
    worlds: Mapping[int, World] = field(default_factory=dict)
    index: int = 0


class EnvError(Exception):
    """What an environment raised, with where it was."""

    def __init__(self, env: int, phase: int, cause: BaseException):
        super().__init__(env, phase, cause)
        self.env, self.phase, self.cause = env, phase, cause


class Lane(Generic[EnvKind]):
    """What all kinds share: the rows, the log, and the notes for a watching process.

    envs    the environments, as made
    place   one int64: the index, over all lanes, of the running environment
    seeds   what each of them was seeded with, or will be
    anew    restarts of each
    """

    def __init__(self, part: Part, block: PoolBlock):
        facts = part.facts
        self.part, self.facts, self.count = part, facts, len(part.seeds)
        first, rows = part.first * facts.rows, self.count * facts.rows
        self.rows = range(rows)
        mine = slice(first, first + rows)
        self.observations, self.finals = block.observations[mine], block.final_observations[mine]
        self.actions, self.rewards = block.actions[mine], block.rewards[mine]
        self.terminals, self.truncations = block.terminals[mine], block.truncations[mine]
        self.has_final = block.has_final[mine]
        self.masks = block.action_mask[mine] if facts.mask_size else None
        self.alive = block.alive[mine]      # empty where rows always have an agent
        self.log = block.log[part.first:part.first + self.count]
        self.names_bytes = block.names[part.lane]
        self.extras = {name: place for place, name in enumerate(names_of(self.names_bytes))}
        self.notes, self.words = cells(block.notes[part.lane]), cells(block.words[part.lane])
        self.place = block.at_work[part.lane]
        self.marks = cells(self.terminals), cells(self.truncations), cells(self.has_final)
        self.logs = [cells(row) for row in self.log]
        self.read = facts.actions.reader()
        self.write = [facts.observations.writer(row) for row in self.observations]
        self.save = [facts.observations.writer(row) for row in self.finals]
        self.returns, self.lengths = [0.0] * rows, [0] * rows
        self.waiting: set[int] = set()      # environments that have ended and are not reset
        self.dirty, self.cut, self.anew = True, part.cut, block.restarts_of(part)
        self.given = ResetValues(part.worlds)
        self.fresh = True                   # the next reset is the first one: with the seed
        self.looked = set[tuple[int, str]]()    # rows, and the calls that were held to their space
        self.seeds = [self.seed_of(number) for number in range(self.count)]
        seed = self.seeds[0] if self.seeds else 0
        random.seed(seed)
        np.random.seed(seed)
        self.envs: list[EnvKind] = []
        self.words[shared_rows.PHASE] = INIT
        try:
            for number in range(self.count):
                self.note(number)
                self.envs.append(self.make(number))
        except PufferError:
            raise
        except BaseException as error:
            raise EnvError(part.first + self.here, INIT, error) from error
        finally:
            self.words[shared_rows.PHASE] = 0

    @property
    def here(self) -> int:
        """The running environment."""
        return int(self.place[0]) - self.part.first

    def seed_of(self, number: int) -> int:
        return shared_rows.seed_after(self.part.seeds[number], int(self.anew[number]))

    # -- what the kinds differ in

    def make(self, number: int) -> EnvKind:
        """One environment, made and ready to be reset."""
        raise NotImplementedError

    def reset_env(self, number: int, seed: int | None) -> None:
        """Begin an episode there, and write its rows."""
        raise NotImplementedError

    def step_all(self) -> None:
        """One step of all environments."""
        raise NotImplementedError

    # -- what a worker is asked for

    def reset(self) -> None:
        """Episodes begin everywhere; the first time from the seeds. Raises EnvError."""
        self._run(RESET, self._reset_all)

    def step(self) -> None:
        """Raises EnvError."""
        if self.cut:
            self._run(RESET, self.cut_all)
        else:
            self._run(STEP, self.step_all)
            if self.part.scale != 1.0:
                self.rewards *= self.part.scale

    def cut_all(self) -> None:
        """Truncate all episodes and begin others: how they continued is unknown."""
        self._reset_all()
        self.terminals[:] = 1
        self.truncations[:] = 1
        self.dirty = True

    def _reset_all(self) -> None:
        self.clear()
        self.waiting.clear()
        for number in range(self.count):
            self.note(number)
            self.reset_env(number, self.seeds[number] if self.fresh else None)
        self.fresh = self.cut = False
        for row in self.rows:
            self.returns[row], self.lengths[row] = 0.0, 0

    def _run(self, phase: int, work: Callable[[], None]) -> None:
        self.words[shared_rows.PHASE] = phase
        try:
            work()
        except EnvError:
            raise
        except BaseException as error:
            raise EnvError(self.part.first + self.here, phase, error) from error
        finally:
            self.words[shared_rows.PHASE] = 0

    def render(self, number: int) -> Value:
        """What an environment's render() returns, or None."""
        self.note(number)
        found: list[Value] = []
        self._run(RENDER, lambda: found.append(self.frame(number)))
        return found[0]

    def frame(self, number: int) -> Value:
        return self.envs[number].render()

    def call(self, number: int, name: str, args: Sequence[Value], keywords: Mapping[str, Value]
             ) -> Value:
        """What env.NAME(...) returns; an attribute's value, where NAME is none to be called."""
        self.note(number)
        env: Value = self.envs[number]
        get = getattr(env, "get_wrapper_attr", None)
        found = get(name) if get else getattr(env, name)
        return found(*args, **keywords) if callable(found) else found

    def set_attr(self, number: int, name: str, value: Value) -> None:
        """env.NAME = value, of the wrapper that has it, else of the innermost environment."""
        self.note(number)
        holder: Value = self.envs[number]
        while not (name in vars(holder) or hasattr(type(holder), name)) and hasattr(holder, "env"):
            holder = holder.env
        setattr(holder, name, value)

    def set_world(self, number: int, world: World) -> None:
        """What each reset of this environment gives it from now on. Raises UsageError."""
        self.note(number)
        for name in world:
            check_name(self.envs[number], name)
        self.given.set(number, world)

    def waits(self, number: int) -> bool:
        """Whether it was not reset since."""
        return number in self.given.waiting

    def start(self, number: int, seed: int | None) -> tuple[Value, dict[Any, Value]]:
        """A reset, with what was set: (observation, info)."""
        options = self.given.begin(number, self.envs[number], self.seeds[number])
        found = probe_env.start(self.envs[number], seed, options)
        self.given.check_read(self.envs[number], options)
        return found

    def close(self) -> None:
        """Close the environments; what they raise is ignored."""
        self.words[shared_rows.PHASE] = CLOSE
        for number, env in enumerate(self.envs):
            self.note(number)
            with suppress(Exception):
                env.close()
        self.envs.clear()
        self.words[shared_rows.PHASE] = 0

    # -- for the kinds

    def note(self, number: int) -> None:
        """Environment `number` is being stepped: for the process that waits for this lane."""
        self.place[0] = self.part.first + number
        self.notes[shared_rows.PULSE] += 1

    def clear(self) -> None:
        """Clear endings, final observations and rewards."""
        self.terminals[:] = 0
        self.truncations[:] = 0
        self.has_final[:] = 0
        self.rewards[:] = 0
        self.dirty = False

    def space_of(self, row: int) -> Value:
        """The observation space of a row's agent."""
        raise NotImplementedError

    def agent_of(self, row: int) -> object:
        """The name of a row's agent; "" where it is the only one."""
        return ""

    def look(self, row: int, ob: Value, when: str) -> None:
        """Hold the first observation of each row and call against the space, once: NumPy would
        cast or stretch what does not fit. Raises RunError."""
        if (row, when) not in self.looked:
            self.looked.add((row, when))
            refuse(space_checks.observation(self.space_of(row), ob), when, self.agent_of(row))

    def look_at_step(self, row: int, ob: Value, reward: Value, terminated: Value,
                     truncated: Value, info: Value) -> None:
        """The same of all that a step returns. Raises RunError."""
        if (row, "step") not in self.looked:
            self.look(row, ob, "step")
            refuse((*space_checks.reward(reward), *space_checks.ending("terminated", terminated),
                    *space_checks.ending("truncated", truncated), *space_checks.info(info)),
                   "step", self.agent_of(row))

    def plain(self, row: int, reward: Value) -> float:
        """A reward that no float is: an array of one number counts. Raises RunError."""
        refuse(space_checks.reward(reward), "step", self.agent_of(row))
        return float(np.asarray(reward).reshape(-1)[0])

    def only_once(self, env: EnvKind) -> EnvKind:
        """An environment that was just made. RunError where it is one of those before."""
        inner = getattr(env, "unwrapped", env)
        if any(getattr(other, "unwrapped", other) is inner for other in self.envs):
            refuse([Oddity("same-object", what=self.part.maker.shown)], "made")
        return env

    def end(self, row: int, ob: Value, terminated: bool) -> None:
        """An episode of this row is over; ob is what it saw last."""
        self.look(row, ob, "step, at an ending")
        terminals, truncations, has_final = self.marks
        self.dirty = True
        terminals[row], truncations[row] = 1, not terminated
        self.put(row, self.save[row], ob, "step")
        has_final[row] = 1

    def put(self, row: int, write: Callable[[Value], None], ob: Value, when: str) -> None:
        """Write an observation into a row. Raises RunError where it does not fit the space."""
        try:
            write(ob)
        except UNFIT as error:
            self.blame(row, ob, when, error)

    def blame(self, row: int, ob: Value, when: str, error: Exception) -> NoReturn:
        """Say what is wrong with an observation that could not be written."""
        refuse(space_checks.observation(self.space_of(row), ob), when, self.agent_of(row),
               strict=True)
        raise ValueError(str(error)) from error

    def write_mask(self, row: int, ob: Value, info: Mapping[str, Value]) -> None:
        """What is legal in a row; nothing where the environment has no masks."""
        if self.masks is None:
            return
        mask = ob.get(MASK) if self.facts.mask_key else info.get(MASK)
        self.masks[row] = 1 if mask is None else flat_mask(mask, self.facts.mask_size)

    def record(self, number: int, row: int, info: Mapping[str, Value]) -> None:
        """Log the episode that has ended in this row."""
        log = self.logs[number]
        log[shared_rows.LOG_COUNT] += 1
        log[shared_rows.LOG_RETURN] += self.returns[row]
        log[shared_rows.LOG_LENGTH] += self.lengths[row]
        self.returns[row], self.lengths[row] = 0.0, 0
        for name, value in info.items():
            if isinstance(value, NUMBERS) and isinstance(name, str):
                column = self.column_of(name)
                if column:
                    log[column] += 1
                    log[column + 1] += float(value)

    def column_of(self, name: str) -> int:
        """Where the log counts how often this name came; its sum is beside it. 0: there is no room.
        """
        at = self.extras.get(name)
        if at is None:
            if len(self.extras) == shared_rows.EXTRAS:
                return 0
            text = json.dumps([*self.extras, name]).encode()
            if len(text) + 4 > shared_rows.NAMES_BYTES:
                return 0
            at = self.extras[name] = len(self.extras)
            self.names_bytes[4:4 + len(text)] = np.frombuffer(text, np.uint8)
            self.names_bytes[:4] = np.frombuffer(np.int32(len(text)).tobytes(), np.uint8)
        return shared_rows.LOG_EXTRAS + 2 * at

    def restart(self, number: int, error: BaseException) -> bool:
        """After an exception: recreate this environment with another seed, if it has restarts
        left."""
        if self.anew[number] >= self.part.max_restarts or not isinstance(error, Exception):
            return False
        self.anew[number] += 1
        self.seeds[number] = self.seed_of(number)
        print(f"env {self.part.first + number} raised {type(error).__name__}: {error}; it is "
              "recreated", flush=True)
        self.envs[number] = self.make(number)
        return True


def names_of(raw: NDArray[np.uint8]) -> list[str]:
    """What a lane's row of `names` holds: the names that its environments add to the log."""
    size = int(raw[:4].view(np.int32)[0])
    names: list[str] = json.loads(raw[4:4 + size].tobytes()) if size else []
    return names


def seed_parts(seeds: Sequence[int], lanes: int) -> list[tuple[int, tuple[int, ...]]]:
    """(first environment, seeds) of each lane: consecutive environments, as equal as can be."""
    edges = [len(seeds) * lane // lanes for lane in range(lanes + 1)]
    return [(first, tuple(seeds[first:last])) for first, last in zip(edges, edges[1:])]
