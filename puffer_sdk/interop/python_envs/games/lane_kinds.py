"""The lane of a part, by the kind of its environments.  Part, Block -> Lane"""
from __future__ import annotations

from typing import Any

from ..probe_env import BATCH, PARALLEL
from ..shared_rows import PoolBlock
from .base import Lane, Part
from .batch import BatchLane
from .gymnasium_games import SingleLane
from .pettingzoo_games import ParallelLane


def open_lane(part: Part, block: PoolBlock) -> Lane[Any]:
    """The lane that plays this part: its environments are made. Raises EnvError."""
    kinds: dict[str, type[Lane[Any]]] = {PARALLEL: ParallelLane, BATCH: BatchLane}
    return kinds.get(part.facts.kind, SingleLane)(part, block)
