"""What a custom network knows about its rows.  Observations -> raw rows, JSON and back

Such a network ([policy] torch_class) may unflatten() a row into the environment's observation.
Where the leaves of the space differ in type, its rows are bytes, each leaf in its own type, at a
multiple of its item size, as is the row's end: a part of a row is a view in its own type. Ids stay
numbers.
"""
from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import DTypeLike, NDArray

from ...base.errors import UsageError
from . import trees
from .interfaces import Value
from .space_rows import Actions, BoxOfActions, Leaf, Observations, bounds_of, generated


@dataclass(frozen=True)
class RawObservations(Observations):
    """A leaf's `first` is its first byte, and `count` the number of its values."""

    raw: ClassVar[bool] = True

    def writer(self, row: NDArray[Any]) -> Callable[[Value], None]:
        names: dict[str, Any] = {}
        lines = []
        for number, leaf in enumerate(self.leaves):
            names[f"v{number}"] = self.part(row, leaf)
            at = "ob" + "".join(f"[{part!r}]" for part in leaf.path)
            if leaf.kind == "Discrete":
                low, width = int(leaf.starts[0]), int(leaf.widths[0])
                lines += [f"i = {at}",
                          f"if not {low} <= i < {low + width}: raise IndexError({number})",
                          f"v{number}[...] = i"]
                continue
            lines.append(f"v{number}[...] = {at}")
            if leaf.kind == "MultiDiscrete":
                least = np.array(leaf.starts).reshape(leaf.shape)
                names |= {f"l{number}": least,
                          f"h{number}": least + np.array(leaf.widths).reshape(leaf.shape)}
                lines.append(f"if (v{number} < l{number}).any() or (v{number} >= h{number}).any():"
                             f" raise IndexError({number})")
        return generated("write(ob)", lines, names)

    def write_all(self, rows: NDArray[Any], obs: Value) -> None:
        for leaf in self.leaves:
            values = obs
            for part in leaf.path:
                values = values[part]
            view = self.part(rows, leaf)
            view[...] = np.asarray(values).reshape(view.shape)
            if leaf.kind in ("Discrete", "MultiDiscrete"):
                ids = view.reshape(len(rows), -1) - np.array(leaf.starts)
                if (ids < 0).any() or (ids >= np.array(leaf.widths)).any():
                    raise ValueError(f"{leaf.name or 'the observation'} lies outside its space")

    def part(self, rows: Value, leaf: Leaf) -> Value:
        """(..., *shape) in the leaf's own type, a view."""
        bytes_ = rows[..., leaf.first:leaf.first + leaf.count * leaf.dtype.itemsize]
        kind = leaf.dtype if isinstance(rows, np.ndarray) else _torch_type(leaf)
        return bytes_.view(kind).reshape((*rows.shape[:-1], *leaf.shape))


def with_rows(plan: Observations, raw: bool) -> Observations:
    """The same space in rows of bytes, if its leaves differ in type, or in rows of numbers."""
    if raw == plan.raw or (raw and len({leaf.dtype for leaf in plan.leaves}) < 2):
        return plan
    leaves: list[Leaf] = []
    end, most = 0, 1
    for leaf in plan.leaves:
        count = math.prod(leaf.shape) if raw or not leaf.widths else sum(leaf.widths)
        size = leaf.dtype.itemsize if raw else 1
        end = -(-end // size) * size
        leaves.append(replace(leaf, first=end, count=count))
        end, most = end + count * size, max(most, size)
    kind = RawObservations if raw else Observations
    return kind(-(-end // most) * most, np.dtype(np.uint8 if raw else np.float32), tuple(leaves),
                plan.tree)


def _torch_type(leaf: Leaf) -> object:
    import torch

    kind = getattr(torch, leaf.dtype.name, None)
    if kind is None:
        raise UsageError("PyTorch has no such type", where=leaf.name, actual=leaf.dtype.name,
                         hint="change it with gymnasium.wrappers.TransformObservation")
    return kind


def bounds(plan: Observations) -> tuple[NDArray[Any], NDArray[Any]]:
    """(D,) each, in the rows' own type: between which a row's numbers lie, if its space says so."""
    bytes_ = plan.dtype == np.uint8
    low, high = (np.full(plan.size, value, plan.dtype)
                 for value in ((0, 255) if bytes_ else (-np.inf, np.inf)))
    for leaf in () if plan.raw else plan.leaves:
        at = slice(leaf.first, leaf.first + leaf.count)
        if leaf.kind != "Box":                      # ids are one-hot, and bits are bits
            low[at], high[at] = 0, 1
        elif (limits := bounds_of(leaf)) is not None:
            low[at], high[at] = limits
    return low, high


def plain(size: int, dtype: DTypeLike = np.float32) -> Observations:
    """Rows that no space describes: unflatten() gives them back."""
    leaf = Leaf((), "Box", 0, size, (size,), np.dtype(dtype))
    return Observations(size, np.dtype(dtype), (leaf,), 0)


def actions_from_dict(facts: Mapping[str, Any] | None) -> Actions | None:
    """What Actions.to_dict() gave; None: nothing."""
    if facts is None:
        return None
    return Actions(tuple(facts["sizes"]), tuple(map(_leaf_from, facts["leaves"])),
                   trees.from_json(facts["tree"]))


def _leaf_from(leaf: Mapping[str, Any]) -> Leaf:
    simple = (tuple(leaf["path"]), leaf["kind"], leaf["first"], leaf["count"],
              tuple(leaf["shape"]), np.dtype(leaf["dtype"]), tuple(leaf["widths"]),
              tuple(leaf["starts"]), leaf["low"], leaf["high"])
    if "lows" not in leaf:
        return Leaf(*simple)
    lows, highs = (np.array([inf if end is None else end for end in leaf[name]], np.float64)
                   for name, inf in (("lows", -math.inf), ("highs", math.inf)))
    return BoxOfActions(*simple, lows=lows, highs=highs)


def from_dict(facts: Mapping[str, Any] | None) -> Observations | None:
    """What Observations.to_dict() gave; None: nothing."""
    if facts is None:
        return None
    kind = RawObservations if facts["raw"] else Observations
    leaves = tuple(map(_leaf_from, facts["leaves"]))
    return kind(int(facts["size"]), np.dtype(facts["dtype"]), leaves,
                trees.from_json(facts["tree"]))
