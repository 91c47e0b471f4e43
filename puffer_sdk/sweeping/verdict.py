"""Is the best better?  best and default, again on new seeds at equal compute -> a sentence

The score with which a trial won is too good: it is the highest of many noisy ones. So best and
default run again, both on seeds that no trial had. The default gets as many steps as the best's
cost pays for, and its learning rate anneals over those.
"""
from __future__ import annotations

import math
from dataclasses import asdict, dataclass

from ..base import ui
from ..base.errors import UsageError
from ..scoring.intervals import student_t
from ..settings.texts import show
from .plan import Plan
from .store import DONE, Stored
from .worker import best

NEW_SEEDS = 1_000_003       # added to the sweep's seed: no trial of the search has these
STEPS = "train.total_timesteps"


@dataclass(frozen=True)
class Verdict:
    """best and default: what each seed reached, the score or the cost to the goal.

    difference, low, high   mean of best - default over the seeds, and its 95 % interval; of costs
                            to the goal, best / default
    """

    sentence: str
    trial: int
    seeds: list
    best: list
    default: list
    difference: float
    low: float
    high: float

    def to_dict(self) -> dict:
        return asdict(self)


def contenders(plan: Plan, trials: list[Stored], count: int = 3, times: int = 2) -> list[dict]:
    """What to run again on new seeds before one is called the best: facts of new trials."""
    left = [trial for trial in trials if trial.state == DONE]
    found: list[dict] = []
    while left and len(found) < count * times:
        try:
            top = best(plan, left)
        except UsageError:                  # none has reached the goal
            break
        left = [trial for trial in left if trial.settings != top.settings]
        found += [{"settings": top.settings, "repeats": top.number,
                   "reason": f"trial {top.number} again, on a new seed"}] * times
    return found


def pairs(plan: Plan, trials: list[Stored], seeds: int) -> list[dict]:
    """Facts of the trials that judge: best and default on each new seed."""
    top, default = best(plan, trials), next(
        (trial for trial in trials if trial.state == DONE and trial.facts.get("start")), None)
    rival = dict(plan.start)
    if default is not None and not plan.to_goal and top.cost:
        rate = default.cost / default.facts["steps"]
        rival[STEPS] = max(1, round(top.cost / rate))
    found = []
    for k in range(seeds):
        seed = plan.seed + NEW_SEEDS + k
        found += [{"settings": top.settings, "seed": seed, "verdict": "best", "trial": top.number,
                   "reason": f"trial {top.number} on an unseen seed"},
                  {"settings": rival, "seed": seed, "verdict": "default",
                   "reason": "the settings to start from, at equal compute, on an unseen seed"}]
    return found


def judge(plan: Plan, trials: list[Stored]) -> Verdict | None:
    """The verdict, from the trials that judge; None where fewer than two pairs have finished."""
    told: dict = {}
    number, missed = 0, {"best": 0, "default": 0}
    for trial in trials:
        role = trial.facts.get("verdict")
        if role and trial.state == DONE:
            missed[role] += trial.facts.get("reached") is False
            told.setdefault(trial.facts["seed"], {})[role] = trial.score
            number = trial.facts.get("trial", number)
    seeds = [seed for seed, pair in sorted(told.items()) if len(pair) == 2]
    if len(seeds) < 2:
        return None
    ours, theirs = ([told[seed][role] for seed in seeds] for role in ("best", "default"))
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
    return Verdict(sentence, number, seeds, ours, theirs, mean, low, high)


def _sentence(plan, number, seeds, a, b, mean, low, high, gain, loss, missed) -> str:
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
