"""Spaces as rows of numbers, and back.  a Gymnasium space -> Observations, Actions

An observation becomes one row of D numbers, leaf after leaf, in the order of the space:

    Box                 its numbers, flat
    Discrete(n)         n numbers, one of them 1 (`start` is taken off)
    MultiDiscrete       the same for each of its entries, one after another
    MultiBinary         0 or 1 each
    Dict, Tuple         their parts, nested as deep as you like; a Dict's in the order of its keys

The row is uint8 if all leaves are Boxes of uint8, else float32. An action becomes heads: one for
Discrete, one per entry for MultiDiscrete, one of width 2 per entry for MultiBinary, one continuous
head per number for a Box. A continuous head's [-1, 1] covers a bounded Box from low to high; what
lies outside is clipped. An unbounded one is taken as it is.

Writing and reading are functions generated for the space: no walk over the space at every step.
"""
from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ...base.errors import UsageError
from ...env import abi
from . import trees
from .interfaces import Value
from .masks import MASK
from .trees import Path, Tree

if TYPE_CHECKING:
    from gymnasium import Space

KINDS = ("Box", "Discrete", "MultiDiscrete", "MultiBinary")
REFUSED = {
    "Graph": "a graph has no fixed number of nodes",
    "Sequence": "a sequence has no fixed length",
    "Text": "a text has no fixed length",
    "OneOf": "its parts take turns, and a row cannot say which one it holds",
}


@dataclass(frozen=True)
class Leaf:
    """Consecutive numbers of the row that come from one simple space.

    path    how to get there: ("inventory", 2); () for a space that is simple itself
    kind    one of KINDS
    first   the first number of the row
    count   numbers of the row
    shape   of what the env gives
    widths  of Discrete, MultiDiscrete: numbers for each entry
    starts  of these: the lowest value of each entry
    dtype   of what the env gives
    low, high   of a Box: bounds of all its numbers; None where it has none
    """

    path: Path
    kind: str
    first: int
    count: int
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    widths: tuple[int, ...] = ()
    starts: tuple[int, ...] = ()
    low: float | None = None
    high: float | None = None

    @property
    def name(self) -> str:
        """The path for people: inventory[2]; "" for a space that is simple itself."""
        return trees.path_name(self.path)

    def of(self, value: Value) -> Value:
        """This part of an observation or action."""
        for part in self.path:
            value = value[part]
        return value

    def to_dict(self) -> dict[str, object]:
        """For JSON, which knows no infinite bounds."""
        facts = {**asdict(self), "dtype": self.dtype.str}
        return facts | {name: [end if math.isfinite(end) else None for end in facts[name].tolist()]
                        for name in ("lows", "highs") if name in facts}


@dataclass(frozen=True)
class BoxOfActions(Leaf):
    """lows, highs: the bounds of each number, (count,)"""

    lows: NDArray[np.float64] = field(default_factory=lambda: np.empty(0))
    highs: NDArray[np.float64] = field(default_factory=lambda: np.empty(0))


