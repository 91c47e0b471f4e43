"""Charts as SVG, by hand.  numbers -> <svg>, inlined in the page

Colors are the page's CSS variables, so a chart follows light and dark. Nothing in a chart comes
from an environment but numbers and names, and names are escaped.
"""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypedDict

from markupsafe import Markup, escape

from .axes import Axis, spanning

WIDTH, HEIGHT = 440, 250
LEFT, RIGHT, TOP, BOTTOM = 54, 14, 12, 40


class BaseCurve(TypedDict):
    """The median learning curve of a report that this one is compared with."""

    step: list[float]
    median: list[float | None]


class Chart:
    """Axes with a grid, and what is drawn between them. x(), y(): from values to the picture."""

    def __init__(self, x: Axis, y: Axis, width: int = WIDTH, height: int = HEIGHT):
        self.x_axis, self.y_axis, self.width, self.height = x, y, width, height
        self.right, self.floor = width - RIGHT, height - BOTTOM
        self.parts: list[str] = []

    def x(self, value: object) -> float:
        return LEFT + self.x_axis.share(value) * (self.right - LEFT)

    def y(self, value: object) -> float:
        return self.floor - self.y_axis.share(value) * (self.floor - TOP)

    def axes(self, x_label: str, y_label: str = "") -> None:
        for share, text in self.y_axis.ticks():
            y = self.floor - share * (self.floor - TOP)
            self.level(y, "grid")
            self.parts.append(f'<text x="{LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">'
                              f'{escape(text)}</text>')
        for share, text in self.x_axis.ticks(4 if self.width < 400 else 5):
            x = LEFT + share * (self.right - LEFT)
            anchor = "end" if x > self.right - 14 else "middle"
            self.parts.append(f'<text x="{x:.1f}" y="{self.floor + 16}" text-anchor="{anchor}">'
                              f'{escape(text)}</text>')
        self.parts.append(f'<text class="label" x="{(LEFT + self.right) / 2}" '
                          f'y="{self.height - 6}" text-anchor="middle">{escape(x_label)}</text>')
        if y_label:
            middle = (TOP + self.floor) / 2
            self.parts.append(f'<text class="label" transform="translate(11 {middle}) '
                              f'rotate(-90)" text-anchor="middle">{escape(y_label)}</text>')

    def level(self, y: float, kind: str) -> None:
        """A line across, at a place of the picture."""
        self.parts.append(f'<line class="{kind}" x1="{LEFT}" x2="{self.right}" y1="{y:.1f}" '
                          f'y2="{y:.1f}"/>')

    def line(self, xs: Sequence[object], ys: Sequence[float | None], kind: str) -> None:
        """A line that is broken where a value is missing."""
        pieces: list[list[str]] = [[]]
        for x, y in zip(xs, ys, strict=False):
            if y is None:
                pieces.append([])
            else:
                pieces[-1].append(f"{self.x(x):.1f},{self.y(y):.1f}")
        for piece in filter(None, pieces):
            if len(piece) == 1:
                across, up = piece[0].split(",")
                self.parts.append(f'<circle class="{kind} dot" cx="{across}" cy="{up}" r="2"/>')
            else:
                self.parts.append(f'<polyline class="{kind}" points="{" ".join(piece)}"/>')

    def steps(self, xs: Sequence[float], ys: Sequence[float], kind: str) -> None:
        """A line that rises only at its points, and goes on to the right edge."""
        places = [(f"{self.x(x):.1f}", f"{self.y(y):.1f}") for x, y in zip(xs, ys)]
        path = "".join(f"H{x}V{y}" if k else f"M{x} {y}" for k, (x, y) in enumerate(places))
        if path:
            self.parts.append(f'<path class="{kind}" d="{path}H{self.right}"/>')

    def band(self, xs: Sequence[object], lows: Sequence[float], highs: Sequence[float]) -> None:
        points = [f"{self.x(x):.1f},{self.y(y):.1f}" for x, y in
                  [*zip(xs, highs), *zip(reversed(xs), reversed(lows))]]
        self.parts.append(f'<polygon class="band" points="{" ".join(points)}"/>')

    def dots(self, numbers: Sequence[int], xs: Sequence[object], ys: Sequence[float],
             kind: str = "") -> None:
        """One path for all dots, a move and a stroke of no length for each trial, in the order of
        data-trials: a script filters them, and they can be clicked."""
        path = "".join(f"M{self.x(x):.0f} {self.y(y):.0f}h0" for x, y in zip(xs, ys))
        if path:
            self.parts.append(f'<path class="dots {kind}" d="{path}" '
                              f'data-trials="{" ".join(map(str, numbers))}"/>')

    def svg(self, alt: str, kind: str = "") -> Markup:
        return Markup(f'<svg class="chart {kind}" viewBox="0 0 {self.width} {self.height}" '
                      f'role="img" aria-label="{escape(alt)}">{"".join(self.parts)}</svg>')


