"""A network of the user's own.  policy.torch_class -> a Network, or where it is wrong

It is tried on three made-up ticks of the env's own type before anything trains; later, what one of
its methods raises is said with the method, and what it was given.
"""
from __future__ import annotations

import inspect
import os
import traceback
from collections.abc import Iterator
from typing import Any, Protocol

import numpy as np
import torch
from numpy.typing import DTypeLike
from torch import Tensor, nn

from ...base import philox
from ...base.errors import PufferError, RunError, UsageError, did_you_mean
from ...base.philox import Purpose
from ...interop.python_envs.layouts import plain
from ...interop.python_envs.space_rows import Observations
from ...settings import torch_class
from ..own_calls import module_of

MANUAL = "the interface is in the docstring of puffer_sdk.training.reference.policy.Policy"
OURS = __name__.partition(".")[0]


class Network(Protocol):
    """What a trainer calls of a Policy, or of a class of the user's: a torch.nn.Module."""

    def initial_state(self, n: int) -> Tensor: ...
    def step(self, obs: Tensor, state: Tensor) -> tuple[Tensor, Tensor, Tensor]: ...
    def sequence(self, obs: Tensor, state0: Tensor, ended: Tensor) -> tuple[Tensor, Tensor]: ...
    def parameters(self) -> Iterator[nn.Parameter]: ...
    def named_parameters(self) -> Iterator[tuple[str, nn.Parameter]]: ...
    def zero_grad(self, set_to_none: bool = True) -> None: ...
    def to(self, device: str) -> object: ...


def call(policy: Network, method: str, *given: Tensor) -> Any:
    """policy.method(*given). Raises RunError that says where and with what a class of the user's
    own failed."""
    try:
        return getattr(policy, method)(*given)
    except Exception as error:
        if isinstance(error, PufferError) or type(policy).__module__.startswith(f"{OURS}."):
            raise
        raise RunError(**failed(policy, method, given, error)) from error


def failed(policy: object, method: str, given: tuple[Any, ...], error: Exception) -> dict[str, Any]:
    """The parts of an error: which method raised this, on which line, and what it was given."""
    name = type(policy).__name__ if not isinstance(policy, type) else policy.__name__
    frames = [frame for frame in traceback.extract_tb(error.__traceback__)
              if f"{os.sep}torch{os.sep}" not in frame.filename
              and f"{os.sep}{OURS}{os.sep}" not in frame.filename]
    asked = list(inspect.signature(getattr(policy, method)).parameters) if given else []
    return {"message": f"{name}.{method}() failed: {type(error).__name__}",
            "where": f"{frames[-1].filename}:{frames[-1].lineno}" if frames else None,
            "detail": "\n".join([str(error), *(
                f"{asked[at] if at < len(asked) else at} is {shape_of(each)}"
                for at, each in enumerate(given))]),
            "hint": hint_for(given, error)}


def hint_for(given: tuple[Any, ...], error: Exception) -> str:
    """The next step after this."""
    first = given[0] if given else None
    if isinstance(first, Tensor) and not first.is_floating_point() and "dtype" in str(error):
        return f"observations are {str(first.dtype).removeprefix('torch.')}: begin with " \
               "obs = obs.float()"
    return MANUAL


def shape_of(value: object) -> str:
    """'(2, 3) float32', or 'a tuple of 2'"""
    if isinstance(value, Tensor):
        return f"{tuple(value.shape)} {str(value.dtype).removeprefix('torch.')}"
    many = f" of {len(value)}" if isinstance(value, (tuple, list, dict)) else ""
    return f"a {type(value).__name__}{many}"


def load_torch_class(spec: str, shape: tuple[int, tuple[int, ...], int, int, bool],
                     layout: Observations | None = None, obs_dtype: DTypeLike = np.float32,
                     extras: bool = True) -> Network:
    """An instance of a user's Class from "file.py:Class", tried on three made-up ticks. Raises
    UsageError where it does not fit."""
    def refuse(message: str, **facts: Any) -> UsageError:
        return _refusal(spec, message, **facts)

    spec = torch_class.find(spec)
    module, name = module_of(spec, torch_class.KEY), spec.rpartition(":")[2]
    cls = getattr(module, name, None)
    if not (isinstance(cls, type) and issubclass(cls, nn.Module)):
        classes = [key for key, value in vars(module).items()
                   if isinstance(value, type) and issubclass(value, nn.Module)]
        raise refuse(f"'{name}' is not a torch.nn.Module of that file",
                     hint=did_you_mean(name, classes))
    for method in ("initial_state", "step", "sequence"):
        if not callable(getattr(cls, method, None)):
            raise refuse(f"{name} has no method {method}()", hint=MANUAL)
    takes = "layout" in inspect.signature(cls).parameters
    if layout is not None and layout.raw and not takes:
        raise refuse(f"{name} does not take a layout, and its rows are bytes of several types",
                     expected="__init__(..., layout)", hint="layout.unflatten(obs) gives the parts "
                     "of the observations: docs/guides/python.md")
    layout = layout or plain(shape[0])
    try:
        made: Any = cls(*shape, **({"layout": layout} if takes else {}))
    except Exception as error:
        parts = failed(cls, "__init__", (), error)
        raise refuse(f"{parts.pop('message')} on a trial run", **parts) from error
    policy: Network = made
    rows = layout.example(6) if takes else _rows(6 * shape[0], np.dtype(obs_dtype))
    found, difference = _Trial(policy, spec, extras).run(torch.from_numpy(rows).view(2, 3, -1))
    outputs, continuous = sum(shape[1]), sum(width == 1 for width in shape[1])
    wanted = {"step logits": (2, outputs), "step value": (2,), "sequence logits": (2, 3, outputs),
              "sequence values": (2, 3), "logstd": (continuous,)}
    for what, want in wanted.items():
        if found[what] != want:
            raise refuse(f"{name}: {what} has the wrong shape", expected=want, actual=found[what],
                         hint=MANUAL)
    if difference > 1e-3:
        raise refuse(f"{name}: sequence() and step() give different results",
                     expected="values equal to 1e-3 or better, resets where ended is 1 included",
                     actual=f"a difference of {difference:.3g}", hint=MANUAL)
    return policy


