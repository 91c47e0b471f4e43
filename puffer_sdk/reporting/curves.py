"""From rows of metrics to what is drawn.  metrics.jsonl, episodes -> curves, histograms

A curve is a mean for each of at most POINTS equal stretches of a training, weighted by log
entries; None where nothing was logged.
"""
from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence

from ..scoring.games import WIN
from ..settings.goal import parse_goal
from ..settings.values import Config
from .keeping import Facts

POINTS = 80
BINS = 20
ELO = "selfplay/elo"    # of the learner, at the end of each stretch
HEADLINE = ("perf", "score", "episode_return", "episode_length")


def sample(rows: Sequence[Facts], resolved: Config) -> dict[str, list[float | None]]:
    """{"step": right ends of the stretches, "perf": means, ...}"""
    batch = resolved.vec.total_agents * resolved.train.horizon
    epochs = max(1, resolved.train.total_timesteps // batch)
    points = min(POINTS, epochs)
    edges = [-(-epochs * (i + 1) // points) for i in range(points)]    # last epoch of each
    groups: list[list[Facts]] = [[] for _ in edges]
    at = 0
    for row in rows:
        while at < points - 1 and row["epoch"] > edges[at]:
            at += 1
        groups[at].append(row)
    used = max((i for i, group in enumerate(groups) if group), default=-1) + 1
    names = _names(rows)
    usual = [name for name in HEADLINE if name in names]
    drawn = list(dict.fromkeys([*_goal_name(resolved, names), *usual]))
    found: dict[str, list[float | None]] = {
        "step": [edge * batch for edge in edges[:used]],
        **{name: [_mean(group, name) for group in groups[:used]] for name in drawn}}
    if rows and ELO in rows[0]:
        found["elo"] = [group[-1][ELO] if group else None for group in groups[:used]]
    return found


def gather(trainings: list[Facts], resolved: Config, registered: str = "") -> Facts:
    """What several seeds have in common: the headline metric, and the median seed.

    trainings    the facts of each, the last of which may have failed
    registered  the goal of an environment that is registered with one, where the ini states none
    """
    done = [one for one in trainings if "failed" not in one]
    failed = next((one["failed"] for one in trainings if "failed" in one), None)
    goal = parse_goal(resolved.eval.goal)
    names = [name for name in done[0]["curves"] if name != "step"] if done else []
    metric = names[0] if names else None
    if done and ((done[0].get("claim") or {}).get("trained") or {}).get("opponent"):
        metric = WIN            # of games: what both sides log together says nothing of either
    facts: Facts = {"goal": str(goal) if goal else None, "metric": metric,
             "least_is_best": bool(goal and not goal.at_least and goal.name == metric),
             "seeds": done, "timesteps": resolved.train.total_timesteps}
    if failed:
        facts["failed"] = failed
    if registered and not goal:
        facts["registered"] = registered
    if done:
        ordered = sorted(done, key=lambda one: (_number(one["final"].get(metric)), one["seed"]))
        middle = ordered[(len(ordered) - 1) // 2] if not facts["least_is_best"] \
            else ordered[len(ordered) // 2]
        facts["median_seed"] = middle["seed"]
    return facts


def middle_and_worst(seeds: Sequence[Facts], metric: str,
                     least_is_best: bool) -> tuple[list[float | None], list[float | None]]:
    """(median, worst) over seeds at each stretch; None where a seed has logged nothing yet.

    A stretch without entries takes the value before it.
    """
    filled = [_fill(seed["curves"].get(metric, [])) for seed in seeds]
    length = min(map(len, filled), default=0)
    columns = [[curve[i] for curve in filled] for i in range(length)]
    every = [[value for value in column if value is not None] for column in columns]
    whole = [len(values) == len(seeds) for values in every]
    worst = max if least_is_best else min
    return ([statistics.median(values) if all_ else None for values, all_ in zip(every, whole)],
            [worst(values) if all_ else None for values, all_ in zip(every, whole)])


def of_episodes(policies: Mapping[str, Facts]) -> dict[str, Facts]:
    """Histograms of episode lengths and returns, with the same bins for every policy.

    {"episode_length": {"low", "high", "counts": {"trained": [...], "random": [...]}}}
    """
    found: dict[str, Facts] = {}
    for name in ("episode_length", "episode_return"):
        values = {policy: [episode[name] for episode in score["episodes"]
                           if isinstance(episode.get(name), (int, float))]
                  for policy, score in policies.items()}
        every = [value for numbers in values.values() for value in numbers]
        if not every or not math.isfinite(sum(every)):
            continue
        low, high, bins = min(every), max(every), BINS
        if name == "episode_length":            # a whole number of ticks in each bin
            width = -(-int(high - low + 1) // BINS)
            bins = -(-int(high - low + 1) // width)
            low, high = low - 0.5, low - 0.5 + width * bins
        found[name] = {"low": low, "high": high, "counts": {
            policy: _histogram(numbers, low, high, bins) for policy, numbers in values.items()}}
    return found


def _histogram(values: Sequence[float], low: float, high: float, bins: int) -> list[int]:
    counts = [0] * bins
    for value in values:
        share = (value - low) / (high - low) if high > low else 0.0
        counts[min(int(share * bins), bins - 1)] += 1
    return counts


def _names(rows: Sequence[Facts]) -> list[str]:
    """The logged metrics: 'perf' of 'env/perf', HEADLINE first."""
    names = dict.fromkeys(key[4:] for row in rows for key in row
                          if key.startswith("env/") and key != "env/n")
    return sorted(names, key=lambda n: HEADLINE.index(n) if n in HEADLINE else len(HEADLINE))


def _goal_name(resolved: Config, names: list[str]) -> list[str]:
    goal = parse_goal(resolved.eval.goal)
    return [goal.name] if goal and goal.name in names else []


def _entries(row: Facts) -> float:
    return row.get("env/n") or 0.0


def _mean(rows: Sequence[Facts], name: str) -> float | None:
    pairs = [(row[f"env/{name}"], _entries(row)) for row in rows
             if isinstance(row.get(f"env/{name}"), (int, float)) and _entries(row) > 0]
    weight = sum(n for _, n in pairs)
    return sum(value * n for value, n in pairs) / weight if weight else None


def _fill(curve: Sequence[float | None]) -> list[float | None]:
    filled: list[float | None] = []
    last = None
    for value in curve:
        last = value if value is not None else last
        filled.append(last)
    return filled


def _number(value: object) -> float:
    return value if isinstance(value, (int, float)) and math.isfinite(value) else -math.inf
