"""Is the best better?  best and default, again on new seeds at equal compute -> a sentence

The winning score is biased: it is the highest of many noisy ones. So best and default run again on
unseen seeds. The default runs as many steps as fit into the best's cost; its learning rate anneals
over those.
"""
from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Annotated, Any

from ..base import ui
from ..base.documents import says
from ..base.errors import UsageError
from ..scoring.intervals import student_t
from ..settings.texts import show
from .space import Settings
from .store import DONE, FAILED, Stored
from .sweep_plan import Plan
from .sweep_records import Facts
from .sweep_worker import best

NEW_SEEDS = 1_000_003       # added to the sweep's seed: no trial of the search has these
LEAST = 2                   # seeds without which there is no verdict: one has no interval
STEPS = "train.total_timesteps"


@dataclass(frozen=True)
class Verdict:
    """How the best settings compare with the default."""

    sentence: Annotated[str, says("what was found")]
    trial: Annotated[int, says("number of the best one")]
    seeds: Annotated[list[int], says("new ones, the same for both")]
    best: Annotated[list[float], says("what each reached: the score, or the cost to the goal")]
    default: Annotated[list[float], says("the same, of the default")]
    difference: Annotated[float, says(
        "mean of best - default over the seeds; of costs to the goal, best / default")]
    low: Annotated[float, says("lower end of its 95 % interval")]
    high: Annotated[float, says("upper end")]

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


def contenders(plan: Plan, trials: list[Stored], count: int = 3, times: int = 2
               ) -> list[Facts]:
    """Settings to repeat on new seeds before one is called the best: facts of new trials, unless an
    earlier command has added them."""
    left = [trial for trial in trials if trial.state == DONE]
    again = [trial.settings for trial in trials if "repeats" in trial.facts]
    found: list[Facts] = []
    for _ in range(count):
        if not left:
            break
        try:
            top = best(plan, left)
        except UsageError:                  # none has reached the goal
            break
        left = [trial for trial in left if trial.settings != top.settings]
        found += [{"settings": top.settings, "repeats": top.number,
                   "reason": f"trial {top.number} again, on a new seed"}
                  ] * (times - again.count(top.settings))
    return found


def pairs(plan: Plan, trials: list[Stored], seeds: int) -> tuple[int, list[Facts]]:
    """The number of the best trial, and facts of the trials that judge it: best and default on
    each new seed, where an earlier command has not run them."""
    top = best(plan, trials)
    rival = dict(plan.start)
    if not plan.to_goal:
        rival.update(_steps_for(plan, trials, top))
    ran = {(trial.facts["seed"], trial.facts["verdict"]) for trial in _rounds(trials).get(
        top.number, ()) if trial.state == DONE}
    found: list[Facts] = []
    for k in range(seeds):
        seed = plan.seed + NEW_SEEDS + k
        found += [{"settings": top.settings, "seed": seed, "verdict": "best", "trial": top.number,
                   "reason": f"trial {top.number} on an unseen seed"},
                  {"settings": rival, "seed": seed, "verdict": "default", "trial": top.number,
                   "reason": "the settings to start from, at equal compute, on an unseen seed"}]
    return top.number, [row for row in found if (row["seed"], row["verdict"]) not in ran]


def _steps_for(plan: Plan, trials: list[Stored], top: Stored) -> Settings:
    """{STEPS: as many as the default does at the best's cost}, by what the default's own trial
    cost, to its end or so far; without that, as many as the best had."""
    default = next((trial for trial in trials if trial.facts.get("start")), None)
    steps = cost = 0.0
    if default is not None and default.state == DONE:
        steps, cost = default.facts["steps"], default.cost
    elif default is not None and STEPS in plan.start:
        steps = plan.start[STEPS] * default.facts.get("share", 0.0)
        cost = default.facts.get("so_far", 0.0)
    if steps and cost and top.cost:
        return {STEPS: max(1, round(top.cost * steps / cost))}
    return {STEPS: top.settings[STEPS]} if STEPS in top.settings else {}


def _rounds(trials: list[Stored]) -> dict[int, list[Stored]]:
    """{trial that was called the best: the trials that judge it}, in the order of the verdicts."""
    rounds: dict[int, list[Stored]] = {}
    number = -1
    for trial in trials:
        if "verdict" in trial.facts:
            number = trial.facts.get("trial", number)   # once, only the best's own named it
            rounds.setdefault(number, []).append(trial)
    return rounds


def _round(trials: list[Stored], judged: int | None) -> tuple[int, list[Stored]]:
    """A trial's number, -1 for none, and the trials that judge it."""
    rounds = _rounds(trials)
    number = next(reversed(rounds), -1) if judged is None else judged
    return number, rounds.get(number, [])


def _finished(judging: list[Stored]) -> dict[int, dict[str, Stored]]:
    """{seed: {"best": trial, "default": trial}} of the seeds on which both have finished."""
    told: dict[int, dict[str, Stored]] = {}
    for trial in judging:
        if trial.state == DONE:
            told.setdefault(trial.facts["seed"], {})[trial.facts["verdict"]] = trial
    return {seed: pair for seed, pair in sorted(told.items()) if len(pair) == 2}


