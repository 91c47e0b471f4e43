"""What a sweep may choose.  {name: distribution and bounds} -> Space: points of a unit cube

The sampler works in a cube of side 1; settings are what a person reads and an ini holds. A Space
turns one into the other, and knows which points are the same settings:

    >>> space = Space({"train.learning_rate": {"distribution": "log_normal", "min": 1e-4, "max": 1},
    ...                "train.horizon": {"distribution": "uniform_pow2", "min": 8, "max": 128}})
    >>> space.settings(space.point({"train.learning_rate": 0.01, "train.horizon": 40}))
    {'train.learning_rate': 0.01, 'train.horizon': 32}

Distributions have PufferLib's names, and PufferLib's meaning: log_normal is uniform in the
logarithm, logit_normal in log(x / (1 - x)). `mean` and `scale` are taken and change nothing.
"""
from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..base.errors import UsageError, did_you_mean
from .gaussian import Floats

# PufferLib's names, and two that say what they do
DISTRIBUTIONS = ("uniform", "int_uniform", "uniform_pow2", "log_normal", "logit_normal",
                 "log_uniform", "logit_uniform", "choice")
MEANING = {"log_uniform": "log_normal", "logit_uniform": "logit_normal"}
Settings = dict[str, Any]       # {"train.gamma": 0.99, ...}: values of the settings' own types
Row = Mapping[str, Any]         # {"distribution": ..., "min": ..., "max": ...}, or "choices"
KEYS = ("distribution", "min", "max", "choices", "mean", "scale")


@dataclass(frozen=True)
class Dimension:
    """One setting: the values that it may take, laid out on [0, 1].

    kind            a distribution's canonical name
    low, high       inclusive bounds, in the setting's own units; of a choice, 0 and its last index
    choices         the values of a choice, in the order given; else empty
    """

    name: str
    kind: str
    low: float
    high: float
    choices: tuple[Any, ...] = ()

    @property
    def levels(self) -> int:
        """How many different values there are; 0 for infinitely many."""
        if self.kind == "uniform_pow2":
            return round(math.log2(self.high / self.low)) + 1
        return round(self.high - self.low) + 1 if self.kind in ("int_uniform", "choice") else 0

    def stretch(self, values: Floats) -> Floats:
        """Values on the axis in which they are uniform."""
        if self.kind == "log_normal":
            return np.log(values)
        if self.kind == "logit_normal":
            return np.log(values) - np.log1p(-values)
        return np.log2(values) if self.kind == "uniform_pow2" else values

    def to_unit(self, values: Floats) -> Floats:
        """float64 of [0, 1], of the same shape; a level stands in the middle of its share."""
        if self.levels:
            index = self.stretch(np.asarray(values, float)) - self.stretch(np.float64(self.low))
            middle: Floats = (np.clip(np.rint(index), 0, self.levels - 1) + 0.5) / self.levels
            return middle
        low, high = self.stretch(np.array([self.low, self.high]))
        inside = np.clip(np.asarray(values, float), self.low, self.high)
        share: Floats = (self.stretch(inside) - low) / (high - low)
        return share.clip(0.0, 1.0)

    def snap(self, units: Floats) -> Floats:
        """Units of the values that can be had: the same for a continuous setting."""
        if not self.levels:
            return units
        index = np.minimum(np.floor(units * self.levels), self.levels - 1)
        return (index + 0.5) / self.levels

    def value(self, unit: float) -> Any:
        """The setting at a unit: a float, an int, or one of the choices."""
        if self.levels:
            index = min(int(unit * self.levels), self.levels - 1)
            if self.kind == "choice":
                return self.choices[index]
            return round(self.low * 2 ** index if self.kind == "uniform_pow2"
                         else self.low + index)
        low, high = self.stretch(np.array([self.low, self.high]))
        at = float(low + unit * (high - low))
        if self.kind == "log_normal":
            at = math.exp(at)
        elif self.kind == "logit_normal":
            at = 1 / (1 + math.exp(-at))
        # twelve digits: an ini that is written and read again gives the same point
        return float(f"{min(max(at, self.low), self.high):.12g}")

    def unit(self, value: object) -> float:
        """Where a value stands; the nearest end of the bounds for one outside."""
        if self.kind == "choice":
            if value not in self.choices:
                raise UsageError(f"{self.name} has no choice {value!r}",
                                 expected="one of " + ", ".join(map(str, self.choices)))
            return (self.choices.index(value) + 0.5) / self.levels
        try:
            number = float(value)       # type: ignore[arg-type]  # what float() takes, it tells
        except (TypeError, ValueError):
            number = math.nan
        if not math.isfinite(number):
            raise UsageError(f"{self.name} is not a number", expected="a number",
                             actual=repr(value))
        return float(self.to_unit(np.float64(min(max(number, self.low), self.high))))


