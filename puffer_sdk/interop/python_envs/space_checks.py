"""What an environment returns, against what it declared.  a value and its space -> Oddities

What gymnasium.utils.passive_env_checker looks for is found here, too, each under a kind of its own.
"""
from __future__ import annotations

from collections.abc import Iterator
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .interfaces import Value
from .masks import MASK, flat_mask
from .oddities import Oddity
from .trees import Path, path_name

if TYPE_CHECKING:
    from gymnasium import Space
    from gymnasium.spaces import Box, Discrete, MultiBinary, MultiDiscrete

FINE = (int, np.int64)
ROUNDINGS = 4


def observation(space: Space[Any], value: Value, path: Path = ()) -> Iterator[Oddity]:
    """Everything that is wrong with an observation."""
    from gymnasium import spaces

    name = path_name(path)
    if isinstance(space, spaces.Dict):
        if not isinstance(value, dict):
            yield Oddity("obs-type", what=name, expected="dict", actual=type(value).__name__)
            return
        for key in [*space.spaces, *value]:
            if (key in value) != (key in space.spaces):
                yield Oddity("obs-key" if key in value else "obs-no-key",
                             what=path_name((*path, key)))
            elif key in value and value is not None:
                yield from observation(space.spaces[key], value[key], (*path, key))
    elif isinstance(space, spaces.Tuple):
        if not isinstance(value, (tuple, list)) or len(value) != len(space.spaces):
            yield Oddity("obs-type", what=name, expected=f"a tuple of {len(space.spaces)}",
                         actual=type(value).__name__ if not isinstance(value, (tuple, list))
                         else f"{len(value)} parts")
            return
        if not isinstance(value, tuple):
            yield Oddity("obs-class", what=name, expected="tuple", actual="list")
        for number, part in enumerate(space.spaces):
            yield from observation(part, value[number], (*path, number))
    elif isinstance(space, spaces.Discrete):
        yield from _id(space, value, name)
    elif isinstance(space, (spaces.Box, spaces.MultiBinary, spaces.MultiDiscrete)):
        yield from _array(space, value, name)
    elif not space.contains(value):
        yield Oddity("obs-outside", what=name, expected=str(space)[:80], actual=str(value)[:80])


def _id(space: Discrete[Any], value: Value, name: str) -> Iterator[Oddity]:
    kind = type(value).__name__
    try:
        number = int(value)
        whole = float(value) == number
    except (TypeError, ValueError, OverflowError):
        yield Oddity("obs-type", what=name, expected="int", actual=kind)
        return
    if not isinstance(value, FINE) or isinstance(value, bool):
        yield Oddity("obs-class", what=name, expected="int or np.int64", actual=kind)
    if not whole or not space.start <= number < space.start + space.n:
        yield Oddity("obs-outside", what=name, actual=str(value)[:40],
                     expected=f"{space.start} to {space.start + space.n - 1}")


def _array(space: Box | MultiBinary | MultiDiscrete, value: Value, name: str
           ) -> Iterator[Oddity]:
    from gymnasium import spaces

    if not isinstance(value, np.ndarray) and not (space.shape == () and np.ndim(value) == 0):
        yield Oddity("obs-class", what=name, expected="a NumPy array", actual=type(value).__name__)
    try:
        found = np.asarray(value)
    except ValueError:
        found = np.array(None)
    if found.dtype.kind not in "buif":
        yield Oddity("obs-type", what=name, expected=str(space.dtype),
                     actual=f"{type(value).__name__} ({found.dtype})")
        return
    if found.shape != tuple(space.shape):
        yield Oddity("obs-shape", what=name, expected=str(tuple(space.shape)),
                     actual=str(found.shape))
        return
    if found.dtype.kind == "f":
        fine = np.isfinite(found)
        if not fine.all():
            element = int(np.flatnonzero(~fine.reshape(-1))[0])
            yield Oddity("obs-not-finite", what=name, element=element, expected="a finite number",
                         actual=str(found.reshape(-1)[element]))
            return
    if isinstance(value, np.ndarray) and found.dtype != space.dtype:
        yield from _dtype(space, found, name)
    if isinstance(space, spaces.Box):
        low: ArrayLike = space.low
        high: ArrayLike = space.high
        if found.dtype.kind == "f" == np.dtype(space.dtype).kind:
            found = found.astype(space.dtype)       # what it is to be stored as counts
    elif isinstance(space, spaces.MultiBinary):
        low, high = 0, 1
    else:
        start = getattr(space, "start", np.zeros_like(space.nvec))
        low, high = start, start + space.nvec - 1
    ends = (np.asarray(low), np.asarray(high))
    wrong = (found < ends[0]) | (found > ends[1])
    if wrong.any() and found.dtype.kind == "f":
        room = _rounding(*ends)
        wrong = (found < ends[0] - room) | (found > ends[1] + room)
        if not wrong.any():
            yield Oddity("obs-rounded", what=name)
    if wrong.any():
        yield _outside(found, wrong, low, high, name)


def _rounding(low: NDArray[Any], high: NDArray[Any]) -> NDArray[np.float64]:
    """By how much a float may leave its bounds: a few roundings of the float32 that a row holds."""
    low, high = (np.where(np.isfinite(end), np.abs(end), 0.0) for end in (low, high))
    room: NDArray[np.float64] = ROUNDINGS * np.finfo(np.float32).eps * np.maximum(low, high)
    return room


