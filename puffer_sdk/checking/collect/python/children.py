"""Child processes, as their parent sees them.  Jobs -> PythonFacts

A child that dies, hangs or takes too much memory ends with a fact about it; what it had found
before stays.
"""
import mmap
import os
import re
import signal
import socket
import subprocess
import time
from collections.abc import Callable
from contextlib import suppress
from multiprocessing.connection import Connection, wait
from pathlib import Path

from ....base import files
from ....base.errors import RunError
from ....base.processes import python
from ....interop.python_envs import displays
from ....interop.python_envs.makers import Maker
from ....interop.python_envs.worker_processes import ONE_THREAD, raised
from . import child, traces
from .child import EXPERIMENTS, FRESH, MAIN, Job
from .playing import AT, EXPERIMENT, HERE, PHASE, PULSE, WORDS
from .python_facts import MADE, RENDER, Compared, Died, Place, PythonFacts, Skipped

SLICE = 0.1             # seconds between two looks at silent children
OURS = 60.0             # seconds that our own code may take between two calls
FRAME = re.compile(r'File "(?P<file>[^"]+)", line (?P<line>\d+)')


class Child:
    """One child with one job, which it begins once give() hands it over.

    given       whether it was
    """

    def __init__(self, job: Job, folder: Path):
        self.role, self.job, self.given = job.role, job, False
        self.page, self.log = folder / f"{job.role}.page", folder / f"{job.role}.log"
        files.write(self.page, bytes(8 * WORDS))
        with files.open(self.page, "rb+") as file:
            self.words = memoryview(mmap.mmap(file.fileno(), 8 * WORDS)).cast("q")
        ours, theirs = socket.socketpair()
        variables = {**ONE_THREAD, **os.environ, "SDL_VIDEODRIVER": "dummy",
                     "SDL_AUDIODRIVER": "dummy", "PYGAME_HIDE_SUPPORT_PROMPT": "1",
                     "PYTHONHASHSEED": "1" if job.role == MAIN else "3"}
        try:
            with files.open(self.log, "wb") as log:
                self.popen = subprocess.Popen(
                    python(f"{child.__name__}:main", theirs.fileno(), self.page),
                    stdin=subprocess.DEVNULL, stdout=log, stderr=log, pass_fds=[theirs.fileno()],
                    env=variables)
        except OSError as error:
            ours.close()
            raise RunError("cannot start a child process",
                           detail=error.strerror or str(error)) from None
        finally:
            theirs.close()
        self.channel = Connection(ours.detach())
        self.seen, self.since, self.over, self.steps = -1, time.monotonic(), False, 0

    def give(self) -> None:
        self.given, self.since = True, time.monotonic()
        with suppress(OSError):
            self.channel.send(self.job)

    def end(self) -> None:
        self.over = True
        with suppress(OSError):
            self.channel.close()
        self.popen.kill()
        self.popen.wait()

    def patience(self, step_timeout: float, start_timeout: float) -> float:
        phase = self.words[PHASE]
        return OURS if not phase and self.seen > 0 else \
            start_timeout if phase in (0, MADE, RENDER) else step_timeout

    def silent(self) -> float:
        """Seconds since the environment's code was last called, or came back."""
        now = (self.words[PULSE], self.words[PHASE])
        if now != self.seen_words:
            self.seen_words, self.since = now, time.monotonic()
            self.seen = now[0]
        return time.monotonic() - self.since

    seen_words = (-1, -1)

    def memory(self) -> int:
        """Bytes that it holds, where the system tells."""
        with suppress(OSError, ValueError, IndexError):
            return int(Path(f"/proc/{self.popen.pid}/statm").read_text().split()[1]) \
                * os.sysconf("SC_PAGESIZE")
        return 0

    def died(self, folder: str, *, hung: float = 0.0, memory: bool = False) -> Died:
        """The fact of its end; a child that hangs first says where."""
        if hung:
            with suppress(OSError):
                self.popen.send_signal(signal.SIGUSR1)
            time.sleep(0.2)
        if hung or memory:
            self.popen.kill()
        status = self.popen.wait()
        text = self.log.read_text(errors="replace")[-20_000:]
        return Died(EXPERIMENTS[self.words[EXPERIMENT]], int(self.words[PHASE]),
                    int(self.words[AT]), max(0, -status), max(0, status), bool(hung), memory,
                    hung, _place(text, folder), _last_line(text))


