"""Settings of a whole run, and of one rank's part.  Config, number of ranks -> Config

Settings mean what they mean in one process: `vec.total_agents` and `train.minibatch_size` are of
all ranks together. Each takes the same share of both.
"""
from __future__ import annotations

import math
from dataclasses import replace

from ..base.errors import UsageError
from ..settings.values import Config


def in_group(config: Config, size: int, local_size: int = 1) -> Config:
    """The settings of the whole run, as one of its processes takes them. Raises UsageError where
    it cannot be shared.

    local_size   how many of the processes share this machine
    """
    if size == 1:
        return config
    if config.train.device == "cuda" and config.train.backend == "native" \
            and config.origin.get("train.device", "").startswith("auto"):
        config = config.with_auto("train.device", "cpu", "several processes share the run")
    check(config, size)
    return fewer_threads(config, local_size)


def check(config: Config, size: int) -> None:
    """Raises UsageError where the run cannot be shared by so many processes."""
    vec, train = config.vec, config.train
    if train.gpus > 1:
        raise UsageError("train.gpus shares a run within one process, and this one has "
                         f"{size} processes", where=config.origin.get("train.gpus"),
                         expected="train.gpus = 1", actual=train.gpus,
                         hint="leave train.gpus out, or train in one process")
    if vec.device == "cuda" or (train.device == "cuda" and train.backend == "native"):
        raise UsageError("the native trainer on a GPU does not share a run among processes",
                         where=config.origin.get("train.device"), expected="train.device = cpu",
                         actual="cuda", hint="--train.gpus shares it among the GPUs of one "
                         "machine; --train.device cpu trains on the processors of several")
    if vec.total_agents % size:
        raise UsageError(f"total_agents = {vec.total_agents} cannot be shared by {size} processes",
                         where=config.origin.get("vec.total_agents"),
                         expected=f"a multiple of {size}", actual=vec.total_agents,
                         hint=f"total_agents = {_near(vec.total_agents, size)} works")
    segments = train.minibatch_size // train.horizon
    if segments % size:
        unit = size * train.horizon
        raise UsageError(f"minibatch_size = {train.minibatch_size} cannot be shared by {size} "
                         "processes in whole horizons",
                         where=config.origin.get("train.minibatch_size"),
                         expected=f"a multiple of {unit} ({size} processes x horizon "
                                  f"{train.horizon})", actual=train.minibatch_size,
                         hint=f"minibatch_size = {_near(train.minibatch_size, unit)} works")


def _near(value: int, unit: int) -> int:
    return max(1, round(value / unit)) * unit


def part_of(config: Config, size: int) -> Config:
    """What one rank plays and learns: its agents, and its part of every minibatch."""
    if size == 1:
        return config
    check(config, size)
    vec, train = config.vec, config.train
    agents = vec.total_agents // size
    return replace(config, train=replace(train, minibatch_size=train.minibatch_size // size),
                   vec=replace(vec, total_agents=agents,
                               num_buffers=math.gcd(agents, vec.num_buffers)))


def fewer_threads(config: Config, local_size: int) -> Config:
    """The processes of one machine share its cores, unless somebody said how many each takes."""
    vec, changes = config.vec, {}
    for name in ("num_threads", "num_workers"):
        if local_size > 1 and config.origin.get(f"vec.{name}", "").startswith("auto"):
            changes[name] = max(1, getattr(vec, name) // local_size)
    return replace(config, vec=replace(vec, **changes)) if changes else config