def _outside(found: NDArray[np.generic], wrong: NDArray[np.bool_], low: ArrayLike,
             high: ArrayLike, name: str) -> Oddity:
    element = int(np.flatnonzero(wrong.reshape(-1))[0])
    ends = [float(np.broadcast_to(each, found.shape).reshape(-1)[element]) for each in (low, high)]
    return Oddity("obs-outside", what=name, element=element if found.size > 1 else None,
                  expected=f"within [{ends[0]:g}, {ends[1]:g}]",
                  actual=float(found.reshape(-1)[element]))


def _dtype(space: Box | MultiBinary | MultiDiscrete, found: NDArray[Any], name: str
           ) -> Iterator[Oddity]:
    """Numbers of another dtype: floats in a space of whole numbers lose what makes them differ."""
    wanted = np.dtype(space.dtype)
    lost = found.dtype.kind == "f" != wanted.kind or (
        wanted.kind != "f" and bool((found.astype(wanted) != found).any()))
    yield Oddity("obs-dtype" if lost else "obs-precision", what=name, expected=str(wanted),
                 actual=str(found.dtype))


def reward(value: Value) -> Iterator[Oddity]:
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (Real, np.number)):
        small = isinstance(value, (bool, np.bool_)) or (
            isinstance(value, np.ndarray) and value.size == 1 and value.dtype.kind in "buif")
        yield Oddity("reward-class" if small else "reward-type", expected="a number",
                     actual=type(value).__name__ + (
                         f" of shape {value.shape}" if isinstance(value, np.ndarray) else ""))
        if not small:
            return
    number = complex(np.asarray(value).reshape(-1)[0])
    if number.imag or not np.isfinite(number.real):
        yield Oddity("reward-not-finite", expected="a finite number", actual=str(value))


def ending(name: str, value: Value) -> Iterator[Oddity]:
    """name: "terminated" or "truncated" """
    if isinstance(value, (bool, np.bool_)):
        return
    small = isinstance(value, (int, np.integer)) and value in (0, 1) or (
        isinstance(value, np.ndarray) and value.size == 1 and value.dtype == bool)
    yield Oddity("ending-class" if small else "ending-value", what=name, expected="True or False",
                 actual=f"{value!r} ({type(value).__name__})"[:60])


def info(value: Value) -> Iterator[Oddity]:
    if not isinstance(value, dict):
        yield Oddity("info-type", expected="dict", actual=type(value).__name__)


def mask(value: Value, sizes: tuple[int, ...], others_act: bool = False) -> Iterator[Oddity]:
    """An action mask against the heads. others_act: whether an agent may wait for them."""
    try:
        found = flat_mask(value, sum(sizes))
        numbers = np.concatenate([np.ravel(each) for each in value]) \
            if isinstance(value, (tuple, list)) else np.ravel(np.asarray(value))
    except (ValueError, TypeError):
        yield Oddity("mask-shape", expected=f"{sum(sizes)} entries, as the action space",
                     actual=f"shape {np.shape(value)}" if not isinstance(value, (tuple, list))
                     else f"{len(value)} parts")
        return
    if not np.isin(numbers, (0, 1)).all():
        yield Oddity("mask-value", expected="0 or 1", actual=str(numbers[~np.isin(numbers, (0, 1))]
                                                                [0]))
    first = 0
    for head, width in enumerate(sizes):
        if not found[first:first + width].any() and (found.any() or not others_act):
            yield Oddity("mask-empty", what=f"head {head}", element=head,
                         expected=f"a 1 among {width} entries", actual="zeros only")
        first += width


def spaces_of(space: Value, which: str, path: Path = ()) -> Iterator[Oddity]:
    """A space that contradicts itself; which: "observation" or "action"."""
    from gymnasium import spaces

    name = f"{which} space" + (f" at {path_name(path)}" if path else "")
    if not isinstance(space, spaces.Space):
        yield Oddity("space-type", what=name, expected="a gymnasium.spaces.Space",
                     actual=f"{type(space).__module__}.{type(space).__name__}")
    elif isinstance(space, (spaces.Dict, spaces.Tuple)):
        parts = space.spaces.items() if isinstance(space, spaces.Dict) else enumerate(space.spaces)
        if not len(space.spaces):
            yield Oddity("space-empty", what=name)
        for key, part in parts:
            yield from spaces_of(part, which, (*path, key))
    elif isinstance(space, spaces.Box):
        if space.low.shape != space.shape or space.high.shape != space.shape:
            yield Oddity("space-bounds", what=name, expected=f"bounds of shape {space.shape}",
                         actual=f"{space.low.shape} and {space.high.shape}")
        elif (space.low > space.high).any():
            yield Oddity("space-bounds", what=name, expected="low below high",
                         actual=f"element {int(np.argmax((space.low > space.high).reshape(-1)))}: "
                                "low above high")
        elif (space.low == space.high).any():
            yield Oddity("space-narrow", what=name, element=int(np.flatnonzero(
                (space.low == space.high).reshape(-1))[0]), expected="low below high",
                actual="low equal to high")
    elif isinstance(space, spaces.MultiBinary) and 0 in np.atleast_1d(space.shape):
        yield Oddity("space-empty", what=name)


def mask_of(ob: Value, given: Value) -> Value:
    """The action mask of an observation or its info, or None."""
    if isinstance(ob, dict) and MASK in ob:
        return ob[MASK]
    return given.get(MASK) if isinstance(given, dict) else None
