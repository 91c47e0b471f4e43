"""Action masks as rows of bytes.  what an environment gives -> 0 and 1 for each id"""
from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

import numpy as np
from numpy.typing import NDArray

from .interfaces import Value

MASK = "action_mask"        # of an observation that is a Dict, or of infos
METHOD = "action_masks"     # of an environment with one agent


def method_of(env: object) -> Callable[[], Value] | None:
    """env.action_masks(), the convention of sb3-contrib; also where wrappers are around it."""
    get = getattr(env, "get_wrapper_attr", None)
    with suppress(AttributeError):
        found = get(METHOD) if get else getattr(env, METHOD)
        return found if callable(found) else None
    return None


def flat_mask(mask: Value, size: int) -> NDArray[np.bool_]:
    """(size,) of 0 and 1: an array, or a sequence of arrays, one for each head.

    Raises ValueError for one of another size.
    """
    if isinstance(mask, (tuple, list)) and mask and np.ndim(mask[0]) > 0:
        mask = np.concatenate([np.ravel(each) for each in mask])
    return _allowed(np.ravel(np.asarray(mask)), size)


def flat_masks(masks: Value, rows: int, size: int) -> NDArray[np.bool_]:
    """(rows, size) of 0 and 1, of a batch: an array with a row for each copy, or a tuple of them,
    one for each head. In an array of objects, as Gymnasium keeps lists, None allows everything.

    Raises ValueError for one of another size.
    """
    if isinstance(masks, np.ndarray) and masks.dtype == object:
        return np.array([np.ones(size, bool) if mask is None else flat_mask(mask, size)
                         for mask in masks])
    heads = masks if isinstance(masks, tuple) else (masks,)
    return _allowed(np.concatenate([np.reshape(each, (rows, -1)) for each in heads], 1), size)


def _allowed(flat: NDArray[np.generic], size: int) -> NDArray[np.bool_]:
    if flat.shape[-1] != size:
        raise ValueError(f"action_mask has {flat.shape[-1]} entries, the action space has {size}")
    allowed: NDArray[np.bool_] = flat != 0
    return allowed
