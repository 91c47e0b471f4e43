"""The lane of a part, by the kind of its environments.  Part, Block -> Lane"""
from __future__ import annotations

from ..probe_env import BATCH, PARALLEL
from ..shared_rows import Block
from .base import Lane, Part
from .batch import BatchLane
from .gymnasium_games import SingleLane
from .pettingzoo_games import ParallelLane


def open_lane(part: Part, block: Block) -> Lane:
    """The lane that plays this part: its environments are made. Raises EnvError."""
    kind = {PARALLEL: ParallelLane, BATCH: BatchLane}.get(part.facts.kind, SingleLane)
    return kind(part, block)
