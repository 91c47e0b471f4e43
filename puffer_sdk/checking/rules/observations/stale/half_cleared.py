"""PUF302: a picture in which steps clear some rows, and never the others."""
import math

from ....core.vocabulary import CellFact, Facts, Findings, detector, enough, ranges
from .writes import BEFORE, kept, stale


@detector("PUF302", "half-cleared", unless=(*BEFORE, "silent-rows", "never-cleared",
                                            "sometimes-written"))
def half_cleared(facts: Facts) -> Findings:
    """Each step clears some rows of a declared grid or image; the others show the same values, and
    are never 0 again."""
    cells, stats = kept(facts), facts.statistics
    some: dict[int, list[CellFact]] = {}
    for cell in cells.some:
        some.setdefault(cell.element, []).append(cell)
    if stats is None:
        return
    for part in facts.row.described:
        every = set(range(part.first, part.last + 1))
        left = every & some.keys()
        drawn = sorted(every - left - {cell.element for cell in cells.never})
        width = math.prod(part.shape[1:])
        if part.kind not in ("grid", "image") or not left or not drawn or \
                len(left) + len(drawn) < len(every) or any(
                    (first - part.first) % width or (last + 1 - part.first) % width
                    for first, last in ranges(left)):
            continue
        mine = [cell for element in left for cell in some[element]]
        same = not stats.low[sorted(every)].any() and \
            stats.high[drawn].max() == stats.high[sorted(left)].max()
        if same and enough(sum(cell.filled for cell in mine)) and \
                not any(cell.emptied for cell in mine):
            yield from stale(facts, mine, "{} keep what was drawn, while others are cleared",
                             "warning")
