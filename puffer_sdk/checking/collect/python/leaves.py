"""A space as named numbers.  a Gymnasium space -> Leaves; an observation -> (D,) float64

Unlike the rows that a policy sees (interop/python_envs/space_rows.py), an id is one number here,
and a Dict's action_mask is left out.
"""
from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ....interop.python_envs.masks import MASK
from ....interop.python_envs.trees import Path, path_name
from .python_facts import Given, Part

if TYPE_CHECKING:
    from gymnasium import Space


@dataclass(frozen=True)
class Leaf:
    """A simple space somewhere in an observation.

    path    how to get there
    name    that for people: "bag[2]"; "" for a space that is simple itself
    kind    the class of the space
    first   its first number of all
    """

    path: Path
    name: str
    kind: str
    first: int
    shape: tuple[int, ...]
    space: Space[Any]

    @property
    def count(self) -> int:
        return math.prod(self.shape)

    @property
    def image(self) -> bool:
        return self.kind == "Box" and len(self.shape) in (2, 3)

    def get(self, value: Given) -> Given:
        for part in self.path:
            value = value[part]
        return value

    def told(self) -> Part:
        """As Shape.leaves lists it."""
        from gymnasium.spaces import Box

        low = high = None
        if isinstance(self.space, Box) and self.count:
            low, high = float(np.min(self.space.low)), float(np.max(self.space.high))
        return Part(self.name, self.kind, self.first, self.shape, str(self.space.dtype), low, high)


def leaves_of(space: Space[Any]) -> list[Leaf]:
    """All leaves, in the order of the space. TypeError for a space without a fixed size."""
    found: list[Leaf] = []
    _walk(space, (), found)
    return found


def _walk(space: Space[Any], path: Path, found: list[Leaf]) -> None:
    from gymnasium import spaces

    if isinstance(space, spaces.Dict):
        for key, part in space.spaces.items():
            if path or key != MASK:
                _walk(part, (*path, key), found)
        return
    if isinstance(space, spaces.Tuple):
        for number, part in enumerate(space.spaces):
            _walk(part, (*path, number), found)
        return
    if not isinstance(space, (spaces.Box, spaces.Discrete, spaces.MultiDiscrete,
                              spaces.MultiBinary)):
        raise TypeError(type(space).__name__)
    kind = next(kind.__name__ for kind in (spaces.Box, spaces.Discrete, spaces.MultiDiscrete,
                                           spaces.MultiBinary) if isinstance(space, kind))
    first = found[-1].first + found[-1].count if found else 0
    found.append(Leaf(path, path_name(path), kind, first, tuple(space.shape or ()), space))


class Flat:
    """Writes observations of one space as numbers."""

    def __init__(self, space: Space[Any]):
        self.leaves = leaves_of(space)
        self.size = self.leaves[-1].first + self.leaves[-1].count if self.leaves else 0
        self.simple = len(self.leaves) == 1 and not self.leaves[0].path

    def __call__(self, value: Given) -> NDArray[np.float64]:
        """(D,) float64, always a copy. Raises what NumPy raises for a value that does not fit."""
        if self.simple:
            return np.array(value, np.float64).reshape(self.size)
        row = np.zeros(self.size)
        for leaf in self.leaves:
            row[leaf.first:leaf.first + leaf.count] = np.asarray(leaf.get(value)).reshape(-1)
        return row