def learning(steps: Sequence[float], seeds: Sequence[Sequence[float | None]],
             median: Sequence[float | None], worst: Sequence[float | None], *,
             goal: float | None, alt: str, base: BaseCurve | None = None) -> Markup | None:
    """Thin lines for the seeds, a thick one for their median, a dashed one for the worst; None
    where nothing was logged. base: the median that these are compared with."""
    values = [value for curve in seeds for value in curve if value is not None]
    if not values:
        return None
    values += [goal] if goal is not None else []
    values += [value for value in base["median"] if value is not None] if base else []
    chart = Chart(Axis(0, max([*steps, *(base["step"] if base else [])])), spanning(values))
    chart.axes("agent steps")
    if goal is not None:
        chart.level(chart.y(goal), "goal")
    if base:
        chart.line(base["step"], base["median"], "base")
    for curve in seeds:
        chart.line(steps, curve, "seed")
    if len(seeds) > 1:
        chart.line(steps, worst, "worst")
    chart.line(steps, median, "median")
    return chart.svg(alt)


def histogram(low: float, high: float, counts: Mapping[str, Sequence[int]], label: str,
              alt: str) -> Markup:
    """The share of each policy, as bars side by side in each bin."""
    totals = {name: sum(bins) or 1 for name, bins in counts.items()}
    top = max((n / totals[name] for name, bins in counts.items() for n in bins), default=1)
    chart = Chart(Axis(low, high), Axis(0, top * 1.04, percent=True))
    chart.axes(label)
    room = (chart.right - LEFT) / max(len(each) for each in counts.values())
    width = room * 0.86 / len(counts)
    for place, (name, each) in enumerate(counts.items()):
        for i, count in enumerate(each):
            if count:
                y = chart.y(count / totals[name])
                x = LEFT + i * room + room * 0.07 + place * width
                chart.parts.append(f'<rect class="bar {escape(name)}" x="{x:.1f}" y="{y:.1f}" '
                                   f'width="{width:.1f}" '
                                   f'height="{max(chart.floor - y, 0.6):.1f}"/>')
    return chart.svg(alt)


def spark(counts: Sequence[int], alt: str) -> Markup:
    """A small histogram for a table row; every count above 0 is visible."""
    most, room = max(counts) or 1, 120 / len(counts)
    bars = "".join(
        f'<rect x="{i * room + 0.5:.1f}" width="{room - 1:.1f}" '
        f'y="{30 - max(1.0, 28 * n / most):.1f}" height="{max(1.0, 28 * n / most):.1f}"/>'
        for i, n in enumerate(counts) if n)
    return Markup(f'<svg class="spark" viewBox="0 0 120 30" role="img" '
                  f'aria-label="{escape(alt)}"><line class="grid" x1="0" x2="120" y1="30" '
                  f'y2="30"/>{bars}</svg>')
