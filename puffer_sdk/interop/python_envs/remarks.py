"""What is said of a Python environment before it trains.  Facts, Config -> lines, with hints

How much memory and time its copies take, when the first return can come, and what of it no run
keeps: each only where it matters.
"""
from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from ...base import ui
from ...env.blocks import available_memory

if TYPE_CHECKING:
    from ...settings.values import Config
    from .probe_env import Facts

MEMORY = 1 << 30        # bytes of all copies that are worth a line ...
PART = 4                # ... or such a part of what is free
SECONDS = 10.0          # until the first step
SHARE = 1 / 4           # of a run's steps that may pass before the first return


class Remark(NamedTuple):
    """hint: of a warning; "": it is a plain line"""

    text: str
    hint: str = ""


def remarks(facts: Facts, config: Config) -> Iterator[Remark]:
    """What matters of these copies of the environment."""
    copies = max(1, config.vec.total_agents // facts.rows)
    lanes = copies if facts.alone else max(1, min(config.vec.num_workers, copies))
    memory, free = facts.bytes * copies, available_memory()
    if memory >= min(MEMORY, free / PART):
        text = f"{copies} copies of about {_size(facts.bytes)} take {_size(memory)} of memory"
        yield Remark(text, f"{_size(free)} are free: a smaller vec.total_agents") \
            if memory > free else Remark(f"{text}, of {_size(free)} that are free")
    seconds = facts.seconds * -(-copies // lanes)
    if seconds >= SECONDS:
        yield Remark(f"{copies} copies of {facts.seconds:.1f} s each are made in {lanes} "
                     f"process{'es' * (lanes > 1)}: about {seconds:,.0f} s before the first step")
    steps = facts.limit * config.vec.total_agents
    if steps >= SHARE * config.train.total_timesteps:
        yield Remark(f"an episode may take {facts.limit:,} steps, so {config.vec.total_agents} "
                     f"agents may have no return before step {steps:,} of "
                     f"{config.train.total_timesteps:,}")
    for name in facts.normalizers:
        yield Remark(f"the statistics of {name} are each copy's own and no part of the run: "
                     "eval and play begin with others",
                     "leave it out: train.obs_scale and vec.reward_scale fit the sizes")


def say(facts: Facts, config: Config) -> None:
    for text, hint in remarks(facts, config):
        if hint:
            ui.warn(text, hint)
        else:
            ui.say(text)


def _size(count: int) -> str:
    return f"{count / (1 << 30):.1f} GiB" if count >= 1 << 30 else f"{count / (1 << 20):.0f} MiB"
