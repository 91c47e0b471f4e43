"""The lane of a part, by the kind of its environments.  Part, Block -> Lane"""
from __future__ import annotations

from ..probing import BATCH, PARALLEL
from ..shared import Block
from .base import Lane, Part
from .batch import BatchLane
from .parallel import ParallelLane
from .single import SingleLane


def open_lane(part: Part, block: Block) -> Lane:
    """The lane that plays this part: its environments are made. Raises EnvError."""
    kind = {PARALLEL: ParallelLane, BATCH: BatchLane}.get(part.facts.kind, SingleLane)
    return kind(part, block)
