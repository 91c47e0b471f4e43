"""One trial: a run of its own, in a warm child.  settings -> score, cost and the run's folder

Score and cost come from the same run. The cost is that of the training from its first step on: CPU
seconds of all its threads and processes, wall seconds, or modelled ones. A trial that crashes,
hangs or diverges records why, and affects no other trial.
"""
from __future__ import annotations

import contextlib
import json
import math
import shutil
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ..base import files
from ..base.errors import PufferError, RunError
from ..base.records import Json
from ..env import child_process
from ..env.warm import Warm
from ..interop.python_envs.env_source import CompiledSource, Prepared, PythonSource
from ..scoring import words
from ..scoring.games import WIN
from ..settings import torch_class
from ..settings.goal import parse_goal
from ..settings.texts import show
from ..settings.values import Config
from ..training import backends, provenance, runs
from ..training.metrics import open_sinks
from ..training.train_job import TrainJob
from ..training.worker_rank import take_choices
from . import compute
from .space import Settings
from .store import DONE, FAILED, STOPPED
from .sweep_plan import Plan
from .sweep_records import Facts

MODULES = ["puffer_sdk.training.train_worker", "puffer_sdk.training.loop", "puffer_sdk.env.vec",
           "puffer_sdk.training.native.trainer_library"]
ONE_THREAD = {name: "1" for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS",
                                     "MKL_NUM_THREADS")}
FULL = 1 << 20          # bytes: with fewer, it is the disk that failed, not the trial
QUARTERS = 8            # of a run, at whose ends its score is noted
OnRow = Callable[[float, float | None, float], str | None]


class Cut(Exception):
    """The trial was ended from outside: time is up, or Ctrl-C. It has no result."""


@dataclass
class Outcome:
    """What came of a trial.

    score   of the metric, by the run's claim; by the episodes that ended in training where the
            trial was stopped; for time_to_goal what the run cost, also where the goal was not
            reached
    curve   scores after each eighth of the run's steps; None where nothing was logged yet
    """

    state: str
    score: float | None = None
    facts: Facts = field(default_factory=dict)
    curve: list[float | None] = field(default_factory=list)


class Bench:
    """The environment, built or probed once, and the warm process that trains each trial."""

    def __init__(self, source: CompiledSource | PythonSource, plan: Plan, home: Path, *,
                 wanted: dict[str, bool] | None = None, tag: str = "", group: str = ""):
        """home: the folder for the trials' runs; wanted: other sinks, as training takes them;
        group: what wandb shows them under."""
        self.source, self.plan, self.home = source, plan, home
        self.wanted, self.tag = wanted or {}, tag
        self.group = group
        self.prepared = prepare(source, plan, home)
        self.code = provenance.look(self.prepared, backends.with_class_file(
            self.prepared.config, self.prepared.folder or self.prepared.cwd)).facts()
        self.warm = Warm([*MODULES, *self.prepared.opener.modules],
                         {**child_process.QUIET, **ONE_THREAD})

    def close(self) -> None:
        self.warm.close()

    def prepare(self, settings: Settings, seed: int) -> Prepared:
        """The environment of a trial. Raises UsageError for settings that cannot be together.

        A trial has one thread, and steps Python environments in its own process: each worker of
        the sweep has one core, and processes that wait for each other would share that.
        """
        own: Settings = {"vec.num_threads": 1, "vec.num_workers": 0}
        if not self.plan.gpus:
            own["train.device"] = "cpu"
        if self.plan.to_goal:
            own["train.stop_at_goal"] = True
        return self.prepared.again({**own, **self.plan.fixed, **settings, "train.seed": seed})

    def resolve(self, settings: Settings, seed: int) -> Config:
        """The Config of a trial."""
        return self.prepare(settings, seed).config

    def run(self, number: int, settings: Settings, seed: int, on_row: OnRow) -> Outcome:
        """Train once. Raises Cut if on_row says so, RunError if the disk is full.

        on_row  called often with (share of the steps done, score so far, cost so far). It returns
                None, or "stop" for a trial that promises little, or "cut"
        """
        run = self.make_run(number)
        try:
            prepared = self.prepare(settings, seed)
            prepared = replace(prepared,
                               config=backends.require(prepared.config, prepared.folder))
            outcome = _Watch(self, run, prepared, on_row).train()
        except Cut:
            files.rmtree(run.folder, ignore_errors=True)
            raise
        except child_process.ChildBug as error:
            outcome = Outcome(FAILED, facts={"error": error.child_traceback.splitlines()[-1]})
        except PufferError as error:
            if shutil.disk_usage(self.home).free < FULL:
                files.rmtree(run.folder, ignore_errors=True)
                raise RunError("the disk is full", where=self.home, detail=error.message,
                               hint="finished trials are stored: free some space, and continue "
                                    "with --resume") from None
            where = f" ({error.where})" if error.where else ""
            outcome = Outcome(FAILED, facts={"error": error.message + where})
        outcome.facts["run"] = str(run.folder)
        status = {DONE: "finished", STOPPED: "interrupted"}.get(outcome.state, "failed")
        facts = {"error": outcome.facts["error"]} if outcome.state == FAILED else {}
        run.set_status(status, step=outcome.facts.get("steps", 0), **facts)
        return outcome

    def make_run(self, number: int) -> runs.Run:
        """The trial's run folder, empty: one that a dead worker left is replaced."""
        folder = self.home / f"{number:04d}"
        files.rmtree(folder, ignore_errors=True)
        return runs.create_run(self.home, self.tag, number=number)