@dataclass(frozen=True)
class Observations:
    """How observations of a space become rows.

    size    D
    dtype   uint8 or float32
    raw     whether a row holds the bytes of leaves of several types (layouts.py)
    """

    size: int
    dtype: np.dtype[Any]
    leaves: tuple[Leaf, ...]
    tree: Tree
    raw: ClassVar[bool] = False

    @property
    def box(self) -> Leaf | None:
        """The leaf of a space that is one Box or MultiBinary: its row is written by row[...] = ob
        once it has the leaf's shape."""
        leaf = self.leaves[0]
        return leaf if not leaf.path and leaf.kind in ("Box", "MultiBinary") else None

    def writer(self, row: NDArray[Any]) -> Callable[[Value], None]:
        """A function that writes an observation into this row, (D,), which must stay there."""
        names: dict[str, Any] = {}
        lines = []
        for number, leaf in enumerate(self.leaves):
            at = "ob" + "".join(f"[{part!r}]" for part in leaf.path)
            view = row[leaf.first:leaf.first + leaf.count]
            if leaf.kind in ("Box", "MultiBinary"):
                names[f"v{number}"] = view.reshape(leaf.shape)
                lines.append(f"v{number}[...] = {at}")
                continue
            names[f"v{number}"] = view
            lines.append(f"v{number}.fill(0)")
            if leaf.kind == "Discrete":
                shift = f" - {int(leaf.starts[0])}" if leaf.starts[0] else ""
                lines += [f"i = {at}{shift}",
                          f"if not 0 <= i < {int(leaf.count)}: raise IndexError({number})",
                          f"v{number}[i] = 1"]
            else:
                names |= {f"s{number}": np.array(leaf.starts).reshape(leaf.shape),
                          f"w{number}": np.array(leaf.widths).reshape(leaf.shape),
                          f"o{number}": np.cumsum((0, *leaf.widths[:-1]))}
                lines += [f"i = {at} - s{number}",
                          f"if (i < 0).any() or (i >= w{number}).any(): raise IndexError({number})",
                          f"v{number}[o{number} + i.ravel()] = 1"]
        return generated("write(ob)", lines, names)

    def write_all(self, rows: NDArray[Any], obs: Value) -> None:
        """Write a batch of observations, nested as the space is with a first axis for the rows.

        Raises ValueError for an id outside its space, LookupError for a part that is missing.
        """
        for leaf in self.leaves:
            values = obs
            for part in leaf.path:
                values = values[part]
            values = np.asarray(values).reshape(len(rows), -1)
            view = rows[:, leaf.first:leaf.first + leaf.count]
            if leaf.kind in ("Box", "MultiBinary"):
                view[...] = values
                continue
            ids = values.astype(np.int64) - leaf.starts
            if (ids < 0).any() or (ids >= leaf.widths).any():
                raise ValueError(f"{leaf.name or 'the observation'} lies outside its space")
            view[...] = 0
            np.put_along_axis(view, ids + np.cumsum((0, *leaf.widths[:-1])), 1, 1)

    def unflatten(self, rows: Value) -> Value:
        """Rows (..., D) as the space nests them, for NumPy arrays and torch tensors: views.

        (..., *shape) for a leaf that is a Box or MultiBinary, (..., numbers) for one-hot ids; all
        in the rows' type. In raw rows every leaf has its own type and shape, ids as well.
        """
        return trees.nest(self.tree, lambda number: self.part(rows, self.leaves[number]))

    def part(self, rows: Value, leaf: Leaf) -> Value:
        """One leaf of unflatten()."""
        part = rows[..., leaf.first:leaf.first + leaf.count]
        if leaf.kind in ("Box", "MultiBinary"):
            return part.reshape((*rows.shape[:-1], *leaf.shape))
        return part

    def example(self, count: int) -> NDArray[Any]:
        """(count, D) rows of observations that lie in the space, always the same ones."""
        rng, rows = np.random.default_rng(0), np.zeros((count, self.size), self.dtype)

        def values(number: int) -> NDArray[Any]:
            leaf = self.leaves[number]
            shape = (count, *leaf.shape)
            if leaf.kind == "Box":
                low, high = bounds_of(leaf) or (0.0, 1.0)
                return (low + rng.random(shape) * (high - low)).astype(leaf.dtype)
            if leaf.kind == "MultiBinary":
                return rng.integers(0, 2, shape)
            ids = (rng.random((count, len(leaf.widths))) * leaf.widths).astype(np.int64)
            return (ids + np.array(leaf.starts, np.int64)).reshape(shape)
        self.write_all(rows, trees.nest(self.tree, values))
        return rows

    def to_dict(self) -> dict[str, object]:
        """For JSON; layouts.from_dict() takes it."""
        return {"size": self.size, "dtype": self.dtype.name, "raw": self.raw,
                "leaves": [leaf.to_dict() for leaf in self.leaves],
                "tree": trees.to_json(self.tree)}

    def row_of(self, ob: Value) -> NDArray[Any]:
        """(D,) an observation of the space as a row. Raises what write_all() raises."""
        row = np.zeros((1, self.size), self.dtype)
        self.write_all(row, trees.nest(self.tree, lambda number: np.asarray(
            self.leaves[number].of(ob))[None]))
        found: NDArray[Any] = row[0]
        return found


