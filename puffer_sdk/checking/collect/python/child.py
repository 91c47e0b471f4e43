"""The process in which experiments run.  a Job on a socket -> facts on the same socket

The parent watches a page of numbers: which experiment runs, which call the environment's code is
in, and whether it comes back. Messages:

    ("fact", fact)              for PythonFacts.add
    ("trace", Trace)            the first trace, which another process has to repeat
    ("refused", Failure)        the name leads nowhere: no finding, an error of usage
    ("bug", text)               our own code failed
    ("end", steps)              all experiments have been run
"""
import faulthandler
import mmap
import os
import signal
import sys
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.connection import Connection

from ....base import files
from ....base.errors import PufferError, UsageError
from ....interop.python_envs.makers import Maker
from . import poison, traces, watching
from .playing import EXPERIMENT, WORDS, Broken, Desk, EnvRaised
from .python_facts import MADE, Done, Play, Skipped

MAIN, FRESH = "main", "fresh"
BROKEN = "its spaces, or what it returns, break the interface"


@dataclass(frozen=True)
class Job:
    """What one child does.

    role    MAIN: every experiment; FRESH: the first trace, in a process that did nothing else
    """

    maker: Maker
    seed: int
    budget: float
    role: str


EXPERIMENTS = ("opening", "traces", "play", "long", "chances", "keeping", "overwriting", "effects",
               "drawing", "gymnasium")


class _Run:
    """The experiments in their order; what one finds, another may need."""

    def __init__(self, desk: Desk, job: Job, send: Callable[[object], None]):
        self.desk, self.job, self.send = desk, job, send
        self.trace: traces.Trace | None = None
        self.play: Play | None = None

    def opening(self) -> None:
        from .opening import begin

        begin(self.desk)

    def traces(self) -> None:
        if self.job.role == FRESH:
            traces.reseed()
            poison.fill(1)
            self.trace = traces.record(self.desk, traces.make(self.desk))
        else:
            self.trace = traces.traces(self.desk)
        self.send(("trace", self.trace))

    def playing(self) -> None:
        from .long_play import play

        self.play = play(self.desk)

    def long(self) -> None:
        from .long_play import long

        long(self.desk, self.play)

    def chances(self) -> None:
        from .chances import chances

        chances(self.desk)

    def keeping(self) -> None:
        from .handling import keeping

        keeping(self.desk)

    def overwriting(self) -> None:
        from .handling import overwriting

        if self.trace:
            overwriting(self.desk, self.trace)

    def effects(self) -> None:
        from .effects import effects

        effects(self.desk)

    def drawing(self) -> None:
        from .handling import drawing

        if self.trace:
            drawing(self.desk, self.trace)

    def gymnasium(self) -> None:
        from .handling import gymnasium_check

        gymnasium_check(self.desk)

    def _refuse(self, error: EnvRaised) -> None:
        """Raise what is no fault of the environment: a wrong name, a missing package."""
        if isinstance(error.error, PufferError):
            raise error.error from None
        if isinstance(error.error, ModuleNotFoundError) and error.phase == MADE:
            raise UsageError(f"{self.job.maker.name} needs a package that is not installed",
                             where=self.job.maker.name, detail=str(error.error)) from None

    def all(self) -> None:
        names = EXPERIMENTS if self.job.role == MAIN else EXPERIMENTS[:2]
        for number, name in enumerate(names):
            self.desk.words[EXPERIMENT], self.desk.experiment = number, name
            before = self.desk.steps
            try:
                getattr(self, "playing" if name == "play" else name)()
                self.desk.put(Done(name, self.desk.steps - before))
                continue
            except Broken:
                self.desk.put(Skipped(name, BROKEN))
            except EnvRaised as error:
                if name == "opening":
                    self._refuse(error)
                self.desk.put(self.desk.raised(error, self.desk.seed))
            if name == "opening":
                return


def run(desk: Desk, job: Job, send: Callable[[object], None]) -> None:
    """All experiments of a job. send: takes messages other than facts, which go to the desk."""
    _Run(desk, job, send).all()


def main(fd: str, page: str) -> None:
    """The process: one job. fd: the channel's descriptor."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    faulthandler.enable()
    faulthandler.register(signal.SIGUSR1, all_threads=False)
    with files.open(page, "rb+") as file:
        words = memoryview(mmap.mmap(file.fileno(), 8 * WORDS)).cast("q")
    channel = Connection(int(fd))
    poison.install()
    watching.install()
    from ....interop.python_envs.env_worker import Failure

    job: Job = channel.recv()
    desk = Desk(job.maker, job.seed, job.budget, lambda fact: channel.send(("fact", fact)), words)
    try:
        run(desk, job, channel.send)
        channel.send(("end", desk.steps))
    except PufferError as error:
        channel.send(("refused", Failure.of(error)))
    except BaseException:
        channel.send(("bug", traceback.format_exc()))
    sys.stdout.flush()
    os._exit(0)
