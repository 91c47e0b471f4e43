"""What a reader must know first.  data -> rows for the terminal, the page and the pull request"""
from __future__ import annotations

import math
import statistics
from dataclasses import dataclass

from ..base import ui
from ..checking.report import beyond
from ..scoring import words
from ..training.train import meets
from .axes import number
from .keeping import Facts


@dataclass(frozen=True)
class Row:
    """One line of the summary."""

    label: str
    text: str               # the same in every measurement
    timing: str = ""        # what differs between measurements
    good: bool | None = None    # None: neither good nor bad

    @property
    def whole(self) -> str:
        return ", ".join(filter(None, (self.text, self.timing)))


def rows(data: Facts) -> list[Row]:
    """Every line of the summary, in order."""
    found = [_check(data), *_outside(data), *_training(data), _rates(data), _determinism(data)]
    return [*found, _page(data)] if "web" in data else found


def problems(data: Facts) -> list[str]:
    """Why the report's status is 1; empty if nothing is wrong."""
    found = []
    check, play = data["check"], data["determinism"]
    if "failed" in check:
        found.append(f"check did not finish: {check['failed']}")
    elif check["verdict"] != "pass":
        found.append(f"check fails: {count_findings(check)}")
    for name, what in (("determinism", "random play"), ("training", "training"),
                       ("evaluation", "evaluation")):
        if "failed" in data[name] and data[name]["failed"] != "there is no trained policy":
            found.append(f"{what} failed: {data[name]['failed']}")
    if play.get("same") is False:
        found.append("the same seed does not give the same trajectories")
    return found


def count_findings(check: Facts) -> str:
    """'2 errors and 1 warning'"""
    errors = sum(finding["severity"] == "error" for finding in check["findings"])
    warnings = len(check["findings"]) - errors
    more = sum(check.get("more", {}).values())
    counts = [ui.plural(n, word) for n, word in ((errors, "error"), (warnings, "warning")) if n]
    return " and ".join(counts) + (f", and {more} more of the same rules" if more else "") \
        or "nothing found"


def _check(data: Facts) -> Row:
    check = data["check"]
    if "failed" in check:
        return Row("check", check["failed"], good=False)
    found = count_findings(check)
    return Row("check", f"{check['verdict']}: {found} by {check['rules']} rules in "
               f"{number(check['env_steps'])} env steps", good=check["verdict"] == "pass")


def _outside(data: Facts) -> list[Row]:
    """What the environment does beyond its game; most do nothing."""
    check = data["check"]
    places = beyond.count(check.get("findings"), check.get("suppressed"), more=check.get("more"))
    asked = [beyond.answer(one) for one in check.get("asked", ())]
    if not places and not asked:
        return []
    return [Row("outside", f"it {beyond.says(places, asked)}", good=False)]


def _training(data: Facts) -> list[Row]:
    training, clocks = data["training"], data["timings"]["training"]
    seeds, metric = training["seeds"], training["metric"]
    if not seeds:
        return [Row("training", training.get("failed", "no seed was trained"), good=False)]
    return [_solved(training, clocks), *([_reached(data, metric)] if metric else []),
            *_fallen(seeds), *_why(seeds)]


def _fallen(seeds: list[Facts]) -> list[Row]:
    """Seeds that ended far below their best."""
    lost = [text for seed in seeds if seed.get("claim") and (text := words.fell(seed["claim"]))]
    return [Row("kept", f"of {len(lost)} of {ui.plural(len(seeds), 'seed')}, {lost[0]}"
                f"; {words.FELL_HINT}", good=False)] if lost else []


def _why(seeds: list[Facts]) -> list[Row]:
    """Why the first seed that does not learn does not."""
    first = next((seed for seed in seeds if seed.get("why")), None)
    return [Row("why", f"seed {first['seed']}: {'; '.join(first['why'])}", good=False)] \
        if first else []


