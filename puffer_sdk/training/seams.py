"""Places for ideas of the user's own in training.  a rollout -> its arrays; advantages -> checked

Sizes: N agents, T horizon, D observation, K heads, A sum of head widths.
"""
from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..base.errors import PufferError, RunError, UsageError, did_you_mean
from ..base.sealed import Fixed
from ..settings.values import Config
from .own_calls import call, place_of

Floats = NDArray[np.float32]


class Rollout:
    """What a rollout has seen, as views of the trainer's memory: valid until the next rollout. From
    a GPU it is brought when one of these is first asked for.

    obs         (N, T, D)   what was seen, of the env's own type
    actions     (N, T, K)   what was chosen on it
    log_probs   (N, T)      of these actions then
    values      (N, T)      of these observations then; in the unit of rewards, if all updates took
                            returns of yours or train.norm_returns is off
    rewards     (N, T)      that the actions caused, as the env paid them; what `reward` has made
                            of them, after it was called
    bootstrap   (N,)        the value after the last tick
    ended       (N, T)      1 where the tick ended an episode
    truncated   (N, T)      1 where a time limit ended it
    finals      (N, T)      the value of a truncated episode's final observation, NaN where there
                            is none; None: of an env that has no final observations
    terminated  (N, T)      true where an episode ended by itself
    alive       (N, T)      1 where a row had an agent; None: all always have
    masks       (N, T, A)   legal actions, or None
    """

    obs: NDArray[Any]
    actions: Floats
    log_probs: Floats
    values: Floats
    rewards: Floats
    bootstrap: Floats
    ended: NDArray[Any]
    truncated: NDArray[Any]
    finals: Floats | None
    alive: NDArray[Any] | None
    masks: NDArray[Any] | None

    def __init__(self, load: Callable[[], Mapping[str, NDArray[Any] | None]]):
        self._load = load

    def __getattr__(self, name: str) -> Any:
        if name not in Rollout.__annotations__:
            raise Fixed(f"a rollout has no '{name}'", hint=did_you_mean(
                name, [*Rollout.__annotations__, "terminated"]))
        vars(self).update(self._load())
        return vars(self)[name]

    @property
    def terminated(self) -> NDArray[np.bool_]:
        """(N, T) true where an episode ended by itself, and not by a time limit."""
        found: NDArray[np.bool_] = (self.ended != 0) & (self.truncated == 0)
        return found


Advantage = Callable[[Rollout], "tuple[ArrayLike, ArrayLike]"]
Reward = Callable[[Rollout], ArrayLike]


def require_own_advantages(config: Config, ranks: int, what: str = "advantages") -> None:
    """Raises UsageError where advantages of one's own, or rewards, cannot be taken."""
    train = config.train
    for stands, other in ((train.async_, "train.async"), (train.device == "cuda", "a GPU"),
                         (ranks > 1, "several processes")):
        if stands:
            raise UsageError(f"{what} of your own need the CPU and one process, not {other}",
                             hint="--train.device cpu, without train.async and train.gpus")


def check_given(advantages: ArrayLike, returns: ArrayLike, rollout: Rollout
                ) -> tuple[Floats, Floats]:
    """Both (N, T) float32, 0 where a row has no agent. UsageError for another shape, RunError for
    what is not finite."""
    return (_checked("advantages", advantages, rollout), _checked("returns", returns, rollout))


def _checked(name: str, given: ArrayLike, rollout: Rollout) -> Floats:
    try:
        array = np.array(given, np.float32)
    except (TypeError, ValueError):
        raise UsageError(f"{name} are no array of numbers", actual=type(given).__name__,
                         expected=f"(agents, horizon) = {rollout.rewards.shape}") from None
    if array.shape != rollout.rewards.shape:
        raise UsageError(f"{name} have the wrong shape", actual=array.shape,
                         expected=f"(agents, horizon) = {rollout.rewards.shape}")
    if rollout.alive is not None:
        array[rollout.alive == 0] = 0
    if not np.isfinite(array).all():
        place = tuple(int(at) for at in np.argwhere(~np.isfinite(array))[0])
        raise RunError(f"{name} of your own are not finite: {array[place]}",
                       where=f"agent {place[0]}, tick {place[1]} of the rollout")
    return array


def ask_advantages(function: Advantage, rollout: Rollout) -> tuple[ArrayLike, ArrayLike]:
    """What it returns. Raises UsageError for what are no two arrays."""
    found: object = call("advantage", function, rollout)
    if not isinstance(found, (tuple, list)) or len(found) != 2:
        raise UsageError("advantage= must return two arrays", expected="(advantages, returns)",
                         actual=type(found).__name__, where=place_of(function))
    return found[0], found[1]


def replace_rewards(function: Reward, rollout: Rollout) -> float:
    """Put what it returns in place of the rollout's rewards. Returns the mean over rows that had an
    agent. Raises UsageError, RunError."""
    found = call("reward", function, rollout)
    try:
        rewards = _checked("rewards", found, rollout)
    except PufferError as error:
        error.where = place_of(function) if error.where is None else \
            f"{place_of(function)}, {error.where}"
        raise
    rollout.rewards[...] = rewards
    alive = rewards if rollout.alive is None else rewards[rollout.alive != 0]
    return float(alive.mean()) if alive.size else 0.0