def _refusal(spec: str, message: str, **facts: Any) -> UsageError:
    return UsageError(f"policy.torch_class: {message}", **{"where": spec, **facts})


def _rows(count: int, dtype: np.dtype[Any]) -> np.ndarray:
    draws = philox.uniform((0, Purpose.INIT), np.arange(count))
    scaled: np.ndarray = (draws if dtype.kind == "f" else draws * 256).astype(dtype)
    return scaled


class _Trial:
    """Three ticks of two agents, obs (2, 3, D); the first one's episode ends on the second tick."""

    def __init__(self, policy: Network, spec: str, extras: bool):
        self.policy, self.spec, self.extras = policy, spec, extras

    @torch.no_grad()
    def run(self, obs: Tensor) -> tuple[dict[str, tuple[int, ...]], float]:
        """The shapes of what it returns, and how far sequence() is from step()."""
        ended = torch.tensor([[0., 1., 0.], [0., 0., 0.]])
        state0 = state = self.state("initial_state", self.call("initial_state", 2))
        stepped = []
        for t in range(3):
            logits, value, after = self.parts("step", 3, obs[:, t], state)
            after = self.state("step", after)
            if after.shape != state.shape or after.dtype != state.dtype:
                raise self.refuse("step() returns another kind of state than initial_state()",
                                  expected=shape_of(state), actual=shape_of(after))
            state = zero_ended(after.clone(), ended[:, t])
            stepped.append(torch.cat([logits, value.view(2, -1)], -1))
        many, values = self.parts("sequence", 2, obs, state0, ended)
        logstd = getattr(self.policy, "logstd", None)
        found = {"step logits": tuple(logits.shape), "step value": tuple(value.shape),
                 "sequence logits": tuple(many.shape), "sequence values": tuple(values.shape),
                 "logstd": (0,) if logstd is None else tuple(logstd.shape)}
        if found["sequence logits"] != (2, 3, logits.shape[-1]) or values.shape != (2, 3):
            return found, 0.0
        both = torch.cat([many, values.view(2, 3, 1)], -1)
        return found, float((both - torch.stack(stepped, 1)).abs().max())

    def refuse(self, message: str, **facts: Any) -> UsageError:
        return _refusal(self.spec, f"{type(self.policy).__name__}: {message}",
                        **{"hint": MANUAL, **facts})

    def call(self, method: str, *given: Any) -> Any:
        try:
            return getattr(self.policy, method)(*given)
        except Exception as error:
            parts = failed(self.policy, method, given, error)
            raise _refusal(self.spec, f"{parts.pop('message')} on a trial run", **{
                key: value for key, value in parts.items() if value is not None}) from error

    def parts(self, method: str, count: int, *given: Tensor) -> tuple[Any, ...]:
        """What a method returns: so many tensors."""
        found = self.call(method, *given)
        wanted = {"step": "logits, value, new state", "sequence": "logits, values"}[method]
        if isinstance(found, tuple) and method == "sequence" and len(found) == 3:
            if not self.extras:
                raise self.refuse("sequence() returns something else: only a loss of your own "
                                  "takes a third value", expected=wanted, actual=shape_of(found),
                                  hint="[train] torch_loss names one, or Trainer(vec, loss=fn)")
            found = found[:2]
        if not isinstance(found, tuple) or len(found) != count:
            raise self.refuse(f"{method}() returns something else", expected=wanted,
                              actual=shape_of(found))
        for name, each in zip(wanted.split(", ")[:2], found):
            if not isinstance(each, Tensor):
                raise self.refuse(f"{method}(): {name} must be a tensor", expected="a tensor",
                                  actual=shape_of(each))
        return found

    def state(self, method: str, state: object) -> Tensor:
        if not isinstance(state, Tensor):
            raise self.refuse(f"{method}() must return the state as one tensor",
                              expected="a tensor (n, ...)", actual=shape_of(state),
                              hint="put the parts side by side: torch.cat([h, c], 1) here, "
                                   "state.chunk(2, 1) in step()")
        if state.dim() < 1 or len(state) != 2:
            raise self.refuse(f"{method}() returns a state that has no row for each agent",
                              expected="(2, ...) for two agents", actual=shape_of(state))
        return state


def zero_ended(state: Tensor, ended: Tensor) -> Tensor:
    """The carried state with the rows of ended episodes set to zero, in place."""
    return state.masked_fill_((ended != 0).view(-1, *[1] * (state.dim() - 1)), 0)
