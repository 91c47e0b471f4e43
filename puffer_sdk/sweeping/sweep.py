"""Search for settings.  environment + a space of settings -> runs/NAME/sweeps/NNNN/

    sweep.ini       what was asked for            best.ini        the settings to copy
    journal         all trials (store.py)         front/*.ini     those of each trial on the front
    trials/NNNN/    a run folder for each trial   sweep.html      the page

This process looks after the others: it adds the trials that judge, ends what is over time, and
draws the table. The workers (worker.py) are processes of their own.
"""
from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

from ..base import files, paths, records, ui
from ..base.errors import Interrupted, RunError, UsageError
from ..bridges import sources
from ..bridges.sources import CompiledSource, Prepared, PythonSource
from ..env.child import Signals
from ..settings.texts import show
from ..training import backends
from . import trial as trialing
from . import verdict as judging
from .calibration import calibrate
from .formats import Folder
from .plan import Plan, read
from .results import SweepResult, plan_ini, write_results
from .store import DONE, RUNNING, WAITING, Store, Stored, journal_of
from .worker import is_full, is_searched

SEEDS = 5               # of the verdict, unless somebody says
TICK = 0.25             # seconds between two looks at the store
PATIENCE = 1.6          # seconds that workers get to leave after Ctrl-C
RESERVE = 0.4           # of the time, at most, that contenders and the verdict may take


def sweeps_dir(source: CompiledSource | PythonSource, runs_dir: Path | None = None) -> Path:
    return source.runs_dir(runs_dir) / "sweeps"


def list_sweeps(home: Path) -> list[Path]:
    """The folders of an environment's sweeps, oldest first; not those that never began."""
    return [path for path in _numbered(home) if (path / "sweep.json").is_file()]


def _numbered(home: Path) -> list[Path]:
    found = [path for path in home.glob("*") if re.fullmatch(r"\d{4,}", path.name)]
    return sorted(found, key=lambda path: int(path.name))


def find_sweep(home: Path, which: str) -> Path:
    """The folder that "latest", a number or a path names. Raises UsageError."""
    found = list_sweeps(home)
    if which == "latest" and found:
        return found[-1]
    path = Path(which)
    if (path / "sweep.json").is_file():
        return path.resolve()
    for each in found:
        if which.isdecimal() and int(each.name) == int(which):
            return each
    if not found:
        raise UsageError("there are no sweeps yet", where=home,
                         hint=f"puffer-sdk sweep {home.parent.name}")
    raise UsageError(f"there is no sweep '{which}'", where=home, actual=which,
                     expected="one of " + ", ".join(str(int(each.name)) for each in found))


def sweep(env=None, settings: Mapping[str, object] | None = None, *, resume: str | None = None,
          storage: str | None = None, runs_dir: Path | None = None, seeds: int | None = None,
          tag: str = "", wandb: bool = False, tensorboard: bool = False, ini: Path | None = None,
          show_table: Callable | None = None) -> SweepResult:
    """Search the settings of ENV (a folder, a name, or a Python environment: "gymnasium:ID") and
    return what was found.

    settings    {"sweep.seconds": 300, "train.total_timesteps": 1e6}: those of [sweep] say what to
                search and how; the others hold in every trial
    resume      "latest", or a sweep's number or folder: go on with it
    storage     postgresql://... or grpc://HOST:PORT; None: a journal in the sweep's folder
    seeds       unseen seeds for the verdict; 0 for none. None: as before, or 5
    ini         a file of settings and [sweep] over the environment's own ini
    Raises UsageError before anything runs, BuildError, RunError, Interrupted after Ctrl-C: then
    nothing finished is lost, and resume goes on.
    """
    source = sources.find(env, ini)
    home = sweeps_dir(source, runs_dir)
    given = dict(settings or {})
    if resume:
        place = find_sweep(home, resume)
        store, plan = open_sweep(place)
        if ini:
            raise UsageError("the settings cannot change: the sweep has begun", where="--config",
                             hint="leave it out: a sweep keeps those that it began with")
        prepared = trialing.prepare(source, plan, place / "trials")
        check_same(plan, prepared, place)
        plan = _extended(store, plan, given)
        seeds = store.facts.get("seeds", SEEDS) if seeds is None else seeds
        store.note(seeds=seeds)
    else:
        seeds = SEEDS if seeds is None else seeds
        prepared = source.prepare({name: value for name, value in given.items()
                                   if not name.startswith("sweep.")})
        prepared = replace(prepared, config=backends.require(prepared.config, prepared.folder))
        prepared = prepared.with_sizes()
        plan = read(source, given, prepared.config, prepared.spec, prepared.count_agents())
        if plan.cost == "compute":
            ui.say("measuring what the parts of training cost ...")
            plan = replace(plan, weights=calibrate(source, plan))
        place = _make_folder(home)
        address = storage or journal_of(place)
        name = f"{source.label}-{place.name}"
        files.save(place / "sweep.ini", plan_ini(plan), what="the sweep's settings")
        store = Store(address, name).create(plan, open=True, beat=time.time(), seeds=seeds,
                                            began=time.time(), spent=0.0)
        store.add(plan.start, start=True, reason="the settings to start from", seed=plan.seed)
        files.save(place / "sweep.json", json.dumps(
            {"storage": address, "name": name, "env": str(source.ref), "tag": tag}) + "\n",
            what="the sweep")
    told_how(plan, prepared)
    run = _Run(source, place, store, plan, runs_dir, seeds, show_table, tag=tag,
               wandb=wandb, tensorboard=tensorboard)
    return run.go()


