"""What both trainers share: checks of sizes and masks, schedules. No arithmetic on rollouts.

Sizes: N agents, T horizon, A sum of head widths.
"""
from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from ..base.errors import RunError, UsageError, did_you_mean
from ..settings import factors
from ..settings.encoder import Part, plain_numbers
from ..settings.table import AUTO, Train
from ..settings.values import Config

LOSSES = ("policy", "value", "entropy", "old_approx_kl", "approx_kl", "clipfrac")
FIRST_FACTOR = 0.1      # of the learning rate under target_kl: the first weights know nothing
SCALE_HINT = "lower train.learning_rate, or scale rewards and observations"
BAD_HINT = f"{SCALE_HINT}; the last checkpoint is good"
ENV_HINT = "the environment wrote it; `puffer-sdk check` finds the line"
MASK_HINT = "leave at least one action legal, e.g. 'do nothing'"


class Rows(Protocol):
    """What a network is made for: N rows of observations, heads of actions."""

    @property
    def num_agents(self) -> int: ...
    @property
    def obs_size(self) -> int: ...
    @property
    def act_sizes(self) -> Sequence[int]: ...
    @property
    def observations(self) -> np.ndarray: ...


class Envs(Rows, Protocol):
    """What a trainer steps: a VecEnv, or any object with arrays that stay where they are.

    `alive`, `has_final`, `final_observations` and `layout` are None, or not there at all.
    """

    @property
    def actions(self) -> np.ndarray: ...
    @property
    def rewards(self) -> np.ndarray: ...
    @property
    def terminals(self) -> np.ndarray: ...
    @property
    def truncations(self) -> np.ndarray: ...
    @property
    def action_mask(self) -> np.ndarray | None: ...
    def reset(self) -> object: ...
    def step(self) -> object: ...


def cosine(start: float, floor_ratio: float, progress: float) -> float:
    """From `start` at progress 0 to `floor_ratio * start` at progress 1, along half a cosine."""
    return start * (floor_ratio + (1 - floor_ratio) * 0.5 * (1 + math.cos(math.pi * progress)))


