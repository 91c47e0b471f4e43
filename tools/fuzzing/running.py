"""Many inputs of a kind.  seeds -> an Outcome: counts, and broken promises

try_many works in this process, try_all in worker processes: there, a crash or a hang costs only one
input.
"""
from __future__ import annotations

import contextlib
import json
import os
import random
import resource
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from puffer_sdk.base.errors import PufferError

from . import commands, kinds, traces
from .box import Box

SLOW = 20.0             # seconds of one input above which it counts as a wait
DEAD = 60.0             # and above which its process is ended: it does not even answer a signal
MEMORY = 8 << 30        # bytes that a worker may map
BATCH = {"commands": 100, "headers": 200}   # inputs of one worker; of others:
MOST = 5000

ALL = {**kinds.KINDS, "commands": commands.try_command}


class Waits(Exception):     # noqa: N818 (no error of the product)
    """An input took too long."""


@dataclass
class Outcome:
    """Results of some inputs of one kind."""

    kind: str
    counts: Counter = field(default_factory=Counter)        # "read", "refused"
    broken: list[str] = field(default_factory=list)         # "seed 7: what"
    slowest: float = 0.0                                    # seconds
    seconds: float = 0.0
    traced: int = 0                                         # system calls that strace showed
    stopped: bool = False                                   # by Ctrl-C

    @property
    def inputs(self) -> int:
        return sum(self.counts.values())

    def add(self, seed: int, word: str, took: float, broken: list[str]) -> None:
        self.counts[word] += 1
        self.slowest = max(self.slowest, took)
        self.broken += [f"seed {seed}: {each}" for each in broken]


def try_one(kind: str, seed: int, box: Box) -> tuple[str, float, list[str]]:
    """(word, seconds, broken promises) of one input."""
    began, broken, limit = time.monotonic(), [], commands.LIMIT if kind == "commands" else SLOW
    word = "refused"
    try:
        with alarm(limit):
            word = ALL[kind](random.Random(f"{kind} {seed}"), box)
    except PufferError:
        pass
    except Waits:
        broken.append(f"no end after {limit:.0f} seconds")
    except Exception as error:  # noqa: BLE001 (what we look for)
        broken.append(f"{type(error).__name__}: {error}")
    return word, time.monotonic() - began, broken + box.breaches()


@contextlib.contextmanager
def alarm(seconds: float) -> Iterator[None]:
    """Raise Waits after so many seconds."""
    def late(number, frame):
        raise Waits

    old = signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, old)


def try_many(kind: str, seeds: Iterable[int], *, until: float | None = None,
             home: Path | None = None, say=lambda *row: None) -> Outcome:
    """Try inputs in this process, in order.

    until   a time of time.monotonic() after which no input begins
    home    an empty folder; else a temporary one
    say     is called with seed, None before each, and with its results after it
    """
    outcome, here, began = Outcome(kind), Path.cwd(), time.monotonic()
    with contextlib.ExitStack() as stack:
        home = home or Path(stack.enter_context(_place(kind)))
        box = Box(home)
        stack.callback(box.watch.close)
        os.chdir(box.inside)
        stack.callback(os.chdir, here)
        if kind == "commands":
            commands.prepare(box)
        for seed in seeds:
            if until and time.monotonic() > until:
                break
            say(seed)
            found = try_one(kind, seed, box)
            say(seed, *found)
            outcome.add(seed, *found)
    outcome.seconds = time.monotonic() - began
    return outcome


def try_all(kind: str, seeds: range, *, until: float | None = None) -> Outcome:
    """Try inputs in worker processes, one after the other; commands under strace if installed.
    Ctrl-C ends it with the results so far."""
    outcome, began, at = Outcome(kind), time.monotonic(), seeds.start
    with _place(kind) as folder:
        home = Path(folder).resolve()
        if kind == "commands":          # what they all start from is made before strace looks
            (home / "work").mkdir()
            try_many(kind, (), home=home / "work")
        while at < seeds.stop and not outcome.stopped and not (
                until and time.monotonic() > until):
            size, known = min(BATCH.get(kind, MOST), seeds.stop - at), len(outcome.broken)
            at = _batch(kind, range(at, at + size), home, outcome, until)
            if sys.stderr.isatty() or os.environ.get("FUZZ_PROGRESS"):
                print(f"{kind}: {outcome.inputs:,} inputs, {len(outcome.broken)} broken, "
                      f"{time.monotonic() - began:.0f} s", *outcome.broken[known:], sep="\n",
                      file=sys.stderr, flush=True)
    outcome.seconds = time.monotonic() - began
    return outcome


