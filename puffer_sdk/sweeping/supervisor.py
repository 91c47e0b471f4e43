"""The process that a user started.  a sweep that has begun -> workers, phases, the end

It starts the workers (sweep_worker.py), replaces dead ones, adds the trials of the verdict, ends
the sweep on time, and draws the table.
"""
from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

from ..base import files, paths, processes, ui
from ..base.errors import Interrupted, RunError, UsageError
from ..env.child_process import Signals
from ..interop.python_envs.env_source import CompiledSource, PythonSource
from . import verdict as judging
from .results import SweepResult, write_results
from .schedule import Schedule
from .store import DONE, FAILED, RUNNING, WAITING, Store, Stored
from .sweep_records import Facts
from .sweep_worker import is_full, is_searched

TICK = 0.25             # seconds between two looks at the store
BEAT = 1.0              # seconds between two signs of life for the workers
PATIENCE = 1.6          # seconds that workers get to leave after Ctrl-C


class Supervisor:
    """One sweep at work. `run()` returns its result.

    show_table  called with this, once a tick
    sleep       waits so many seconds; a test's goes on with what it pretends
    """

    def __init__(self, source: CompiledSource | PythonSource, place: Path, store: Store,
                 schedule: Schedule, *, runs_dir: Path | None = None, tag: str = "",
                 wandb: bool = False, tensorboard: bool = False,
                 show_table: Callable[..., None] | None = None,
                 sleep: Callable[[float], None] = time.sleep):
        self.source, self.place, self.store, self.schedule = source, place, store, schedule
        self.plan, self.seeds = schedule.plan, schedule.seeds
        self.options = {"wandb": wandb, "tensorboard": tensorboard, "tag": tag}
        self.runs_dir, self.table, self.sleep = runs_dir, show_table, sleep
        self.workers: list[subprocess.Popen[bytes]] = []
        self.beaten = -float("inf")
        self.beats = self.failures = 0

    @property
    def spent(self) -> float:
        return self.schedule.spent

    def run(self) -> SweepResult:
        with Signals() as signals, contextlib.ExitStack() as stack:
            stack.callback(self.stop_workers)
            self.store.reap()
            for number in range(self.plan.workers):
                self.start_worker(number)
            while not self.is_over():
                if signals.received:
                    self.store.note(open=False, spent=self.spent)
                    self.stop_workers()
                    raise self.interrupted(signals)
                self.look_after()
                self.sleep(TICK)
            self.store.note(open=False, over=True, spent=self.spent)
        self.store.reap()
        if self.table:
            self.table(self, last=True)
        return self.results()

    def results(self) -> SweepResult:
        """The files. Raises UsageError if no trial has finished."""
        trials = self.store.trials()
        self.store.note(needed=self.schedule.seconds_needed(trials))
        try:
            return write_results(self.place, self.store, self.plan, trials)
        except UsageError as error:
            failed = [trial for trial in trials if trial.state == FAILED]
            if failed:
                error.hint = f"trial {failed[-1].number} failed: {failed[-1].facts['error']}"
            elif self.plan.seconds:
                error.hint = (f"{self.plan.seconds:g} s are too few for a run; continue with: "
                              f"{self.again} --seconds {10 * self.plan.seconds:g}")
            raise

    @property
    def again(self) -> str:
        """The command that goes on with the sweep."""
        where = f" --runs-dir {self.runs_dir}" if self.runs_dir else ""
        return f"puffer-sdk sweep {self.source.name} --resume {int(self.place.name)}{where}"

    def interrupted(self, signals: Signals) -> Interrupted:
        self.store.reap()
        trials = self.store.trials()
        done = sum(trial.state == DONE for trial in trials)
        with contextlib.suppress(UsageError):
            write_results(self.place, self.store, self.plan, trials)
        return Interrupted(f"interrupted; {ui.plural(done, 'finished trial')} kept in "
                           f"{paths.shown(self.place)}", status=signals.status,
                           hint=f"continue with: {self.again}")

    # ---- workers -------------------------------------------------------------------------------

    def start_worker(self, number: int) -> None:
        words = processes.python("puffer_sdk.sweeping.joining:main", self.place, self.source.ref,
                                 json.dumps(self.options))
        variables = {"CUDA_VISIBLE_DEVICES": str(number % self.plan.gpus)} if self.plan.gpus else {}
        log = files.open(self.place / "workers.log", "ab")
        self.workers.append(subprocess.Popen(
            words, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
            env={**os.environ, **variables}))
        log.close()

    def stop_workers(self) -> None:
        for each in self.workers:
            with contextlib.suppress(ProcessLookupError):
                each.send_signal(signal.SIGTERM)
        end = time.monotonic() + PATIENCE
        for each in self.workers:
            try:
                each.wait(max(0.0, end - time.monotonic()))
            except subprocess.TimeoutExpired:
                each.kill()
                each.wait()
        self.workers = []

    def look_after(self) -> None:
        """Once a tick: dead workers, a sign of life, the table."""
        for number, each in enumerate(self.workers):
            if each.poll() == RunError.exit_status:
                raise RunError("a worker cannot "
                               "continue", where=self.place, detail=self.last_words(),
                               hint="finished trials are kept: "
                                    f"puffer-sdk sweep {self.source.name} --resume")
            if each.poll() is not None:
                self.failures += 1
                if self.failures > 3 * len(self.workers) + 3:
                    raise RunError("the sweep's workers keep dying", where=self.place,
                                   detail=self.last_words())
                self.workers.pop(number)
                self.store.reap()
                self.start_worker(number)
                break
        now = self.schedule.clock()
        if now - self.beaten > BEAT:
            self.beaten = now
            self.beats += 1
            self.store.note(beat=self.beats, spent=self.spent)
            self.store.reap()
        if self.table:
            self.table(self)

    def last_words(self) -> str | None:
        """What the workers wrote last, from the last error on."""
        tail = files.read(self.place / "workers.log").decode(errors="replace")[-2000:].strip()
        return tail[max(0, tail.rfind("error:")):] or None

    # ---- phases --------------------------------------------------------------------------------

    def is_over(self) -> bool:
        """Whether all is done; on the way, closes the search and adds the trials that judge."""
        trials, facts = self.store.trials(), self.store.facts
        if self.schedule.ends(trials):
            return True
        self.schedule.measure(trials, lambda: write_results(self.place, self.store, self.plan,
                                                            trials))
        at_work = [trial for trial in trials if trial.number > facts.get("cut", -1) and (
            trial.state == RUNNING or trial.state == WAITING
            and (facts.get("open") or not is_searched(trial)))]
        if facts.get("open"):
            if is_full(self.plan, trials) and not at_work:
                self.close(trials)
            elif self.schedule.closes(trials):
                self.close(trials, cut=True)
            return False
        if at_work and (facts.get("judged") or not self.schedule.judges(trials)):
            return False
        if facts.get("judged"):
            return True
        self.judge(trials, cut=bool(at_work))
        return False

    def close(self, trials: list[Stored], cut: bool = False) -> None:
        """End the search: what may be called the best runs again. cut: time is over, and trials
        that run now wait until somebody resumes the sweep."""
        self.store.note(open=False)
        if cut:
            self.store.note(cut=trials[-1].number)
        if self.seeds:
            self.add(judging.contenders(self.plan, trials))

    def judge(self, trials: list[Stored], cut: bool = False) -> None:
        """Add the trials of the verdict. cut: contenders still run, and are dropped."""
        if cut:
            self.store.note(cut=trials[-1].number)
        for trial in trials:                    # what an earlier command wanted, as well
            if trial.state == WAITING and not is_searched(trial):
                self.store.drop(trial)
        self.store.note(judged=True)
        if self.seeds:
            with contextlib.suppress(UsageError):       # no trial has finished
                number, rows = judging.pairs(self.plan, self.store.trials(), self.seeds)
                self.store.note(champion=number)
                self.add(rows)

    def add(self, rows: list[Facts]) -> None:
        for row in rows:
            self.store.add(**row)
