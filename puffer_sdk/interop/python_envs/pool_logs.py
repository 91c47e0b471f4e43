"""The log of a pool.  sums that the workers keep in shared memory -> means

Each environment has a row of `log`: the number of episodes, the sums of their returns and lengths,
and for each name that its infos add, how often it came and its sum. A lane lists its names in
`names`. Sums are added in the environments' order: the means do not depend on the workers.
"""
from __future__ import annotations

from collections.abc import Sequence

from . import shared_rows
from .games.base import Part, names_of
from .shared_rows import PoolBlock


def collect(block: PoolBlock, parts: Sequence[Part], first: int, count: int) -> dict[str, float]:
    """Means over the episodes of these environments since the last call, and their number `n`;
    then cleared. {} where none has ended."""
    rows = block.log[first:first + count]
    n = float(rows[:, shared_rows.LOG_COUNT].sum())
    if not n:
        return {}
    found = {"episode_return": float(rows[:, shared_rows.LOG_RETURN].sum()) / n,
             "episode_length": float(rows[:, shared_rows.LOG_LENGTH].sum()) / n}
    extras: dict[str, list[tuple[float, float]]] = {}
    for part in parts:
        mine = block.log[max(first, part.first):min(first + count, part.first + len(part.seeds))]
        if not len(mine):
            continue
        for place, name in enumerate(names_of(block.names[part.lane])):
            column = shared_rows.LOG_EXTRAS + 2 * place
            extras.setdefault(name, []).extend(
                (row[column], row[column + 1]) for row in mine if row[column])
    for name in sorted(extras):
        times = sum(pair[0] for pair in extras[name])
        if times and name not in found and name != "n":
            found[name] = float(sum(pair[1] for pair in extras[name]) / times)
    rows[:] = 0
    return {**found, "n": n}

