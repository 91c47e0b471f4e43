"""The charts of a sweep, as SVG.  trials -> <svg>, whose dots a small script can filter"""
from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from markupsafe import Markup, escape

from ...reporting.axes import LINEAR, LOG, LOGIT, POINTS, Axis, spanning
from ...reporting.charts import LEFT, RIGHT, Chart
from ..gaussian import Floats
from ..space import Row

SCALES = {"log_normal": LOG, "log_uniform": LOG, "uniform_pow2": LOG, "logit_normal": LOGIT,
          "logit_uniform": LOGIT, "choice": POINTS}
Trials = Sequence[Mapping[str, Any]]        # of results.as_json


def axis_of(row: Row) -> Axis:
    """The axis of one setting of a space."""
    scale = SCALES.get(row["distribution"], LINEAR)
    return Axis(0, 1, POINTS, tuple(row["choices"])) if scale == POINTS else \
        Axis(row["min"], row["max"], scale)


def front(done: Trials, edge: list[int], best: int, default: int | None, metric: str,
          unit: str, spread: dict[int, tuple[float, float, float]]) -> Markup:
    """Score against cost, with the front as a line.

    spread  {trial: (cost, low, high)}: the least and the highest score over a trial's repeats
    """
    costs, scores = [each["cost"] for each in done], [each["score"] for each in done]
    chart = Chart(spanning(costs, "log"), spanning(scores), 720, 380)
    chart.axes(f"cost, {unit}", metric)
    by_number = {each["number"]: each for each in done}
    line = [by_number[number] for number in edge if number in by_number]
    for cost, low, high in spread.values():
        chart.parts.append(f'<line class="whisker" x1="{chart.x(cost):.1f}" '
                           f'x2="{chart.x(cost):.1f}" y1="{chart.y(low):.1f}" '
                           f'y2="{chart.y(high):.1f}"/>')
    chart.steps([each["cost"] for each in line], [each["score"] for each in line], "front")
    chart.dots([each["number"] for each in done], costs, scores)
    chart.dots([each["number"] for each in line], [each["cost"] for each in line],
               [each["score"] for each in line], "edge")
    for number, kind in ((default, "default"), (best, "best")):
        if number is not None and number in by_number:
            each = by_number[number]
            chart.dots([number], [each["cost"]], [each["score"]], kind)
    return chart.svg(f"{metric} of {len(done)} trials against their cost", "wide")


def verdict(best: Sequence[float], default: Sequence[float], metric: str) -> Markup:
    """One dot a seed, and the means."""
    values = [*best, *default]
    chart = Chart(spanning(values), Axis(0, 2), 720, 120)
    for share, text in chart.x_axis.ticks(6):
        x = LEFT + 30 + share * (chart.width - LEFT - 30 - RIGHT)
        chart.parts.append(f'<line class="grid" x1="{x:.1f}" x2="{x:.1f}" y1="8" y2="84"/>'
                           f'<text x="{x:.1f}" y="99" text-anchor="middle">{text}</text>')
    for row, (name, each) in enumerate((("best", best), ("default", default))):
        y = 28 + row * 38
        chart.parts.append(f'<text x="{LEFT + 18}" y="{y + 4}" text-anchor="end">{name}</text>')
        place = [LEFT + 30 + chart.x_axis.share(value) * (chart.width - LEFT - 30 - RIGHT)
                 for value in each]
        mean = sum(place) / len(place)
        chart.parts.append(f'<line class="mean {name}" x1="{mean:.1f}" x2="{mean:.1f}" '
                           f'y1="{y - 14}" y2="{y + 14}"/>')
        chart.parts += [f'<circle class="seed {name}" cx="{x:.1f}" cy="{y}" r="5"/>' for x in place]
    chart.parts.append(f'<text class="label" x="{chart.width / 2}" y="116" '
                       f'text-anchor="middle">{escape(metric)}, one dot for each seed</text>')
    return chart.svg(f"{metric} of best and default on unseen seeds", "wide")


def history(done: Trials, metric: str, sign: float) -> Markup:
    """Scores as they came, and the best so far, over seconds since the sweep began."""
    ends = [each["ended"] for each in done]
    scores = [each["score"] for each in done]
    chart = Chart(Axis(0, max(ends) or 1), spanning(scores), 720, 270)
    chart.axes("seconds since the sweep began", metric)
    xs: list[float] = []
    ys: list[float] = []
    for each in sorted(done, key=lambda one: one["ended"]):
        if not ys or sign * each["score"] > sign * ys[-1]:
            xs.append(each["ended"])
            ys.append(each["score"])
    chart.steps(xs, ys, "front")
    chart.dots([each["number"] for each in done], ends, scores)
    return chart.svg("the best score over time", "wide")


