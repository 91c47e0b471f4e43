"""Learning curves of runs.  runs -> curves in the terminal, or an SVG, PNG or HTML file

Runs of one code (provenance.py) that differ only in their seed are one curve: the mean over seeds,
in a band that is the 95 % interval of this mean (bootstrap over seeds). The same seed twice counts
once, by its newest run. A point is a mean over an equal stretch of steps, weighted by log entries.
"""
from __future__ import annotations

import html
import io
import math
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from ..base import drafts, extras, files
from ..base.errors import UsageError, did_you_mean
from ..settings.goal import parse_goal
from .runs import SHOWN, Row, Run

POINTS = 120
RESAMPLES = 2000        # of the bootstrap
SUFFIXES = (".svg", ".png", ".html")
USUAL = ("perf", "score", "episode_return", "episode_length")
SIZE = (9.0, 5.0)           # inches, of a picture; 100 pixels each
COLOURS = ("#0b7285", "#e8590c", "#5f3dc4", "#2b8a3e", "#c2255c", "#495057", "#1864ab", "#e67700")


@dataclass(frozen=True)
class Curve:
    """One run, or several seeds of one.  (m,) lists; low and high are equal for one seed."""

    label: str              # "run 3", "runs 4, 5, 6 (seeds)", ...: what differs stands behind it
    runs: list[Run]
    steps: list[float]      # right end of each stretch
    mean: list[float]
    low: list[float]        # of the 95 % interval of the mean
    high: list[float]


def curves(runs: Sequence[Run], metric: str | None = None, *,
           together: bool = True) -> tuple[str, list[Curve]]:
    """The metric and a curve for each group of runs.

    together    seeds of the same settings are one group

    metric      a name that the environment logs, or any key of metrics.jsonl; None: what the first
                run's goal names, else perf, else the first that is logged
    Raises UsageError where no run has logged it.
    """
    rows = {run: run.metrics() for run in runs}
    name = metric or _usual(runs[0], rows[runs[0]])
    key = next((key for key in (f"env/{name}", name) if any(key in row for run in runs
                                                            for row in rows[run])), None)
    if key is None:
        known = list(dict.fromkeys(key.removeprefix("env/") for run in runs for row in rows[run]
                                   for key in row if not key.startswith("window/")))
        raise UsageError(f"these runs have logged no '{name}'", where=runs[0].folder,
                         expected=", ".join(known[:12]) if known else "a run with metrics",
                         actual=name, hint=did_you_mean(name, known))
    groups: dict[tuple[object, ...], dict[str, Run]] = {}
    for run in sorted(runs, key=lambda run: run.number):
        if any(key in row for row in rows[run]):
            settings = run.settings()
            seed = settings.pop("train.seed", "")
            alone = () if together else (run.number,)
            key_of = (run.folder.parent, *alone, run.codes, *sorted(settings.items()))
            groups.setdefault(key_of, {})[seed] = run       # the newest of this seed
    chosen = [list(group.values()) for group in groups.values()]
    return key.removeprefix("env/"), [
        _curve(label, found, [rows[run] for run in found], key)
        for label, found in zip(_labels(chosen), chosen)]


def _usual(run: Run, rows: list[Row]) -> str:
    logged = list(dict.fromkeys(key[4:] for row in rows for key in row
                                if key.startswith("env/") and key != "env/n"))
    goal = None
    with suppress(ValueError):
        goal = parse_goal(run.settings().get("eval.goal", ""))
    wanted = ([goal.name] if goal else []) + [*USUAL, *logged]
    return next((name for name in wanted if name in logged), "perf")


def _labels(groups: list[list[Run]]) -> list[str]:
    """Numbers of the runs, and the settings in which groups differ."""
    each = [group[0].settings() for group in groups]
    differing = [key for key in dict.fromkeys(key for one in each for key in one)
                 if key != "train.seed" and len({one.get(key) for one in each}) > 1]
    several = len({group[0].folder.parent for group in groups}) > 1
    codes = [group[0].codes[-1:] for group in groups]
    out = []
    for group, settings, code in zip(groups, each, codes):
        name = f"{group[0].env} " if several else ""
        numbers = ", ".join(str(run.number) for run in group)
        label = f"{name}run {numbers}" if len(group) == 1 else \
            f"{name}runs {numbers} (mean of {len(group)} seeds, 95 % interval)"
        facts = [f"{key.partition('.')[2]} {settings.get(key) or 'none'}" for key in differing[:2]]
        if len({*codes}) > 1:
            facts.append(f"code {code[0][:SHOWN] if code else 'not known'}")
        out.append(": ".join([label, ", ".join(facts)]) if facts else label)
    return out


def _curve(label: str, runs: list[Run], rows: list[list[Row]], key: str) -> Curve:
    end = max((row.get("step") or 0 for one in rows for row in one), default=0) or 1
    longest = max(sum(key in row for row in one) for one in rows)
    points = max(1, min(POINTS, longest))
    each = [_binned(one, key, end, points) for one in rows]
    steps, mean, low, high = [], [], [], []
    for place in range(points):
        values = [value for one in each if (value := one[place]) is not None]
        if values:
            steps.append(end * (place + 1) / points)
            mean.append(math.fsum(values) / len(values))
            below, above = _interval(values)
            low.append(below)
            high.append(above)
    return Curve(label, runs, steps, mean, low, high)


