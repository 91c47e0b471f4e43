"""State of the user's own objects in checkpoints.  state_dict() -> tensors, JSON; and back"""
from __future__ import annotations

import functools
import types
from collections.abc import Callable, Mapping
from typing import Any, cast

import numpy as np

from ..base.errors import RunError, UsageError

PLAIN = types.FunctionType, types.BuiltinFunctionType, type
LOST = {"lost": True}       # of an object whose state cannot be kept
HINT = "give its class state_dict() and load_state_dict(), or begin a new run"


def owner(function: Callable[..., object]) -> object:
    """What may hold state: the object of a method, what functools.partial calls, or itself."""
    while isinstance(function, functools.partial):
        function = function.func
    return getattr(function, "__self__", None) or function


def save(what: str, function: Callable[..., object]) -> tuple[dict[str, np.ndarray], object]:
    """Tensors by name, and what JSON takes of the rest; None where there is no state. Raises
    RunError for what no checkpoint can hold."""
    held, tensors = owner(function), dict[str, np.ndarray]()
    if isinstance(held, (*PLAIN, types.ModuleType)):
        return {}, None
    if not hasattr(held, "state_dict") or not hasattr(held, "load_state_dict"):
        return {}, LOST if getattr(held, "__dict__", None) else None
    return tensors, _packed(held.state_dict(), f"own.{what}", tensors)


def load(what: str, function: Callable[..., object], tensors: Mapping[str, np.ndarray],
         kept: object) -> None:
    """Give an object the state that save() took. Raises UsageError where it cannot have it."""
    held: Any = owner(function)
    if kept is None:
        return
    if kept == LOST or not hasattr(held, "load_state_dict"):
        raise UsageError(f"the state of {what} is in no checkpoint", where=what,
                         expected="state_dict() and load_state_dict()",
                         actual=type(held).__name__, hint=HINT)
    try:
        held.load_state_dict(_unpacked(kept, tensors))
    except (ValueError, TypeError, KeyError, IndexError, AttributeError, RuntimeError) as error:
        raise UsageError(f"the checkpoint's state does not fit {what}", where=what,
                         detail=f"{type(error).__name__}: {error}", hint=HINT) from error


def _packed(value: object, name: str, tensors: dict[str, np.ndarray]) -> object:
    """What JSON takes; arrays and tensors go to `tensors`, whose numbers are all floats there."""
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, Mapping):
        return {"items": [[_packed(key, name, tensors), _packed(each, f"{name}.{key}", tensors)]
                          for key, each in value.items()]}
    if isinstance(value, (list, tuple)):
        return {"tuple" if isinstance(value, tuple) else "list": [
            _packed(each, f"{name}.{at}", tensors) for at, each in enumerate(value)]}
    of_torch, given = hasattr(value, "detach"), cast("Any", value)
    if of_torch:
        given = given.detach().cpu()
    kind = str(given.dtype).removeprefix("torch.") if of_torch else None
    array = np.asarray(given.float() if kind == "bfloat16" else given)
    if array.dtype.kind not in "fiub":
        raise RunError(f"state_dict() holds a {type(value).__name__}", where=name,
                       expected="numbers, texts, tensors, arrays, and dicts, lists or tuples of "
                       "these")
    whole = array.dtype.kind != "f"
    if whole and array.size and np.abs(array.astype(np.float64)).max() >= 2.0**53:
        raise RunError("state_dict() holds integers of 2^53 or more", where=name,
                       hint="keep them as Python's int: these are exact")
    tensors[name] = array.astype(np.float64) if whole else array.copy()
    return {"tensor": name, "dtype": kind or array.dtype.str, "torch": of_torch}


def _unpacked(kept: Any, tensors: Mapping[str, np.ndarray]) -> Any:
    if not isinstance(kept, dict):
        return kept
    if "items" in kept:
        return {_unpacked(key, tensors): _unpacked(each, tensors) for key, each in kept["items"]}
    if "tensor" not in kept:
        found = [_unpacked(each, tensors) for each in kept["tuple" if "tuple" in kept else "list"]]
        return tuple(found) if "tuple" in kept else found
    array = tensors[kept["tensor"]]
    if not kept["torch"]:
        return array.astype(kept["dtype"])
    import torch
    return torch.from_numpy(array.copy()).to(getattr(torch, kept["dtype"]))