def prepare(source: CompiledSource | PythonSource, plan: Plan, home: Path) -> Prepared:
    """The environment of a sweep, with what holds in all its trials. home: the files of settings
    that the sweep began with are written there: they need not be on this machine."""
    torch_class.name_given(source)
    if plan.inis is None:
        return replace(source, theirs=True).prepare(plan.fixed)
    places = []
    for number, (name, text) in enumerate(plan.inis):
        places.append(home / "settings" / str(number) / name)       # two may have one name
        files.mkdir(places[-1].parent)
        files.save(places[-1], text, what="the settings")
    return replace(source, over=tuple(places[1:]), theirs=True).prepare(plan.fixed, ini=places[0])


class _Watch:
    """A trial's parent side: events in, metrics and decisions out."""

    def __init__(self, bench: Bench, run: runs.Run, prepared: Prepared, on_row: OnRow):
        self.bench, self.run, self.prepared, self.on_row = bench, run, prepared, on_row
        self.plan, self.config = bench.plan, prepared.config
        self.goal = parse_goal(self.config.eval.goal) if self.plan.to_goal else None
        self.metric = self.goal.name if self.goal else self.plan.metric
        self.score: float | None = None
        self.first: float | None = None
        self.cost, self.steps, self.reached = 0.0, 0, False
        self.claim: Json = None         # a Claim (scoring/score.py)
        self.bad = ""
        self.logged: list[str] = []
        self.curve: list[float | None] = [None] * QUARTERS

    def train(self) -> Outcome:
        run, bench, prepared = self.run, self.bench, self.prepared
        files.save(run.config_path, self.config.to_ini(), what="the settings")
        files.save(run.folder / "spec.json",
                   json.dumps(prepared.spec.to_dict(), indent=1) + "\n", what="the spec")
        run.set_status("running", total=self.config.train.total_timesteps, code=self.bench.code)
        job = prepared.job(
            TrainJob, config=backends.with_class_file(self.config, prepared.folder or prepared.cwd),
            spec_hash=prepared.spec.hash(), checkpoints=run.checkpoints_path,
            best=run.best_path, model=None, resume=None)
        work = child_process.Child("puffer_sdk.training.train_worker:work", job,
                                   log=run.folder / "env.log",
                           step_timeout=prepared.step_patience, start_timeout=prepared.patience,
                           cwd=prepared.cwd, warm=bench.warm)
        word = None
        with contextlib.closing(work.events()) as events, \
                open_sinks(run, self.config, project=bench.source.label, group=bench.group,
                           **bench.wanted) as self.sinks:
            for kind, payload in events:
                if kind == "ready":
                    self.config = take_choices(run, self.config, payload)
                elif kind == "metrics":
                    self.take(payload)
                elif kind == "device":
                    self.config = backends.on_cpu(self.config, payload["reason"])
                    files.save(run.config_path, self.config.to_ini(), what="the settings")
                elif kind == "goal":
                    self.reached = True
                    self.cost = self.cost_of(payload)
                elif kind == "claim":
                    self.claim = payload
                    run.set_progress(evaluation=payload)
                word = self.on_row(self.share, self.score, self.cost)
                if word is None and self.plan.limit and self.cost > self.plan.limit:
                    word = "limit"
                if word or self.bad:
                    break
        if word == "cut":
            raise Cut
        return self.outcome(work.result, word)

    @property
    def share(self) -> float:
        return min(1.0, self.steps / self.config.train.total_timesteps)

    def cost_of(self, row: dict[str, Any]) -> float:
        """row: with cpu and seconds since the first step, and the step."""
        if self.plan.cost == "compute":
            return compute.seconds(self.plan.weights, self.config, row["step"])
        return float(row["cpu" if self.plan.cost == "cpu" else "seconds"])

    def take(self, row: dict[str, Any]) -> None:
        self.sinks.log(row)
        self.steps = row["step"]
        self.cost = self.cost_of(row)
        self.logged = [name[7:] for name in row if name.startswith("window/")] or self.logged
        value = row.get(f"window/{self.metric}", row.get(f"eval/{self.metric}"))
        if value is not None:
            self.score = value
            self.first = value if self.first is None else self.first
            if not math.isfinite(value):
                self.bad = f"the environment logs {value} as {self.metric}"
            self.curve[min(QUARTERS - 1, int(self.share * QUARTERS))] = value
        losses = [name for name, each in row.items()
                  if name.startswith("loss/") and not math.isfinite(each)]
        if losses:
            self.bad = f"training went non-finite: {losses[0]}"

    def outcome(self, result: dict[str, Any] | None, word: str | None) -> Outcome:
        facts: Facts = {"cost": self.cost, "steps": self.steps}
        if result:
            facts["cost"] = self.cost_of(result)
            facts["steps"] = result["step"]
        if self.bad:
            return Outcome(FAILED, facts={"error": self.bad, "steps": self.steps})
        if word == "limit" and not self.goal:
            return Outcome(FAILED, facts={
                "error": f"it cost more than {show(self.plan.limit)}", "steps": self.steps})
        if not self.goal and self.claim:
            trained = self.claim["trained"]
            metric = WIN if trained.get("opponent") and self.metric not in trained["mean"] \
                else self.metric
            claimed = trained["mean"].get(metric)
            facts |= {"fell": fell} if (fell := words.fell(self.claim)) else {}
            if claimed is not None and math.isfinite(claimed):
                return Outcome(DONE, claimed, facts, self.curve)
            return Outcome(FAILED, facts={
                "error": f"no fresh episode that logs {self.metric} has ended: "
                + words.claimed(self.claim), "steps": self.steps})
        if self.score is None and not self.goal:
            seen = ", ".join(name for name in self.logged if name != "n")
            return Outcome(FAILED, facts={
                "error": f"no episode that logs {self.metric} has ended"
                + (f"; logged are {seen}" if seen else ""), "steps": self.steps})
        if not self.goal:
            return Outcome(STOPPED if word == "stop" else DONE, self.score, facts, self.curve)
        facts["reached"] = self.reached
        if not self.reached:
            facts.update(last=self.score, missing=self.missing)
        return Outcome(DONE, facts["cost"], facts, self.curve)

    @property
    def missing(self) -> float:
        """The share of the way to the goal that is left, from the first score: 0 to 1."""
        value = self.goal.value if self.goal else None
        if value is None or self.score is None or self.first is None or self.first == value:
            return 1.0
        return min(1.0, max(0.0, (value - self.score) / (value - self.first)))
