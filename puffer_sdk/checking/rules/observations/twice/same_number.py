"""PUF308: elements that always hold the same number."""
from collections.abc import Iterator

from ....core.vocabulary import Facts, Finding, Findings, detector
from .obs_duplicate import compared, named, pairs, sampled


@detector("PUF308", "same-number")
def same_number(facts: Facts) -> Findings:
    """An element always holds the number of another one, or a fixed multiple."""
    stats = sampled(facts)
    if stats is None:
        return
    for first, second, factor in _told_twice(facts, pairs(stats.rows, compared(facts))):
        one = named(facts, second)
        same = "the same number as" if factor == 1 else f"{factor:.4g} times"
        yield Finding("PUF308", f"{facts.called(second)} is always {same} "
                                f"{facts.called(first)}", file=one.file, line=one.line,
                      element=second, expected="a number of its own",
                      actual=f"so in each of {len(stats.rows)} rows", seed=facts.seed,
                      seen_in="run", hint="was a line copied, and a name in it not changed?")


def _told_twice(facts: Facts, found: list[tuple[int, int, float]]
                ) -> Iterator[tuple[int, int, float]]:
    """One pair of each two parts, and of the things of one list."""
    seen = set()
    for first, second, factor in found:
        names = named(facts, first).name, named(facts, second).name
        if names not in seen:
            seen.add(names)
            yield first, second, factor
