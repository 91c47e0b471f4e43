"""The charts of a sweep, as SVG.  trials -> <svg>, whose dots a small script can filter

The dots of a chart are one path, a move and a stroke of no length for each trial in the order of
`data-trials`: a thousand trials stay small, and the script redraws any part of them. Colours are
the page's variables. Names and words are escaped.
"""
from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup, escape

from ...reporting.charts import number
from .axes import Axis, spanning

LEFT, RIGHT, TOP, BOTTOM = 54, 14, 12, 40


class Chart:
    """Axes with a grid, and what is drawn between them."""

    def __init__(self, x: Axis, y: Axis, width: int = 480, height: int = 270):
        self.x_axis, self.y_axis, self.width, self.height = x, y, width, height
        self.parts: list[str] = []

    def x(self, value) -> float:
        return LEFT + self.x_axis.share(value) * (self.width - LEFT - RIGHT)

    def y(self, value) -> float:
        return self.height - BOTTOM - self.y_axis.share(value) * (self.height - TOP - BOTTOM)

    def axes(self, x_label: str, y_label: str = "") -> None:
        right, floor = self.width - RIGHT, self.height - BOTTOM
        for share, text in self.y_axis.ticks():
            y = floor - share * (floor - TOP)
            self.parts.append(f'<line class="grid" x1="{LEFT}" x2="{right}" y1="{y:.1f}" '
                              f'y2="{y:.1f}"/><text x="{LEFT - 6}" y="{y + 4:.1f}" '
                              f'text-anchor="end">{escape(text)}</text>')
        for share, text in self.x_axis.ticks(4 if self.width < 400 else 5):
            x = LEFT + share * (right - LEFT)
            anchor = "end" if x > right - 14 else "middle"
            self.parts.append(f'<text x="{x:.1f}" y="{floor + 16}" text-anchor="{anchor}">'
                              f'{escape(text)}</text>')
        self.parts.append(f'<text class="label" x="{(LEFT + right) / 2}" y="{self.height - 6}" '
                          f'text-anchor="middle">{escape(x_label)}</text>')
        if y_label:
            self.parts.append(f'<text class="label" transform="translate(11 {(TOP + floor) / 2}) '
                              f'rotate(-90)" text-anchor="middle">{escape(y_label)}</text>')

    def line(self, xs: Sequence, ys: Sequence, kind: str) -> None:
        points = " ".join(f"{self.x(x):.1f},{self.y(y):.1f}" for x, y in zip(xs, ys))
        self.parts.append(f'<polyline class="{kind}" points="{points}"/>')

    def steps(self, xs: Sequence, ys: Sequence, kind: str) -> None:
        """A line that rises only at its points, and goes on to the right edge."""
        places = [(f"{self.x(x):.1f}", f"{self.y(y):.1f}") for x, y in zip(xs, ys)]
        path = "".join(f"H{x}V{y}" if k else f"M{x} {y}" for k, (x, y) in enumerate(places))
        if path:
            self.parts.append(f'<path class="{kind}" d="{path}H{self.width - RIGHT}"/>')

    def band(self, xs: Sequence, lows: Sequence, highs: Sequence, kind: str = "band") -> None:
        points = [f"{self.x(x):.1f},{self.y(y):.1f}" for x, y in zip(xs, highs)]
        points += [f"{self.x(x):.1f},{self.y(y):.1f}" for x, y in zip(xs[::-1], lows[::-1])]
        self.parts.append(f'<polygon class="{kind}" points="{" ".join(points)}"/>')

    def dots(self, numbers: Sequence[int], xs: Sequence, ys: Sequence, kind: str = "") -> None:
        """One dot a trial, that the script may filter and that can be clicked."""
        path = "".join(f"M{self.x(x):.0f} {self.y(y):.0f}h0" for x, y in zip(xs, ys))
        if path:
            self.parts.append(f'<path class="dots {kind}" d="{path}" '
                              f'data-trials="{" ".join(map(str, numbers))}"/>')

    def svg(self, alt: str, kind: str = "") -> Markup:
        return Markup(f'<svg class="chart {kind}" viewBox="0 0 {self.width} {self.height}" '
                      f'role="img" aria-label="{escape(alt)}">{"".join(self.parts)}</svg>')


def front(done: list[dict], edge: list[int], best: int, default: int | None, metric: str,
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
    for number_, kind in ((default, "default"), (best, "best")):
        if number_ in by_number:
            each = by_number[number_]
            chart.dots([number_], [each["cost"]], [each["score"]], kind)
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


def history(done: list[dict], metric: str, sign: float) -> Markup:
    """Scores as they came, and the best so far, over seconds since the sweep began."""
    ends = [each["ended"] for each in done]
    scores = [each["score"] for each in done]
    chart = Chart(Axis(0, max(ends) or 1), spanning(scores), 720, 270)
    chart.axes("seconds since the sweep began", metric)
    xs, ys = [], []
    for each in sorted(done, key=lambda one: one["ended"]):
        if not ys or sign * each["score"] > sign * ys[-1]:
            xs.append(each["ended"])
            ys.append(each["score"])
    chart.steps(xs, ys, "front")
    chart.dots([each["number"] for each in done], ends, scores)
    return chart.svg("the best score over time", "wide")


def slice_of(name: str, axis: Axis, done: list[dict], y_axis: Axis, curve, best) -> Markup:
    """Scores against one setting, with what the model expects around the best."""
    chart = Chart(axis, y_axis, 330, 210)
    chart.axes(name)
    if curve:
        values, mean, deviation = curve
        chart.band(values, mean - 2 * deviation, mean + 2 * deviation)
        chart.line(values, mean, "model")
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


def parallel(done: list[dict], axes: dict[str, Axis], score: Axis, cost: Axis, metric: str,
             unit: str, best: int | None) -> Markup:
    """A line a trial through an axis for each setting, then cost and score. Axes can be brushed."""
    columns = [*((name, axis, lambda t, n=name: t["settings"][n]) for name, axis in axes.items()),
               (f"cost, {unit}", cost, lambda trial: trial["cost"]),
               (metric, score, lambda trial: trial["score"])]
    step, top, floor = 92, 46, 300      # names stand in two rows, so that they have twice the step
    width = 60 + step * (len(columns) - 1) + 60

    def place(axis, value):
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
            y = floor - share * (floor - top) + 4
            parts.append(f'<text class="tick" x="{x + 4}" y="{y:.0f}">{escape(text)}</text>')
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


def amount(value: float | None) -> str:
    return number(value) if value is not None else "-"
