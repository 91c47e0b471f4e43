"""Python environments behind the arrays of VecEnv.  Maker, Facts -> PoolLibrary -> PoolVec

A vec's copies are dealt to worker processes in one block of shared memory: workers write straight
into the rows that the trainer reads (lanes.h, games/). The same seed gives the same bytes
whatever the number of workers, where an environment draws from its own generator.
"""
from __future__ import annotations

import contextlib
import time
from dataclasses import replace

import numpy as np

from ...base.errors import RunError, UsageError
from ...env import abi
from ...env.vec import VecEnv
from . import cpu_usage, layouts, pool_logs, serial, shared_rows
from .env_worker import Failure
from .games.base import INIT, Part, seed_parts
from .games.lane_kinds import open_lane
from .lanes import ffi, library
from .monitor import Monitor
from .sending import Sending
from .shared_rows import CALL, DEAD, FINE, RAISED, Block, Sizes
from .worker_processes import DOING, as_itself, printed, raised

SPINS = 20              # looks before the parent sleeps: in a virtual machine each costs much
MOST_WORKERS = 1024


class PoolVec(Sending, VecEnv):
    """A VecEnv whose copies are Python, in worker processes.

    In addition to VecEnv: send() and recv() for the envs that are ready first, render(), and log()
    with the names that the environment's infos add.
    """

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
        self._block = block = Block(self._sizes())
        self.block = block.bytes
        for name in ("observations", "actions", "rewards", "terminals", "truncations",
                     "final_observations", "has_final"):
            setattr(self, f"_{name}", getattr(block, name))
        self._action_mask = block.action_mask if about.mask_size else None
        self._alive = block.alive if about.has_alive else None
        block.action_mask[:] = 1
        block.alive[:] = 1

    def _create(self, env_settings, vec_settings, num_buffers, threads):
        lib, sizes = self.library, self._sizes()
        self._lane_parts = [
            Part(lib.maker, lib.facts, sizes, lane, first, seeds, lib.autoreset, lib.max_restarts,
                 lib.reward_scale)
            for lane, (first, seeds) in enumerate(seed_parts(self._seeds, max(
                1, self.num_workers)))]
        self._failure: BaseException | None = None
        self._monitor: Monitor | None = None                            # of the workers
        self._asked = np.zeros(max(1, self.num_workers), np.uint8)     # lanes that were sent
        self._out = 0                                                   # how many these are
        self._row_edges = np.arange(len(self._seeds) + 1, dtype=np.int64) * lib.facts.rows
        return self._create_workers() if self.num_workers else self._create_serial()

    def _sizes(self) -> Sizes:
        about = self.description
        return Sizes(lanes=max(1, self.num_workers), envs=len(self._seeds), rows=self.num_agents,
                     obs_size=about.obs_size, obs_dtype=about.obs_dtype, heads=self.num_atns,
                     mask_size=about.mask_size, alive=about.has_alive)

    def _create_serial(self):
        self._lane = self._shown_in = None
        serial.run(self, INIT, self._open_lane, self._watch(0))
        self._block.close_fd()
        self._raise_failure()
        self._itself = abi.ffi().new_handle(self)
        return abi.ffi().cast("PufferVec*", self._itself)

    def _open_lane(self) -> None:
        self._lane = open_lane(self._lane_parts[0], self._block)

    def _create_workers(self):
        lib, block, new = self.library, self._block, ffi().new
        self._sent = np.zeros(self.num_workers, np.int32)
        self._since, self._progress = np.zeros((2, self.num_workers), np.int64)
        self._c_seeds = np.array(self._seeds, np.uint32)
        self._lanes = new("Lanes*", {
            "lanes": ffi().cast("Lane*", block.lanes.ctypes.data),
            "bell": ffi().cast("LaneCounter*", block.bell.ctypes.data),
            "sent": ffi().cast("int32_t*", self._sent.ctypes.data),
            "count": self.num_workers, "num_envs": len(self._seeds), "spins": SPINS,
            "bad_lane": -1, "limit": int(lib.step_timeout * 1e9),
            "reset_limit": int(lib.start_timeout * 1e9),
            "since": ffi().cast("int64_t*", self._since.ctypes.data),
            "progress": ffi().cast("int64_t*", self._progress.ctypes.data),
            "seeds": ffi().cast("uint32_t*", self._c_seeds.ctypes.data),
            "first_row": ffi().cast("int64_t*", self._row_edges.ctypes.data)})
        self._monitor = Monitor(block, self._lane_parts, (lib.step_timeout, lib.start_timeout),
                                lib.tell)
        try:
            self._monitor.open(lib.take(self.num_workers))
        except BaseException as error:
            block.close_fd()
            shown = self._shown(error)
            raise shown from shown.__cause__
        if not lib.max_restarts:
            block.close_fd()
        self._step_c = lib.api.step
        return abi.ffi().cast("PufferVec*", int(ffi().cast("uintptr_t", self._lanes)))

    def _bind(self) -> None:
        self.first_row = self._row_edges.copy()

    # -- what went wrong

    def failure(self) -> BaseException | None:
        """What ended this vec: its steps do nothing any more. None while it is fine."""
        if self._failure is None and self._monitor and self._lanes.bad_lane >= 0:
            self._failure = self._shown(self._find_failure())
        return self._failure

    def _find_failure(self) -> BaseException:
        lane, state = self._lanes.bad_lane, self._lanes.bad_state
        process, part = self._monitor.processes[lane], self._lane_parts[lane]
        words, notes = (self._block.lanes[lane].view(kind) for kind in (np.int32, np.int64))
        env, phase = int(notes[shared_rows.ENV]), int(words[shared_rows.PHASE])
        if state == RAISED:
            with contextlib.suppress(EOFError, TimeoutError):
                return self._raised(process.answer(1.0)[1])
            state = DEAD
        if lane in self._monitor.errors:
            return self._monitor.errors[lane]
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
        step = self._lanes.bad_step if self._monitor else self._bad_step
        return f"env {env}, seed {self.env_seed(env)}, step {step}"

    def _shown(self, error: BaseException) -> BaseException:
        return as_itself(error) if self.library.as_itself else error

    def _raise_failure(self) -> None:
        error = self.failure()
        if error is not None:
            raise error

    # -- running

    def reset(self, seed: int | None = None) -> np.ndarray:
        """Begin episodes everywhere, the first time from the seeds. Returns observations.

        seed    recreate all copies first, as in a new vec with this seed: their constructors
                run again. What they have logged is dropped
        """
        self._check_open()
        if self._monitor:
            self._wait_for_all()
        super().reset(seed)
        self._raise_failure()
        return self.observations

    def _reseed(self, seed: int) -> None:
        self._raise_failure()
        self.seed, self._given_seeds, self.ticks = seed, None, 0
        self._seeds = self.seeds_of(len(self._seeds))
        self._lane_parts[:] = [
            replace(part, seeds=tuple(self._seeds[part.first:part.first + len(part.seeds)]))
            for part in self._lane_parts]
        if not self._monitor:
            self._lane.close()
            self._block.clear()
            serial.run(self, INIT, self._open_lane, self._watch(0))
            self._raise_failure()
            return
        self._c_seeds[:] = self._seeds
        try:
            self._monitor.renew(lambda lane: library().lanes_send(self._lanes, lane, 1, CALL))
        except BaseException as error:
            self._failure = self._shown(error)
            self._lanes.bad_lane, self._lanes.bad_state = 0, RAISED     # no step from now on
            raise self._failure from self._failure.__cause__
        library().lanes_receive(self._lanes, 0, self.num_workers, abi.ffi().NULL)

    def step(self, actions=None):
        """As VecEnv.step(). What an environment raised is raised here."""
        if self._out:
            raise UsageError("some environments were sent but not received",
                             hint="use either send() and recv(), or step()")
        found = super().step(actions)
        self._raise_failure()
        return found

    def _step_alone(self) -> None:
        if self._monitor:
            watch = self._watches[0]
            watch.step = self.ticks
            self._step_c(self._handle, 0, self.num_envs, 0, abi.ffi().addressof(watch))
        else:
            self._watches[0].step = self.ticks
            serial.step(self, self._watch(0))

    def render(self, env: int = 0):
        """What environment number `env` returns from its render(): (H, W, 3) uint8 where it was
        made with render_mode="rgb_array"."""
        self._check_open()
        if not self._monitor:
            return self._lane.render(env)
        lane = next(part.lane for part in self._lane_parts
                    if part.first <= env < part.first + len(part.seeds))
        kind, found = self._call(lane, ("render", env - self._lane_parts[lane].first),
                                 self.library.step_timeout)
        if kind == "raised":
            raise self._shown(self._raised(found))
        return found

    def _call(self, lane: int, message: tuple, timeout: float) -> tuple:
        process = self._monitor.settled(lane)
        process.send(message)
        library().lanes_send(self._lanes, lane, 1, CALL)
        problem = None
        try:
            found = process.answer(timeout)
        except EOFError:
            problem = f"the worker process ended: {process.cause}"
        except TimeoutError:
            problem = f"the environment did not return for {timeout:g} seconds"
            self._block.lanes[lane].view(np.int32)[shared_rows.STATE] = shared_rows.LATE
        library().lanes_receive(self._lanes, lane, 1, abi.ffi().NULL)
        if problem:
            raise RunError(problem)
        return found

    def _bounds(self) -> tuple[np.ndarray, np.ndarray]:
        return layouts.bounds(self.layout)

    def unflatten(self, rows=None):
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
    def trainer_fields(self) -> dict:
        """As VecEnv's; where workers are free, an env of the trainer is a lane."""
        if not (self.library.free_running and self._monitor):
            return super().trainer_fields
        rows = self.library.facts.rows
        edges = np.array([part.first * rows for part in self._lane_parts] + [self.num_agents],
                         np.int64)
        return {"first_row": edges, "api": library().lanes_api_free(), "whole_steps": 0}

    @property
    def trainer_threads(self) -> int:
        """Threads that a trainer should have, at least: one waits for each free lane."""
        return min(self.num_workers, 64) if self.library.free_running else 1

    @property
    def block_agents(self) -> int:
        """Rows of a lane, where lanes are free; else 0."""
        if not (self.library.free_running and self._monitor):
            return 0
        return max(len(part.seeds) for part in self._lane_parts) * self.library.facts.rows

    # -- the end

    def close(self) -> None:
        """Close every environment. The processes wait for the library's next vec. The arrays stay
        readable; stepping is an error."""
        if self._handle is None:
            return
        self._handle = None
        if not self._monitor:
            self._lane.close()
            return
        self._end_workers()
        self._block.close_fd()
        if self.library.as_itself:
            self.library.close()

    def _end_workers(self) -> None:
        """Processes that answer go back to the library; the others are ended."""
        monitor, fine = self._monitor, self._lanes.bad_lane < 0
        monitor.replaces = False
        for lane in np.flatnonzero(self._asked).tolist():
            if fine and monitor.state(lane) == FINE:
                library().lanes_receive(self._lanes, lane, 1, abi.ffi().NULL)
        monitor.close()
        end = time.monotonic() + self.library.step_timeout
        for lane, process in enumerate(monitor.processes):
            if not fine or monitor.state(lane) != FINE or not process.alive:
                process.end()
                continue
            process.send(("close",))
            library().lanes_send(self._lanes, lane, 1, CALL)
        for process in monitor.processes:
            if process.alive:
                with contextlib.suppress(EOFError, TimeoutError):
                    process.answer(max(0.1, end - time.monotonic()))
                    self.library.idle.append(process)
                    continue
                process.end()
