"""Some of a Vector's environments, in their worker process.  VectorPart, Block -> VectorLane

The parent counts up `go` and, where there is more to say than the arrays hold, sends a message
after it: seeds and options of a reset, actions of a loose space, a call. The worker answers in the
same order: it counts up `done`, and sends what the arrays do not hold if `speaks` says so. Nobody
waits with a full socket that way.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any, SupportsFloat

import gymnasium
import numpy as np
from numpy.typing import NDArray

from ..python_envs import shared_rows
from ..python_envs.env_worker import Failure, Message, Turns, receive_file
from ..python_envs.games.base import CLOSE, INIT, RENDER, RESET, STEP, EnvError
from ..python_envs.interfaces import Value
from ..python_envs.shared_rows import COUNTER_BYTES, LANE_BYTES, ArrayPlan, Block, cells
from .arrays import Arrays

Env = gymnasium.Env[Any, Any]
NEXT_STEP, SAME_STEP, DISABLED = "NextStep", "SameStep", "Disabled"     # AutoresetMode's values


@dataclass(frozen=True)
class VectorSizes:
    """What the block is laid out by."""

    lanes: int
    envs: int
    observations: int       # bytes; 0: they are loose
    actions: int

    def arrays(self) -> list[ArrayPlan]:
        """In their order."""
        n = self.envs
        return [("lanes", (self.lanes, LANE_BYTES), np.uint8), ("bell", (COUNTER_BYTES,), np.uint8),
                ("speaks", (self.lanes,), np.int32), ("listen", (self.lanes,), np.int32),
                ("rewards", (n,), np.float64), ("terminations", (n,), np.bool_),
                ("truncations", (n,), np.bool_), ("observations", (self.observations,), np.uint8),
                ("actions", (self.actions,), np.uint8)]


class VectorBlock(Block):
    """The block of a Vector, laid out by VectorSizes.

    speaks  (lanes,): whether a worker's answer has a message
    listen  (lanes,): whether the parent's request has one
    """

    speaks: NDArray[np.int32]
    listen: NDArray[np.int32]
    rewards: NDArray[np.float64]
    terminations: NDArray[np.bool_]
    truncations: NDArray[np.bool_]
    observations: NDArray[np.uint8]
    actions: NDArray[np.uint8]


@dataclass(frozen=True)
class VectorPart:
    """What a worker is given.

    first       the index of its first environment
    seen, acts  Arrays of observations and actions; None: loose
    autoreset   NEXT_STEP, SAME_STEP or DISABLED
    """

    lane: int
    first: int
    sizes: VectorSizes
    seen: Arrays | None
    acts: Arrays | None
    autoreset: str


class VectorLane:
    """The environments, made; serve() steps them until they are closed."""

    def __init__(self, part: VectorPart, block: VectorBlock, envs: list[Env]):
        self.part, self.envs, first = part, envs, part.first
        self.speaks, self.listen = block.speaks, block.listen
        self.notes, self.words = cells(block.notes[part.lane]), cells(block.words[part.lane])
        self.block = block
        mine = slice(first, first + len(envs))
        self.rewards = cells(block.rewards[mine])
        self.terminations, self.truncations = (
            cells(array[mine].view(np.uint8)) for array in (block.terminations, block.truncations))
        views = part.seen.views(block.observations) if part.seen else []
        self.write = [part.seen.writer(views, first + at) for at in range(len(envs))] \
            if part.seen else None
        self.read = part.acts.reader(part.acts.views(block.actions)) if part.acts else None
        self.loose: list[Value] = [None] * len(envs)    # observations, where they have no arrays
        self.over = [False] * len(envs)
        self.infos: dict[int, dict[str, Any]] = {}

    def reset(self, seeds: Sequence[int | None], options: Sequence[dict[str, Any] | None],
              mask: NDArray[np.bool_] | None) -> None:
        """Of those in mask; None: of all."""
        self.infos, self.words[shared_rows.PHASE] = {}, RESET
        for at, env in enumerate(self.envs):
            if mask is None or mask[at]:
                self.notes[shared_rows.ENV] = self.part.first + at
                given: dict[str, Any] = {} if options[at] is None else {"options": options[at]}
                observation, info = env.reset(seed=seeds[at], **given)
                self._show(at, observation, info)
                self.over[at] = False
        self.words[shared_rows.PHASE] = 0

    def step(self, actions: Sequence[Value] | None) -> None:
        """actions: of a loose space; None: those in the arrays."""
        read = self.read if actions is None else None
        self.infos, self.words[shared_rows.PHASE] = {}, STEP
        mode, first = self.part.autoreset, self.part.first
        reward: SupportsFloat
        for at, env in enumerate(self.envs):
            self.notes[shared_rows.ENV] = first + at
            if self.over[at] and mode == NEXT_STEP:
                observation, info = env.reset()
                reward, terminated, truncated = 0.0, False, False
            else:
                action = read(first + at) if read else actions[at] if actions else None
                observation, reward, terminated, truncated, info = env.step(action)
                if (terminated or truncated) and mode == SAME_STEP:
                    ended = {"final_info": info, "final_obs": observation}
                    observation, info = env.reset()
                    info = {**ended, **info}
            self.over[at] = bool(terminated or truncated)
            self.rewards[at] = reward
            self.terminations[at], self.truncations[at] = bool(terminated), bool(truncated)
            self._show(at, observation, info)
        self.words[shared_rows.PHASE] = 0

    def _show(self, at: int, observation: Value, info: dict[str, Any]) -> None:
        if self.write is not None:
            self.write[at](observation)
        else:
            self.loose[at] = observation
        if info:
            self.infos[self.part.first + at] = info

    def call(self, name: str, *rest: Any) -> Value:
        """What the parent asks for besides."""
        if name == "set":
            attribute, values = rest
            for env, value in zip(self.envs, values):
                env.set_wrapper_attr(attribute, value)
            return None
        if name == "apply":
            return self._applied(*rest)
        self.words[shared_rows.PHASE] = RENDER if rest[0] == "render" else 0
        attribute, given, keywords = rest
        found = []
        for at, env in enumerate(self.envs):
            self.notes[shared_rows.ENV] = self.part.first + at
            value = env.get_wrapper_attr(attribute)
            found.append(value(*given, **keywords) if callable(value) else value)
        self.words[shared_rows.PHASE] = 0
        return found

    def _applied(self, function: bytes, picks: list[int]) -> bytes:
        """{index: what the function returned, or a Failure}, pickled."""
        import cloudpickle

        first = self.part.first
        found: dict[int, Value] = {}
        if not picks:
            return bytes(cloudpickle.dumps(found))
        try:
            asked: Callable[[Env], Value] = cloudpickle.loads(function)
        except Exception as error:
            found = {first + at: Failure.of(error) for at in picks}
            picks = []
        for at in picks:
            self.notes[shared_rows.ENV] = first + at
            try:
                found[first + at] = asked(self.envs[at])
                cloudpickle.dumps(found[first + at])
            except Exception as error:
                found[first + at] = Failure.of(error)
        return bytes(cloudpickle.dumps(found))

    def said(self) -> tuple[dict[int, dict[str, Any]], list[Value] | None] | None:
        """What the arrays do not hold of a reset or step; None: nothing."""
        if self.write is None:
            return self.infos, self.loose
        return (self.infos, None) if self.infos else None


@dataclass(frozen=True)
class Made:
    """What a worker says of its environments."""

    observation_spaces: list[gymnasium.Space[Any]]
    action_spaces: list[gymnasium.Space[Any]]
    metadata: dict[str, Any]
    render_mode: str | None


def answering() -> Callable[[Connection, Message], None]:
    """What the process does with each message: ("make", pickled functions, index of the first),
    then ("open", VectorPart) and a file."""
    envs: list[Env] = []

    def answer(channel: Connection, message: Message) -> None:
        if message[0] == "make":
            envs[:] = make(*message[1:])
            made = Made([env.observation_space for env in envs],
                        [env.action_space for env in envs], dict(envs[0].metadata),
                        envs[0].render_mode)
            import cloudpickle

            channel.send(("made", cloudpickle.dumps(made)))
            return
        block = VectorBlock(message[1].sizes, receive_file(channel))
        block.close_fd()
        channel.send(("opened",))
        serve(channel, message[1], block, envs)

    return answer


def make(env_fns: bytes, first: int) -> list[Env]:
    """Environments of functions that cloudpickle has pickled. Raises EnvError."""
    import cloudpickle

    envs: list[Env] = []
    seen: set[int] = set()
    try:
        for function in cloudpickle.loads(env_fns):
            env = function()
            if id(env.unwrapped) in seen:
                raise ValueError("two functions returned the same environment: each must make "
                                 "one of its own")
            seen.add(id(env.unwrapped))
            envs.append(env)
    except Exception as error:
        raise EnvError(first + len(envs), INIT, error) from error
    return envs


def serve(channel: Connection, part: VectorPart, block: VectorBlock, envs: list[Env]) -> None:
    """Do what is asked, until the environments are closed."""
    lane = VectorLane(part, block, envs)
    words, turns = lane.words, Turns(block, part.lane)
    while True:
        turns.wait()
        said: object = None
        try:
            command = words[shared_rows.COMMAND]
            message = channel.recv() if block.listen[part.lane] else (None,)
            if command == shared_rows.STEP:
                lane.step(message[0])
                said = lane.said()
            elif command == shared_rows.RESET:
                lane.reset(*message)
                said = lane.said()
            elif message[0] == "close":
                break
            else:
                said = (lane.call(*message),)
        except BaseException as error:
            env = lane.notes[shared_rows.ENV]
            said = Failure.of(EnvError(env, words[shared_rows.PHASE] or STEP, error))
            words[shared_rows.STATE] = shared_rows.RAISED
        block.speaks[part.lane] = said is not None
        turns.done()
        if said is not None:
            channel.send(said)
    words[shared_rows.PHASE] = CLOSE
    for env in envs:
        env.close()
    turns.done()
    channel.send(("closed",))
