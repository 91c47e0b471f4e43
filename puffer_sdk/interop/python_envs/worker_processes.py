"""Worker processes, as their parent sees them.  a message -> its answer, or what went wrong

A process is started once and serves one vec after another: importing an environment's packages
takes longer than making its copies anew.
"""
from __future__ import annotations

import contextlib
import os
import pickle
import signal
import socket
import stat
import subprocess
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from multiprocessing.connection import Connection
from typing import Any

from ...base import errors
from ...base.errors import PufferError, RunError
from ...base.processes import python
from .env_worker import Failure, Message, send_file

# one core a worker: libraries that bring threads of their own would take those of the others
ONE_THREAD = {name: "1" for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS",
                                     "NUMEXPR_NUM_THREADS")}
_HERE = os.path.dirname(__file__)
SLICE = 0.05            # seconds between two looks at a silent worker
DOING = {0: "outside its code", 1: "when it was made", 2: "in reset", 3: "in step", 4: "in close",
         5: "in render"}


class Process:
    """One worker process.

    answering   what answers its messages there, as env_worker.main() takes it
    """

    def __init__(self, answering: str = ""):
        ours, theirs = socket.socketpair()
        try:
            self.popen = subprocess.Popen(
                python("puffer_sdk.interop.python_envs.env_worker:main", theirs.fileno(),
                       answering),
                stdin=subprocess.DEVNULL, pass_fds=[theirs.fileno()],
                env={**ONE_THREAD, **os.environ, "PYTHONFAULTHANDLER": "1"})
        except OSError as error:
            ours.close()
            raise RunError("cannot start a worker process",
                           detail=error.strerror or str(error)) from None
        finally:
            theirs.close()
        self.channel = Connection(ours.detach())

    def send(self, message: Message, fd: int | None = None) -> None:
        """Where the process is dead, the answer says so."""
        with contextlib.suppress(OSError, BrokenPipeError):
            self.channel.send(message)
            if fd is not None:
                send_file(self.channel, fd)

    def answer(self, timeout: float, pulse: Callable[[], int] = lambda: 0) -> Any:
        """The answer to a message.

        pulse   a number that changes while the process makes progress
        Raises TimeoutError after `timeout` seconds without, EOFError where the process has ended.
        """
        seen, since = pulse(), time.monotonic()
        while not self._has_message(SLICE):
            now = pulse()
            if now != seen:
                seen, since = now, time.monotonic()
            if time.monotonic() - since > timeout:
                raise TimeoutError
            if self.popen.poll() is not None and not self._has_message(0):
                raise EOFError
        try:
            return self.channel.recv()
        except OSError:
            raise EOFError from None

    def _has_message(self, timeout: float) -> bool:
        try:
            return self.channel.poll(timeout)
        except OSError:                 # end() has closed it
            raise EOFError from None

    @property
    def alive(self) -> bool:
        return self.popen.poll() is None

    @property
    def cause(self) -> str:
        """How it ended: "SIGSEGV", or "exit(3)"."""
        try:
            status = self.popen.wait(1.0)
        except subprocess.TimeoutExpired:
            return "it closed its socket"
        return f"exit({status})" if status >= 0 else signal.Signals(-status).name

    def end(self) -> None:
        """Kill it, and wait until it is gone."""
        with contextlib.suppress(OSError):
            self.channel.close()
        self.popen.kill()
        self.popen.wait()


@cache
def _starter() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(1, "puffer-starts")


os.register_at_fork(after_in_child=_starter.cache_clear)


def start(answering: str = "") -> Process:
    """A new process. Linux ends it with the thread that started it: that is one which stays."""
    return _starter().submit(Process, answering).result()


class EnvRaised(RunError):
    """What an environment's code raised in its worker.

    original    the exception itself; None where it cannot leave its process
    trace       the worker's traceback
    """

    original: BaseException | None = None
    trace = ""


def raised(failure: Failure, place: str | None) -> BaseException:
    """What a worker raised: a PufferError as itself, anything else as an EnvRaised.

    place   "env 3, seed 17, step 20"; None: no environment was running
    """
    if failure.parts is not None:
        kind: Callable[..., object] = getattr(errors, failure.kind, RunError)
        found: object = kind(**{**failure.parts, "where": failure.parts["where"] or place})
        return found if isinstance(found, PufferError) else RunError(failure.text)
    doing = DOING.get(failure.phase, "")
    error = EnvRaised(f"the environment raised {failure.kind} {doing}".rstrip()
                      + (f": {failure.text}" if failure.text else ""),
                      where=place, detail=shortened(failure.trace))
    if failure.pickled is not None:
        with contextlib.suppress(Exception):
            error.original = pickle.loads(failure.pickled)
    error.trace = failure.trace
    return error


def shortened(trace: str, most: int = 16) -> str:
    """The end of a traceback, where the fault is."""
    lines = trace.rstrip().splitlines()
    return "\n".join(lines if len(lines) <= most else ["  ...", *lines[-most:]])


class WorkerTraceback(Exception):
    """The cause of an exception that came from a worker: its traceback there, as a text."""

    def __init__(self, text: str):
        super().__init__(f"\n{text.rstrip()}")


def as_itself(error: BaseException) -> BaseException:
    """An exception of an environment as the caller of wrap() sees it: itself, with the worker's
    traceback as its cause."""
    if not isinstance(error, EnvRaised) or error.original is None:
        return error
    original = error.original
    original.__cause__ = WorkerTraceback(error.trace)
    if hasattr(original, "add_note") and error.where:
        original.add_note(f"raised in {error.where}")
    return original


def printed(most: int = 10) -> str | None:
    """The last lines that workers printed, if stderr is a file, as in training."""
    with contextlib.suppress(OSError):
        facts = os.fstat(2)
        if stat.S_ISREG(facts.st_mode):
            start = max(0, facts.st_size - 65536)
            lines = os.pread(2, 65536, start).decode(errors="replace").splitlines()
            fatal = [at for at, line in enumerate(lines) if line.startswith("Fatal Python error")]
            lines = [line for line in lines[fatal[-1]:] if _HERE not in line][:most] if fatal \
                else lines[-most:]
            return "\n".join(line[:200] for line in lines).strip() or None
    return None
