"""The thread that looks after a vec's workers.  processes that die or hang -> replaced, or named

    FINE, its process gone      -> REPLACED, or DEAD without restarts left
    LATE, set by who waits      -> REPLACED, or SILENT; FINE where it has answered after all
    REPLACED                    -> FINE once another process has made the lane's copies anew

The trainer's threads wait for lanes in C and hold nothing that this thread needs: they wait until a
lane is FINE and has answered, or DEAD or SILENT for good.
"""
from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import replace

from ...base.errors import PufferError, RunError
from . import shared_rows, worker_processes
from .env_worker import Message
from .games.base import Part
from .lanes import AskedLanes
from .shared_rows import CALL, DEAD, FINE, LATE, REPLACED, SILENT, PoolBlock
from .worker_processes import DOING, Process, raised

LOOK = 0.1              # seconds between two looks at the processes


class Closing(Exception):
    """The vec is being closed: replacements are given up."""


class Monitor:
    """Owns the processes of a vec's lanes, and replaces those that die or hang.

    processes       one a lane, the current ones
    parts           the lanes' shares, in their order
    lanes           as they are asked and waited for
    limits          seconds after which a step, and the making of a copy, count as hung
    tell            called with one line for each process that was replaced
    errors          lane -> why its replacement failed
    """

    def __init__(self, block: PoolBlock, parts: list[Part], lanes: AskedLanes,
                 limits: tuple[float, float], tell: Callable[[str], None]):
        self.block, self.parts, self.lanes, self.tell = block, parts, lanes, tell
        self.step_timeout, self.start_timeout = limits
        self.words, self.notes = block.words, block.notes
        self.processes: list[Process] = []
        self.errors: dict[int, BaseException] = {}
        self.replaces = True
        self._closing = threading.Event()
        self._at_work: list[threading.Thread] = []

    # -- making

    def open(self, taken: list[Process]) -> None:
        """Have these processes make the copies, and begin to look after them.

        Raises RunError where one dies or hangs meanwhile, and what a constructor raised.
        """
        self.processes = taken
        try:
            for part, process in zip(self.parts, taken):
                process.send(("open", part), self.block.fd)
            for part, process in zip(self.parts, taken):
                self._wait_until_made(part, process)
        except BaseException:
            for process in taken:
                process.end()
            raise
        self._thread = threading.Thread(target=self._look, daemon=True)
        self._thread.start()

    def renew(self) -> None:
        """Recreate the copies of all lanes from their current parts.

        Raises what open() raises; the processes are not replaced meanwhile.
        """
        self.replaces = False
        try:
            for part in self.parts:
                self.settled(part.lane)
            self.block.clear()
            for part in self.parts:
                self.processes[part.lane].send(("anew", part))
                self.lanes.send(CALL, part.lane)
            for part in self.parts:
                self._wait_until_made(part, self.processes[part.lane])
        finally:
            self.replaces = True
        self.lanes.receive()

    def call(self, lane: int, message: Message, timeout: float) -> Message:
        """A worker's answer to a message. Raises RunError where it dies or does not answer."""
        process = self.settled(lane)
        process.send(message)
        self.lanes.send(CALL, lane)
        problem, found = "", ()
        try:
            found = process.answer(timeout)
        except EOFError:
            problem = f"the worker process ended: {process.cause}"
        except TimeoutError:
            problem = f"the environment did not return for {timeout:g} seconds"
            self.words[lane][shared_rows.STATE] = LATE
        self.lanes.receive(lane)
        if problem:
            raise RunError(problem)
        return found

    def _wait_until_made(self, part: Part, process: Process) -> None:
        notes = self.notes[part.lane]

        def progress() -> int:
            if self._closing.is_set():
                raise Closing
            return int(notes[shared_rows.PULSE])
        try:
            kind, *found = process.answer(self.start_timeout, progress)
        except TimeoutError:
            raise RunError(f"env {int(notes[shared_rows.ENV])} was not created within "
                           f"{self.start_timeout:g} seconds", where=part.maker.name,
                           hint="a longer limit is [vec] start_timeout") from None
        except EOFError:
            raise RunError("the worker process ended while creating env "
                           f"{int(notes[shared_rows.ENV])}: {process.cause}",
                           where=part.maker.name) from None
        if kind == "raised":
            env = found[0].env
            error = raised(found[0], f"env {env}, seed {self.block.seed_of(part, env)}"
                           if env >= 0 else None)
            if part.facts.alone and isinstance(error, PufferError):
                error.hint = error.hint or "copies cannot live side by side: if each needs an " \
                    "argument of its own, take a keyword env_index, 0 for the first copy"
            raise error

    # -- looking

    def state(self, lane: int) -> int:
        return self.block.state(lane)

    def settled(self, lane: int) -> Process:
        """A lane's process, once no other one is being started in its place."""
        while self.state(lane) in (LATE, REPLACED):
            time.sleep(LOOK / 4)
        return self.processes[lane]

    def _look(self) -> None:
        while not self._closing.wait(LOOK):
            for part, words in zip(self.parts, self.words):
                state = words[shared_rows.STATE]
                if state == FINE and not self.processes[part.lane].alive:
                    self._decide(part, DEAD)
                elif state == LATE and words[shared_rows.GO] == words[shared_rows.DONE]:
                    words[shared_rows.STATE] = FINE
                elif state == LATE:
                    self._decide(part, SILENT)

    def _decide(self, part: Part, state: int) -> None:
        """A lane died or hangs: replace its process, or leave it at that."""
        if not self.replaces or not self._left(part):
            self.words[part.lane][shared_rows.STATE] = state
            return
        self.words[part.lane][shared_rows.STATE] = REPLACED
        thread = threading.Thread(target=self._replace, args=(part, state), daemon=True)
        self._at_work = [each for each in self._at_work if each.is_alive()] + [thread]
        thread.start()

    def _left(self, part: Part) -> bool:
        """Whether all copies of a lane may be restarted."""
        return bool((self.block.restarts_of(part) < part.max_restarts).all())

    # -- replacing

    def _replace(self, part: Part, state: int) -> None:
        """Another process for a lane, or another one if that fails, while restarts are left."""
        lane, why = part.lane, self._why(part, state)
        error: BaseException | None = None
        while not self._closing.is_set():
            self.processes[lane].end()
            if not self._left(part):
                break
            self.block.restarts_of(part)[:] += 1
            self.notes[lane][shared_rows.PULSE] += 1     # a watching parent sees progress
            try:
                self.processes[lane] = process = worker_processes.start()
                process.send(("open", replace(part, cut=True)), self.block.fd)
                self._wait_until_made(part, process)
            except Closing:
                return
            except PufferError as problem:
                error = problem
                continue
            self.tell(self._line(part, why))
            self.words[lane][shared_rows.STATE] = FINE
            return
        if error is not None:
            self.errors[lane] = error
        self.words[lane][shared_rows.STATE] = DEAD

    def _why(self, part: Part, state: int) -> str:
        """How a worker failed: "ended in step (SIGKILL), in env 3, seed 17"."""
        words, notes = self.words[part.lane], self.notes[part.lane]
        phase, env = int(words[shared_rows.PHASE]), int(notes[shared_rows.ENV])
        limit = self.start_timeout if phase == shared_rows.RESETS else self.step_timeout
        doing = DOING.get(phase, "")
        said = f"did not return for {limit:g} seconds {doing}" if state == SILENT else \
            f"ended {doing} ({self.processes[part.lane].cause})"
        return said + (f", in env {env}, seed {self.block.seed_of(part, env)}" if phase else "")

    def _line(self, part: Part, why: str) -> str:
        last = part.first + len(part.seeds) - 1
        copies = f"envs {part.first} to {last} restart" if last > part.first else \
            f"env {part.first} restarts"
        return f"worker {part.lane} {why}; another one took its place, and {copies}"

    # -- the end

    def close(self) -> None:
        """Stop looking, and give up replacements that are under way."""
        self._closing.set()
        self._thread.join()
        for thread in self._at_work:
            thread.join()
