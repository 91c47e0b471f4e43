"""What a sweep found.  trials -> SweepResult -> best.ini, front/*.ini, sweep.html"""
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypedDict

from ..base import files, records, ui
from ..base.documents import says
from ..settings.texts import show
from .page.sweep_page import render
from .space import Settings
from .store import DONE, FAILED, RUNNING, STOPPED, WAITING, Store, Stored
from .sweep_plan import Plan, text_of
from .sweep_worker import best, front
from .verdict import Verdict, judge, untried, why_none

if TYPE_CHECKING:
    from rich.table import Table


class TrialRow(TypedDict):
    """One trial. What is not known, or does not apply, is null."""

    number: Annotated[int, says("from 0")]
    state: Annotated[str, says("waiting, running, done, stopped or failed")]
    score: Annotated[float | None, says("the metric's value; with a goal, the cost to reach it")]
    settings: Annotated[dict[str, Any] | None, says("by their full names; null until chosen")]
    reason: Annotated[str | None, says("why these settings")]
    cost: Annotated[float | None, says("of training, in the unit of the plan's cost")]
    seed: Annotated[int | None, says("of the training")]
    start: Annotated[bool | None, says("whether these are the environment's own settings")]
    repeats: Annotated[int | None, says("the trial whose settings it repeats on another seed")]
    verdict: Annotated[str | None, says("best or default: which side of the verdict it is of")]
    error: Annotated[str | None, says("why it failed")]
    fell: Annotated[str | None, says("what its end lost, where it is far below its best")]
    run: Annotated[str | None, says("folder of its run")]
    steps: Annotated[int | None, says("agent steps")]
    reached: Annotated[bool | None, says("whether it reached the goal")]
    wall: Annotated[float | None, says("seconds from its start to its end")]
    ended: Annotated[float | None, says("seconds of the sweep at its end")]


class SweepDocument(TypedDict):
    """The result of `sweep`."""

    folder: Annotated[str, says("of the sweep")]
    env: Annotated[str, says("its environment")]
    plan: Annotated[dict[str, Any], says("what was asked for", like=Plan)]
    best: Annotated[int, says("number of the best trial")]
    front: Annotated[list[int], says(
        "numbers of trials that no cheaper one beats, the cheapest first")]
    verdict: Annotated[Annotated[dict[str, Any], says("", like=Verdict)] | None, says(
        "how the best compares with the default on new seeds")]
    unjudged: Annotated[str, says('why there is no verdict; "" where there is one')]
    untried: Annotated[str, says(
        'longer runs that the space allows and no trial tried; else ""')]
    trials: Annotated[list[TrialRow], says("all, by number")]


@dataclass
class SweepResult:
    """What a sweep found.

    best_trial  the best one: by the verdict, or by the model
    verdict     how it compares with the default, or None
    trials      all of them, by number
    front       those that no cheaper one beats, the cheapest first
    unjudged    why there is no verdict; "" where there is one
    untried     longer runs that the space allows and no trial tried, or ""
    began       seconds since 1970: in sweeps of earlier versions, the zero of trials' ends
    """

    folder: Path
    plan: Plan
    best_trial: Stored
    verdict: Verdict | None
    trials: list[Stored]
    front: list[Stored]
    unjudged: str = ""
    untried: str = ""
    began: float = 0.0

    @property
    def best(self) -> Settings:
        """The best settings: {"train.learning_rate": 0.01, ...}"""
        return self.best_trial.settings

    def ini_of(self, trial: Stored) -> str:
        """A trial's settings as an ini, with its result in the first lines."""
        about = []
        if trial is self.best_trial:
            about = [self.verdict.sentence if self.verdict else f"no verdict: {self.unjudged}",
                     *([f"untried: {self.untried}"] if self.untried else [])]
        return settings_ini(
            self.plan, trial.settings, f"sweep {self.folder.name.lstrip('0')} of {self.plan.env}, "
            f"trial {trial.number}: {result_of(self.plan, trial)}"
            + "".join(f"\n# {line}" for line in about))


def find_result(place: Path, store: Store, plan: Plan, trials: list[Stored]) -> SweepResult:
    """What a sweep found; writes nothing. Raises UsageError if no trial has finished."""
    facts = store.facts
    with records.read_as("the sweep's journal", place):
        top, found = best(plan, trials), judge(plan, trials, facts.get("champion"))
        if found:
            top = {trial.number: trial for trial in trials}[found.trial]
        unjudged, long = "" if found else why_none(plan, trials, facts), untried(plan, trials)
        edge = front(plan, trials)
    return SweepResult(place, plan, top, found, trials, edge, unjudged, long,
                       facts.get("began", 0.0))


def write_results(place: Path, store: Store, plan: Plan, trials: list[Stored]) -> SweepResult:
    """The files of a sweep's result. Raises UsageError if no trial has finished."""
    result = find_result(place, store, plan, trials)
    files.save(place / "best.ini", result.ini_of(result.best_trial), what="the best settings")
    files.rmtree(place / "front")
    files.mkdir(place / "front")
    for trial in result.front:
        files.save(place / "front" / f"{trial.number:04d}.ini", result.ini_of(trial),
                   what="the front")
    files.save(place / "sweep.html", render(as_json(result)), what="the page")
    return result


