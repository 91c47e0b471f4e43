"""The parent's side of a Vector.  functions that make environments -> Vector"""
from __future__ import annotations

import contextlib
import multiprocessing
import time
from collections.abc import Callable, Sequence
from copy import deepcopy
from typing import Any, TypeVar

import gymnasium
import numpy as np
from gymnasium.error import AlreadyPendingCallError, ClosedEnvironmentError, NoAsyncCallError
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import concatenate, create_empty_array, iterate
from numpy.typing import NDArray

from ...base.errors import UsageError
from ...settings.automatic import available_cores
from ..python_envs.env_worker import Failure, Message
from ..python_envs.interfaces import Value
from ..python_envs.shared_rows import CALL, RESET, STEP
from ..python_envs.worker_processes import as_itself, raised
from .arrays import Arrays, is_fixed, is_known
from .lane import Env, VectorSizes
from .matching import Mode, batched
from .workers import Workers

Result = TypeVar("Result")
TICK = 0.0002           # seconds between two looks of a wait that has a limit
IDLE, RESETTING, STEPPING, CALLING = "default", "reset", "step", "call"


class Vector(VectorEnv[Value, Value, NDArray[Any]]):
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

    def __init__(self, env_fns: Sequence[Callable[[], Env]], shared_memory: bool = True,
                 copy: bool = True, context: str | None = None, daemon: bool = True,
                 worker: Callable[..., object] | None = None,
                 observation_mode: Mode = "same",
                 autoreset_mode: str | AutoresetMode = AutoresetMode.NEXT_STEP,
                 max_concurrency: int | None = None, *, workers: int | str = "auto",
                 start_timeout: float = 60.0):
        if worker is not None:
            raise UsageError("Vector already has workers", actual="worker=...",
                             hint="gymnasium.vector.AsyncVectorEnv takes such a function")
        self.env_fns, self.shared_memory, self.copy = list(env_fns), shared_memory, copy
        self.autoreset_mode = AutoresetMode(autoreset_mode)
        self.num_envs, self._state = len(self.env_fns), IDLE
        if not self.env_fns:
            raise UsageError("nothing to step", expected="one function or more")
        count = available_cores() if workers == "auto" else int(workers)
        count = max(1, min(count, self.num_envs, max_concurrency or count))
        self._workers = Workers(self.num_envs, count)
        try:
            made = self._workers.make(self.env_fns, start_timeout)
            self.metadata = {**made[0].metadata, "autoreset_mode": self.autoreset_mode}
            self.render_mode = made[0].render_mode
            (self.single_observation_space, self.observation_space, self.single_action_space,
             self.action_space) = batched(made, observation_mode, self.num_envs)
            if shared_memory and not is_known(self.single_observation_space):
                raise ValueError(f"{self.single_observation_space} is not a space of Gymnasium's: "
                                 "give shared_memory=False")
            self._open()
        except BaseException:
            self._workers.end()
            self.closed = True
            raise

    def _open(self) -> None:
        """The block of memory that the workers write."""
        space = self.single_observation_space
        self._seen = (Arrays(space, self.num_envs)
                      if self.shared_memory and is_fixed(space) else None)
        self._acts = (Arrays(self.single_action_space, self.num_envs)
                      if is_fixed(self.single_action_space) else None)
        sizes = VectorSizes(len(self._workers.parts), self.num_envs,
                            self._seen.bytes if self._seen else 0,
                            self._acts.bytes if self._acts else 0)
        self._block = block = self._workers.open(sizes, self._seen, self._acts,
                                                 self.autoreset_mode.value)
        self._act_views = self._acts.views(block.actions) if self._acts else []
        self._views = self._seen.views(block.observations) if self._seen else []
        self.observations: Value = (self._seen.nest(self._views) if self._seen else
                             create_empty_array(space, self.num_envs))

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

    def _receive(self, method: str, timeout: float | None) -> list[Value]:
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
        return self._workers.receive()

    def _wait(self, method: str, timeout: float) -> None:
        end = time.monotonic() + timeout
        while not self._workers.ready:
            if not self._workers.alive:
                return
            if time.monotonic() > end:
                self._state = IDLE
                raise multiprocessing.TimeoutError(
                    f"`{method}` was not done after {timeout} seconds")
            time.sleep(TICK)

    # -- reset and step

    def reset(self, *, seed: int | Sequence[int | None] | None = None,
              options: dict[str, Any] | None = None) -> tuple[Value, dict[Any, Any]]:
        """(observations, infos). An int seeds env i with seed + i. options {"reset_mask":
        bool (num_envs,)} resets these alone."""
        self.reset_async(seed, options)
        return self.reset_wait()

    def reset_async(self, seed: int | Sequence[int | None] | None = None,
                    options: dict[str, Any] | None = None) -> None:
        """Begin reset(); reset_wait() ends it."""
        if seed is None or isinstance(seed, (int, np.integer)):
            seeds = [None if seed is None else int(seed) + env for env in range(self.num_envs)]
        else:
            seeds = list(seed)
        if len(seeds) != self.num_envs:
            raise ValueError(f"there are {len(seeds)} seeds for {self.num_envs} environments")
        mask = None
        if options is not None and "reset_mask" in options:
            options = dict(options)
            mask = self._checked_mask(options.pop("reset_mask"))
        self._begin_reset(seeds, [options] * self.num_envs, mask)

    def _begin_reset(self, seeds: Sequence[int | None], options: Sequence[dict[str, Any] | None],
                     mask: NDArray[np.bool_] | None = None) -> None:
        """Seeds and options, one for each environment."""
        self._begin(RESETTING, "reset_async")
        self._workers.send(RESET, [
            (seeds[part], options[part], None if mask is None else mask[part])
            for part in self._workers.parts])

    def _checked_mask(self, mask: object) -> NDArray[np.bool_]:
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

    def reset_wait(self, timeout: float | None = None) -> tuple[Value, dict[Any, Any]]:
        """(observations, infos); multiprocessing.TimeoutError after `timeout` seconds."""
        infos = self._heard(self._receive("reset_wait", timeout))
        return self._shown(), infos

    def step(self, actions: Value) -> tuple[
            Value, NDArray[np.float64], NDArray[np.bool_], NDArray[np.bool_], dict[Any, Any]]:
        """(observations, rewards (n,) float64, terminations, truncations (n,) bool, infos)"""
        self.step_async(actions)
        return self.step_wait()

    def step_async(self, actions: Value) -> None:
        """Begin step(); step_wait() ends it."""
        self._begin(STEPPING, "step_async")
        try:
            messages: list[Message] | None = None
            if self._acts is None or not self._acts.take(actions, self._act_views):
                each = self._each_action(actions)
                if len(each) != self.num_envs:
                    raise ValueError(f"there are actions for {len(each)} environments, not "
                                     f"{self.num_envs}")
                messages = [(each[part],) for part in self._workers.parts]
        except BaseException:
            self._state = IDLE
            raise
        self._workers.send(STEP, messages)

    def _each_action(self, actions: Value) -> list[Value]:
        """Of actions that are no batch of the action space's arrays: one for each environment."""
        return list(iterate(self.action_space, actions))

    def step_wait(self, timeout: float | None = None) -> tuple[
            Value, NDArray[np.float64], NDArray[np.bool_], NDArray[np.bool_], dict[Any, Any]]:
        """As step(); multiprocessing.TimeoutError after `timeout` seconds."""
        infos = self._heard(self._receive("step_wait", timeout))
        block = self._block
        return (self._shown(), block.rewards.copy(), block.terminations.copy(),
                block.truncations.copy(), infos)

    def _heard(self, said: list[Value]) -> Any:
        """The infos of all environments as one; loose observations are put together."""
        found: dict[int, dict[str, Any]] = {}
        loose: list[Value] = []
        for each in said:
            if each is not None:
                found |= each[0]
                loose += each[1] or ()
        if loose:
            self.observations = concatenate(self.single_observation_space, loose,
                                            self.observations)
        return self._merged(found)

    def _merged(self, found: dict[int, dict[str, Any]]) -> Any:
        """What reset and step return as infos, of those of single environments, by index."""
        infos: dict[str, Any] = {}
        for env, info in found.items():
            infos = self._add_info(infos, info, env)
        return infos

    def _shown(self) -> Value:
        if not self.copy:
            return self.observations
        if self._seen is None:
            return deepcopy(self.observations)
        return self._seen.nest([view.copy() for view in self._views])

    # -- calls

    def call(self, name: str, *args: Any, **kwargs: Any) -> tuple[Any, ...]:
        """What a method of each environment returns, or its attribute."""
        self.call_async(name, *args, **kwargs)
        return self.call_wait()

    def call_async(self, name: str, *args: Any, **kwargs: Any) -> None:
        """Begin call(); call_wait() ends it."""
        if name in ("reset", "step", "close"):
            raise ValueError(f"call {name}() itself, not call({name!r})")
        self._begin(CALLING, "call_async")
        self._workers.send(CALL, [("get", name, args, kwargs)] * len(self._workers.parts))

    def call_wait(self, timeout: float | None = None) -> tuple[Any, ...]:
        """As call(); multiprocessing.TimeoutError after `timeout` seconds."""
        return tuple(value for said in self._receive("call_wait", timeout) for value in said[0])

    def get_attr(self, name: str) -> tuple[Any, ...]:
        """An attribute of each environment."""
        return self.call(name)

    def set_attr(self, name: str, values: Any) -> None:
        """Set an attribute: a list or tuple has one value for each environment."""
        if not isinstance(values, (list, tuple)):
            values = [values] * self.num_envs
        if len(values) != self.num_envs:
            raise ValueError(f"there are {len(values)} values for {self.num_envs} environments")
        self._begin(CALLING, "set_attr")
        self._workers.send(CALL, [("set", name, list(values[part]))
                                  for part in self._workers.parts])
        self._receive("call_wait", None)

    def apply(self, function: Callable[[Env], Result],
              envs: Sequence[int] | None = None) -> list[Result]:
        """What a function returns of each environment, called where that lives; envs: of these.

        What it raises is raised here, once all have been asked, and the environments live on.
        """
        import cloudpickle

        chosen = range(self.num_envs) if envs is None else [int(env) for env in envs]
        asked = cloudpickle.dumps(function)
        self._begin(CALLING, "apply")
        self._workers.send(CALL, [
            ("apply", asked, sorted({env - part.start for env in chosen
                                     if part.start <= env < part.stop}))
            for part in self._workers.parts])
        found: dict[int, Any] = {}
        for said in self._receive("call_wait", None):
            found |= cloudpickle.loads(said[0])
        for env, value in found.items():
            if isinstance(value, Failure):
                error = as_itself(raised(value, f"env {env}"))
                raise error from error.__cause__
        return [found[env] for env in chosen]

    def render(self) -> tuple[Any, ...]:
        """What each environment's render() returns."""
        return self.call("render")

    @property
    def np_random_seed(self) -> tuple[Any, ...]:  # type: ignore[override]  # as AsyncVectorEnv
        return self.get_attr("np_random_seed")

    @property  # type: ignore[misc]  # as AsyncVectorEnv
    def np_random(self) -> tuple[Any, ...]:  # type: ignore[override]  # as AsyncVectorEnv
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
        if not terminate:
            self._workers.close(60.0 if timeout is None else timeout)
        self._workers.end()

    def __del__(self) -> None:
        if not getattr(self, "closed", True):
            with contextlib.suppress(Exception):
                self.close(terminate=True)
