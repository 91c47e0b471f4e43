"""Run env code in a child process.  a target and a job -> events, or an error with the facts.

Authors' code segfaults, loops for ever, calls exit(0) and closes descriptors it does not own.
So the child shares one page of memory with the parent (shared_memory.py) and nothing else that such
code can break. The parent owns the terminal, the signals and the files; it reads the watches to say
which env died or hangs, with its seed and step. child_pipe.py is the child's side.
"""
from __future__ import annotations

import contextlib
import json
import os
import pickle
import re
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from ..base import errors, files, processes, ui
from ..base.errors import Interrupted, PufferError, RunError
from ..base.records import Json
from .seeds import mix_seed
from .shared_memory import ANEW, PAGE, PHASES, PYTHON, SOME_ENV, STARTING, Page
from .warm import Forked, Warm

Payload: TypeAlias = dict[str, Json]    # of an event: each kind has its own keys
Watch: TypeAlias = Any              # a PufferWatch, as NumPy has it
GRACE = 8.0                         # seconds a child gets to save and leave after a signal
LOG_LIMIT = 64 << 20                # bytes that an env's prints may take on the disk ...
LOG_KEPT = 1 << 20                  # ... before all but the first of them are dropped

# Threads of PyTorch that wait must sleep: on a busy machine, spinning costs a factor of ten
QUIET = {"OMP_WAIT_POLICY": "passive", "KMP_BLOCKTIME": "0"}

HINTS = {"SIGSEGV": "an array index or a pointer is wrong: puffer-sdk check",
         "SIGABRT": "it called abort(), an assertion failed, or memory was corrupted: "
                    "puffer-sdk check",
         "SIGFPE": "an integer division by zero: puffer-sdk check",
         "SIGKILL": "something outside ended it, perhaps for want of memory: "
                    "lower vec.total_agents"}

# Ends that code chooses, and mostly prints why
TELLING = {"SIGABRT", *(f"exit({status})" for status in range(256))}