@dataclass(frozen=True)
class Actions:
    """How rows of heads become actions of a space.

    sizes       head widths, 1 = continuous
    """

    sizes: tuple[int, ...]
    leaves: tuple[Leaf, ...]
    tree: Tree

    def to_dict(self) -> dict[str, object]:
        """For JSON; layouts.actions_from_dict() takes it."""
        return {"sizes": list(self.sizes), "leaves": [leaf.to_dict() for leaf in self.leaves],
                "tree": trees.to_json(self.tree)}

    @property
    def mask_size(self) -> int:
        """Bytes of an action mask; 0 where a head is continuous."""
        return 0 if 1 in self.sizes else sum(self.sizes)

    def reader(self) -> Callable[[NDArray[np.float32]], list[Value]]:
        """A function from rows (n, K) float32 to n actions of the space."""
        names: dict[str, Any] = {"np": np}
        lines, column = [], 0
        for number, leaf in enumerate(self.leaves):
            heads = len(leaf.widths) if leaf.kind != "Box" else leaf.count
            part = f"rows[:, {column}:{column + heads}]"
            column += heads
            if leaf.kind == "Discrete":
                shift = f" + {leaf.starts[0]}" if leaf.starts[0] else ""
                # NumPy's integers, as Discrete.sample() returns: contains() takes ints more slowly
                lines.append(f"a{number} = list({part}[:, 0].astype(np.int64){shift})")
            elif isinstance(leaf, BoxOfActions):
                names |= {f"l{number}": leaf.lows, f"h{number}": leaf.highs}
                bounded = np.isfinite(leaf.lows) & np.isfinite(leaf.highs)
                text = f"{part}.astype(np.float64)"
                if bounded.all():
                    text = (f"l{number} + (np.clip({text}, -1, 1) + 1) * 0.5 * "
                            f"(h{number} - l{number})")
                elif bounded.any():
                    names[f"b{number}"] = bounded
                    names[f"l{number}"] = np.where(bounded, leaf.lows, 0)
                    names[f"h{number}"] = np.where(bounded, leaf.highs, 0)
                    text = (f"np.where(b{number}, l{number} + (np.clip({text}, -1, 1) + 1) * 0.5"
                            f" * (h{number} - l{number}), {text})")
                if leaf.dtype.kind != "f":
                    text = f"np.rint({text})"
                names[f"d{number}"] = leaf.dtype
                lines.append(f"a{number} = list(({text}).astype(d{number})"
                             f".reshape(-1, *{leaf.shape!r}))")
            else:
                names |= {f"d{number}": leaf.dtype, f"s{number}": np.array(leaf.starts)}
                lines.append(f"a{number} = list(({part}.astype(np.int64) + s{number})"
                             f".astype(d{number}).reshape(-1, *{leaf.shape!r}))")

        def expression(node: Tree) -> str:
            if isinstance(node, dict):
                return "{" + ", ".join(f"{key!r}: {expression(child)}"
                                       for key, child in node.items()) + "}"
            if isinstance(node, tuple):
                return "(" + "".join(expression(child) + ", " for child in node) + ")"
            return f"a{node}[i]"
        whole = "a0" if self.tree == 0 else \
            f"[{expression(self.tree)} for i in range(len(rows))]"
        return generated("read(rows)", [*lines, f"return {whole}"], names)


def bounds_of(leaf: Leaf) -> tuple[float, float] | None:
    """Of all numbers of a Box; None where one of them has none."""
    return None if leaf.low is None or leaf.high is None else (leaf.low, leaf.high)


def generated(signature: str, lines: list[str], names: dict[str, Any]) -> Callable[..., Any]:
    """The function with these lines, which may use these names."""
    exec(f"def {signature}:\n " + "\n ".join(lines), names)
    function: Callable[..., Any] = names[signature.partition("(")[0]]
    return function


def observations_of(space: Space[Any]) -> Observations:
    """The plan of an observation space. Raises UsageError for a space that has no fixed row.

    A Dict with a key `action_mask` is planned without it.
    """
    leaves: list[Leaf] = []
    tree = _walk(space, (), leaves, "observation")
    if not leaves:
        raise UsageError("the observation space is empty", actual=str(space))
    small = all(leaf.kind == "Box" and leaf.dtype == np.uint8 for leaf in leaves)
    size = leaves[-1].first + leaves[-1].count
    if size < 1:
        raise UsageError("the observation space holds no number", actual=str(space))
    return Observations(size, np.dtype(np.uint8 if small else np.float32), tuple(leaves), tree)