def slice_of(name: str, axis: Axis, done: Trials, y_axis: Axis,
             curve: tuple[list[object], Floats, Floats] | None,
             best: Mapping[str, Any] | None) -> Markup:
    """Scores against one setting, with what the model expects around the best."""
    chart = Chart(axis, y_axis, 330, 210)
    chart.axes(name)
    if curve:
        values, mean, deviation = curve
        chart.band(values, list(mean - 2 * deviation), list(mean + 2 * deviation))
        chart.line(values, list(mean), "model")
    chart.dots([each["number"] for each in done], [each["settings"][name] for each in done],
               [each["score"] for each in done])
    if best:
        chart.dots([best["number"]], [best["settings"][name]], [best["score"]], "best")
    return chart.svg(f"score against {name}")


def importance(names: Sequence[str], shares: Sequence[tuple[float, float]], alt: str) -> Markup:
    """Two bars a setting: for score and for cost; the most important first."""
    order = sorted(range(len(names)), key=lambda k: -shares[k][0])
    height = 24 * len(names) + 30
    parts = []
    for place, k in enumerate(order):
        y = 10 + 24 * place
        score, cost = shares[k]
        parts.append(f'<text x="172" y="{y + 13}" text-anchor="end">{_short(names[k], 26)}</text>'
                     f'<rect class="score" x="180" y="{y}" height="9" '
                     f'width="{max(1, 230 * score):.1f}"/>'
                     f'<rect class="cost" x="180" y="{y + 10}" height="7" '
                     f'width="{max(1, 230 * cost):.1f}"/>'
                     f'<text x="{188 + 230 * max(score, cost):.0f}" y="{y + 12}">'
                     f'{score:.0%}</text>')
    return Markup(f'<svg class="chart bars" viewBox="0 0 480 {height}" role="img" '
                  f'aria-label="{escape(alt)}">{"".join(parts)}</svg>')


def parallel(done: Trials, axes: dict[str, Axis], score: Axis, cost: Axis, metric: str,
             unit: str, best: int | None) -> Markup:
    """A line a trial through an axis for each setting, then cost and score. Axes can be brushed."""
    def setting(name: str) -> Callable[[Mapping[str, Any]], object]:
        return lambda trial: trial["settings"][name]

    columns: list[tuple[str, Axis, Callable[[Mapping[str, Any]], object]]] = [
        *((name, axis, setting(name)) for name, axis in axes.items()),
        (f"cost, {unit}", cost, lambda trial: trial["cost"]),
        (metric, score, lambda trial: trial["score"])]
    step, top, floor = 92, 46, 300      # names stand in two rows, so that they have twice the step
    width = 60 + step * (len(columns) - 1) + 60

    def place(axis: Axis, value: object) -> float:
        return floor - axis.share(value) * (floor - top)

    parts, low, high = [], score.low, score.high
    for trial in sorted(done, key=lambda each: each["number"] == best):
        points = " ".join(f"{60 + step * k},{place(axis, value(trial)):.0f}"
                          for k, (_, axis, value) in enumerate(columns))
        shade = int(9 * (trial["score"] - low) / (high - low)) if high > low else 9
        kind = " best" if trial["number"] == best else ""
        parts.append(f'<polyline class="way s{min(9, max(0, shade))}{kind}" '
                     f'data-n="{trial["number"]}" points="{points}"/>')
    for k, (name, axis, _) in enumerate(columns):
        x = 60 + step * k
        y = 14 if k % 2 else 30
        parts.append(f'<g class="axis" data-axis="{k}"><line x1="{x}" x2="{x}" y1="{top}" '
                     f'y2="{floor}"/><text class="name" x="{x}" y="{y}" text-anchor="middle">'
                     f'{_short(name.partition(".")[2] or name, 24)}</text>')
        for share, text in axis.ticks(4):
            height = floor - share * (floor - top) + 4
            parts.append(f'<text class="tick" x="{x + 4}" y="{height:.0f}">{escape(text)}</text>')
        parts.append(f'<rect class="grip" x="{x - 14}" y="{top - 8}" width="28" '
                     f'height="{floor - top + 16}" tabindex="0" aria-label="filter by '
                     f'{escape(name)}"/></g>')
    return Markup(f'<svg class="parallel" id="parallel" viewBox="0 0 {width} {floor + 16}" '
                  f'style="min-width:{width}px;max-width:{width * 1.25:.0f}px" role="img" '
                  f'aria-label="all trials over all settings" data-top="{top}" '
                  f'data-floor="{floor}">{"".join(parts)}</svg>')


def _short(name: str, most: int) -> Markup:
    """A name that fits, and all of it under the mouse."""
    if len(name) <= most:
        return escape(name)
    half = (most - 1) // 2
    return Markup("{}…{}<title>{}</title>").format(name[:most - 1 - half], name[-half:], name)