def told_how(plan: Plan, prepared: Prepared) -> None:
    """Says in which processes a trial plays, where there is a choice, and what its cost counts."""
    where = prepared.opener.where_played(int(plan.fixed.get("vec.num_workers", 0)))
    if where:
        ui.say(f"each trial plays {where}" + ("; its cost is the CPU time of all its processes"
                                              if plan.cost == "cpu" else ""))


def open_sweep(place: Path) -> tuple[Store, Plan]:
    """The store and the plan of a sweep's folder. Raises UsageError if it is damaged."""
    try:
        facts = records.read(place / "sweep.json", Folder, "the sweep")
        address = facts.storage
        if "://" not in address:        # wherever the folder lay when the sweep began
            address = journal_of(place)
            files.open(address).close()
    except OSError as error:
        raise UsageError("this is no sweep", where=place, expected="a folder that sweep made",
                         detail=error.strerror or str(error)) from None
    store = Store(address, facts.name).open()
    return store, store.plan()


def check_same(plan: Plan, prepared: Prepared, where: Path | str) -> None:
    """Raises UsageError where this is not the environment that the sweep began with."""
    spec = prepared.spec.hash()
    if plan.spec != spec:
        raise UsageError("the sweep is of another environment, or of another version of it",
                         where=where, expected=f"fingerprint {plan.spec[:12]}", actual=spec[:12],
                         hint="scores would not compare: start a new sweep, or bring this "
                              "machine's files up to date")


def address_of(place: Path) -> str:
    """The storage of a sweep's folder. Raises UsageError if that is none."""
    return open_sweep(place)[0].address


def _extended(store: Store, plan: Plan, given: Mapping[str, object]) -> Plan:
    """A resumed sweep may get more time or trials; its space stays."""
    may = {"sweep.seconds": ("seconds", float), "sweep.max_runs": ("runs", int),
           "sweep.workers": ("workers", int)}
    for name, value in given.items():
        if name not in may:
            raise UsageError(f"{name} cannot change: the sweep has begun", where="--resume",
                             expected="--seconds, --runs or --workers",
                             hint="start a new sweep")
        field, kind = may[name]
        try:
            plan = replace(plan, **{field: kind(float(show(value)))})
        except ValueError:
            raise UsageError(f"{name} is not a number", where="--resume", expected="a number",
                             actual=show(value)) from None
    store.note(plan=plan.to_dict(), open=True, over=False, beat=time.time(), judged=False)
    return plan


def _make_folder(home: Path) -> Path:
    """The next free number: two sweeps that start at once get two folders."""
    try:
        files.mkdir(home)
        number = max((int(each.name) for each in _numbered(home)), default=0) + 1
        while True:
            with contextlib.suppress(FileExistsError):
                place = home / f"{number:04d}"
                files.mkdir(place, new=True)
                return place
            number += 1
    except OSError as error:
        raise RunError("cannot create the sweep's folder", where=home,
                       detail=error.strerror or str(error),
                       hint="free some space, or choose another place: --runs-dir") from None