def actions_of(space: Space[Any]) -> Actions:
    """The plan of an action space. Raises UsageError for a space that cannot be heads."""
    leaves: list[Leaf] = []
    tree = _walk(space, (), leaves, "action")
    sizes = tuple(width for leaf in leaves for width in (
        leaf.widths if leaf.kind != "Box" else (1,) * leaf.count))
    most = abi.number("PUFFER_MAX_HEADS")
    if not sizes:
        raise UsageError("the action space is empty", actual=str(space))
    if len(sizes) > most:
        raise UsageError("the action space has too many parts", expected=f"at most {most} heads",
                         actual=f"{len(sizes)} in {space}")
    single = next((leaf for leaf in leaves if leaf.kind != "Box" and 1 in leaf.widths), None)
    if single:
        raise UsageError(f"the action space lets {single.name or 'an action'} choose between one "
                         "value only", actual=str(space),
                         hint="leave that part out with a gymnasium.ActionWrapper: a head of "
                              "width 1 is a continuous one here")
    return Actions(sizes, tuple(leaves), tree)


def _walk(space: Space[Any], path: Path, leaves: list[Leaf], what: str) -> Tree:
    """The tree below a space; adds its leaves. what: "observation" or "action"."""
    import gymnasium.spaces as known

    kind = type(space).__name__
    if isinstance(space, known.Dict):
        return {key: _walk(part, (*path, key), leaves, what) for key, part in space.spaces.items()
                if not (what == "observation" and not path and key == MASK)}
    if isinstance(space, known.Tuple):
        return tuple(_walk(part, (*path, number), leaves, what)
                     for number, part in enumerate(space.spaces))
    first = leaves[-1].first + leaves[-1].count if leaves else 0
    leaves.append(_leaf(space, kind, path, first, what))
    return len(leaves) - 1


def _leaf(space: Space[Any], kind: str, path: Path, first: int, what: str) -> Leaf:
    import gymnasium.spaces as known

    acts = what == "action"
    if isinstance(space, known.Box):
        count, shape, dtype = math.prod(space.shape), tuple(space.shape), np.dtype(space.dtype)
        lows, highs = (np.asarray(each, np.float64).reshape(-1)
                       for each in (space.low, space.high))
        if acts:
            return BoxOfActions(path, "Box", first, count, shape, dtype, lows=lows, highs=highs)
        if count and np.isfinite(lows).all() and np.isfinite(highs).all():
            return Leaf(path, "Box", first, count, shape, dtype, low=float(lows.min()),
                        high=float(highs.max()))
        return Leaf(path, "Box", first, count, shape, dtype)
    if isinstance(space, known.Discrete):
        return Leaf(path, "Discrete", first, int(space.n), (), np.dtype(np.int64),
                    widths=(int(space.n),), starts=(int(space.start),))
    if isinstance(space, known.MultiDiscrete):
        widths = tuple(int(n) for n in np.ravel(space.nvec))
        starts = np.ravel(getattr(space, "start", np.zeros(len(widths))))
        return Leaf(path, "MultiDiscrete", first, sum(widths), tuple(space.shape),
                    np.dtype(space.dtype), widths=widths,
                    starts=tuple(int(start) for start in starts))
    if isinstance(space, known.MultiBinary):
        count = math.prod(space.shape)
        return Leaf(path, "MultiBinary", first, count, tuple(space.shape), np.dtype(np.int8),
                    widths=(2,) * count if acts else (), starts=(0,) * count if acts else ())
    name = Leaf(path, kind, 0, 0, (), np.dtype(np.int8)).name
    raise UsageError(f"the {what} space has a part that cannot be a row of fixed length: {kind}"
                     + (f" at {name}" if name else ""), expected=", ".join(KINDS) +
                     ", and Dict or Tuple of them", actual=str(space),
                     hint=f"{REFUSED.get(kind, 'it is no space of Gymnasium')}; name a function "
                          "that wraps the environment, FILE.py:make, with gymnasium.wrappers."
                          + ("FilterObservation, which leaves parts out, or TransformObservation"
                             if not acts else "TransformAction"))


def describe(leaves: Sequence[Leaf]) -> list[str]:
    """One line a leaf, for hashes and people: "pos: Box(3,) float32"."""
    return [f"{leaf.name or '.'}: {leaf.kind}{leaf.shape} {leaf.dtype} "
            f"{leaf.widths}{leaf.starts}" for leaf in leaves]
