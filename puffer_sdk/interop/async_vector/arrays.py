"""Spaces as arrays in shared memory, exactly.  a space, n -> leaves, and trees of views

A leaf is a Box, Discrete, MultiDiscrete or MultiBinary; each has one array (n, *shape) of its own
dtype. Dict and Tuple nest them. All other spaces are loose: their values travel as they are.
"""
from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from gymnasium import Space, spaces

from ..python_envs.space_rows import nest

LEAVES = (spaces.Box, spaces.Discrete, spaces.MultiDiscrete, spaces.MultiBinary)


def is_fixed(space: Space) -> bool:
    """Whether every value of a space takes the same place."""
    if isinstance(space, spaces.Dict):
        return all(map(is_fixed, space.spaces.values()))
    if isinstance(space, spaces.Tuple):
        return all(map(is_fixed, space.spaces))
    return isinstance(space, LEAVES)


def is_known(space: Space) -> bool:
    """Whether it is one of Gymnasium's own spaces, throughout."""
    if isinstance(space, spaces.Dict):
        return all(map(is_known, space.spaces.values()))
    if isinstance(space, spaces.Tuple):
        return all(map(is_known, space.spaces))
    return isinstance(space, (*LEAVES, spaces.Text, spaces.Sequence, spaces.Graph, spaces.OneOf))


class Arrays:
    """Where the values of n copies of a fixed space lie.

    bytes   that they take
    """

    def __init__(self, space: Space, n: int):
        self.n = n
        self.leaves: list[tuple[tuple, tuple[int, ...], np.dtype, int]] = []
        self.bytes = 0
        self.tree = self._walk(space, ())

    def _walk(self, space: Space, path: tuple):
        if isinstance(space, spaces.Dict):
            return {key: self._walk(part, (*path, key)) for key, part in space.spaces.items()}
        if isinstance(space, spaces.Tuple):
            return tuple(self._walk(part, (*path, at)) for at, part in enumerate(space.spaces))
        shape = (self.n, *(space.shape or ()))
        self.leaves.append((path, shape, np.dtype(space.dtype), self.bytes))
        self.bytes += -(-math.prod(shape) * np.dtype(space.dtype).itemsize // 64) * 64
        return len(self.leaves) - 1

    def views(self, block: np.ndarray) -> list[np.ndarray]:
        """The arrays of the leaves in `bytes` bytes."""
        return [block[at:at + math.prod(shape) * dtype.itemsize].view(dtype).reshape(shape)
                for _, shape, dtype, at in self.leaves]

    def nest(self, values) -> Any:
        """Values of the leaves, nested as the space is."""
        return nest(self.tree, values.__getitem__)

    def writer(self, views: list[np.ndarray], env: int) -> Callable[[Any], None]:
        """A function that writes one value of the space where copy `env` has it."""
        places = [(view[env:env + 1].reshape(view.shape[1:]), path)
                  for view, (path, *_) in zip(views, self.leaves)]
        if not self.leaves:
            return lambda value: None
        if places[0][1] == ():
            return lambda value, at=places[0][0]: at.__setitem__(..., value)

        def write(value):
            for at, path in places:
                part = value
                for key in path:
                    part = part[key]
                at[...] = part
        return write

    def reader(self, views: list[np.ndarray]) -> Callable[[int], Any]:
        """A function from a copy's number to its value: copies, and NumPy's own numbers."""
        if self.leaves and self.leaves[0][0] == ():
            view = views[0]
            return view.__getitem__ if view.ndim == 1 else lambda env: view[env].copy()
        return lambda env: self.nest([view[env] if view.ndim == 1 else view[env].copy()
                                      for view in views])

    def take(self, values, views: list[np.ndarray]) -> bool:
        """Write a batch into the arrays, if it is one: nested arrays with a first axis of n.

        Raises TypeError or ValueError where it is for another number of copies.
        """
        parts = []
        for path, shape, dtype, _ in self.leaves:
            part = values
            for key in path:
                if not isinstance(part, dict if isinstance(key, str) else tuple):
                    return False
                part = part[key]
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


def _stacked(values):
    if not hasattr(values, "__len__"):
        raise TypeError(f"{values!r} is not a batch of actions")
    try:
        return np.array(values)
    except ValueError:
        return None