class _Run:
    """The process that a user started: it looks after workers, time and the verdict."""

    def __init__(self, source, place, store, plan, runs_dir, seeds, show_table, *, tag, wandb,
                 tensorboard):
        self.source, self.place, self.store, self.plan = source, place, store, plan
        self.seeds, self.tag = seeds, tag
        self.wanted = {"wandb": wandb, "tensorboard": tensorboard}
        self.runs_dir = runs_dir
        self.table = show_table
        self.workers: list[subprocess.Popen] = []
        facts = store.facts
        self.spent_before = facts.get("spent", 0.0)
        self.began = time.time()
        self.told = 0.0

    @property
    def spent(self) -> float:
        return self.spent_before + time.time() - self.began

    def go(self) -> SweepResult:
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
                time.sleep(TICK)
            self.store.note(over=True, spent=self.spent)
        return write_results(self.place, self.store, self.plan, self.store.trials())

    def interrupted(self, signals) -> Interrupted:
        self.store.reap()
        trials = self.store.trials()
        done = sum(trial.state == DONE for trial in trials)
        again = f"puffer-sdk sweep {self.source.name} --resume {int(self.place.name)}"
        if self.runs_dir:
            again += f" --runs-dir {self.runs_dir}"
        with contextlib.suppress(UsageError):
            write_results(self.place, self.store, self.plan, trials)
        return Interrupted(f"interrupted; {ui.plural(done, 'finished trial')} kept in "
                           f"{paths.shown(self.place)}", status=signals.status,
                           hint=f"go on with: {again}")

    # ---- workers -------------------------------------------------------------------------------

    def start_worker(self, number: int) -> None:
        options = {**self.wanted, "tag": self.tag, "parent": os.getpid()}
        words = [sys.executable, "-m", "puffer_sdk.sweeping.joining", str(self.place),
                 str(self.source.ref), json.dumps(options)]
        variables = {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        if self.plan.gpus:
            variables["CUDA_VISIBLE_DEVICES"] = str(number % self.plan.gpus)
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
        """Once a tick: dead workers, time, and the phases of the sweep."""
        now = time.time()
        for number, each in enumerate(self.workers):
            if each.poll() == RunError.exit_status:
                raise RunError("a worker cannot go on", where=self.place, detail=self.last_words(),
                               hint="finished trials are kept: "
                                    f"puffer-sdk sweep {self.source.name} --resume")
            if each.poll() is not None and not self.store.facts.get("over"):
                self.failures = getattr(self, "failures", 0) + 1
                if self.failures > 3 * len(self.workers) + 3:
                    raise RunError("the workers of the sweep die", where=self.place,
                                   detail=self.last_words())
                self.workers.pop(number)
                self.store.reap()
                self.start_worker(number)
                break
        if now - self.told > 2.0:
            self.told = now
            self.store.note(beat=now, spent=self.spent)
            self.store.reap()
        if self.table:
            self.table(self)

    def last_words(self) -> str | None:
        """What the workers wrote last, from the last error on."""
        tail = files.read(self.place / "workers.log").decode(errors="replace")[-2000:].strip()
        return tail[max(0, tail.rfind("error:")):] or None

    def is_over(self) -> bool:
        """Whether all is done; on the way, closes the search and adds the trials that judge."""
        trials = self.store.trials()
        facts = self.store.facts
        at_work = [trial for trial in trials if trial.state == RUNNING or trial.state == WAITING
                   and (facts.get("open") or not is_searched(trial))]
        late = self.plan.seconds and self.spent > self.plan.seconds
        if facts.get("open"):
            if is_full(self.plan, trials) and not at_work or self.is_time(trials):
                self.store.note(open=False)
                if self.is_time(trials):    # what runs now would end too late to be of use
                    self.cut()
                self.add(judging.contenders(self.plan, trials) if self.seeds else [])
            return False
        if at_work and not late:
            return False
        if late and at_work and facts.get("judged"):
            return self.spent > self.plan.seconds * (1 + RESERVE)   # a verdict is worth a little
        if not facts.get("judged"):
            self.store.note(judged=True)
            if self.seeds and any(trial.state == DONE for trial in trials):
                with contextlib.suppress(UsageError):
                    self.add(judging.pairs(self.plan, trials, self.seeds))
                    return False
        return True

    def cut(self) -> None:
        """End the search's running trials. They wait until somebody resumes the sweep."""
        self.stop_workers()
        self.store.reap()
        for number in range(self.plan.workers):
            self.start_worker(number)

    def is_time(self, trials: list[Stored]) -> bool:
        """Whether what is left of the time is needed for contenders and verdict."""
        if not self.plan.seconds:
            return False
        walls = sorted(trial.facts.get("wall", 0.0) for trial in trials if trial.state == DONE)
        needed = 0.0
        if walls and self.seeds:
            usual = max(walls[len(walls) // 2], self._best_wall(trials))
            needed = usual * (-(-6 // self.plan.workers) + -(-2 * self.seeds // self.plan.workers))
        return self.spent + min(needed, RESERVE * self.plan.seconds) > self.plan.seconds

    def _best_wall(self, trials: list[Stored]) -> float:
        sign = -1.0 if self.plan.minimize else 1.0
        done = [trial for trial in trials if trial.state == DONE]
        return max(done, key=lambda trial: sign * trial.score).facts.get("wall", 0.0)

    def add(self, rows: list[dict]) -> None:
        for row in rows:
            self.store.add(**row)
