"""Fills what numpy.empty returns with known bytes, so that unwritten memory shows."""
from collections.abc import Callable

import numpy as np

from .python_facts import Given

BYTES = {1: 0x5A, 2: 0xA5}      # as floats: large, and tiny
_which = [1]


def fill(which: int) -> None:
    """The bytes that arrays have from now on."""
    _which[0] = which


def install() -> None:
    """Replace numpy.empty and numpy.empty_like in this process."""
    for name in ("empty", "empty_like"):
        original = getattr(np, name)
        if not getattr(original, "poisoned", False):
            setattr(np, name, _filling(original))


def _filling(original: Callable[..., Given]) -> Callable[..., Given]:
    def made(*args: object, **keywords: object) -> Given:
        array = original(*args, **keywords)
        if isinstance(array, np.ndarray) and array.dtype.kind in "iuf" \
                and array.flags.c_contiguous and array.size:
            array.reshape(-1).view(np.uint8)[...] = BYTES[_which[0]]
        return array
    made.__dict__["poisoned"] = True
    made.__name__, made.__doc__ = original.__name__, original.__doc__
    return made