@dataclass(frozen=True)
class Planned:
    """How often a run will learn: gradient steps are `updates`, each by one minibatch."""

    steps: int          # agent steps of all epochs
    epochs: int
    each: float         # updates of an epoch; with train.minibatch_carry, fractions go on
    updates: int        # of the run, where no row is ever without an agent

    @classmethod
    def of(cls, config: Config) -> Planned:
        train = config.train
        batch = config.vec.total_agents * train.horizon
        epochs = max(1, train.total_timesteps // batch)
        learned = 1.0       # of self-play, what two sides of one size leave to the learner
        if config.selfplay.enabled:
            learned -= config.vec.hist_policy_percent / 2
        each = train.replay_ratio * learned * batch / train.minibatch_size
        each = each if train.minibatch_carry else max(1, int(each))
        return cls(epochs * batch, epochs, each, int(epochs * each * (1 + 1e-12)))

    def __str__(self) -> str:
        """'3,997,696 steps in 122 epochs of 8 updates, 976 in all'"""
        def count(number: float, name: str) -> str:
            return f"{number:,.4g} {name}{'s' * (number != 1)}" if number < 1e4 \
                else f"{number:,.0f} {name}s"
        return (f"{self.steps:,} steps in {self.epochs:,} epoch{'s' * (self.epochs != 1)} of "
                f"{count(self.each, 'update')}, {self.updates:,} in all")


def check_config(config: object, trainer: str) -> None:
    """Raises UsageError for what is no Config."""
    if isinstance(config, (Mapping, str)) or config is None:
        raise UsageError(f"{trainer} takes resolved settings", expected="a Config",
                         actual=type(config).__name__, hint="puffer_sdk.configure(\"my_env\", "
                         "{...}) resolves them; puffer_sdk.Trainer(vec, {...}) takes a dict")


def check_sizes(vec: Envs, train: Train) -> None:
    """Raises UsageError if the envs' sizes and [train] do not fit together."""
    minibatch, horizon = train.minibatch_size, train.horizon
    batch = vec.num_agents * horizon
    if minibatch < horizon or minibatch % horizon:
        near = max(1, round(minibatch / horizon)) * horizon
        raise UsageError("train.minibatch_size is not a multiple of the horizon",
                         expected=f"a multiple of train.horizon ({horizon})", actual=minibatch,
                         hint=f"use --train.minibatch-size {near}")
    if minibatch > batch:
        raise UsageError("train.minibatch_size is larger than one rollout",
                         expected=f"at most {vec.num_agents} agents * horizon {horizon} = {batch}",
                         actual=minibatch, hint=f"use --train.minibatch-size {batch}, or more "
                         "vec.total_agents")
    if vec.action_mask is not None and vec.action_mask.shape[1] != sum(vec.act_sizes):
        raise UsageError("the action mask does not cover the action heads",
                         expected=f"{sum(vec.act_sizes)} bytes an agent (the sum of ACT_SIZES)",
                         actual=vec.action_mask.shape[1])


def obs_factors(train: Train, size: int) -> np.ndarray | None:
    """(D,) float32: train.obs_scale for each of `size` numbers; None where all are 1, or nobody
    has chosen them. Raises UsageError where they are those of another row."""
    text = getattr(train, "obs_scale", AUTO)
    found = np.ones(1) if text == AUTO else np.array(factors.expand(text, size), np.float32)
    return None if (found == 1).all() else found


def factors_of_columns(found: np.ndarray, parts: Sequence[Part]) -> dict[str, np.ndarray]:
    """{matrix: (columns,) float32} of the weights that take an observation's numbers: those of
    plain numbers in the encoder, where features have 1, and those of each part's first convolution,
    by its first cell, where the numbers that an id becomes have 1."""
    features = [np.ones(part.features, np.float32) for part in parts]
    columns = {"encoder": np.concatenate(
        [*(found[plain] for plain in plain_numbers(parts, len(found))), *features])}
    for number, part in enumerate(parts):
        if part.layers:
            step = part.height * part.width if part.planes else 1
            first = found[part.first:][::step]          # of each channel
            cell = [np.ones(count, np.float32) if count else first[channel, None]
                    for channel, count in enumerate(part.ids or (0,) * part.channels)]
            columns[f"parts.{number}.0"] = np.tile(np.concatenate(cell), part.layers[0].kernel**2)
    return columns


def check_same_envs(new: Envs, old: Envs) -> None:
    """Raises UsageError if new envs differ in size from the old ones."""
    def sizes(vec: Envs) -> dict[str, object]:
        return {"number of agents": vec.num_agents, "observation size": vec.obs_size,
                "observation type": vec.observations.dtype.name,
                "set of action heads": tuple(vec.act_sizes),
                "action mask": vec.action_mask is not None,
                "row of who lives": getattr(vec, "alive", None) is not None}

    wanted, found = sizes(old), sizes(new)
    for what, value in wanted.items():
        if found[what] != value:
            raise UsageError(f"the new envs have another {what}", expected=value,
                             actual=found[what])


def check_tensors(shapes: Mapping[str, Sequence[int]], tensors: Mapping[str, np.ndarray]) -> None:
    """Raises UsageError if a checkpoint lacks one of these tensors, or has another size."""
    for name, shape in shapes.items():
        if name not in tensors:
            raise UsageError(f"the checkpoint has no tensor '{name}'",
                             hint=did_you_mean(name, tensors))
        if tuple(tensors[name].shape) != tuple(shape):
            raise UsageError(f"the checkpoint's tensor '{name}' has the wrong size",
                             expected=tuple(shape), actual=tuple(tensors[name].shape),
                             hint="it belongs to another environment or other [policy] settings")


def has_turns(vec: Rows) -> bool:
    """Whether a mask of zeros says that an agent waits: where an env has others to wait for."""
    return vec.num_agents > int(getattr(vec, "num_envs", 1))


def check_mask(mask: np.ndarray, act_sizes: Sequence[int], where: str, waits: bool) -> None:
    """Raises RunError if a discrete head of an agent has no legal action. mask (n, A).

    waits       whether a mask of zeros alone is fine
    """
    first, idle = 0, ~mask.any(axis=1) & waits
    for head, width in enumerate(act_sizes):
        legal = mask[:, first:first + width].any(axis=1) | idle
        if width > 1 and not legal.all():
            raise RunError(f"agent {int(np.argmin(legal))} has no legal action in head {head}",
                           where=where, expected="a nonzero byte among this head's "
                           f"{width} in action_mask", actual="zeros only", hint=MASK_HINT)
        first += width


class Schedules:
    """The schedules of a trainer: progress, learning rate, entropy coefficient.

    The trainer has settings ([train]), agents, horizon, and epoch, which counts its updates.
    """

    settings: Train
    agents: int
    horizon: int
    epoch: int
    ranks = 1           # processes that share the run, each with as many agents

    @property
    def counters(self) -> dict[str, int | float]:
        """What a resume needs besides the tensors."""
        raise NotImplementedError

    @property
    def batch_size(self) -> int:
        """Agent steps of one epoch, of all ranks."""
        return self.agents * self.horizon * self.ranks

    @property
    def total_epochs(self) -> int:
        return max(1, self.settings.total_timesteps // self.batch_size)

    @property
    def finished(self) -> bool:
        return self.epoch >= self.total_epochs

    @property
    def progress(self) -> float:
        """0 in the first epoch, 1 at the end of training. All schedules follow it."""
        return min(1.0, self.epoch / self.total_epochs)

    @property
    def learning_rate(self) -> float:
        t = self.settings
        factor = (self.counters["rate_factor"] or FIRST_FACTOR) if t.target_kl else 1.0
        return factor * cosine(t.learning_rate, t.min_lr_ratio if t.anneal_lr else 1.0,
                               self.progress)

    @property
    def ent_coef(self) -> float:
        t = self.settings
        return cosine(t.ent_coef, t.min_ent_coef_ratio if t.anneal_ent_coef else 1.0, self.progress)
