"""The worker processes of a Vector, asked all at once.  functions -> environments' answers"""
from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Sequence

import numpy as np

from ...base.errors import RunError
from ...env import abi
from ..python_envs import shared_rows
from ..python_envs.lanes import ffi, library
from ..python_envs.monitor import LOOK
from ..python_envs.pool_vec import SPINS
from ..python_envs.shared_rows import CALL, DEAD, FINE, RAISED, Block
from ..python_envs.worker_processes import DOING, Process, as_itself, printed, raised, start
from .lane import Made, VectorPart, VectorSizes

FOREVER = 2**62         # nanoseconds
OPENING = 60.0          # seconds in which a worker must map the block


class Workers:
    """Processes, each with some of the environments and a lane in the block.

    parts       slices of the environments, one for each worker
    """

    def __init__(self, num_envs: int, count: int):
        edges = [num_envs * lane // count for lane in range(count + 1)]
        self.num_envs, self.parts = num_envs, [slice(*pair) for pair in zip(edges, edges[1:])]
        self.processes: list[Process] = []
        self._closing, self._failure = threading.Event(), None

    # -- making

    def make(self, env_fns: Sequence[Callable], timeout: float) -> list[Made]:
        """Starts the processes. What they say of their environments, in order."""
        import cloudpickle

        library()
        self.processes = [start("puffer_sdk.interop.async_vector.lane:answering")
                          for _ in self.parts]
        for part, process in zip(self.parts, self.processes):
            process.send(("make", cloudpickle.dumps(env_fns[part]), part.start))
        return [cloudpickle.loads(self._answer(process, timeout)[0])
                for process in self.processes]

    def _answer(self, process: Process, timeout: float) -> list:
        try:
            kind, *found = process.answer(timeout)
        except TimeoutError:
            raise RunError(f"the environments were not created within {timeout:g} seconds",
                           hint="a longer limit is start_timeout") from None
        except EOFError:
            raise RunError("a worker process ended while creating its environments: "
                           f"{process.cause}", detail=printed()) from None
        if kind == "raised":
            error = as_itself(raised(found[0], f"env {found[0].env}"))
            raise error from error.__cause__
        return found

    def open(self, sizes: VectorSizes, seen, acts, autoreset: str) -> Block:
        """The block of memory, and the workers' lanes in it. seen, acts: as VectorPart has them"""
        count = len(self.parts)
        self.block = block = Block(sizes)
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
            for lane, (part, process) in enumerate(zip(self.parts, self.processes)):
                process.send(("open", VectorPart(lane, part.start, sizes, seen, acts, autoreset)),
                             block.fd)
            for process in self.processes:
                self._answer(process, OPENING)
        finally:
            block.close_fd()
        threading.Thread(target=self._look_after, daemon=True).start()
        return block

    def _look_after(self) -> None:
        """Runs on a thread: a process that has ended is noted where C sees it."""
        while not self._closing.wait(LOOK):
            for lane, process in enumerate(self.processes):
                if not process.alive:
                    words = self.block.lanes[lane].view(np.int32)
                    if words[shared_rows.STATE] == FINE:
                        words[shared_rows.STATE] = DEAD

    # -- asking

    def send(self, command: int, messages: list | None) -> None:
        """One message a worker, or none; they read it once they were asked."""
        self.block.listen[:] = messages is not None
        library().lanes_send(self._lanes, 0, len(self.parts), command)
        for process, message in zip(self.processes, messages or ()):
            process.send(message)

    @property
    def ready(self) -> bool:
        """Whether all have done what they were asked for."""
        return all(library().lanes_ready(self._lanes, lane) for lane in range(len(self.parts)))

    @property
    def alive(self) -> bool:
        return all(process.alive for process in self.processes)

    def receive(self) -> list:
        """What each says besides its arrays, once all are done; None: nothing. Raises what an
        environment raised, RunError where a worker died."""
        if library().lanes_receive(self._lanes, 0, len(self.parts), abi.ffi().NULL):
            self._failure = self._failure or self._find_failure()
            raise self._failure from self._failure.__cause__
        speaks = self.block.speaks
        return [process.channel.recv() if speaks[lane] else None
                for lane, process in enumerate(self.processes)] if speaks.any() \
            else [None] * len(self.parts)

    def _find_failure(self) -> BaseException:
        lane, state = self._lanes.bad_lane, self._lanes.bad_state
        process, block = self.processes[lane], self.block
        env = int(block.lanes[lane].view(np.int64)[shared_rows.ENV])
        phase = int(block.lanes[lane].view(np.int32)[shared_rows.PHASE])
        if state == RAISED:
            with contextlib.suppress(EOFError, TimeoutError):
                failure = process.answer(1.0)
                return as_itself(raised(failure, f"env {failure.env}"))
        return RunError(f"the worker process ended {DOING.get(phase, '')}: {process.cause}",
                        where=f"env {env}", detail=printed(),
                        hint="one of its packages may have crashed: see its output")

    # -- the end

    def close(self, timeout: float) -> None:
        """Have the environments closed, if all are idle and fine; `timeout` seconds for each."""
        if self._lanes.bad_lane < 0 and self.ready:
            self.send(CALL, [("close",)] * len(self.parts))
            for process in self.processes:
                with contextlib.suppress(EOFError, TimeoutError):
                    process.answer(timeout)

    def end(self) -> None:
        """End the processes as they are."""
        self._closing.set()
        for process in self.processes:
            process.end()