class Child:
    """A child process at work. Iterate `events()` to the end, or call `kill()`.

    target         "package.module:function", called as function(job, link) in the child
    job            a dataclass, such as an EnvJob, or anything else that can be pickled
    log            file that what the env prints is appended to
    step_timeout   seconds that one call into an env may stay silent
    start_timeout  the same for init and the first reset [step_timeout]
    cwd            working directory of the child
    warm           a process that forks the child, in place of a new one that imports all anew
    """

    def __init__(self, target: str, job: object, *, log: Path | None = None,
                 step_timeout: float = 10.0, start_timeout: float | None = None,
                 cwd: Path | None = None, warm: Warm | None = None):
        self.step_timeout, self.start_timeout = step_timeout, start_timeout or step_timeout
        self.result: Json = None
        self.first_env = 0              # in the whole run, where several processes share it
        self._buffer = b""
        self._seen: dict[int, tuple[tuple[int, int, int], float, float]] = {}
        self._looked = 0.0
        log = log.absolute() if log else None
        self.process: Forked | subprocess.Popen[bytes]
        fd = os.memfd_create("puffer") if hasattr(os, "memfd_create") else _unlinked_file()
        try:
            os.ftruncate(fd, PAGE)
            self.page = Page(fd)
            self._prints = files.open(log, "ab+") if log else tempfile.TemporaryFile("ab+")  # noqa: SIM115
            self._begin = self._prints.seek(0, os.SEEK_END)     # earlier runs wrote what is before
            self._read_to = self._begin     # of what the env prints, by _tell_missing
            self.missing: dict[str, None] = {}      # paths of textures
            with tempfile.TemporaryFile() as given:
                pickle.dump(job, given)
                given.seek(0)
                if warm:
                    self.process = warm.start([target, str(log or "")], str(cwd or ""),
                                              [fd, given.fileno(), self._prints.fileno()])
                else:
                    self.process = subprocess.Popen(
                        processes.python("puffer_sdk.env.child_pipe:child_main", fd, target,
                                         log or ""),
                        stdin=given, stdout=self._prints, stderr=self._prints,
                        pass_fds=[fd], start_new_session=True, cwd=cwd,
                        env={**QUIET, **os.environ, "PYTHONFAULTHANDLER": "1"})
        except OSError as error:
            raise RunError("cannot start the worker process", where=error.filename,
                           detail=error.strerror or str(error),
                           hint="make its folder writable, or choose another place for runs: "
                                "--runs-dir" if log and error.filename == str(log) else None
                           ) from None
        finally:
            os.close(fd)

    def events(self) -> Generator[tuple[str, Payload], None, None]:
        """Events as they come, until the target has returned; its value is then in `result`.

        Between events it yields ("idle", {}) ten times a second at least, so that the caller can
        look at the clock. Raises what the target raised; RunError with env, seed and step when
        the env died or hung.
        """
        try:
            while True:
                ended = self.process.poll() is not None     # before the read: no event is lost
                for kind, payload in self._read():
                    if kind == "result":
                        self.result = payload["value"]
                        return
                    if kind == "error":
                        raise self._raised(payload)
                    if kind == "bug":
                        raise ChildBug(payload["text"])
                    if kind == "first_env":
                        self.first_env = payload["number"]
                    yield kind, payload
                    self.page.head[3] += 1
                if ended:
                    raise self._death()
                self._look_for_hang()
                self._look_at_prints()
                yield "idle", {}
                time.sleep(0.01)
        finally:
            self._tell_missing()
            self.kill()

    def _look_at_prints(self) -> None:
        now = time.monotonic()
        if now - self._looked >= 1.0:
            self._looked = now
            self._tell_missing()
            self._limit_prints()

    def _tell_missing(self) -> None:
        """Textures and shaders that raylib_missing.h did not find since the last look, each line
        once: nobody else reads what the env prints."""
        with contextlib.suppress(OSError, ValueError):
            fd = self._prints.fileno()
            self._read_to = min(self._read_to, os.fstat(fd).st_size)
            new = os.pread(fd, LOG_LIMIT, self._read_to)
            whole = new.rfind(b"\n") + 1                # the last line may come in parts
            self._read_to += whole if whole or len(new) < 1 << 16 else len(new)
            for line, path in re.findall(rb"^(missing texture: (.*?)(?:, looked for in .*)?)$",
                                         new[:whole], re.M):
                self.missing[path.decode(errors="replace")] = None
                ui.warn_once(line.decode(errors="replace"),
                             "a checked pattern is drawn in its place")
            for name, place in re.findall(rb"^missing shader: (.*), (.*)$", new[:whole], re.M):
                ui.warn_once(f"recordings have no shaders: what {name.decode(errors='replace')} "
                             f"draws is drawn plain ({place.decode(errors='replace')})",
                             "a window shows it: puffer-sdk play")

    def _raised(self, payload: Payload) -> PufferError:
        """The error that the target raised, with the env's last prints where they explain it."""
        error: PufferError = getattr(errors, payload["kind"])(**payload["parts"])
        error.quiet, error.told = payload["quiet"], True
        if isinstance(error, errors.NotWhole):
            error.fits = payload["fits"]
        if error.printed and not error.detail:      # each try may print it
            error.detail = "\n".join(dict.fromkeys((self._tail() or "").split("\n"))) or None
        if isinstance(error, errors.NoEnvs) and not error.detail:
            error.hint = f"{error.hint}; or vec.total_agents is too small for one environment"
        return error

    def stop(self) -> None:
        """Ask the target to save and end."""
        self.page.head[0] = 1

    def kill(self) -> None:
        """End the child and everything it started."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        self._prints.close()

    def _read(self) -> Iterator[tuple[str, Payload]]:
        self._buffer += self.page.read()
        while len(self._buffer) >= 8:
            size = int.from_bytes(self._buffer[:8], "little")
            if len(self._buffer) < 8 + size:
                return
            kind, payload = json.loads(self._buffer[8:8 + size])
            self._buffer = self._buffer[8 + size:]
            yield kind, payload

    def _look_for_hang(self) -> None:
        now = time.monotonic()
        for worker in np.flatnonzero(self.page.watches["phase"]).tolist():
            watch = self.page.watches[worker].copy()
            state = (int(watch["pulse"]), int(watch["env"]), int(watch["step"]))
            seen = self._seen.get(worker)
            if seen is None or seen[0] != state:
                self._seen[worker] = (state, now, processes.cpu_seconds(self.process.pid))
                continue
            name = "start_timeout" if watch["phase"] % PYTHON in STARTING else "step_timeout"
            limit = getattr(self, name)
            if now - seen[1] > limit and not self._starved(seen[2], limit):
                name = name if self.start_timeout != self.step_timeout else "step_timeout"
                raise self._env_error([watch], f"no return for {limit:g} seconds",
                                      hint="look for an endless loop; to raise the limit: [vec] "
                                           f"{name}")

    def _starved(self, used: float, limit: float) -> bool:
        """Whether other processes have the cores that it waits for. used: its CPU seconds when it
        last gave a sign; the limit holds for those since."""
        pid = self.process.pid
        return processes.cpu_seconds(pid) - used < limit and processes.wants_cpu(pid)

    def _limit_prints(self) -> None:
        """An env that prints on every step must not fill the disk: keep the first and the last."""
        with contextlib.suppress(OSError):
            if os.fstat(self._prints.fileno()).st_size > self._begin + LOG_LIMIT:
                os.ftruncate(self._prints.fileno(), self._begin + LOG_KEPT)

    def _death(self) -> PufferError:
        status = self.process.wait()                # it has ended
        cause = f"exit({status})" if status >= 0 else signal.Signals(-status).name
        inside = [self.page.watches[w].copy() for w in np.flatnonzero(self.page.watches["phase"])]
        if inside:
            error = self._env_error(inside, cause, hint=HINTS.get(
                cause, "an environment must not end the process" if status >= 0
                else "puffer-sdk check"))
            error.to_check = status < 0 and cause != "SIGKILL"
            return error
        hint = ("the system may have run out of memory: lower vec.total_agents"
                if cause == "SIGKILL" else None)
        error = RunError(f"the worker process died outside env code: {cause}",
                         detail=self._tail(), hint=hint)
        error.ended, error.printed = cause, cause in TELLING
        return error

    def _env_error(self, watches: list[Watch], cause: str, hint: str) -> RunError:
        """watches: of the threads that were inside an env, any of which may be at fault."""
        def place(watch: Watch) -> str:
            step = f"step {watch['step']}"
            if watch["env"] == SOME_ENV:
                return step
            if watch["env"] < 0:
                return f"on the GPU, in the rollout that begins with {step}"
            env = self.first_env + int(watch["env"])
            if watch["phase"] >= ANEW:
                return f"env {env}, {step}, after copies were recreated"
            return f"env {env}, seed {mix_seed(int(watch['seed']), env)}, {step}"

        places = [place(watch) for watch in watches]
        if len(places) > 1:
            hint += "; with --vec.num-threads 1 it is known which env it was"
        python, number = divmod(int(watches[0]["phase"]), PYTHON)
        phase = PHASES[number].removeprefix("c_") if python else PHASES[number]
        error = RunError(f"the environment failed in {phase}: {cause} ({' or '.join(places)})",
                         detail=self._tail(bool(python)), hint=hint)
        error.printed = cause in TELLING
        return error

    def _tail(self, python: bool = False) -> str | None:
        """The last lines the env printed: an assertion's text is among them.

        python  with the lines of Python that a crash was in, the innermost first
        """
        try:
            fd = self._prints.fileno()
            size = os.fstat(fd).st_size
            start = max(self._begin, size - 65536)
            lines = os.pread(fd, size - start, start).decode(errors="replace").splitlines()
        except (OSError, ValueError):
            return None
        fatal = [i for i, line in enumerate(lines) if line.startswith("Fatal Python error")]
        if fatal and python:            # other threads may be listed before the one that crashed
            lines = [line for line in lines[fatal[-1]:] if line.strip()]
            crashed = [i for i, line in enumerate(lines) if line.startswith("Current thread")]
            lines = [lines[0], *lines[crashed[0] + 1:]][:6] if crashed else lines[:6]
        elif fatal:
            lines = lines[:fatal[-1]]
        return "\n".join(line[:200] for line in lines[-6:]).strip() or None


class ChildBug(Exception):
    """An exception in the child that is not the user's doing; holds its traceback."""

    def __init__(self, text: str):
        super().__init__(text)
        self.child_traceback = text


