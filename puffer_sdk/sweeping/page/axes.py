"""An axis of a chart.  values on a linear, log or logit scale -> a share of its length, ticks"""
from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from ...reporting.charts import number, ticks

LINEAR, LOG, LOGIT, POINTS = "linear", "log", "logit", "points"
SCALES = {"log_normal": LOG, "uniform_pow2": LOG, "logit_normal": LOGIT, "choice": POINTS}


@dataclass(frozen=True)
class Axis:
    """low, high: the ends, in the values' unit; words: of a choice, in its order."""

    low: float
    high: float
    scale: str = LINEAR
    words: tuple = ()

    def stretch(self, value: float) -> float:
        if self.scale == LOG:
            return math.log(value)
        if self.scale == LOGIT:
            return math.log(value / (1 - value))
        return value

    def share(self, value) -> float:
        """0 at the low end, 1 at the high one."""
        if self.scale == POINTS:
            count = len(self.words)
            return (self.words.index(value) + 0.5) / count if value in self.words else 0.5
        low, high = self.stretch(self.low), self.stretch(self.high)
        if high <= low:
            return 0.5
        value = min(max(value, self.low), self.high)
        return (self.stretch(value) - low) / (high - low)

    def ticks(self, count: int = 4) -> list[tuple[float, str]]:
        """(share, text) of round values."""
        if self.scale == POINTS:
            return [(self.share(word), str(word)) for word in self.words]
        if self.scale == LINEAR:
            found = ticks(self.low, self.high, count)
        elif self.scale == LOG:
            found = _round_powers(self.low, self.high, count)
        else:
            found = [value for value in (0.1, 0.5, 0.7, 0.8, 0.9, 0.95, 0.98, 0.99, 0.995, 0.998,
                                         0.999, 0.9995, 0.9999) if self.low <= value <= self.high]
            while len(found) > count + 1:
                found = found[::2]
        return [(self.share(value), _label(value)) for value in found or [self.low, self.high]]


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


def _label(value: float) -> str:
    if 0.9 < value < 1:
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


def of_setting(row: dict) -> Axis:
    """The axis of one setting of a space."""
    scale = SCALES.get(row["distribution"].replace("log_uniform", "log_normal")
                       .replace("logit_uniform", "logit_normal"), LINEAR)
    if scale == POINTS:
        return Axis(0, 1, POINTS, tuple(row["choices"]))
    return Axis(row["min"], row["max"], scale)
