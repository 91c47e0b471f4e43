"""What a change did, number by number.  two reports' data -> rows, each with a note on noise

    seeds       the ranges of both sets of seeds, and how often chance would separate them
    intervals   95 % intervals of the evaluation's means
    rounds      the ranges that a rate had while it was measured
    exact       hashes, sizes, findings and settings: there is no noise in them

Times of different machines are not compared; ratios to Squared are.
"""
from __future__ import annotations

import math
import re
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ..base import files, records
from ..base.errors import Damaged, UsageError
from . import curves
from .axes import number
from .charts import BaseCurve
from .keeping import Facts
from .report_page import DATA_ID, measure
from .subject import FORMAT
from .summary import finals, in_seconds, size

WHAT = "the report to compare with"


@dataclass
class Base:
    """What the page takes from a base as it is; its numbers are read part by part."""

    env: str
    source: str                 # a key of its sources
    machine: Facts


def load(path: Path) -> Facts:
    """The data of an earlier report: its .json, or its .html. Raises UsageError."""
    try:
        text = records.content(files.typed(path), WHAT).decode()
        found = re.search(rf'<script type="application/json" id="{DATA_ID}">(.*?)</script>', text,
                          re.DOTALL)
        data = records.convert(records.parse(found[1] if found else text, path),
                               dict[str, object], path, WHAT)
        version = data["format"]
    except (KeyError, UnicodeError, Damaged) as error:
        raise UsageError("this is not a report", where=path, expected="the .html or .json of an "
                         "earlier `puffer-sdk report`, or an environment",
                         detail=getattr(error, "detail", None)) from None
    if version not in range(1, FORMAT + 1):     # 1 tells less of each seed
        raise UsageError("this report was written by another version", where=path,
                         expected=f"format {FORMAT} or less", actual=f"format {version}",
                         hint="create a new one: puffer-sdk report")
    data.pop("comparison", None)
    return data


def compare(base: Facts, now: Facts, name: str) -> Facts:
    """What the page and the summary show. name: of the base, for people."""
    with records.read_as(WHAT, name):
        records.convert(base, Base, name, WHAT)
        rows = [row for part in (_settings, _checks, _seeds, _evaluations, _rates, _sizes, _hashes)
                for row in part(base, now)]
        curve = _base_curve(base, now)
    return {"base": name, "base_env": base["env"], "base_source": base["source"],
            "same_machine": same_machine(base, now), "rows": rows, "curve": curve}


def same_machine(base: Facts, now: Facts) -> bool:
    return bool(base["machine"] == now["machine"])


def row(name: str, base: str, now: str, word: str, *, changed: bool | None = None,
        timing: bool = False) -> Facts:
    """changed: whether a reader should look; None: True if the texts differ."""
    return {"name": name, "base": base, "now": now, "word": word, "timing": timing,
            "changed": base != now if changed is None else changed}


def _checks(base: Facts, now: Facts) -> list[Facts]:
    if "failed" in base["check"] or "failed" in now["check"]:
        before, after = (each["check"].get("verdict", "did not run") for each in (base, now))
        return [row("check", before, after, "exact")]
    codes = [{finding["code"] for finding in each["check"]["findings"]} for each in (base, now)]
    found = [row("check", base["check"]["verdict"], now["check"]["verdict"], "exact")]
    for code in sorted(codes[0] ^ codes[1]):
        gone = code in codes[0]
        found.append(row(f"finding {code}", "found" if gone else "-", "-" if gone else "found",
                         "fixed" if gone else "new"))
    return found


def _seeds(base: Facts, now: Facts) -> list[Facts]:
    found = []
    metric = now["training"]["metric"]
    names = [name for name in dict.fromkeys([metric, "perf", "score", "episode_return",
                                             "episode_length"]) if name]
    for name in names:
        pair = [finals(each["training"], name) for each in (base, now)]
        if all(pair):
            found.append(_of_sets(f"{name}, median of seeds", *pair))
    if base["training"]["goal"] != now["training"]["goal"]:
        found.append(row("goal", base["training"]["goal"] or "-", now["training"]["goal"] or "-",
                         "times to reach it are not compared"))
    elif now["training"]["goal"]:
        steps = [[seed["goal_step"] or math.inf for seed in each["training"]["seeds"]]
                 for each in (base, now)]
        if all(steps):
            found.append(_of_sets("steps to the goal", *steps))
        seconds = [[clock["goal_seconds"] or math.inf for clock in each["timings"]["training"]]
                   for each in (base, now)]
        if all(seconds) and same_machine(base, now):
            found.append(_of_sets("seconds to the goal", *seconds, timing=True))
    return found


def _of_sets(name: str, base: Sequence[float], now: Sequence[float], *,
             timing: bool = False) -> Facts:
    """A row of two sets of seeds, by their medians."""
    show = in_seconds if timing else number
    before, after = (show(value) if math.isfinite(value) else "never"
                     for value in map(statistics.median, (base, now)))
    word, apart = compare_seeds(base, now)
    return row(name, before, after, word, changed=apart, timing=timing)


