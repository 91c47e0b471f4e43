"""An axis of a chart.  values on a linear, log or logit scale -> a share of its length, ticks"""
from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

LINEAR, LOG, LOGIT, POINTS = "linear", "log", "logit", "points"
LOGIT_TICKS = (0.1, 0.5, 0.7, 0.8, 0.9, 0.95, 0.98, 0.99, 0.995, 0.998, 0.999, 0.9995, 0.9999)


@dataclass(frozen=True)
class Axis:
    """low, high    the ends, in the values' unit
    words       of a choice, in its order
    percent     whether 0.5 is written as 50%
    """

    low: float
    high: float
    scale: str = LINEAR
    words: tuple[object, ...] = ()
    percent: bool = False

    def stretch(self, value: float) -> float:
        if self.scale == LOG:
            return math.log(value)
        if self.scale == LOGIT:
            return math.log(value / (1 - value))
        return value

    def share(self, value: object) -> float:
        """0 at the low end, 1 at the high one."""
        if self.scale == POINTS:
            count = len(self.words)
            return (self.words.index(value) + 0.5) / count if value in self.words else 0.5
        low, high = self.stretch(self.low), self.stretch(self.high)
        if high <= low or not isinstance(value, (int, float)):
            return 0.5
        return (self.stretch(min(max(value, self.low), self.high)) - low) / (high - low)

    def ticks(self, count: int = 4) -> list[tuple[float, str]]:
        """(share, text) of round values."""
        if self.scale == POINTS:
            return [(self.share(word), str(word)) for word in self.words]
        if self.scale == LINEAR:
            found = ticks(self.low, self.high, count)
        elif self.scale == LOG:
            found = _round_powers(self.low, self.high, count)
        else:
            found = [value for value in LOGIT_TICKS if self.low <= value <= self.high]
            while len(found) > count + 1:
                found = found[::2]
        return [(self.share(value), self.label(value)) for value in found or [self.low, self.high]]

    def label(self, value: float) -> str:
        if self.percent:
            return f"{100 * value:.3g}%"
        if self.scale != LINEAR and 0.9 < value < 1:
            return f"{value:g}"
        return f"{value:.0e}".replace("e-0", "e-").replace("e+0", "e") if 0 < value < 1e-3 \
            else number(value)


def spanning(values: Sequence[float], scale: str = LINEAR) -> Axis:
    """An axis from the least to the greatest value, with a little room."""
    low, high = min(values), max(values)
    if scale == LOG and low > 0:
        room = (high / low) ** 0.04 if high > low else 1.5
        return Axis(low / room, high * room, LOG)
    room = 0.05 * (high - low) or abs(high) * 0.1 or 1.0
    return Axis(low - room, high + room)


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


def _round_powers(low: float, high: float, count: int) -> list[float]:
    """1, 2 and 5 times powers of ten; fewer where those are too many."""
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    for digits in ((1, 2, 5), (1, 3), (1,)):
        found = [digit * 10.0 ** power for power in range(first, last + 1) for digit in digits]
        found = [value for value in found if low * 0.999 <= value <= high * 1.001]
        if len(found) <= count + 2:
            break
    step = -(-len(found) // (count + 2)) if found else 1
    return found[::step] if len(found) > 1 else [low, high]


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