def judge(plan: Plan, trials: list[Stored], judged: int | None = None) -> Verdict | None:
    """The verdict on a trial, from those that judge it; None where fewer than two pairs have
    finished. judged: its number; None: what was last called the best."""
    number, judging = _round(trials, judged)
    told = _finished(judging)
    seeds = [*told]
    if len(seeds) < LEAST:
        return None
    missed = {role: sum(trial.state == DONE and trial.facts.get("reached") is False
                        for trial in judging if trial.facts["verdict"] == role)
              for role in ("best", "default")}
    ours, theirs = ([told[seed][role].final_score for seed in seeds]
                    for role in ("best", "default"))
    ratio = plan.to_goal
    each = [math.log(a / b) if ratio else a - b for a, b in zip(ours, theirs)]
    mean = sum(each) / len(each)
    deviation = math.sqrt(sum((one - mean) ** 2 for one in each) / (len(each) - 1))
    half = student_t(len(each) - 1) * deviation / math.sqrt(len(each))
    low, high = mean - half, mean + half
    gain = (high < 0) if plan.minimize else (low > 0)
    loss = (low > 0) if plan.minimize else (high < 0)
    if ratio:
        mean, low, high = math.exp(mean), math.exp(low), math.exp(high)
    a, b = sum(ours) / len(ours), sum(theirs) / len(theirs)
    sentence = _sentence(plan, number, len(seeds), a, b, mean, low, high, gain, loss, missed)
    if any(trial.number == number and trial.facts.get("start") for trial in trials):
        reached = f"{plan.goal} in {b:.2f} {plan.cost_unit}" if ratio else \
            f"{plan.metric} {show(round(b, 4))}"
        sentence = f"none is better than the default, which is trial {number}: it reaches " \
            f"{reached} (mean of {ui.plural(len(seeds), 'unseen seed')})"
    return Verdict(sentence, number, seeds, ours, theirs, mean, low, high)


def why_none(plan: Plan, trials: list[Stored], facts: Mapping[str, Any]) -> str:
    """Why there is no verdict. facts: what was noted about the sweep as a whole."""
    seeds = facts.get("seeds", 0)
    if seeds < LEAST:
        return f"--seeds {seeds} asks for none" if not seeds else \
            f"one seed has no interval: --seeds {LEAST} or more"
    if not facts.get("over"):
        return "the sweep has not come to its end: --resume goes on"
    _, judging = _round(trials, facts.get("champion"))
    more = f"--resume --seconds {facts['needed']} gives it time" if facts.get("needed") \
        else "--resume goes on"
    if not judging:
        return f"the time was over before best and default could run again; {more}"
    failed = [trial for trial in judging if trial.state == FAILED]
    count = f"{len(_finished(judging))} of {ui.plural(seeds, 'pair')} of best and default"
    if failed:
        return f"{count} finished; trial {failed[-1].number} failed: {failed[-1].facts['error']}"
    return f"the time was over when {count} had finished; {more}"


def untried(plan: Plan, trials: list[Stored]) -> str:
    """What a best of short runs says nothing of; "" where runs as long as the space allows, or as
    the environment's own settings ask for, have finished."""
    row = plan.rows.get(STEPS)
    longest = max((trial.settings.get(STEPS, 0) for trial in trials if trial.state == DONE
                   and "verdict" not in trial.facts), default=0)
    if row is None or not longest:
        return ""
    top = max(row["choices"]) if "choices" in row else row["max"]
    if 2 * longest > top and longest >= plan.start[STEPS]:
        return ""
    return (f"runs of more than {longest:,} steps: none has finished; the space goes to "
            f"{top:,}, the settings to start from ask for {plan.start[STEPS]:,}")


def _sentence(plan: Plan, number: int, seeds: int, a: float, b: float, mean: float, low: float,
              high: float, gain: bool, loss: bool, missed: Mapping[str, int]) -> str:
    count = ui.plural(seeds, "unseen seed")
    if plan.to_goal:
        unit = plan.cost_unit
        facts = (f"trial {number} reaches {plan.goal} in {a:.2f} {unit}, the default in {b:.2f} "
                 f"(means of {count}): {mean:.2f} of the cost, 95 % from {low:.2f} to {high:.2f}")
        facts += "".join(f"; {ui.plural(times, 'run')} of {who} did not reach it, and "
                         f"{'counts' if times == 1 else 'count'} twice what any run needed, or more"
                         for who, times in ((f"trial {number}", missed["best"]),
                                            ("the default", missed["default"])) if times)
    else:
        facts = (f"trial {number} reaches {plan.metric} {show(round(a, 4))}, the default "
                 f"{show(round(b, 4))} (means of {count} at equal compute): difference "
                 f"{mean:+.3g}, 95 % from {low:+.3g} to {high:+.3g}")
    if gain:
        return f"better: {facts}"
    return f"worse than the default: {facts}" if loss else \
        f"no better than chance: {facts}, and 0 lies within" if not plan.to_goal else \
        f"no better than chance: {facts}, and 1 lies within"