def _interval(values: Sequence[float]) -> tuple[float, float]:
    """95 % of the means of as many seeds, drawn with replacement, always the same draws."""
    import numpy as np

    draws = np.random.default_rng(0).integers(0, len(values), (RESAMPLES, len(values)))
    low, high = np.quantile(np.array(values)[draws].mean(1), (0.025, 0.975))
    return float(low), float(high)


def _binned(rows: list[Row], key: str, end: float, points: int) -> list[float | None]:
    sums, weights = [0.0] * points, [0.0] * points
    for row in rows:
        value, step = row.get(key), row.get("step")
        if value is None or step is None:
            continue
        place = min(points - 1, max(0, math.ceil(step / end * points) - 1))
        weight = row.get("env/n") or 1.0 if key.startswith("env/") else 1.0
        sums[place] += weight * value
        weights[place] += weight
    return [total / weight if weight else None for total, weight in zip(sums, weights)]


# -- drawn ------------------------------------------------------------------------------------


def terminal(metric: str, found: Sequence[Curve], *, width: int = 80, height: int = 20,
             colour: bool = True) -> str:
    """The curves as characters. A band is its two edges."""
    import plotext

    plotext.clear_figure()
    plotext.theme("pro" if colour else "clear")
    plotext.plotsize(max(30, width), height)
    for number, curve in enumerate(found):
        tint = {"color": _rgb(COLOURS[number % len(COLOURS)])} if colour else {}
        if len(curve.runs) > 1:
            for edge in (curve.low, curve.high):
                plotext.plot(curve.steps, edge, marker="dot", **tint)
        plotext.plot(curve.steps, curve.mean, marker="braille" if colour else "dot"
                     if number else "braille", label=curve.label, **tint)
    last = max(curve.steps[-1] for curve in found)
    ticks = [last * share / 4 for share in range(5)]
    plotext.xticks(ticks, [amount(tick) for tick in ticks])
    plotext.title(metric.replace("_", " "))
    plotext.xlabel("agent steps")
    text = plotext.build()
    plotext.clear_figure()
    text = text if colour else plotext.uncolorize(text)
    return "\n".join(line.rstrip() for line in text.splitlines())


def save(metric: str, found: Sequence[Curve], output: Path) -> Path:
    """An SVG, PNG or HTML file, whole or not at all.

    Raises UsageError for another suffix, or where matplotlib is missing; RunError (a full disk).
    """
    output = Path(output)
    suffix = output.suffix.lower()
    if suffix not in SUFFIXES:
        raise UsageError("a plot has one of these suffixes", where=output,
                         expected=", ".join(SUFFIXES), actual=suffix or "none")
    drafts.check(output, "the plot")
    extras.require("matplotlib", "plot", "a plot in a file", where=output,
                   instead="without -o the curves are drawn in the terminal")
    from matplotlib.figure import Figure

    figure = Figure(figsize=SIZE, dpi=100, layout="constrained")
    axes = figure.add_subplot()
    for number, curve in enumerate(found):
        tint = COLOURS[number % len(COLOURS)]
        if len(curve.runs) > 1:
            axes.fill_between(curve.steps, curve.low, curve.high, color=tint, alpha=0.2, lw=0)
        axes.plot(curve.steps, curve.mean, color=tint, label=curve.label, lw=1.8)
    axes.set_xlabel("agent steps")
    axes.set_ylabel(metric.replace("_", " "))
    axes.xaxis.set_major_formatter(lambda value, _: amount(value))
    axes.grid(alpha=0.25)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False)
    data = io.BytesIO()
    kind = "png" if suffix == ".png" else "svg"
    figure.savefig(data, format=kind, metadata={"Date": None} if kind == "svg" else None)
    content: bytes = data.getvalue()
    if suffix == ".html":
        content = _page(metric, found, content.decode()).encode()
    files.save_typed(output, content, what="the plot")
    return output


def _page(metric: str, found: Sequence[Curve], svg: str) -> str:
    rows = "".join(
        f"<tr><td>{html.escape(curve.label)}</td><td>{curve.mean[-1]:.4g}</td>"
        f"<td>{curve.low[-1]:.4g} to {curve.high[-1]:.4g}</td>"
        f"<td>{curve.steps[-1]:,.0f}</td></tr>" for curve in found)
    title = html.escape(f"{metric.replace('_', ' ')} by agent steps")
    return (f"<!doctype html><html lang=en><meta charset=utf-8><title>{title}</title>"
            "<meta name=viewport content='width=device-width, initial-scale=1'><style>"
            "body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;"
            "padding:0 1rem;color:#1b1b1b;background:#fff}svg{width:100%;height:auto}"
            "div{overflow-x:auto}td,th{padding:.2rem 1rem .2rem 0;text-align:left}</style>"
            f"<h1>{title}</h1>{svg[svg.index('<svg'):]}<div><table><tr><th>curve</th>"
            f"<th>last</th><th>95 % interval</th><th>steps</th></tr>{rows}</table></div></html>\n")


def amount(value: object) -> str:
    """'1.5M'; '-' where it is no number."""
    if not isinstance(value, (int, float)):
        return "-"
    rounded = float(f"{value:.3g}")             # 999,999 is 1M, and not 1000k
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if rounded >= size:
            return f"{rounded / size:.3g}{letter}" if rounded < 1e12 else f"{value / size:,.0f}G"
    return f"{value:.3g}" if value != int(value) else f"{value:.0f}"


def _rgb(colour: str) -> tuple[int, int, int]:
    red, green, blue = bytes.fromhex(colour[1:])
    return red, green, blue
