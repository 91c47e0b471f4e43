"""Spaces as arrays in shared memory, exactly.  a space, n -> leaves, and trees of views

A leaf is a Box, Discrete, MultiDiscrete or MultiBinary; each has one array (n, *shape) of its own
dtype. Dict and Tuple nest them. All other spaces are loose: their values travel as they are.
"""
from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from gymnasium import Space, spaces
from numpy.typing import NDArray

from ..python_envs.interfaces import Value
from ..python_envs.trees import Tree, nest

LEAVES = (spaces.Box, spaces.Discrete, spaces.MultiDiscrete, spaces.MultiBinary)


def is_fixed(space: Space[Any]) -> bool:
    """Whether every value of a space takes the same place."""
    return all(isinstance(leaf, LEAVES) for leaf in leaves_of(space))


def is_known(space: Space[Any]) -> bool:
    """Whether it is one of Gymnasium's own spaces, throughout."""
    kinds = (*LEAVES, spaces.Text, spaces.Sequence, spaces.Graph, spaces.OneOf)
    return all(isinstance(leaf, kinds) for leaf in leaves_of(space))


def leaves_of(space: Space[Any]) -> list[Space[Any]]:
    """The spaces below Dicts and Tuples."""
    if not isinstance(space, (spaces.Dict, spaces.Tuple)):
        return [space]
    parts = space.spaces.values() if isinstance(space, spaces.Dict) else space.spaces
    return [leaf for part in parts for leaf in leaves_of(part)]


class Place(NamedTuple):
    """Where the values of a leaf lie; shape: with the copies first, at: the first byte."""

    path: tuple[str | int, ...]
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    at: int


class Arrays:
    """Where the values of n copies of a fixed space lie.

    bytes   that they take
    """

    def __init__(self, space: Space[Any], n: int):
        self.n = n
        self.leaves: list[Place] = []
        self.bytes = 0
        self.tree = self._walk(space, ())

    def _walk(self, space: Space[Any], path: tuple[str | int, ...]) -> Tree:
        if isinstance(space, spaces.Dict):
            return {key: self._walk(part, (*path, key)) for key, part in space.spaces.items()}
        if isinstance(space, spaces.Tuple):
            return tuple(self._walk(part, (*path, at)) for at, part in enumerate(space.spaces))
        shape = (self.n, *(space.shape or ()))
        self.leaves.append(Place(path, shape, np.dtype(space.dtype), self.bytes))
        self.bytes += -(-math.prod(shape) * np.dtype(space.dtype).itemsize // 64) * 64
        return len(self.leaves) - 1

    def views(self, block: NDArray[np.uint8]) -> list[NDArray[Any]]:
        """The arrays of the leaves in `bytes` bytes."""
        return [block[at:at + math.prod(shape) * dtype.itemsize].view(dtype).reshape(shape)
                for _, shape, dtype, at in self.leaves]

    def nest(self, values: Sequence[Value]) -> Value:
        """Values of the leaves, nested as the space is."""
        return nest(self.tree, values.__getitem__)

    def writer(self, views: list[NDArray[Any]], env: int) -> Callable[[Value], None]:
        """A function that writes one value of the space where copy `env` has it."""
        places = [(view[env:env + 1].reshape(view.shape[1:]), leaf.path)
                  for view, leaf in zip(views, self.leaves)]
        if len(places) == 1 and places[0][1] == ():
            only = places[0][0]
            return lambda value: only.__setitem__(..., value)

        def write(value: Value) -> None:
            for at, path in places:
                part = value
                for key in path:
                    part = part[key]
                at[...] = part
        return write

    def reader(self, views: list[NDArray[Any]]) -> Callable[[int], Value]:
        """A function from a copy's number to its value: copies, and NumPy's own numbers."""
        if self.leaves and self.leaves[0].path == ():
            view = views[0]
            return view.__getitem__ if view.ndim == 1 else lambda env: view[env].copy()
        return lambda env: self.nest([view[env] if view.ndim == 1 else view[env].copy()
                                      for view in views])

    def take(self, values: Value, views: list[NDArray[Any]]) -> bool:
        """Write a batch into the arrays, if it is one: nested arrays with a first axis of n.

        Raises TypeError or ValueError where it is for another number of copies.
        """
        parts = []
        for path, shape, dtype, _ in self.leaves:
            part = values
            for key in path:
                if not isinstance(part, dict if isinstance(key, str) else tuple):
                    return False
                part = part[key]  # type: ignore[index]  # a str in a dict, a number in a tuple
            if not path and not isinstance(part, np.ndarray):
                part = _stacked(part)
            if not isinstance(part, np.ndarray) or part.dtype == object:
                return False
            if len(part) != self.n:
                raise ValueError(f"there are actions for {len(part)} environments, not {self.n}")
            if part.shape != shape or part.dtype != dtype:
                return False            # environments get what they are given
            parts.append(part)
        for view, part in zip(views, parts):
            view[...] = part
        return True


def _stacked(values: Value) -> Value:
    if not hasattr(values, "__len__"):
        raise TypeError(f"{values!r} is not a batch of actions")
    try:
        return np.array(values)
    except ValueError:
        return None