def _solved(training: Facts, clocks: list[Facts]) -> Row:
    seeds, goal = training["seeds"], training["goal"]
    if goal is None and "registered" in training:
        goal = training["registered"]
        met = sum(meets(goal, seed.get("claim")) for seed in seeds)
        return Row("solved", f"{met} of {ui.plural(len(seeds), 'seed')} reach"
                   f"{'es' * (len(seeds) == 1)} {goal}, as Gymnasium registers",
                   good=met == len(seeds) or None)
    if goal is None:
        return Row("solved", "the ini states no goal ([eval] goal)")
    solved = [seed for seed in seeds if seed["goal_step"]]
    text = (f"{len(solved)} of {ui.plural(len(seeds), 'seed')} "
            f"reach{'es' * (len(seeds) == 1)} {goal}")
    if not solved:
        return Row("solved", text, good=False)
    seconds = [clock["goal_seconds"] for clock in clocks if clock["goal_seconds"]]
    steps = statistics.median(seed["goal_step"] for seed in solved)
    return Row("solved", f"{text}, after {number(steps)} steps (median)",
               f"{in_seconds(statistics.median(seconds))} s",
               good=len(solved) == len(seeds))


def _reached(data: Facts, metric: str) -> Row:
    training = data["training"]
    values = finals(training, metric)
    policies = data["evaluation"].get("policies", {})
    if not values and "return_per_1000_ticks" not in policies.get("trained", {}).get("mean", {}):
        return Row("reached", f"{metric}: nothing was logged", good=None)
    worst = max(values, default=0) if training["least_is_best"] else min(values, default=0)
    text = f"{metric} {number(statistics.median(values))}" if values else \
        f"{metric}: no episode of the trained policy ended"
    if len(values) > 1:
        text += f" (median), {number(worst)} (worst of {len(values)} seeds)"
    beside = [f"{name} {number(policies[name]['mean'][metric])}" for name in ("random", "idle")
              if metric in policies.get(name, {}).get("mean", {})]
    per_ticks = {name: score["mean"]["return_per_1000_ticks"] for name, score in policies.items()
                 if "return_per_1000_ticks" in score["mean"]}
    if not beside and "trained" in per_ticks:           # episodes do not end
        beside = ["return per agent per 1000 ticks "
                  + ", ".join(f"{name} {number(mean)}" for name, mean in per_ticks.items())]
    return Row("reached", "; ".join([text, ", ".join(beside)] if beside else [text]))


def finals(training: Facts, metric: str) -> list[float]:
    """What each seed reached, if that is a number."""
    return [value for seed in training["seeds"]
            if isinstance(value := seed["final"].get(metric), (int, float))
            and math.isfinite(value)]


def _rates(data: Facts) -> Row:
    if "failed" in data["rates"]:
        return Row("speed", data["rates"]["failed"], good=None)
    found = data["timings"]["rates"]
    step, train = (number(statistics.median(found[kind]["own"]))
                   for kind in ("stepping", "training"))
    if "ratio" not in found["training"]:
        return Row("speed", "", f"training {train} steps/s, stepping {step} steps/s")
    return Row("speed", "", f"training {found['training']['ratio']:.2f} x Squared "
               f"({train} steps/s), stepping {found['stepping']['ratio']:.2f} x ({step} steps/s)")


def _determinism(data: Facts) -> Row:
    found = data["determinism"]
    if "failed" in found:
        return Row("same seed", found["failed"], good=False)
    if not found["same"]:
        return Row("same seed", "not the same trajectories", good=False)
    return Row("same seed", f"the same trajectories, SHA-256 {found['hash'][:16]}", good=True)


def _page(data: Facts) -> Row:
    found = data["web"]
    if "failed" in found:
        return Row("web page", f"not built: {found['failed']}", good=None)
    return Row("web page", f"{size(found['bytes'])}, {size(found['zipped'])} compressed", good=None)


def in_seconds(value: float) -> str:
    """'0.53', '1.8', '214': a repetition would confirm no more than two digits."""
    return f"{value:.2g}" if value < 10 else f"{value:,.0f}"


def size(count: int) -> str:
    """'386 KB'"""
    return f"{count / 1000:,.0f} KB" if count < 1_000_000 else f"{count / 1e6:,.1f} MB"
