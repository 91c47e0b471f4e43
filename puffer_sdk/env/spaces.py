"""An environment's rows and actions for Gymnasium.  Description, ObsSpec -> Gymnasium's spaces

An observation is one row: a Box with the bounds that the header declares for each element, in the
shape of an image or a grid where the header describes the whole row as one. As a Dict it has a key
for each part that the header names, in lower case and without OBS_: OBS_BALL_X is "ball_x".

An action is an id for one head, a MultiDiscrete for several, a Box in [-1, 1] for continuous heads,
and a Tuple of one space a head where both kinds occur.
"""
from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from numpy.typing import ArrayLike, NDArray

from ..base.errors import UsageError
from .library import Description, Obs
from .obs_spec import ObsField, ObsSpec

ROW, DICT = "row", "dict"
LAYOUTS = (ROW, DICT)


class Observations:
    """Rows (n, D) -> observations of `space`, one or a batch of them.

    layout      "row" or "dict"
    Raises UsageError for a "dict" where the header names no parts.
    """

    def __init__(self, about: Description, row: ObsSpec | None, layout: str = ROW):
        if layout not in LAYOUTS:
            raise UsageError(f"observations cannot be {layout!r}", expected=" or ".join(LAYOUTS),
                             actual=repr(layout))
        self.parts: dict[str, ObsField] = {}
        low, high = bounds(about, row)
        if layout == DICT:
            if row is None or not row.parts:
                raise UsageError("the header names no parts of an observation",
                                 expected="an enum OBS_X, OBS_Y, ... that indexes the row",
                                 hint="puffer-sdk explain observations, or observations='row'")
            self.parts = _with_rests(row, about.obs_size)
            self.space: gymnasium.Space[Any] = spaces.Dict({
                name: _box(low[part.first:part.last + 1], high[part.first:part.last + 1],
                           part.shape, about) for name, part in self.parts.items()})
            return
        whole = row.whole.shape if row is not None and row.whole else ()
        self.shape = whole if math.prod(whole) == about.obs_size else (about.obs_size,)
        self.space = _box(low, high, self.shape, about)

    def batch(self, rows: Obs) -> Obs | dict[str, Obs]:
        """(n, D) -> (n, *shape), or a dict of such: views."""
        if not self.parts:
            return rows if len(self.shape) == 1 else rows.reshape(len(rows), *self.shape)
        return {name: rows[:, part.first:part.last + 1].reshape(
            len(rows), *(part.shape or (part.count,))) for name, part in self.parts.items()}

    def one(self, row: Obs) -> Obs | dict[str, Obs]:
        """(D,) -> one observation: views."""
        return self.each(row[None])[0]

    def each(self, rows: Obs) -> list[Obs] | list[dict[str, Obs]]:
        """(n, D) -> n observations: views."""
        found = self.batch(rows)
        if not isinstance(found, dict):
            return list(found)
        return [{name: part[at] for name, part in found.items()} for at in range(len(rows))]


class Actions:
    """Actions of `space` -> rows of heads."""

    def __init__(self, about: Description):
        self.sizes = np.array(about.act_sizes)
        self.continuous = self.sizes == 1
        self.space = action_space(about.act_sizes)
        self.tuple = isinstance(self.space, spaces.Tuple)
        self._ids = int(self.sizes[0]) if len(self.sizes) == 1 and self.sizes[0] > 1 else 0

    def write(self, actions: ArrayLike | Sequence[ArrayLike], rows: NDArray[np.float32]) -> None:
        """A batch of actions into rows (n, K) float32.

        Raises UsageError for another shape, an id that no head has, or a number that is not finite:
        C code would index an array with it.
        """
        if self.tuple:
            heads = actions if isinstance(actions, Sequence) else np.asarray(actions)
            actions = np.stack([np.asarray(head, np.float64).reshape(-1) for head in heads], 1)
        values = np.asarray(actions)
        if values.size != rows.size or len(values) != len(rows):
            raise UsageError("actions have the wrong shape", actual=values.shape,
                             expected=(len(rows),) if len(self.sizes) == 1 else rows.shape)
        values = values.reshape(rows.shape)
        # one head: its least and greatest id say it all. NaN compares with nothing
        if not (self._ids and values.min() >= 0 and values.max() < self._ids):
            self._check(values)
        rows[...] = values

    def _check(self, values: NDArray[Any]) -> None:
        wrong = ~((values >= 0) & (values < self.sizes))        # NaN is wrong as well
        if self.continuous.any():
            wrong = np.where(self.continuous, ~np.isfinite(values), wrong)
        if wrong.any():
            row, head = np.argwhere(wrong)[0]
            raise UsageError(
                f"action {values[row, head]} does not exist", where=f"env {row}"
                + (f", head {head}" if len(self.sizes) > 1 else ""),
                expected="a finite number" if self.continuous[head]
                else f"0 to {self.sizes[head] - 1}", actual=values[row, head])


def mask_of(row: NDArray[np.uint8]) -> NDArray[np.int8]:
    """Bytes of an action mask, as Gymnasium's sample(mask) takes them: int8."""
    return row.astype(np.int8)


def action_space(sizes: Sequence[int]) -> gymnasium.Space[Any]:
    """Of one row, by the widths of its heads."""
    continuous = [size == 1 for size in sizes]
    if all(continuous):
        return spaces.Box(-1.0, 1.0, (len(sizes),), np.float32)
    if any(continuous):
        return spaces.Tuple([spaces.Box(-1.0, 1.0, (1,), np.float32) if size == 1
                             else spaces.Discrete(size) for size in sizes])
    return spaces.Discrete(sizes[0]) if len(sizes) == 1 else spaces.MultiDiscrete(list(sizes))


def _box(low: Obs, high: Obs, shape: tuple[int, ...], about: Description) -> spaces.Box:
    shape = shape or low.shape
    return spaces.Box(low.reshape(shape), high.reshape(shape), dtype=about.obs_dtype.type)


def bounds(about: Description, row: ObsSpec | None) -> tuple[Obs, Obs]:
    """(D,) each, in the row's own type: what is declared, else all that the type holds."""
    kind = about.obs_dtype
    least, most = (-np.inf, np.inf) if kind.kind == "f" else (np.iinfo(kind).min,
                                                              np.iinfo(kind).max)
    low, high = np.full(about.obs_size, least, kind), np.full(about.obs_size, most, kind)
    for part in row.described if row is not None else ():
        for at, limits in part.promises:
            kept = np.clip(limits, low[at].min(), high[at].max())
            low[at], high[at] = kept.astype(about.obs_dtype)
    return low, high


def _with_rests(row: ObsSpec, size: int) -> dict[str, ObsField]:
    """The named parts, and what lies between them: "rest_12" from element 12 on."""
    found: dict[str, ObsField] = {}
    at = 0
    for part in (*row.parts, None):
        first = size if part is None else part.first
        if first > at:
            found[f"rest_{at}"] = ObsField("", at, first - at, None, None, "", 0)
        if part is not None:
            found[part.name.removeprefix("OBS_").lower()] = part
            at = part.last + 1
    return found
