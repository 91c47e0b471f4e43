"""Charts as SVG, by hand.  numbers -> <svg>, inlined in the page

Colors are the page's CSS variables, so a chart follows light and dark. Nothing in a chart comes
from an environment but numbers and names, and names are escaped.
"""
from __future__ import annotations

import math
from collections.abc import Sequence

from markupsafe import Markup, escape

WIDTH, HEIGHT = 440, 250
LEFT, RIGHT, TOP, BOTTOM = 52, 14, 12, 36


def number(value: float | None, digits: int = 3) -> str:
    """'0.983', '12,345', '2.36M': short, and the same on every machine."""
    if value is None or not math.isfinite(value):
        return "-"
    size = abs(value)
    for unit, scale, least in (("G", 1e9, 1e9), ("M", 1e6, 1e6), ("k", 1e3, 1e5)):
        if size >= least * 0.9995:
            places = max(0, digits - 1 - int(math.log10(size / scale + 1e-9)))
            text = f"{value / scale:.{places}f}"
            return (text.rstrip("0").rstrip(".") if places else text) + unit
    if size >= 1000:
        return f"{value:,.0f}"
    if size == 0 or size >= 1e-3:
        text = f"{value:.{digits}f}" if size < 10 else f"{value:.4g}"
        return (text.rstrip("0").rstrip(".") if "." in text else text) or "0"
    return f"{value:.2e}"


def ticks(low: float, high: float, count: int = 4) -> list[float]:
    """Round numbers from low to high, about this many."""
    if not high > low:
        return [low]
    raw = (high - low) / count
    power = 10 ** math.floor(math.log10(raw))
    step = next(power * m for m in (1, 2, 2.5, 5, 10) if power * m >= raw * 0.999)
    first = math.ceil(low / step - 1e-9)
    return [round((first + i) * step, 12) for i in range(int((high - low) / step) + 2)
            if (first + i) * step <= high + step * 1e-9]


class Frame:
    """Axes with a grid. x, y: from values to the picture."""

    def __init__(self, low: float, high: float, bottom: float, top: float):
        if not top > bottom:
            spread = abs(top) * 0.1 or 1.0
            bottom, top = bottom - spread, top + spread
        margin = 0.04 * (top - bottom)
        self.low, self.high = low, high if high > low else low + 1
        self.bottom, self.top = bottom - margin, top + margin
        self.parts: list[str] = []

    def x(self, value: float) -> float:
        share = (value - self.low) / (self.high - self.low)
        return LEFT + share * (WIDTH - LEFT - RIGHT)

    def y(self, value: float) -> float:
        share = (value - self.bottom) / (self.top - self.bottom)
        return HEIGHT - BOTTOM - share * (HEIGHT - TOP - BOTTOM)

    def axes(self, label: str) -> None:
        for value in ticks(self.bottom, self.top):
            y = self.y(value)
            self.parts.append(f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" '
                              f'y2="{y:.1f}"/><text x="{LEFT - 7}" y="{y + 4:.1f}" '
                              f'text-anchor="end">{number(value)}</text>')
        for value in ticks(self.low, self.high, 5):
            x = self.x(value)
            anchor = "end" if x > WIDTH - RIGHT - 12 else "middle"
            self.parts.append(f'<text x="{x:.1f}" y="{HEIGHT - BOTTOM + 16}" '
                              f'text-anchor="{anchor}">{number(value)}</text>')
        self.parts.append(f'<text class="label" x="{(LEFT + WIDTH - RIGHT) / 2}" '
                          f'y="{HEIGHT - 3}" text-anchor="middle">{escape(label)}</text>')

    def line(self, xs: Sequence[float], ys: Sequence[float | None], kind: str) -> None:
        """A line that is broken where a value is missing."""
        pieces: list[list[str]] = [[]]
        for x, y in zip(xs, ys, strict=False):
            if y is None:
                pieces.append([])
            else:
                pieces[-1].append(f"{self.x(x):.1f},{self.y(y):.1f}")
        for piece in filter(None, pieces):
            if len(piece) == 1:
                x, y = piece[0].split(",")
                self.parts.append(f'<circle class="{kind} dot" cx="{x}" cy="{y}" r="2"/>')
            else:
                self.parts.append(f'<polyline class="{kind}" points="{" ".join(piece)}"/>')

    def svg(self, alt: str) -> Markup:
        return Markup(f'<svg class="chart" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
                      f'aria-label="{escape(alt)}">{"".join(self.parts)}</svg>')


def learning(steps: Sequence[float], seeds: Sequence[Sequence[float | None]],
             median: Sequence[float | None], worst: Sequence[float | None], *,
             goal: float | None, alt: str, base: dict | None = None) -> Markup | None:
    """Thin lines for the seeds, a thick one for their median, a dashed one for the worst.

    base    {"step", "median"} of a report that this one is compared with
    """
    values = [value for curve in seeds for value in curve if value is not None]
    if not values:
        return None
    marks = [goal] if goal is not None else []
    marks += [value for value in (base or {}).get("median", []) if value is not None]
    right = max([*steps, *(base or {}).get("step", [])])
    frame = Frame(0, right, min([*values, *marks]), max([*values, *marks]))
    frame.axes("agent steps")
    if goal is not None:
        y = frame.y(goal)
        frame.parts.append(f'<line class="goal" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" '
                           f'y2="{y:.1f}"/>')
    if base:
        frame.line(base["step"], base["median"], "base")
    for curve in seeds:
        frame.line(steps, curve, "seed")
    if len(seeds) > 1:
        frame.line(steps, worst, "worst")
    frame.line(steps, median, "median")
    return frame.svg(alt)


def histogram(low: float, high: float, counts: dict[str, Sequence[int]], label: str,
              alt: str) -> Markup:
    """The share of each policy, as bars side by side in each bin."""
    totals = {name: sum(bins) or 1 for name, bins in counts.items()}
    top = max((n / totals[name] for name, bins in counts.items() for n in bins), default=1)
    frame = Frame(low, high, 0, top)
    frame.bottom = 0
    bins = max(len(each) for each in counts.values())
    for value in ticks(0, top, 3):
        y = frame.y(value)
        frame.parts.append(f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" '
                           f'y2="{y:.1f}"/><text x="{LEFT - 7}" y="{y + 4:.1f}" '
                           f'text-anchor="end">{100 * value:.3g}%</text>')
    for value in ticks(frame.low, frame.high, 5):
        frame.parts.append(f'<text x="{frame.x(value):.1f}" y="{HEIGHT - BOTTOM + 16}" '
                           f'text-anchor="middle">{number(value)}</text>')
    frame.parts.append(f'<text class="label" x="{(LEFT + WIDTH - RIGHT) / 2}" y="{HEIGHT - 3}" '
                       f'text-anchor="middle">{escape(label)}</text>')
    room = (WIDTH - LEFT - RIGHT) / bins
    width = room * 0.86 / len(counts)
    for place, (name, each) in enumerate(counts.items()):
        for i, count in enumerate(each):
            if count:
                y = frame.y(count / totals[name])
                x = LEFT + i * room + room * 0.07 + place * width
                frame.parts.append(f'<rect class="bar {escape(name)}" x="{x:.1f}" y="{y:.1f}" '
                                   f'width="{width:.1f}" '
                                   f'height="{max(HEIGHT - BOTTOM - y, 0.6):.1f}"/>')
    return frame.svg(alt)


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
