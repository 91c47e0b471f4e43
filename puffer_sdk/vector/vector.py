"""The parent's side of a Vector.  functions that make environments -> Vector"""
from __future__ import annotations

import contextlib
import multiprocessing
import threading
import time
from collections.abc import Callable, Sequence
from copy import deepcopy
from typing import Any

import gymnasium
import numpy as np
from gymnasium.error import AlreadyPendingCallError, ClosedEnvironmentError, NoAsyncCallError
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import concatenate, create_empty_array, iterate

from ..base.errors import RunError, UsageError
from ..bridges import shared
from ..bridges.lanes import ffi, library
from ..bridges.monitor import LOOK
from ..bridges.processes import DOING, Process, as_itself, printed, raised, start
from ..bridges.shared import CALL, DEAD, FINE, RAISED, RESET, STEP, Block
from ..bridges.vec import SPINS
from ..env import abi
from ..settings.automatic import available_cores
from .arrays import Arrays, is_fixed, is_known
from .lane import Made, VectorPart, VectorSizes
from .matching import batched

TICK = 0.0002           # seconds between two looks of a wait that has a limit
FOREVER = 2**62         # nanoseconds
IDLE, RESETTING, STEPPING, CALLING = "default", "reset", "step", "call"


class Vector(VectorEnv):
    """Environments in Python, stepped by worker processes.

    env_fns         functions, one for each environment, that return a gymnasium.Env. They reach
                    the workers by cloudpickle: lambdas and local classes do
    shared_memory   False: observations are sent as they are, for spaces that are not Gymnasium's
    copy            False: reset and step return the same arrays each time
    observation_mode, autoreset_mode    as gymnasium.vector.AsyncVectorEnv has them
    workers         processes; "auto": one per core. Results do not depend on it
    max_concurrency a smaller number of them
    start_timeout   seconds in which a worker must make its environments

    `context` and `daemon` change nothing: workers are new processes, and end with this one. What an
    environment raises is raised here as itself, with the worker's traceback as its cause. Raises
    RunError where a worker dies, RuntimeError where spaces differ, ValueError for a space that is
    not Gymnasium's with shared_memory, UsageError for a `worker` function.
    """

    def __init__(self, env_fns: Sequence[Callable[[], gymnasium.Env]], shared_memory: bool = True,
                 copy: bool = True, context: str | None = None, daemon: bool = True,
                 worker: Callable | None = None,
                 observation_mode: str | tuple = "same",
                 autoreset_mode: str | AutoresetMode = AutoresetMode.NEXT_STEP,
                 max_concurrency: int | None = None, *, workers: int | str = "auto",
                 start_timeout: float = 60.0):
        if worker is not None:
            raise UsageError("Vector has workers of its own", actual="worker=...",
                             hint="gymnasium.vector.AsyncVectorEnv takes such a function")
        self.env_fns, self.shared_memory, self.copy = list(env_fns), shared_memory, copy
        self.autoreset_mode = AutoresetMode(autoreset_mode)
        self.num_envs, self._state, self._pending = len(self.env_fns), IDLE, None
        self._processes: list[Process] = []
        self._closing, self._failure = threading.Event(), None
        if not self.env_fns:
            raise UsageError("there is nothing to step", expected="one function or more")
        count = available_cores() if workers == "auto" else int(workers)
        count = max(1, min(count, self.num_envs, max_concurrency or count))
        edges = [self.num_envs * lane // count for lane in range(count + 1)]
        self._parts = [slice(*pair) for pair in zip(edges, edges[1:])]
        try:
            made = self._make(start_timeout)
            self.metadata = {**made[0].metadata, "autoreset_mode": self.autoreset_mode}
            self.render_mode = made[0].render_mode
            (self.single_observation_space, self.observation_space, self.single_action_space,
             self.action_space) = batched(made, observation_mode, self.num_envs)
            if shared_memory and not is_known(self.single_observation_space):
                raise ValueError(f"{self.single_observation_space} is not a space of Gymnasium's: "
                                 "give shared_memory=False")
            self._open()
        except BaseException:
            self._end()
            self.closed = True
            raise

    # -- making

    def _make(self, timeout: float) -> list[Made]:
        """Starts the processes. What they say of their environments, in order."""
        import cloudpickle

        library()
        self._processes = [start("puffer_sdk.vector.lane:answering") for _ in self._parts]
        for part, process in zip(self._parts, self._processes):
            process.send(("make", cloudpickle.dumps(self.env_fns[part]), part.start))
        return [cloudpickle.loads(self._answer(process, timeout)[0])
                for process in self._processes]

    def _answer(self, process: Process, timeout: float) -> list:
        try:
            kind, *found = process.answer(timeout)
        except TimeoutError:
            raise RunError(f"the environments were not made within {timeout:g} seconds",
                           hint="a longer limit is start_timeout") from None
        except EOFError:
            raise RunError(f"a worker process ended while it made its environments: "
                           f"{process.cause}", detail=printed()) from None
        if kind == "raised":
            error = as_itself(raised(found[0], f"env {found[0].env}"))
            raise error from error.__cause__
        return found

    def _open(self) -> None:
        """The block of memory, and the workers' lanes in it."""
        count, space = len(self._parts), self.single_observation_space
        self._seen = (Arrays(space, self.num_envs)
                      if self.shared_memory and is_fixed(space) else None)
        self._acts = (Arrays(self.single_action_space, self.num_envs)
                      if is_fixed(self.single_action_space) else None)
        sizes = VectorSizes(count, self.num_envs, self._seen.bytes if self._seen else 0,
                            self._acts.bytes if self._acts else 0)
        self._block = block = Block(sizes)
        self._act_views = self._acts.views(block.actions) if self._acts else []
        self._views = self._seen.views(block.observations) if self._seen else []
        self.observations = (self._seen.nest(self._views) if self._seen else
                             create_empty_array(space, self.num_envs))
        self._sent = np.zeros(count, np.int32)
        self._since, self._progress = np.zeros((2, count), np.int64)
        self._lanes = ffi().new("Lanes*", {
            "lanes": ffi().cast("Lane*", block.lanes.ctypes.data),
            "bell": ffi().cast("LaneCounter*", block.bell.ctypes.data),
            "sent": ffi().cast("int32_t*", self._sent.ctypes.data), "count": count,
            "num_envs": self.num_envs, "spins": SPINS, "bad_lane": -1, "limit": FOREVER,
            "reset_limit": FOREVER, "since": ffi().cast("int64_t*", self._since.ctypes.data),
            "progress": ffi().cast("int64_t*", self._progress.ctypes.data)})
        try:
            for lane, (part, process) in enumerate(zip(self._parts, self._processes)):
                process.send(("open", VectorPart(lane, part.start, sizes, self._seen, self._acts,
                                                 self.autoreset_mode.value)), block.fd)
            for process in self._processes:
                self._answer(process, 60.0)
        finally:
            block.close_fd()
        self._watcher = threading.Thread(target=self._look_after, daemon=True)
        self._watcher.start()

    def _look_after(self) -> None:
        """Runs on a thread: a process that has ended is noted where C sees it."""
        while not self._closing.wait(LOOK):
            for lane, process in enumerate(self._processes):
                if not process.alive:
                    words = self._block.lanes[lane].view(np.int32)
                    if words[shared.STATE] == FINE:
                        words[shared.STATE] = DEAD

    # -- asking and waiting

    def _begin(self, what: str, method: str) -> None:
        if self.closed:
            raise ClosedEnvironmentError(
                f"Trying to operate on `{type(self).__name__}`, after a call to `close()`.")
        if self._state != IDLE:
            raise AlreadyPendingCallError(
                f"Calling `{method}` while waiting for a pending call to `{self._state}` to "
                "complete", self._state)
        self._state = what

    def _send(self, command: int, messages: list | None) -> None:
        """One message a worker, or none; they read it once they were asked."""
        self._block.listen[:] = messages is not None
        library().lanes_send(self._lanes, 0, len(self._parts), command)
        for process, message in zip(self._processes, messages or ()):
            process.send(message)

    def _receive(self, method: str, timeout: float | None) -> list:
        """What each worker says besides its arrays; None: nothing."""
        if self.closed:
            raise ClosedEnvironmentError(
                f"Trying to operate on `{type(self).__name__}`, after a call to `close()`.")
        what = method.removesuffix("_wait")
        if self._state != what:
            raise NoAsyncCallError(f"Calling `{method}` without any prior call to "
                                   f"`{what}_async`.", what)
        if timeout is not None:
            self._wait(method, timeout)
        self._state = IDLE
        if library().lanes_receive(self._lanes, 0, len(self._parts), abi.ffi().NULL):
            self._failure = self._failure or self._find_failure()
            raise self._failure from self._failure.__cause__
        speaks = self._block.speaks
        return [process.channel.recv() if speaks[lane] else None
                for lane, process in enumerate(self._processes)] if speaks.any() \
            else [None] * len(self._parts)

    def _wait(self, method: str, timeout: float) -> None:
        end = time.monotonic() + timeout
        lanes = range(len(self._parts))
        while not all(library().lanes_ready(self._lanes, lane) for lane in lanes):
            if any(not process.alive for process in self._processes):
                return
            if time.monotonic() > end:
                self._state = IDLE
                raise multiprocessing.TimeoutError(
                    f"`{method}` was not done after {timeout} seconds")
            time.sleep(TICK)

    def _find_failure(self) -> BaseException:
        lane, state = self._lanes.bad_lane, self._lanes.bad_state
        process, block = self._processes[lane], self._block
        env = int(block.lanes[lane].view(np.int64)[shared.ENV])
        phase = int(block.lanes[lane].view(np.int32)[shared.PHASE])
        if state == RAISED:
            with contextlib.suppress(EOFError, TimeoutError):
                failure = process.answer(1.0)
                return as_itself(raised(failure, f"env {failure.env}"))
        return RunError(f"the worker process ended {DOING.get(phase, '')}: {process.cause}",
                        where=f"env {env}", detail=printed(),
                        hint="its packages may have crashed: what they printed says more")

    # -- reset and step

    def reset(self, *, seed: int | Sequence[int | None] | None = None,
              options: dict[str, Any] | None = None):
        """(observations, infos). An int seeds env i with seed + i. options {"reset_mask":
        bool (num_envs,)} resets these alone."""
        self.reset_async(seed, options)
        return self.reset_wait()

    def reset_async(self, seed: int | Sequence[int | None] | None = None,
                    options: dict[str, Any] | None = None) -> None:
        """Begin reset(); reset_wait() ends it."""
        if seed is None or isinstance(seed, (int, np.integer)):
            seed = [None if seed is None else int(seed) + env for env in range(self.num_envs)]
        if len(seed) != self.num_envs:
            raise ValueError(f"there are {len(seed)} seeds for {self.num_envs} environments")
        mask = None
        if options is not None and "reset_mask" in options:
            options = dict(options)
            mask = self._checked_mask(options.pop("reset_mask"))
        self._begin(RESETTING, "reset_async")
        self._send(RESET, [(list(seed[part]), options, None if mask is None else mask[part])
                           for part in self._parts])

    def _checked_mask(self, mask) -> np.ndarray:
        name = "`options['reset_mask']` must"
        if not isinstance(mask, np.ndarray):
            raise TypeError(f"{name} be a numpy array, got {type(mask)}")
        if mask.shape != (self.num_envs,):
            raise ValueError(f"{name} have shape `({self.num_envs},)`, got {mask.shape}")
        if mask.dtype != np.bool_:
            raise TypeError(f"{name} have `dtype=np.bool_`, got {mask.dtype}")
        if not mask.any():
            raise ValueError(f"{name} contain a boolean array with at least one True value, got "
                             f"reset_mask={mask}")
        return mask

    def reset_wait(self, timeout: float | None = None):
        """(observations, infos); multiprocessing.TimeoutError after `timeout` seconds."""
        infos = self._heard(self._receive("reset_wait", timeout))
        return self._shown(), infos

    def step(self, actions):
        """(observations, rewards (n,) float64, terminations, truncations (n,) bool, infos)"""
        self.step_async(actions)
        return self.step_wait()

    def step_async(self, actions) -> None:
        """Begin step(); step_wait() ends it."""
        self._begin(STEPPING, "step_async")
        try:
            messages = None
            if self._acts is None or not self._acts.take(actions, self._act_views):
                each = list(iterate(self.action_space, actions))
                if len(each) != self.num_envs:
                    raise ValueError(f"there are actions for {len(each)} environments, not "
                                     f"{self.num_envs}")
                messages = [(each[part],) for part in self._parts]
        except BaseException:
            self._state = IDLE
            raise
        self._send(STEP, messages)

    def step_wait(self, timeout: float | None = None):
        """As step(); multiprocessing.TimeoutError after `timeout` seconds."""
        infos = self._heard(self._receive("step_wait", timeout))
        block = self._block
        return (self._shown(), block.rewards.copy(), block.terminations.copy(),
                block.truncations.copy(), infos)

    def _heard(self, said: list) -> dict:
        """The infos of all environments as one; loose observations are put together."""
        infos: dict = {}
        loose: list = []
        for each in said:
            if each is None:
                continue
            for env, info in each[0].items():
                infos = self._add_info(infos, info, env)
            loose += each[1] or ()
        if loose:
            self.observations = concatenate(self.single_observation_space, loose,
                                            self.observations)
        return infos

    def _shown(self):
        if not self.copy:
            return self.observations
        if self._seen is None:
            return deepcopy(self.observations)
        return self._seen.nest([view.copy() for view in self._views])

    # -- calls

    def call(self, name: str, *args, **kwargs) -> tuple:
        """What a method of each environment returns, or its attribute."""
        self.call_async(name, *args, **kwargs)
        return self.call_wait()

    def call_async(self, name: str, *args, **kwargs) -> None:
        """Begin call(); call_wait() ends it."""
        if name in ("reset", "step", "close"):
            raise ValueError(f"call {name}() itself, not call({name!r})")
        self._begin(CALLING, "call_async")
        self._send(CALL, [("get", name, args, kwargs)] * len(self._parts))

    def call_wait(self, timeout: float | None = None) -> tuple:
        """As call(); multiprocessing.TimeoutError after `timeout` seconds."""
        return tuple(value for said in self._receive("call_wait", timeout) for value in said[0])

    def get_attr(self, name: str) -> tuple:
        """An attribute of each environment."""
        return self.call(name)

    def set_attr(self, name: str, values) -> None:
        """Set an attribute: a list or tuple has one value for each environment."""
        if not isinstance(values, (list, tuple)):
            values = [values] * self.num_envs
        if len(values) != self.num_envs:
            raise ValueError(f"there are {len(values)} values for {self.num_envs} environments")
        self._begin(CALLING, "set_attr")
        self._send(CALL, [("set", name, list(values[part])) for part in self._parts])
        self._receive("call_wait", None)

    def render(self) -> tuple:
        """What each environment's render() returns."""
        return self.call("render")

    @property
    def np_random_seed(self) -> tuple:
        return self.get_attr("np_random_seed")

    @property
    def np_random(self) -> tuple:
        """Copies of the environments' generators."""
        return self.get_attr("np_random")

    # -- the end

    def close_extras(self, timeout: float | None = None, terminate: bool = False) -> None:
        """Close the environments. terminate, or nothing after `timeout` seconds: end the processes
        as they are."""
        if self._state != IDLE:
            gymnasium.logger.warn(f"Calling `close` while waiting for a pending call to "
                                  f"`{self._state}` to complete.")
            with contextlib.suppress(Exception):
                self._receive(f"{self._state}_wait", 0 if terminate else timeout)
        fine = self._lanes.bad_lane < 0 and not terminate and all(
            library().lanes_ready(self._lanes, lane) for lane in range(len(self._parts)))
        if fine:
            self._send(CALL, [("close",)] * len(self._parts))
            for process in self._processes:
                with contextlib.suppress(EOFError, TimeoutError):
                    process.answer(60.0 if timeout is None else timeout)
        self._end()

    def _end(self) -> None:
        self._closing.set()
        for process in self._processes:
            process.end()

    def __del__(self):
        if not getattr(self, "closed", True):
            with contextlib.suppress(Exception):
                self.close(terminate=True)
