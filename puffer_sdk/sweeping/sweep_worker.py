"""One worker of a sweep.  a store -> trials taken, trained and stored, one after another

Every worker, on any machine, runs this loop: take a waiting trial or ask the sampler for a new one,
train it, store the result.
"""
from __future__ import annotations

import math
import time
from pathlib import Path

import numpy as np

from ..base import files
from ..base.errors import RunError, UsageError
from ..env.child_process import Signals
from .sampler import Sampler
from .space import Settings
from .stopping import is_hopeless
from .store import BEAT, DONE, FAILED, RUNNING, STOPPED, WAITING, Store, Stored
from .sweep_plan import Plan
from .sweep_records import Facts
from .trial import Bench, Cut

TOP = 5                 # trials whose checkpoints stay besides those of the front
IDLE = 0.2              # seconds between two looks for work
LOOK = 1.0              # ... and, during a trial, whether it is to go on
GONE = 120.0            # seconds without a sign of the sweep's own process, after which all end


class Worker:
    """The loop. `run()` returns when the sweep is over, or a signal came.

    bench   the environment, and the folder for its runs
    """

    def __init__(self, store: Store, bench: Bench):
        self.store, self.bench, self.plan = store, bench, bench.plan
        self.space = self.plan.space()
        self.beaten = self.looked = -np.inf

    def run(self) -> None:
        with Signals() as self.signals:
            while not self.signals.received:
                facts = self.store.facts
                if self.is_over(facts):
                    return
                trial = self.next(facts)
                if trial is None:
                    time.sleep(IDLE)
                    continue
                self.train(trial)

    def is_over(self, facts: Facts) -> bool:
        """Whether the sweep is over, or its own process has been silent for long."""
        return bool(facts.get("over")) or self.store.silence.of(
            "the sweep", facts.get("beat")) > GONE

    # ---- work ----------------------------------------------------------------------------------

    def next(self, facts: Facts) -> Stored | None:
        """A trial that this process holds now, with its settings; None where there is none."""
        trials = self.store.trials()
        for trial in trials:
            if trial.state == WAITING and (facts.get("open") or not is_searched(trial)) \
                    and not is_cut(trial, facts) and self.store.take(trial):
                return self.choose(trial)
        if not facts.get("open") or is_full(self.plan, trials):
            return None
        trial = self.store.add(None, RUNNING)
        before = [each for each in self.store.trials() if each.number < trial.number]
        if is_full(self.plan, before):      # another worker took the last place in between
            self.store.drop(trial)
            return None
        return self.choose(trial)

    def choose(self, trial: Stored) -> Stored:
        """Gives a trial its settings, if it has none."""
        if not trial.settings:
            settings, reason = suggest(self.store, self.plan, trial)
            self.store.update(trial, settings=settings, reason=reason)
        if "seed" not in trial.facts:
            self.store.update(trial, seed=self.plan.seed + trial.number)
        return trial

    def train(self, trial: Stored) -> None:
        clock = self.store.silence.clock
        began, self.trial, self.eighth = clock(), trial, 0
        try:
            outcome = self.bench.run(trial.number, trial.settings, trial.facts["seed"], self.look)
        except Cut:
            self.store.put_back(trial)
            return
        except RunError:
            self.store.put_back(trial)
            raise
        facts = {**outcome.facts, "curve": outcome.curve,
                 "at": self.store.facts.get("spent"), "wall": clock() - began, "share": 1.0}
        if facts.get("reached") is False:
            outcome.score = censored(facts["cost"], facts["missing"], self.store.trials())
        self.store.end(trial, outcome.state, outcome.score, **facts)
        keep_checkpoints(self.store.trials(), self.plan, self.bench.home)

    def look(self, share: float, score: float | None, cost: float) -> str | None:
        """What is to become of the trial: called often while it trains."""
        if self.signals.received:
            return "cut"
        now, plan = self.store.silence.clock(), self.plan
        eighth = int(share * 8)
        if eighth > self.eighth and score is not None and eighth < 8:
            self.eighth = eighth
            if not plan.to_goal and is_searched(self.trial) and is_hopeless(
                    eighth, score, cost, self.store.trials(), plan.minimize):
                return "stop"
        if plan.to_goal and is_searched(self.trial) and now - self.beaten > 0.5 \
                and cost > 3 * least_cost(self.store.trials()):
            return "stop"
        if now - self.beaten > BEAT:
            self.beaten = now
            self.store.beat(self.trial, share=share, last=score, so_far=cost)
        if now - self.looked > LOOK:
            self.looked, facts = now, self.store.facts
            if self.is_over(facts) or is_cut(self.trial, facts):
                return "cut"
        return None


def is_cut(trial: Stored, facts: Facts) -> bool:
    """Whether the trial is to wait until somebody resumes the sweep: its time is over."""
    return bool(trial.number <= facts.get("cut", -1))


def least_cost(trials: list[Stored]) -> float:
    """What the cheapest run to the goal cost; infinite before one reached it."""
    return min((trial.cost for trial in trials
                if trial.state == DONE and trial.facts.get("reached")), default=np.inf)


