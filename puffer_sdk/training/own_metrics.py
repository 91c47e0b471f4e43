"""Metrics of the user's own.  a name, a number -> an epoch's row, beside ours"""
from __future__ import annotations

import math
from collections.abc import Mapping
from typing import SupportsFloat

from ..base.errors import RunError, UsageError

# what docs/reference/metrics.md lists: keys, and what stands before the "/" of the others
COUNTS = ("step", "seconds", "cpu", "sps", "epoch")
KINDS = ("env", "window", "eval", "claim", "loss", "train", "time", "selfplay")


def is_ours(name: str) -> bool:
    """Whether a key of metrics.jsonl is one of ours."""
    kind, slash, _ = name.partition("/")
    return kind in (KINDS if slash else COUNTS)


def of_row(row: Mapping[str, float]) -> dict[str, float]:
    """What a row of metrics holds beside ours."""
    return {name: value for name, value in row.items() if not is_ours(name)}


def checked(name: object, value: object) -> float:
    """The number, under this name. Raises UsageError for a name that is ours, or what is no one
    number, RunError for one that is not finite."""
    if not isinstance(name, str) or not name.isprintable() or not name.strip():
        raise UsageError("a metric has a name", expected="a text such as 'novelty'", actual=name)
    if is_ours(name):
        raise UsageError(f"'{name}' is the name of a metric of ours", where=f"metric '{name}'",
                         expected="a name of your own", hint="such as novelty, or mine/novelty; "
                         f"not {', '.join(COUNTS)}, nor {', '.join(f'{kind}/' for kind in KINDS)}")
    try:
        if not isinstance(value, SupportsFloat) or getattr(value, "ndim", None):
            raise TypeError
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        shape = f" {tuple(value.shape)}" if hasattr(value, "shape") else ""
        raise UsageError(f"'{name}' is no number", where=f"metric '{name}'",
                         expected="one number", actual=f"{type(value).__name__}{shape}",
                         hint="one number says it: x.mean()" if shape else None) from None
    if not math.isfinite(number):
        raise RunError(f"'{name}' is not finite: {number}", where=f"metric '{name}'",
                       hint="log nothing in an epoch that has no such number")
    return number


class OwnMetrics:
    """Those of an epoch, which lasts from its rollout to the next one.

    Attribute: row, the last update's metrics with those of the user's own.
    """

    def __init__(self) -> None:
        self.row: dict[str, float] = {}
        self._logged: dict[str, float] = {}
        self._ended = False

    def begin(self) -> None:
        """A rollout begins. What was logged before the first one belongs to its epoch."""
        if self._ended:
            self._logged, self._ended = {}, False

    def log(self, name: str, value: object) -> None:
        """The last value of an epoch counts."""
        number = self._logged[name] = checked(name, value)
        self.row = {**self.row, name: number}

    def end(self, metrics: Mapping[str, float]) -> dict[str, float]:
        """The epoch's row: what was measured, and what was logged."""
        self.row, self._ended = {**metrics, **self._logged}, True
        return self.row