def _unlinked_file() -> int:
    handle, name = tempfile.mkstemp()
    os.unlink(name)
    return handle


class Signals:
    """SIGINT, SIGTERM and SIGHUP as a flag instead of an exception, for as long as the block runs.

    with Signals() as signals: ... if signals.received: save and leave; status = signals.status
    """

    def __init__(self) -> None:
        self.received: list[int] = []
        self._old: dict[int, signal._HANDLER] = {}

    def __enter__(self) -> Signals:
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
                if number == signal.SIGHUP and signal.getsignal(number) == signal.SIG_IGN:
                    continue            # nohup
                self._old[number] = signal.signal(number, self._note)
        return self

    def _note(self, number: int, frame: object) -> None:
        self.received.append(number)

    def __exit__(self, *exc: object) -> None:
        for number, handler in self._old.items():
            signal.signal(number, handler)

    @property
    def status(self) -> int:
        """The exit status that the first signal asks for: 130 or 143; 0 without one."""
        return 128 + self.received[0] if self.received else 0


def run(target: str, job: object, on_event: Callable[[str, Payload], None], *,
        log: Path | None = None, step_timeout: float = 10.0, cwd: Path | None = None,
        signals: Signals | None = None) -> Json:
    """Run target(job, link) in a child and return what it returned.

    on_event gets every event, ("idle", {}) between them, and at the end a ("missing_texture", ...)
    for each that was not found. The first signal asks the target to
    end and keeps listening for GRACE seconds; the second, or silence, kills it. Raises Interrupted
    then, also when the target managed to finish. signals: a caller's own, already listening.
    """
    with contextlib.ExitStack() as stack:
        signals = signals or stack.enter_context(Signals())
        child = Child(target, job, log=log, step_timeout=step_timeout, cwd=cwd)
        deadline = None
        try:
            for kind, payload in child.events():
                if signals.received and deadline is None:
                    child.stop()
                    deadline = time.monotonic() + GRACE
                if len(signals.received) > 1 or (deadline and time.monotonic() > deadline):
                    break
                on_event(kind, payload)
        finally:
            child.kill()
        if signals.received:
            raise Interrupted("interrupted", status=signals.status)
        for path in child.missing:
            on_event("missing_texture", {"path": path})
    return child.result