def dimension(name: str, row: Row) -> Dimension:
    """Checks one description. Raises UsageError that names the setting and what is wrong."""
    def wrong(message: str, expected: str, *, actual: str | None = None,
              hint: str | None = None) -> UsageError:
        return UsageError(f"{name}: {message}", expected=expected, actual=actual, hint=hint)

    for key in row:
        if key not in KEYS:
            raise wrong(f"unknown key {key!r}", expected="one of " + ", ".join(KEYS),
                        hint=did_you_mean(key, KEYS))
    named = str(row.get("distribution", "")).strip()
    if named not in DISTRIBUTIONS:
        raise wrong("there is no such distribution" if named else "no distribution is given",
                    expected="one of " + ", ".join(DISTRIBUTIONS), actual=repr(named),
                    hint=did_you_mean(named, DISTRIBUTIONS))
    kind = MEANING.get(named, named)
    if kind == "choice":
        choices = tuple(row.get("choices", ()))
        if len(set(choices)) != len(choices) or not choices:
            raise wrong("choices must be one value or more, each once", actual=repr(choices),
                        expected="choices = (...)")
        return Dimension(name, kind, 0, len(choices) - 1, choices)
    bounds = []
    for key in ("min", "max"):
        try:
            bounds.append(float(row[key]))
        except KeyError:
            raise wrong(f"{key} is missing", expected="min and max") from None
        except (TypeError, ValueError):
            raise wrong(f"{key} is not a number", expected="a number",
                        actual=repr(row[key])) from None
    low, high = bounds
    if not (math.isfinite(low) and math.isfinite(high) and low <= high):
        raise wrong("the bounds are crossed", expected="min <= max, both finite",
                    actual=f"min {low:g}, max {high:g}")
    if kind == "log_normal" and low <= 0:
        raise wrong(f"{named} needs bounds above 0", expected="min > 0", actual=f"{low:g}")
    if kind == "logit_normal" and not 0 < low <= high < 1:
        raise wrong(f"{named} needs bounds between 0 and 1", expected="0 < min <= max < 1",
                    actual=f"min {low:g}, max {high:g}")
    if kind == "int_uniform" and (low != round(low) or high != round(high)):
        raise wrong("int_uniform needs whole numbers", actual=f"min {low:g}, max {high:g}",
                    expected="integers as min and max")
    if kind == "uniform_pow2" and not all(at >= 1 and math.log2(at).is_integer() for at in bounds):
        raise wrong("uniform_pow2 needs powers of two", actual=f"min {low:g}, max {high:g}",
                    expected="1, 2, 4, 8, ...")
    if low == high:         # nothing to choose, and no axis to divide by
        whole = kind in ("int_uniform", "uniform_pow2")
        return Dimension(name, "choice", 0, 0, (round(low) if whole else low,))
    return Dimension(name, kind, low, high)


class Space:
    """The settings that a sweep may choose, as a cube with one side for each.

    rows        {name: {"distribution": ..., "min": ..., "max": ...}}, or "choices" for a choice
    repair      settings -> settings that can run, for combinations that cannot. What it returns is
                what is proposed; names that the space does not have are kept

    Raises UsageError for a description that cannot be read.
    """

    def __init__(self, rows: Mapping[str, Row],
                 repair: Callable[[Settings], Mapping[str, Any]] | None = None):
        if not rows:
            raise UsageError("the space is empty", expected="one setting or more",
                             hint="give each setting a distribution and its bounds")
        self.dimensions = tuple(dimension(name, row) for name, row in rows.items())
        self.repair = repair

    def __len__(self) -> int:
        return len(self.dimensions)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(each.name for each in self.dimensions)

    def settings(self, point: Iterable[float]) -> Settings:
        """The settings at a point of the cube, repaired."""
        chosen = {each.name: each.value(at) for each, at in zip(self.dimensions, point)}
        return dict(self.repair(chosen)) if self.repair else chosen

    def point(self, settings: Mapping[str, object]) -> Floats:
        """float64 [len(self)]: where settings stand. Raises UsageError for one that is missing."""
        for each in self.dimensions:
            if each.name not in settings:
                raise UsageError(f"no value for {each.name}",
                                 expected="a value for each setting of the space")
        return np.array([each.unit(settings[each.name]) for each in self.dimensions])

    def snap(self, points: Floats) -> Floats:
        """[n, len(self)]: points whose settings are the same become the same."""
        return np.column_stack([each.snap(points[:, k])
                                for k, each in enumerate(self.dimensions)])

    def features(self, points: Floats) -> Floats:
        """[n, f]: what a model of the space sees. A choice of k has k columns, and two different
        choices are as far from each other as the ends of a number's axis."""
        columns = []
        for k, each in enumerate(self.dimensions):
            if each.kind == "choice":
                index = np.minimum((points[:, k] * each.levels).astype(int), each.levels - 1)
                columns += list((index == np.arange(each.levels)[:, None]) / math.sqrt(2))
            else:
                columns.append(points[:, k])
        return np.column_stack(columns)