def censored(cost: float, missing: float, trials: list[Stored]) -> float:
    """The score of a run that has not reached the goal for `cost`: at least twice the cost of any
    run that reached it (of any run while none has), and more the farther from the goal it ended.
    A run that ends early and learns nothing must not look fast.

    missing     the share of the way to the goal that is left, 0 to 1
    """
    reached = [trial.cost for trial in trials if trial.facts.get("reached")]
    known = reached or [trial.cost for trial in trials if trial.cost]
    return max([cost, *known]) * (2 + 2 * missing)


def is_searched(trial: Stored) -> bool:
    """Whether a trial counts for --runs: not those that judge what was found."""
    return not ("verdict" in trial.facts or "repeats" in trial.facts)


def is_full(plan: Plan, trials: list[Stored]) -> bool:
    """Whether as many trials were begun as the sweep may have."""
    return bool(plan.runs) and sum(map(is_searched, trials)) >= plan.runs


# ---- suggestions -------------------------------------------------------------------------------

def learned(plan: Plan, trials: list[Stored], without: int | None = None
            ) -> tuple[Sampler, dict[int, Stored]]:
    """Our sampler, told all that is stored; and by its numbers, the trials."""
    sampler = Sampler(plan.space(), seed=plan.seed, minimize=plan.minimize,
                      method="random" if plan.method == "random" else "gp",
                      front=not plan.to_goal)
    stored: dict[int, Stored] = {}
    for trial in trials:
        if trial.number == without or not trial.settings:
            continue
        settings = {**plan.start, **trial.settings}
        told = sampler.add(settings)
        stored[told.number] = trial
        score = trial.score or 0.0
        if plan.to_goal and score:
            if not trial.facts["reached"]:      # more has been reached since
                score = censored(trial.cost, trial.facts["missing"], trials)
            score = math.log(score)
        if trial.state == DONE:
            sampler.tell(told, score, max(trial.cost, 1e-6))
        elif trial.state == STOPPED:
            sampler.stop(told, score)
        elif trial.state == FAILED:
            sampler.fail(told)
    return sampler, stored


def suggest(store: Store, plan: Plan, trial: Stored) -> tuple[Settings, str]:
    """(settings, reason) for a new trial."""
    trials = store.trials()
    if plan.method == "tpe":
        return store.ask_tpe(trial, plan, trials)
    asked = learned(plan, trials, trial.number)[0].ask(trial.number)
    return asked.settings, asked.reason


# ---- what is kept ------------------------------------------------------------------------------

def front(plan: Plan, trials: list[Stored]) -> list[Stored]:
    """Finished trials that no cheaper one beats, the cheapest first."""
    if not any(trial.state == DONE for trial in trials):
        return []
    sampler, stored = learned(plan, trials)
    edge = [stored[told.number] for told in sampler.front()]
    return [trial for trial in edge if not plan.to_goal or trial.facts["reached"]]


def measured_front(plan: Plan, trials: list[Stored]) -> list[Stored]:
    """The front of the scores as they were measured: quick, for every redraw."""
    sign, highest = -1.0 if plan.minimize else 1.0, -math.inf
    found: list[Stored] = []
    for trial in sorted((each for each in trials if each.state == DONE), key=lambda t: t.cost):
        if sign * trial.final_score > highest:
            highest = sign * trial.final_score
            found.append(trial)
    return found


def best(plan: Plan, trials: list[Stored]) -> Stored:
    """The finished trial that the model believes best. Raises UsageError if none has finished."""
    searched = [trial for trial in trials if "verdict" not in trial.facts]
    done = [trial for trial in searched if trial.state == DONE
            and (not plan.to_goal or trial.facts.get("reached"))]
    if not done:
        failed = [trial for trial in trials if trial.state == FAILED]
        raise UsageError("no trial has finished" if not plan.to_goal or not searched
                         else "no trial has reached the goal", expected="one or more",
                         actual=f"{len(failed)} failed" if failed else "none",
                         detail=failed[-1].facts.get("error") if failed else None)
    sampler, stored = learned(plan, searched)
    found = stored[sampler.best().number]
    return found if found in done else min(done, key=lambda trial: trial.cost)


def keep_checkpoints(trials: list[Stored], plan: Plan, home: Path) -> None:
    """Drop the checkpoints of trials below home that are neither on the front nor among the
    TOP best of the search, one of which the model may call the best; unless all are to stay. Those
    that judge stay, and so do those that they judge."""
    if plan.keep == "all":
        return
    done = [trial for trial in trials if trial.state == DONE and is_searched(trial)]
    sign = -1.0 if plan.minimize else 1.0
    top = sorted(done, key=lambda trial: -sign * trial.final_score)[:TOP]
    kept = {trial.number for trial in (*top, *measured_front(plan, done))}
    for trial in trials:
        if "verdict" in trial.facts:
            kept.add(trial.number)
        kept |= {trial.facts[name] for name in ("repeats", "trial") if name in trial.facts}
    for trial in trials:
        if trial.state in (DONE, STOPPED) and trial.number not in kept:
            folder = home / f"{trial.number:04d}"
            if trial.facts.get("run") == str(folder):       # else it ran on another machine
                files.rmtree(folder / "checkpoints", ignore_errors=True)
                for name in ("best", "peak"):
                    files.remove(folder / f"{name}.safetensors")
