"""Python environments behind the arrays of VecEnv.  Maker, Facts -> WorkerLibrary -> PoolVec

A vec's copies are dealt to worker processes in one block of shared memory: workers write straight
into the rows that the trainer reads (lanes.h, games/). The same seed gives the same bytes
whatever the number of workers, where an environment draws from its own generator.
"""
from __future__ import annotations

import contextlib
import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...base.errors import RunError, UsageError
from ...env import abi
from ...env.abi import CObject
from ...env.teams import NO_TEAM
from ...env.worlds import World
from ...settings.world_values import Drawn, Plain
from . import cpu_usage, layouts, pool_logs, shared_rows
from .env_worker import Failure
from .games.base import EnvError, Part, seed_parts
from .interfaces import Value
from .lanes import AskedLanes, ffi, library
from .monitor import Monitor
from .oddities import Oddity, refuse
from .probe_env import BATCH
from .sending import Sending
from .serial import OwnLane
from .shared_rows import CALL, DEAD, FINE, RAISED, PoolBlock, Sizes
from .space_rows import Observations
from .worker_library import WorkerLibrary
from .worker_processes import DOING, as_itself, printed, raised

MOST_WORKERS = 1024


class PoolVec(Sending):
    """A VecEnv whose copies are Python, in worker processes.

    In addition to VecEnv: send() and recv() for the envs that are ready first, render(), call() and
    set_attr(), and log() with the names that the environment's infos add.
    """

    library: WorkerLibrary

    def _allocate(self) -> None:
        facts, about = self.library.facts, self.description
        copies, rest = divmod(self.num_agents, facts.rows)
        if rest:
            raise UsageError("total_agents is not a multiple of the agents per environment",
                             expected=f"a multiple of {facts.rows} agents",
                             actual=self.num_agents,
                             hint=f"set vec.total_agents to {max(1, copies) * facts.rows} or "
                                  f"{(copies + 1) * facts.rows}")
        self._seeds = self.seeds_of(copies)
        self.num_workers = min(self.library.workers, copies, MOST_WORKERS)
        if copies > 1:
            self._keep_apart(copies)
        self._sizes = Sizes(
            lanes=max(1, self.num_workers), envs=copies, rows=self.num_agents,
            obs_size=about.obs_size, obs_dtype=about.obs_dtype, heads=self.num_atns,
            mask_size=about.mask_size, alive=about.has_alive)
        self._block = block = PoolBlock(self._sizes)
        self.block = block.bytes
        for name in ("observations", "actions", "rewards", "terminals", "truncations",
                     "final_observations", "has_final"):
            setattr(self, f"_{name}", getattr(block, name))
        self._action_mask = block.action_mask if about.mask_size else None
        self._alive = block.alive if about.has_alive else None
        block.action_mask[:] = 1
        block.alive[:] = 1

    def _keep_apart(self, copies: int) -> None:
        """A process for each copy, where only one can live in a process."""
        facts, maker = self.library.facts, self.library.maker
        if facts.same:
            refuse([Oddity("same-object", what=maker.shown)], "made")
        if not facts.alone:
            return
        if not self.num_workers or copies > MOST_WORKERS:
            raise UsageError("only one instance of this environment can live in a process",
                             where=maker.name, detail=facts.alone, actual=f"{copies} copies",
                             hint="set " + ("workers" if self.library.as_itself else
                                            "vec.num_workers") + " to the number of copies")
        self.num_workers = copies

    def _create(self, env_settings: Mapping[str, float], vec_settings: Mapping[str, float],
                num_buffers: int, threads: int) -> CObject:
        lib = self.library
        self.indices = lib.free_indices(len(self._seeds))
        lib.living.add(self)
        self._lane_parts = [
            Part(lib.maker, lib.facts, self._sizes, lane, first, seeds, lib.autoreset,
                 lib.max_restarts, lib.reward_scale, index=self.indices.start + first)
            for lane, (first, seeds) in enumerate(seed_parts(self._seeds, self._sizes.lanes))]
        self._failure: BaseException | None = None
        self._bad_step = 0
        self._monitor = None
        self._asked, self._out = np.zeros(self._sizes.lanes, np.uint8), 0
        self._row_edges = np.arange(len(self._seeds) + 1, dtype=np.int64) * lib.facts.rows
        self._own = OwnLane(self, self._block, watched=not self._own_watches)
        if not self.num_workers:
            return self._create_serial()
        if lib.free_running:        # a thread of the trainer waits for each lane and its rows
            self.trainer_threads = min(self.num_workers, 64)
            self.block_agents = max(len(part.seeds) for part in self._lane_parts) * lib.facts.rows
        return self._create_workers()

    def _create_serial(self) -> CObject:
        self._own.open(self._lane_parts[0], self._watch(0))
        self._block.close_fd()
        self._raise_failure()
        self._itself = abi.ffi().new_handle(self._own)
        return abi.ffi().cast("PufferVec*", self._itself)

    def _create_workers(self) -> CObject:
        lib, block = self.library, self._block
        limits = lib.step_timeout, lib.start_timeout
        lanes = AskedLanes(block, len(self._seeds), limits=limits, seeds=self._seeds,
                           first_row=self._row_edges)
        self._monitor = Monitor(block, self._lane_parts, lanes, limits, lib.tell)
        try:
            self._monitor.open(lib.take(self.num_workers))
        except BaseException as error:
            block.close_fd()
            shown = self._shown(error)
            raise shown from shown.__cause__
        if not lib.max_restarts:
            block.close_fd()
        self._step_c = lib.api.step
        return abi.ffi().cast("PufferVec*", int(ffi().cast("uintptr_t", lanes.c)))

    def _bind(self) -> None:
        self.first_row = self._row_edges.copy()

    def _declared_teams(self) -> NDArray[np.int64]:
        told = self.library.facts.teams or (NO_TEAM,) * self.library.facts.rows
        return np.tile(np.array(told, np.int64), len(self._seeds))

    # -- what went wrong

    def failure(self) -> BaseException | None:
        """What ended this vec: its steps do nothing any more. None while it is fine."""
        if self._failure is None and self._monitor and not self._monitor.lanes.fine:
            self._failure = self._shown(self._find_failure(self._monitor))
        return self._failure

    def end_by(self, error: BaseException, step: int) -> None:
        """Without workers: what a step or reset raised ends this vec."""
        self._bad_step = step
        if isinstance(error, EnvError) and isinstance(error.cause, KeyboardInterrupt):
            self._failure = error.cause
        else:
            self._failure = self._shown(self._raised(Failure.of(error)))

    def _find_failure(self, monitor: Monitor) -> BaseException:
        lane, state = monitor.lanes.c.bad_lane, monitor.lanes.c.bad_state
        process, part = monitor.processes[lane], self._lane_parts[lane]
        env = int(self._block.notes[lane][shared_rows.ENV])
        phase = int(self._block.words[lane][shared_rows.PHASE])
        if state == RAISED:
            with contextlib.suppress(EOFError, TimeoutError):
                return self._raised(process.answer(1.0)[1])
            state = DEAD
        if lane in monitor.errors:
            return monitor.errors[lane]
        after = self._after_restarts(part)
        if state == DEAD:
            where = self._place(env) if phase else f"envs {part.first} to " \
                f"{part.first + len(part.seeds) - 1}"
            return RunError(f"the worker process ended {DOING.get(phase, '')}: {process.cause}"
                            + after, where=where, detail=printed(),
                            hint="one of its packages may have crashed: see its output")
        process.popen.kill()
        limit = "start_timeout" if phase == shared_rows.RESETS else "step_timeout"
        return RunError(f"the environment did not return for {getattr(self.library, limit):g} "
                        f"seconds {DOING.get(phase, '')}".rstrip() + after,
                        where=self._place(env),
                        hint=f"look for an endless loop; to raise the limit: [vec] {limit}")

    def _after_restarts(self, part: Part) -> str:
        times = int(self._block.restarts_of(part).max())
        return f", and its copies were recreated {times} times before" if times else ""

    def _raised(self, failure: Failure) -> BaseException:
        return raised(failure, self._place(failure.env) if failure.env >= 0 else None)

    def _place(self, env: int) -> str:
        step = self._monitor.lanes.c.bad_step if self._monitor else self._bad_step
        return f"env {env}, seed {self.env_seed(env)}, step {step}"

    def _shown(self, error: BaseException) -> BaseException:
        return as_itself(error) if self.library.as_itself else error

    # -- running

    def reset(self, seed: int | None = None) -> NDArray[Any]:
        """Begin episodes everywhere, the first time from the seeds. Returns observations (N, D).

        seed    recreate all copies first, as in a new vec with this seed: their constructors
                run again. What they have logged is dropped
        Raises what an environment raised, RunError where a worker died or hangs.
        """
        self._check_open()
        if self._monitor:
            self._wait_for_all()
        super().reset(seed)
        self._raise_failure()
        return self.observations

    def _reseed(self, seed: int) -> None:
        self._raise_failure()
        self._begin_from(seed)
        self._seeds = self.seeds_of(len(self._seeds))
        self._lane_parts[:] = [
            replace(part, seeds=tuple(self._seeds[part.first:part.first + len(part.seeds)]))
            for part in self._lane_parts]
        if not self._monitor:
            self._own.close()
            self._block.clear()
            self._own.open(self._lane_parts[0], self._watch(0))
            self._raise_failure()
            return
        self._monitor.lanes.seeds[:] = self._seeds
        try:
            self._monitor.renew()
        except BaseException as error:
            self._failure = self._shown(error)
            self._monitor.lanes.fail()
            raise self._failure from self._failure.__cause__

    def step(self, actions: ArrayLike | None = None) -> tuple[
            NDArray[Any], NDArray[np.float32], NDArray[np.float32], NDArray[np.float32]]:
        """As VecEnv.step(). What an environment raised is raised here."""
        if self._out:
            raise UsageError("some environments were sent but not received",
                             hint="use either send() and recv(), or step()")
        found = super().step(actions)
        self._raise_failure()
        return found

    def _step_alone(self) -> None:
        self._watches[0].step = self.ticks
        if self._monitor:
            self._step_c(self._handle, 0, self.num_envs, 0, self._watch(0))
        else:
            self._own.step(self._watch(0))

    def render(self, env: int = 0) -> Value:
        """What environment number `env` returns from its render(): (H, W, 3) uint8 where it was
        made with render_mode="rgb_array"."""
        return self._ask(env, "render")

    def call(self, name: str, *args: Value, **keywords: Value) -> list[Value]:
        """env.NAME(...) of every copy, between two steps, such as set_level(3); what they return.
        The value of an attribute, where NAME is none to be called."""
        return [self._ask(env, "call", name, args, keywords) for env in range(len(self._seeds))]

    def set_attr(self, name: str, values: Value) -> None:
        """env.NAME = value of every copy; a list or tuple has a value for each of them."""
        count = len(self._seeds)
        several = isinstance(values, (list, tuple))
        if several and len(values) != count:
            raise UsageError("set_attr takes one value, or one for each copy",
                             expected=f"{count} values", actual=len(values))
        for env in range(count):
            self._ask(env, "set_attr", name, values[env] if several else values)

    _of_python = True

    def _check_key(self, key: str) -> None:
        if self.library.facts.kind == BATCH:
            raise UsageError("copies that one object steps cannot be changed one by one",
                             where=f'set("{key}")', expected="an environment of its own for each "
                             "copy", actual=self.library.name, hint='wrap() the id itself, such as '
                             '"gymnasium:CartPole-v1"')

    def _check_value(self, key: str, value: Plain | Drawn, env: int) -> None:
        """The lane looks for the name."""

    def _change(self, first: int, count: int, world: World) -> None:
        for env in range(first, first + count):
            self._ask(env, "set_world", world)
            part = self._part_of(env)
            self._lane_parts[part.lane] = replace(
                part, worlds={**part.worlds, env - part.first: world})

    def _count_waiting(self) -> int:
        return sum(bool(self._ask(env, "waits")) for env in range(len(self._seeds)))

    def failed_change(self) -> BaseException | None:
        return None                     # it is what ends this vec

    def _part_of(self, env: int) -> Part:
        return next(part for part in self._lane_parts if env < part.first + len(part.seeds))

    def _ask(self, env: int, kind: str, *given: Value) -> Value:
        """What a copy's lane answers between steps."""
        self._check_open()
        if not self._monitor:
            return getattr(self._own.opened, kind)(env, *given)
        self._wait_for_all()
        part = self._part_of(env)
        kind, found = self._monitor.call(part.lane, (kind, env - part.first, *given),
                                         self.library.start_timeout)    # a first picture takes long
        if kind == "raised":
            raise self._shown(self._raised(found))
        return found

    @property
    def layout(self) -> Observations:
        """How rows unflatten into the environment's observations."""
        return self.library.facts.observations

    def _bounds(self) -> tuple[NDArray[Any], NDArray[Any]]:
        return layouts.bounds(self.layout)

    def unflatten(self, rows: Value = None) -> Value:
        """The parts of observations, nested as the space is, each (n, *shape): views of rows
        (n, D), an array or a torch tensor; None: of `observations`. Where rows are not raw, ids are
        one-hot."""
        return self.layout.unflatten(self.observations if rows is None else rows)

    # -- logs

    def log_of(self, first: int, count: int = 1) -> dict[str, float]:
        """log() of some envs only. Besides `episode_return` and `episode_length`, the means of the
        numbers in the last info of each episode, by their names there."""
        self._check_open()
        return pool_logs.collect(self._block, self._lane_parts, first, count)

    def env_seed(self, env: int) -> int:
        """What env number `env` was seeded with when it was last made."""
        return shared_rows.seed_after(self._seeds[env], int(self._block.restarts[env]))

    @property
    def restarts(self) -> int:
        """Total restarts of copies so far."""
        return int(self._block.restarts.sum())

    @property
    def other_cpu(self) -> float:
        return cpu_usage.descendants_seconds()

    # -- for the trainer

    @property
    def trainer_fields(self) -> dict[str, CObject]:
        """As VecEnv's; where workers are free, an env of the trainer is a lane."""
        if not (self.library.free_running and self._monitor):
            return super().trainer_fields
        rows = self.library.facts.rows
        edges = np.array([part.first * rows for part in self._lane_parts] + [self.num_agents],
                         np.int64)
        return {"first_row": edges, "api": library().lanes_api_free(), "whole_steps": 0}

    # -- the end

    def close(self) -> None:
        """Close every environment. The processes wait for the library's next vec. The arrays stay
        readable; stepping is an error."""
        if self._handle is None:
            return
        self._handle = None
        self.library.living.discard(self)
        if not self._monitor:
            self._own.close()
            return
        self._end_workers(self._monitor)
        self._block.close_fd()
        if self.library.as_itself:
            self.library.close()

    def _end_workers(self, monitor: Monitor) -> None:
        """Processes that answer go back to the library; the others are ended."""
        fine, monitor.replaces = monitor.lanes.fine, False
        for lane in np.flatnonzero(self._asked).tolist():
            if fine and monitor.state(lane) == FINE:
                monitor.lanes.receive(lane)
        monitor.close()
        end = time.monotonic() + self.library.step_timeout
        for lane, process in enumerate(monitor.processes):
            if not fine or monitor.state(lane) != FINE or not process.alive:
                process.end()
                continue
            process.send(("close",))
            monitor.lanes.send(CALL, lane)
        for process in monitor.processes:
            if process.alive:
                with contextlib.suppress(EOFError, TimeoutError):
                    process.answer(max(0.1, end - time.monotonic()))
                    self.library.idle.append(process)
                    continue
                process.end()
