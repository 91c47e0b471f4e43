"""The page of a sweep.  what results.as_json() gives -> one self-contained HTML page

Everything that an environment or a user named is escaped. The page asks no server for anything, and
its policy tells the browser so: it runs the one script whose hash it names.
"""
from __future__ import annotations

import base64
import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from markupsafe import Markup

from ...reporting.axes import spanning
from ...reporting.report_page import embed, template
from ...settings.texts import show
from ..sweep_plan import COST_UNITS
from . import sweep_charts
from .importance import Models

HERE = Path(__file__).parent
LISTED = 100            # trials in the table


def render(data: Mapping[str, Any]) -> str:
    """The page of one sweep."""
    plan = data["plan"]
    unit, metric = COST_UNITS[plan["cost"]], data["plan"]["metric"]
    if metric == "time_to_goal":
        metric = f"{unit} to the goal"
    trials = [each for each in data["trials"] if each["settings"] is not None]
    done = [each for each in trials if each["state"] == "done"]
    sign = -1.0 if plan["minimize"] else 1.0
    default = next((each["number"] for each in trials if each.get("start")), None)
    drawn = _draw(data, done, metric, unit, default) if done else {}
    names = list(plan["rows"])
    failures = Counter(each["error"] or "no reason given" for each in trials
                       if each["state"] == "failed")
    listed = sorted(done, key=lambda each: -sign * each["score"])[:LISTED]
    table = {"names": names, "trials": [[
        each["number"], each["state"], each["score"], each["cost"], each["seed"],
        each["reason"] or "", [each["settings"].get(name) for name in names],
        _others(each["settings"], names)] for each in trials]}
    return template("sweeping/page/sweep.html.jinja").render(
        show=_shown, upper_first=lambda text: text[:1].upper() + text[1:],
        data=data, plan=plan, unit=unit, metric=metric, drawn=drawn, names=names,
        counts=Counter(each["state"] for each in data["trials"]), failures=failures.most_common(),
        listed=listed, total=len(done), best=data["best"], default=default,
        edge=set(data["front"]), script=Markup(_script("sweep.js")), hash=_hash("sweep.js"),
        embedded=embed(table))


def render_map(sweeps: Sequence[Mapping[str, Any]]) -> str:
    """Several sweeps on one chart: what PufferLib's Constellation shows."""
    names = list(dict.fromkeys(name for data in sweeps for name in data["plan"]["rows"]))
    rows, groups = [], []
    for group, data in enumerate(sweeps):
        plan = data["plan"]
        done = [each for each in data["trials"] if each["state"] == "done"]
        scores = [each["score"] for each in done]
        low, high = min(scores, default=0), max(scores, default=1)
        groups.append({"label": f"{data['env']} {Path(data['folder']).name.lstrip('0')}",
                       "metric": plan["metric"], "unit": COST_UNITS[plan["cost"]]})
        for each in done:
            share = (each["score"] - low) / (high - low) if high > low else 1.0
            rows.append([group, each["number"], 1 - share if plan["minimize"] else share,
                         each["score"], each["cost"], each["steps"],
                         [each["settings"].get(name) for name in names]])
    # of rows that several sweeps have, each axis spans them all
    scales = {name: sweep_charts.axis_of(row).scale for data in sweeps
              for name, row in data["plan"]["rows"].items()}
    return template("sweeping/page/map.html.jinja").render(
        groups=groups, count=len(rows), script=Markup(_script("map.js")), hash=_hash("map.js"),
        embedded=embed({"groups": groups, "names": names, "rows": rows,
                        "scales": [scales[name] for name in names]}))


def _draw(data: Mapping[str, Any], done: list[dict[str, Any]], metric: str, unit: str,
          default: int | None) -> dict[str, Any]:
    """The charts of a sweep with one finished trial or more."""
    best = next((each for each in done if each["number"] == data["best"]), None)
    rows, start = data["plan"]["rows"], data["plan"]["start"]
    sign = -1.0 if data["plan"]["minimize"] else 1.0
    for each in done:       # a setting that the trial's own repair did not touch is the start's
        each["settings"] = {**start, **each["settings"]}
    models = Models(rows, [each["settings"] for each in done], [each["score"] for each in done],
                    [each["cost"] for each in done])
    axes = {name: sweep_charts.axis_of(row) for name, row in rows.items()}
    y_axis = spanning([each["score"] for each in done])
    cost_axis = spanning([each["cost"] for each in done], "log")
    sides = list(rows)
    made = {
        "front": sweep_charts.front(done, data["front"], data["best"], default, metric, unit,
                              _spread(done)),
        "importance": None, "verdict": None,
        "history": sweep_charts.history(done, metric, sign)
        if done[0]["ended"] is not None else None,
        "slices": [sweep_charts.slice_of(
            name, axes[name], done, y_axis,
            models.slice(k, models.space.point(best["settings"])) if models.useful and best
            else None, best)
            for k, name in enumerate(sides)],
        "parallel": sweep_charts.parallel(done, axes, y_axis, cost_axis, metric, unit,
                                          data["best"])}
    if models.useful:
        scored = models if sign > 0 else Models(
            rows, [each["settings"] for each in done], [-each["score"] for each in done],
            [each["cost"] for each in done])
        made["importance"] = sweep_charts.importance(sides, scored.importance(), "over all trials")
        made["importance_top"] = sweep_charts.importance(sides, scored.importance(top=True),
                                                   "among the best quarter")
    if data["verdict"]:
        made["verdict"] = sweep_charts.verdict(data["verdict"]["best"], data["verdict"]["default"],
                                         metric)
    return made


def _spread(done: Sequence[Mapping[str, Any]]) -> dict[int, tuple[float, float, float]]:
    """Trials that ran several times: their cost, and the least and highest score."""
    groups: dict[tuple[tuple[str, str], ...], list[Mapping[str, Any]]] = {}
    for each in done:
        key = tuple(sorted((name, str(value)) for name, value in each["settings"].items()))
        groups.setdefault(key, []).append(each)
    return {group[0]["number"]: (group[0]["cost"], min(each["score"] for each in group),
                                 max(each["score"] for each in group))
            for group in groups.values() if len(group) > 1}


def _others(settings: Mapping[str, Any], names: list[str]) -> dict[str, Any]:
    """Settings that are not searched, and that a repair set."""
    return {name: value for name, value in settings.items() if name not in names}


@cache
def _script(name: str) -> str:
    return "".join((HERE / each).read_text(encoding="utf-8") for each in ("card.js", name))


def _hash(name: str) -> str:
    """The script's hash, for the page's policy."""
    digest = hashlib.sha256(_script(name).encode()).digest()
    return "sha256-" + base64.b64encode(digest).decode()


def _shown(value: object) -> str:
    if value is None:
        return ""
    return f"{value:.4g}" if isinstance(value, float) else show(value)