def result_of(plan: Plan, trial: Stored) -> str:
    """'score 812 for 3.2 CPU seconds'"""
    unit = plan.cost_unit
    if plan.to_goal:
        return f"{plan.goal} after {trial.cost:.3g} {unit}" if trial.facts.get("reached") \
            else f"{plan.goal} not reached in {trial.cost:.3g} {unit}"
    return f"{plan.metric} {trial.score:.4g} for {trial.cost:.3g} {unit}"


def settings_ini(plan: Plan, settings: Mapping[str, object], head: str) -> str:
    """A trial's settings as sections of an ini: for --config, or to copy into the environment's."""
    sections: dict[str, list[str]] = {}
    texts = {full: text_of(full, value, ":" in plan.env) for full, value in settings.items()}
    for full, text in {**texts, **{full: text for full, text in plan.held.items()
                                   if full not in texts}}.items():
        section, _, name = full.partition(".")
        sections.setdefault(section, []).append(f"{name} = {text}".rstrip())
    lines = [f"# {head}"]
    for section, rows in sections.items():
        lines += ["", f"[{section}]", *rows]
    return "\n".join(lines) + "\n"


def plan_ini(plan: Plan) -> str:
    """The plan as [sweep] sections: what was asked for, to read and to use again."""
    goal = "minimize" if plan.minimize else "maximize"
    lines = ["[sweep]", f"method = {plan.method}", f"metric = {plan.metric}", f"goal = {goal}",
             f"cost = {plan.cost}", f"max_runs = {plan.runs}", f"seconds = {show(plan.seconds)}",
             f"workers = {plan.workers}", f"gpus = {plan.gpus}",
             f"max_suggestion_cost = {show(plan.limit)}",
             f"only = {', '.join(plan.rows)}"]      # not what else the environment's ini may search
    for name, row in plan.rows.items():
        lines += ["", f"[sweep.{name}]"]
        lines += [f"{key} = {', '.join(map(show, value)) if key == 'choices' else show(value)}"
                  for key, value in row.items()]
    return "\n".join(lines) + "\n"


def counts(trials: list[Stored]) -> dict[str, int]:
    """How many trials are in each state."""
    found = {state: 0 for state in (DONE, STOPPED, FAILED, RUNNING, WAITING)}
    for trial in trials:
        found[trial.state] += 1
    return found


def as_json(found: SweepResult) -> SweepDocument:
    """All of it, for programs and for the page."""
    return {"folder": str(found.folder), "env": found.plan.env, "plan": found.plan.to_dict(),
            "best": found.best_trial.number, "front": [trial.number for trial in found.front],
            "verdict": found.verdict.to_dict() if found.verdict else None,
            "unjudged": found.unjudged, "untried": found.untried,
            "trials": [_row(trial, found.began) for trial in found.trials]}


def _row(trial: Stored, began: float) -> TrialRow:
    about = trial.facts.get
    ended = about("at")
    if "ended" in trial.facts:          # in sweeps of earlier versions: seconds since 1970
        ended = round(trial.facts["ended"] - began, 3)
    return {"number": trial.number, "state": trial.state, "score": trial.score,
            "settings": trial.settings or None, "reason": about("reason"), "cost": about("cost"),
            "seed": about("seed"), "start": about("start"), "repeats": about("repeats"),
            "verdict": about("verdict"), "error": about("error"), "fell": about("fell"),
            "run": about("run"), "steps": about("steps"), "reached": about("reached"),
            "wall": about("wall"), "ended": ended}


def table(found: SweepResult) -> Table:
    """A rich table: the front and the ten best, with the settings that differ most."""
    from rich.table import Table

    plan, edge = found.plan, {trial.number for trial in found.front}
    sign = -1.0 if plan.minimize else 1.0
    done = sorted((trial for trial in found.trials if trial.state == DONE
                   and "verdict" not in trial.facts), key=lambda trial: -sign * trial.final_score)
    shown = [trial for k, trial in enumerate(done) if k < 10 or trial.number in edge]
    unit = plan.cost_unit.replace("seconds", "s")
    made = Table(box=None, padding=(0, 2, 0, 0), show_edge=False)
    for name in ("trial", "", "to goal" if plan.to_goal else plan.metric, unit,
                 *(name.partition(".")[2] for name in plan.rows)):
        made.add_column(name, justify="left" if not name else "right", no_wrap=True)
    for trial in shown:
        mark = "best" if trial.number == found.best_trial.number else \
            "default" if trial.facts.get("start") else "front" if trial.number in edge else ""
        made.add_row(str(trial.number), mark, f"{trial.score:.4g}", f"{trial.cost:.3g}",
                     *(_short(trial.settings.get(name)) for name in plan.rows))
    return made


def failures(found: SweepResult) -> list[str]:
    """A line for each trial that failed, up to ten: "trial 3 failed: its record is damaged"."""
    failed = [trial for trial in found.trials if trial.state == FAILED]
    lines = [f"trial {trial.number} failed: {trial.facts.get('error', 'no reason is known')}"
             for trial in failed[:10]]
    return lines + [f"and {len(failed) - 10} more failed"] * (len(failed) > 10)


def fallen(found: SweepResult) -> str:
    """A sentence on the trials that ended far below their best; "" if there are none."""
    fell = [trial for trial in found.trials if trial.facts.get("fell")]
    if not fell:
        return ""
    shown = found.best_trial if found.best_trial in fell else fell[0]
    return (f"{len(fell)} of {ui.plural(len(found.trials), 'trial')} ended far below their best, "
            "by which they are scored: " + f"trial {shown.number}: {shown.facts['fell']}")


def _short(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else show(value) if value is not None else ""