def _place(kind: str) -> tempfile.TemporaryDirectory:
    """A folder in memory if possible: a disk is slower than most inputs. Commands compile, and need
    more room."""
    memory = "/dev/shm" if kind != "commands" and os.access("/dev/shm", os.W_OK) else None
    return tempfile.TemporaryDirectory(prefix="puffer-fuzz-", dir=memory)


def _batch(kind: str, seeds: range, home: Path, outcome: Outcome, until: float | None) -> int:
    """Run one worker. Returns the seed after its last."""
    work, log = home / "work", home / "log"
    for name in ("inside", "outside"):      # the commands' products beside them stay
        shutil.rmtree(work / name, ignore_errors=True)
    work.mkdir(exist_ok=True)
    reader, writer = os.pipe()
    worker = os.fork()
    if not worker:
        os.close(reader)
        os.setpgid(0, 0)
        if kind == "commands":
            _exec(traces.command(log), (kind, seeds.start, seeds.stop, str(work), writer, until))
        run_worker(kind, seeds.start, seeds.stop, work, writer, until)
    os.close(writer)
    at, late, pid = seeds.start, False, worker

    def end() -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(worker, signal.SIGKILL)

    def stop(number, frame) -> None:
        outcome.stopped = True
        end()

    old = signal.signal(signal.SIGINT, stop)
    with open(reader, "rb") as said:
        os.set_blocking(reader, False)
        last, text = time.monotonic(), b""
        while True:
            chunk = said.read()
            if chunk == b"":
                break
            if chunk:
                last, text = time.monotonic(), text + chunk
            elif time.monotonic() - last > (60 if kind == "commands" else 1) * DEAD:
                late = True
                end()
            time.sleep(0.05)
    _, status = os.waitpid(worker, 0)
    signal.signal(signal.SIGINT, old)
    for row in text.decode().splitlines():
        seed, *rest = json.loads(row)
        if rest and rest[0] == "pid":
            pid = seed
            continue
        at = seed
        if rest:
            outcome.add(seed, *rest)
            at = seed + 1
    if at in seeds and not outcome.stopped and (os.WIFSIGNALED(status) or status):
        outcome.add(at, "refused", DEAD if late else 0.0, [
            "waits, and answers no signal" if late else f"the process ended with status {status}"])
        at += 1
    elif at in seeds:               # the time is over
        at = seeds.stop
    if kind == "commands":
        count, wrong = traces.breaches(log, work, commands.KEPT, pid)
        outcome.traced += count
        outcome.broken += [f"seeds {seeds.start} to {at - 1}: {each}" for each in wrong]
    return at


def _exec(tracer: list[str], words: tuple) -> None:
    """Become a worker that is traced from its start: a tracer attached later has to stop at each
    system call, and takes twice as long."""
    os.set_inheritable(words[4], True)
    path = [str(Path(__file__).parents[1]), str(Path(__file__).parents[2])]
    # -c would put the current folder, which is untrusted, before installed packages
    program = (f"import sys; sys.path[:1] = {path}; from fuzzing import running; "
               f"running.run_worker(*{words!r})")
    command = [*tracer, sys.executable, "-c", program]
    os.execvp(command[0], command)


def run_worker(kind: str, first: int, stop: int, work: str | Path, writer: int,
               until: float | None) -> None:
    """The worker: prints its number, and a line of JSON before and after each input."""
    status = 1
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        os.set_inheritable(writer, False)
        with open(writer, "w") as out:
            def say(*row) -> None:
                out.write(json.dumps(row) + "\n")
                out.flush()

            say(os.getpid(), "pid")
            try_many(kind, range(first, stop), until=until, home=Path(work), say=say)
        status = 0
    except BaseException as error:  # noqa: BLE001
        print(f"worker: {type(error).__name__}: {error}", file=sys.stderr, flush=True)
    finally:
        os._exit(status)
