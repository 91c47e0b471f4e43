"""PUF308: parts of the observation that always hold the same."""
from itertools import combinations

import numpy as np

from ....core.vocabulary import PREVIEW, Facts, Finding, Findings, NotTested, detector, need
from .obs_duplicate import ROWS, VALUES


@detector("PUF308", "same-part", PREVIEW)
def same_part(facts: Facts) -> Findings:
    """A named part of several elements, such as a one-hot, always holds what another one holds."""
    need(facts, "run")
    parts = [part for part in facts.row.parts if part.count > 1]
    if len(parts) <= 1:
        return
    stats = facts.statistics
    if stats is None or len(stats.rows) < ROWS:
        raise NotTested("the run was too short")
    blocks = {part: stats.rows[:, part.first:part.last + 1] for part in parts}
    kinds = {part: len(np.unique(block, axis=0)) for part, block in blocks.items()}
    for one, other in combinations(parts, 2):
        if one.count == other.count and kinds[one] >= VALUES and np.array_equal(
                blocks[one], blocks[other]):
            yield Finding("PUF308", f"{other.name} always holds what {one.name} holds",
                          file=other.file, line=other.line, element=other.first,
                          expected="numbers of its own",
                          actual=f"so in each of {len(stats.rows)} rows, with {kinds[one]} "
                                 "different contents", seed=facts.seed, seen_in="run",
                          hint="was a loop copied, and a name in it not changed?")