def _place(text: str, folder: str) -> Place:
    """The innermost line of the author's in what faulthandler printed."""
    frames = [match for match in FRAME.finditer(text[max(0, text.rfind("most recent call first")):])
              if not match["file"].startswith((HERE, "<"))]
    if not frames:
        return Place()
    inner = next((match for match in frames if folder and not os.path.relpath(
        match["file"], folder).startswith("..")), None)
    return Place(os.path.relpath(inner["file"], folder), int(inner["line"])) if inner else Place()


def _last_line(text: str) -> str:
    lines = [line.strip() for line in text.partition("Fatal Python error")[0].splitlines()
             if line.strip() and not line.startswith(("  File", "Current thread"))]
    return lines[-1][:200] if lines else ""


def gather(maker: Maker, *, seed: int, budget: float, memory: int, step_timeout: float,
           start_timeout: float, on_progress: Callable[[str, int, int], None]) -> PythonFacts:
    """Run all experiments. Raises what the name's maker refuses, RunError where no child starts."""
    facts = PythonFacts(seed=seed)
    found: dict[str, traces.Trace] = {}
    with files.private("puffer-check-") as name:
        children = []
        try:
            children += [Child(Job(maker, seed, budget, role), Path(name))
                         for role in (MAIN, FRESH)]
            main, fresh = children
            main.give()
            while any(not child.over for child in children):
                if not fresh.given and (main.over or facts.may_live_twice):
                    fresh.give()
                open_ = [child for child in children if not child.over]
                wait([child.channel for child in open_], SLICE)
                for child in open_:
                    _receive(child, facts, found)
                    if child.given and not child.over:
                        _watch(child, facts, memory, step_timeout, start_timeout)
                on_progress("playing", int(main.words[EXPERIMENT]), len(EXPERIMENTS))
                if main.over and MAIN not in found:
                    break               # nothing to compare with
        finally:
            for child in children:
                child.end()
    if len(found) == 2:
        facts.add(Compared("process", traces.difference(found[MAIN], found[FRESH]),
                           found[FRESH].steps))
    return facts


def _receive(child: Child, facts: PythonFacts, found: dict[str, traces.Trace]) -> None:
    """All messages that are there."""
    try:
        while child.channel.poll(0):
            kind, what = child.channel.recv()
            if kind == "refused":
                raise raised(what, None)
            if kind == "bug":
                raise RuntimeError(f"an experiment of check failed:\n{what}")
            if kind == "trace":
                found[child.role] = what
            elif kind == "end":
                child.over = True
                return
            elif child.role == MAIN:
                facts.add(what)
    except (EOFError, ConnectionError):
        _gone(child, facts)


def _gone(child: Child, facts: PythonFacts, *, hung: float = 0.0, memory: bool = False) -> None:
    child.over = True
    if child.role == MAIN or not facts.died:
        folder = facts.shape.folder if facts.shape else ""
        died = child.died(folder, hung=hung, memory=memory)
        if died.phase == RENDER and not memory and displays.missing():
            facts.add(Skipped(died.experiment, "this machine cannot draw it, without a display; "
                              "MUJOCO_GL=egl may help"))
            return
        if child.role == MAIN:
            facts.add(died)


def _watch(child: Child, facts: PythonFacts, memory: int, step_timeout: float,
           start_timeout: float) -> None:
    """End it where it hangs, or takes too much."""
    silent = child.silent()
    if silent > child.patience(step_timeout, start_timeout):
        if child.words[PHASE] == 0 and child.seen > 0:
            raise RunError("check itself did not get on",
                           where=EXPERIMENTS[child.words[EXPERIMENT]])
        _gone(child, facts, hung=silent)
    elif child.memory() > memory:
        _gone(child, facts, memory=True)
