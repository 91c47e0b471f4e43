"""PUF305: elements that never change."""
from collections import defaultdict
from collections.abc import Iterable, Iterator

import numpy as np
from numpy.typing import NDArray

from .....env import obs_spec
from .....env.obs_spec import ObsField
from ....core.fact_kinds import CellFact, RowFact, RunFact
from ....core.vocabulary import (
    CONSTANT,
    Elements,
    Facts,
    Finding,
    Findings,
    Statistics,
    detector,
    limits,
    needed,
    ranges,
    span,
    together,
)
from ..stale.writes import SEEN, writes_whole
from ..stores import Stores
from .divided_share import divisions
from .obs_constant import at_constant, ends_at_once, observed, untouched

SLOTS, NUMBERS = 2, 4   # slots that are filled before one that is not; of one number each
SHOWN = 3           # values of one finding
ALIKE = 0.25        # of their range, by which the ranges of slots differ


@detector("PUF305", "still", unless=("whole",))
def still(facts: Facts) -> Findings:
    """An element never changes that declares bounds, or that is cleared and never set."""
    stats = observed(facts)
    told = {element for element, *_ in divisions(facts)}
    alike: dict[float, list[int | Elements]] = defaultdict(list)    # by their value
    found = [pair for pair in _still(facts, stats, untouched(facts))
             if not told & set(range(pair[0], pair[1] + 1)) and not _is_unreached(facts, *pair)]
    for first, last in _with_neighbours(facts, stats, found):
        alike[float(stats.low[first])].append(span(first, last))
    for elements in alike.values():
        for element in together(elements):
            yield always(facts, element)


def always(facts: Facts, element: int | Elements) -> Finding:
    """These elements have one value."""
    first, last = limits(element)
    values = observed(facts).low[first:last + 1]
    shown = [f"{value:g}" for value in dict.fromkeys(map(float, values))]
    text = ", ".join([*shown[:SHOWN], *["..."][:len(shown) - SHOWN]])
    be = "is" if element == first else "are"
    return Finding("PUF305", f"{facts.titled(element)} {be} always {text}, in "
                             f"{needed(facts, 'run', RunFact).steps:,} steps",
                   **at_constant(facts, first),
                   element=element, expected="values that tell the agent something",
                   actual=f"{text} on every step", seed=facts.seed, seen_in="run",
                   word=CONSTANT, hint="write what was forgotten, or lower OBS_SIZE")


def _is_unreached(facts: Facts, first: int, last: int) -> bool:
    """Whether the play never came to a line that changes what the elements show; where episodes
    end at once, that is the fault."""
    return not ends_at_once(facts) and any(
        facts.lines.get(file, {}).get(line) == 0 for element in range(first, last + 1)
        for file, line in facts.source.changes_of(element))


def _still(facts: Facts, stats: Statistics, dead: set[int]) -> list[tuple[int, int]]:
    """Ranges of constant elements that are reported."""
    constant, found = stats.low == stats.high, []
    literal = facts.source.literal_stores()
    promised = {e for f in facts.row.parts if f.low is not None
                and constant[f.first:f.last + 1].all() for e in range(f.first, f.last + 1)}
    moved = [e for e in promised if stats.low[e] != 0 and e not in literal]     # a bias
    found += [pair for pair in ranges(moved) if pair[1] - pair[0] <= 1]
    if not _writes_all(facts):
        return found
    partly = {c.element for c in facts.all("rewrite", CellFact) if c.written < c.seen}
    zero = np.flatnonzero(constant & (stats.low == 0))
    stores = Stores(facts)
    for first, last in _split(facts.row.parts, ranges(zero.tolist())):
        members = set(range(first, last + 1))
        if members & (dead | partly):
            continue
        if facts.shape.dtype == "u8":
            if first != last or not stores.has_no_value(first):
                continue
        elif _is_rare_class(facts, stats, first, last) or _is_slot(stats, first, last):
            continue
        elif last - first > 1 and not members <= promised:
            continue                    # slots of a kind that this game has none of
        if first == last and not needed(facts, "run", RunFact).rewards:
            continue                    # the last reward, perhaps: PUF314 says more
        found.append((first, last))
    return sorted(found)


def _with_neighbours(facts: Facts, stats: Statistics, found: list[tuple[int, int]]
                     ) -> Iterator[tuple[int, int]]:
    """With the constants beside those without a name that are no bias: one cause is one finding."""
    literal = facts.source.literal_stores()
    mine = {element for first, last in found if obs_spec.named(facts.row.parts, first) is None
            for element in range(first, last + 1)}
    beside = {element for element in map(int, np.flatnonzero(stats.low == stats.high))
              if stats.low[element] != 0 and element not in literal
              and obs_spec.named(facts.row.parts, element) is None}
    for first, last in ranges(mine | beside):
        if mine & set(range(first, last + 1)):
            yield first, last
    yield from (pair for pair in found if not mine & set(range(pair[0], pair[1] + 1)))


def _writes_all(facts: Facts) -> bool:
    """Whether steps write whole rows: then an element that is 0 was put there."""
    rows = [r for r in facts.all("rewrite", RowFact) if r.steps >= SEEN]
    return bool(rows) and all(map(writes_whole, rows))


def _split(names: Iterable[ObsField], pairs: Iterable[tuple[int, int]]
           ) -> Iterator[tuple[int, int]]:
    """Ranges, parted where another field begins."""
    starts = sorted(f.first for f in names)
    for first, last in pairs:
        for start in [s for s in starts if first < s <= last]:
            yield first, start - 1
            first = start
        yield first, last


def _is_flag(stats: Statistics, element: int) -> bool:
    """Takes 0 and 1, and nothing between."""
    if not 0 <= element < len(stats.low):
        return False
    values = stats.rows[:, element]
    return bool(stats.low[element] == 0 and stats.high[element] == 1
                and np.isin(values, (0, 1)).all())


def _is_rare_class(facts: Facts, stats: Statistics, first: int, last: int) -> bool:
    """Next to flags of the same kind: a class of a one-hot that has not occurred yet."""
    mine = obs_spec.named(facts.row.parts, first)
    for beside in (first - 1, last + 1):
        other = obs_spec.named(facts.row.parts, beside)
        apart = mine is not other and any(f and f.count > 1 for f in (mine, other))
        if _is_flag(stats, beside) and not apart:
            return True
    return False


def _is_slot(stats: Statistics, first: int, last: int) -> bool:
    """After two or more slots of the same kind that are not constant."""
    size = last - first + 1
    for stride in range(1, size + 1):
        needed = NUMBERS if stride == 1 else SLOTS
        begin = first - needed * stride
        if size % stride or begin < 0 or (stride == 1 and size < NUMBERS):
            continue
        if are_alike(stats.low[begin:first], stats.high[begin:first], needed):
            return True
    return False


def are_alike(low: NDArray[np.floating], high: NDArray[np.floating], slots: int) -> bool:
    """Whether so many slots in a row are filled, and have about the same bounds."""
    low, high = low.reshape(slots, -1), high.reshape(slots, -1)
    extent = (high - low).max(axis=0)
    alike = (np.ptp(low, axis=0) <= ALIKE * extent) & (np.ptp(high, axis=0) <= ALIKE * extent)
    return bool((extent > 0).all() and alike.all())