def compare_seeds(base: Sequence[float], now: Sequence[float]) -> tuple[str, bool]:
    """What seeds say of a difference: a note, and whether it exceeds their spread."""
    if sorted(base) == sorted(now):
        return "the same", False
    if min(now) <= max(base) and min(base) <= max(now):
        return "within the spread of the seeds", False
    if min(len(base), len(now)) < 2:
        return "one seed: noise is not known", True
    ways = math.comb(len(base) + len(now), len(base))
    side = "above" if min(now) > max(base) else "below"
    return f"every seed {side} the base's; by chance 1 time in {ways // 2}", True


def _evaluations(base: Facts, now: Facts) -> list[Facts]:
    found = []
    for policy in ("trained", "random"):
        pair = [each["evaluation"].get("policies", {}).get(policy) for each in (base, now)]
        if None in pair or pair[0]["unit"] != pair[1]["unit"]:
            continue
        for name in pair[1]["mean"]:
            means = [score["mean"].get(name) for score in pair]
            halves = [score["interval"].get(name) for score in pair]
            if None in means:
                continue
            before, after = map(measure, means, halves)
            word, apart = _by_intervals(means, halves)
            found.append(row(f"{policy} play: {name.replace('_', ' ')}", before, after, word,
                             changed=apart))
    return found


def _by_intervals(means: Sequence[float], halves: Sequence[float | None]) -> tuple[str, bool]:
    """95 % intervals of independent means: half widths add as the root of the sum of squares."""
    if means[0] == means[1]:
        return "the same", False
    known = [half for half in halves if half is not None]
    if len(known) < len(halves):
        return "noise is not known", True
    apart = abs(means[1] - means[0]) > math.hypot(*known)
    return ("beyond" if apart else "within") + " the 95 % intervals", apart


def _rates(base: Facts, now: Facts) -> list[Facts]:
    pair = [each["timings"]["rates"] for each in (base, now)]
    if not all(pair):
        return []
    beside = all("ratio" in each["training"] for each in pair)      # else compared on one machine
    if not beside and not same_machine(base, now):
        return []
    found = []
    for kind in ("stepping", "training"):
        rates = [each[kind] for each in pair]
        low, high = zip(*((each["low"], each["high"]) if beside else
                          (min(each["own"]), max(each["own"])) for each in rates))
        apart = not (low[1] <= high[0] and low[0] <= high[1])
        before, after = (f"{each['ratio']:.2f} x" if beside
                         else number(statistics.median(each["own"])) for each in rates)
        found.append(row(f"{kind}, relative to Squared" if beside else f"{kind}, steps/s", before,
                         after, ("outside" if apart else "within") + " the range of the rounds",
                         changed=apart, timing=True))
    return found


def _sizes(base: Facts, now: Facts) -> list[Facts]:
    found = []
    if "bytes" in base.get("web", {}) and "bytes" in now.get("web", {}):
        found.append(row("web page", size(base["web"]["bytes"]), size(now["web"]["bytes"]),
                         "exact", changed=base["web"]["bytes"] != now["web"]["bytes"]))
    for key, name in (("agents_per_env", "agents of an env"), ("obs_size", "observations"),
                      ("obs_dtype", "their type"), ("act_sizes", "action heads"),
                      ("log_names", "logged")):
        before, after = (_text(each["environment"].get(key)) for each in (base, now))
        if before != after:
            found.append(row(name, before, after, "exact"))
    return found


def _text(value: object) -> str:
    if isinstance(value, list):
        return ", ".join(map(str, value)) or "-"
    return "-" if value is None else str(value)


def _settings(base: Facts, now: Facts) -> list[Facts]:
    pair = [{each["name"]: each["value"] for each in data["settings"]} for data in (base, now)]
    return [row(name, pair[0].get(name, "-"), pair[1].get(name, "-"), "a setting")
            for name in dict.fromkeys([*pair[1], *pair[0]])
            if name != "base.env_name" and pair[0].get(name) != pair[1].get(name)]


def _hashes(base: Facts, now: Facts) -> list[Facts]:
    """Whether trajectories and weights are the same, byte for byte."""
    found = []
    pair = [each["determinism"].get("hash") for each in (base, now)]
    if all(pair):
        found.append(row("trajectories of random play", pair[0][:8], pair[1][:8],
                         "byte for byte the same" if pair[0] == pair[1]
                         else "the game has changed"))
    weights = [{seed["seed"]: seed["weights"] for seed in each["training"]["seeds"]}
               for each in (base, now)]
    for seed in sorted(set(weights[0]) & set(weights[1])):
        pair = [each[seed] for each in weights]
        found.append(row(f"weights of seed {seed}", pair[0][:8], pair[1][:8],
                         "byte for byte the same" if pair[0] == pair[1]
                         else "another training"))
    return found


def _base_curve(base: Facts, now: Facts) -> BaseCurve | None:
    """The base's median learning curve, drawn below ours."""
    metric = now["training"]["metric"]
    seeds = [seed for seed in base["training"]["seeds"] if metric in seed["curves"]]
    if not metric or not seeds:
        return None
    median, _ = curves.middle_and_worst(seeds, metric, now["training"]["least_is_best"])
    return {"step": [float(step) for step in seeds[0]["curves"]["step"][:len(median)]],
            "median": [None if value is None else float(value) for value in median]}
