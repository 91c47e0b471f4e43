"""A loss of the user's own.  a minibatch, what the network made of it -> a scalar, metrics

Sizes: S segments in a minibatch, T horizon, D observation, K heads, A sum of head widths.
"""
from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, SupportsFloat

from torch import Tensor

from ...base.errors import UsageError
from ..own_calls import call, place_of
from ..own_metrics import checked


@dataclass(frozen=True)
class Batch:
    """What a minibatch was picked from the rollout with. No gradient goes through it.

    obs         (S, T, D)   of the env's own type
    actions     (S, T, K)   chosen on these: ids, or values of continuous heads
    log_probs   (S, T)      of these actions then
    values      (S, T)      of these observations then; in the unit of values, as are the next three
    advantages  (S, T)      not normalised
    returns     (S, T)      what values are to become
    rewards     (S, T)      that the actions caused, clipped
    ended       (S, T)      true where the tick ended an episode
    importance  (S, 1)      weights of the segments under train.prio_alpha, else 1
    state0      (S, ...)    the recurrent state before the first tick
    alive       (S, T)      true where a row had an agent; None: all always have
    masks       (S, T, A)   legal actions, or None
    """

    obs: Tensor
    actions: Tensor
    log_probs: Tensor
    values: Tensor
    advantages: Tensor
    returns: Tensor
    rewards: Tensor
    ended: Tensor
    importance: Tensor
    state0: Tensor
    alive: Tensor | None
    masks: Tensor | None

    @classmethod
    def of(cls, batch: Mapping[str, Tensor], masks: Tensor | None) -> Batch:
        """Of the trainer's own minibatch."""
        names = {"log_probs": "log_prob_old", "values": "value_old", "advantages": "advantage",
                 "importance": "q", "alive": "live"}
        found = {name: batch.get(names.get(name, name)) for name in cls.__annotations__}
        return cls(**{**found, "masks": masks})     # type: ignore[arg-type]    # alive alone lacks


@dataclass(frozen=True)
class Outputs:
    """What the network gives for a Batch now, with its gradient.

    logits      (S, T, A)   of actions; those that the mask forbids are very small
    values      (S, T)
    log_probs   (S, T)      of batch.actions
    entropy     (S, T)      of the policy, summed over heads
    loss        ()          our own: policy, value and entropy
    extra                   the third value of the network's sequence(), a dict say; None without
    """

    logits: Tensor
    values: Tensor
    log_probs: Tensor
    entropy: Tensor
    loss: Tensor
    extra: Any


Loss = Callable[[Batch, Outputs], "Tensor | tuple[Tensor, Mapping[str, SupportsFloat]]"]


class OwnLoss:
    """Calls a loss, and keeps the means of its metrics over an epoch's minibatches."""

    def __init__(self, function: Loss):
        self.function = function
        self._sums: dict[str, list[float]] = {}

    def __call__(self, batch: Batch, outputs: Outputs) -> Tensor:
        """The scalar to learn from. Raises UsageError for what is none, RunError for what the
        function raises."""
        found: Any = call("loss", self.function, batch, outputs)
        loss, metrics = found if isinstance(found, tuple) and len(found) == 2 else (found, {})
        if not isinstance(loss, Tensor) or loss.dim() or not isinstance(metrics, Mapping):
            actual = f"a tensor {tuple(loss.shape)}" if isinstance(loss, Tensor) and loss.dim() \
                else " and ".join(type(each).__name__ for each in (loss, metrics))
            raise self._refuse("a loss must return one number", "a tensor of shape (), or "
                               "(tensor, {name: number})", actual, "x.mean() gives one number")
        if not loss.requires_grad:
            raise self._refuse("the loss does not depend on the network", "a tensor with a "
                               "gradient", "a constant", "begin with outputs.loss, and detach "
                               "none of outputs")
        for name, value in metrics.items():
            number = checked(name, value.detach() if isinstance(value, Tensor) else value)
            self._sums.setdefault(name, []).append(number)
        return loss

    def _refuse(self, message: str, expected: str, actual: str, hint: str) -> UsageError:
        return UsageError(message, where=place_of(self.function), expected=expected,
                          actual=actual, hint=hint)

    def take(self) -> dict[str, float]:
        """The means since the last call."""
        found = {name: sum(each) / len(each) for name, each in self._sums.items()}
        self._sums.clear()
        return found
