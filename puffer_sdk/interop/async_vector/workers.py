"""The worker processes of a Vector, asked all at once.  functions -> environments' answers"""
from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Sequence
from typing import Any

from ...base.errors import RunError
from ..python_envs import shared_rows
from ..python_envs.env_worker import Failure, Message
from ..python_envs.interfaces import Value
from ..python_envs.lanes import AskedLanes, library
from ..python_envs.monitor import LOOK
from ..python_envs.shared_rows import CALL, DEAD, FINE, RAISED
from ..python_envs.worker_processes import DOING, Process, as_itself, printed, raised, start
from .arrays import Arrays
from .lane import Env, Made, VectorBlock, VectorPart, VectorSizes

OPENING = 60.0          # seconds in which a worker must map the block


class Workers:
    """Processes, each with some of the environments and a lane in the block.

    parts       slices of the environments, one for each worker
    block       that open() made, and the lanes in it
    """

    block: VectorBlock
    _lanes: AskedLanes

    def __init__(self, num_envs: int, count: int):
        edges = [num_envs * lane // count for lane in range(count + 1)]
        self.num_envs, self.parts = num_envs, [slice(*pair) for pair in zip(edges, edges[1:])]
        self.processes: list[Process] = []
        self._closing = threading.Event()
        self._failure: BaseException | None = None

    # -- making

    def make(self, env_fns: Sequence[Callable[[], Env]], timeout: float) -> list[Made]:
        """Starts the processes. What they say of their environments, in order."""
        import cloudpickle

        library()
        self.processes = [start("puffer_sdk.interop.async_vector.lane:answering")
                          for _ in self.parts]
        for part, process in zip(self.parts, self.processes):
            process.send(("make", cloudpickle.dumps(env_fns[part]), part.start))
        return [cloudpickle.loads(self._answer(process, timeout)[0])
                for process in self.processes]

    def _answer(self, process: Process, timeout: float) -> list[Any]:
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
        return list(found)

    def open(self, sizes: VectorSizes, seen: Arrays | None, acts: Arrays | None, autoreset: str
             ) -> VectorBlock:
        """The block of memory, and the workers' lanes in it. seen, acts: as VectorPart has them"""
        self.block = block = VectorBlock(sizes)
        self._lanes = AskedLanes(block, self.num_envs)
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
                    words = self.block.words[lane]
                    if words[shared_rows.STATE] == FINE:
                        words[shared_rows.STATE] = DEAD

    # -- asking

    def send(self, command: int, messages: Sequence[Message] | None) -> None:
        """One message a worker, or none; they read it once they were asked."""
        self.block.listen[:] = messages is not None
        self._lanes.send(command)
        for process, message in zip(self.processes, messages or ()):
            process.send(message)

    @property
    def ready(self) -> bool:
        """Whether all have done what they were asked for."""
        return all(self._lanes.ready(lane) for lane in range(len(self.parts)))

    @property
    def alive(self) -> bool:
        return all(process.alive for process in self.processes)

    def receive(self) -> list[Value]:
        """What each says besides its arrays, once all are done; None: nothing. Raises what an
        environment raised, RunError where a worker died."""
        if not self._lanes.receive():
            self._failure = self._failure or self._find_failure()
            raise self._failure from self._failure.__cause__
        speaks = self.block.speaks
        return [process.channel.recv() if speaks[lane] else None
                for lane, process in enumerate(self.processes)] if speaks.any() \
            else [None] * len(self.parts)

    def _find_failure(self) -> BaseException:
        lane, state = self._lanes.c.bad_lane, self._lanes.c.bad_state
        process, block = self.processes[lane], self.block
        env = int(block.notes[lane][shared_rows.ENV])
        phase = int(block.words[lane][shared_rows.PHASE])
        if state == RAISED:
            with contextlib.suppress(EOFError, TimeoutError):
                failure: Failure = process.answer(1.0)
                return as_itself(raised(failure, f"env {failure.env}"))
        return RunError(f"the worker process ended {DOING.get(phase, '')}: {process.cause}",
                        where=f"env {env}", detail=printed(),
                        hint="one of its packages may have crashed: see its output")

    # -- the end

    def close(self, timeout: float) -> None:
        """Have the environments closed, if all are idle and fine; `timeout` seconds for each."""
        if self._lanes.fine and self.ready:
            self.send(CALL, [("close",)] * len(self.parts))
            for process in self.processes:
                with contextlib.suppress(EOFError, TimeoutError):
                    process.answer(timeout)

    def end(self) -> None:
        """End the processes as they are."""
        self._closing.set()
        for process in self.processes:
            process.end()
