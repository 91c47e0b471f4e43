"""PUF302: elements that some steps leave."""
from ....core.vocabulary import Facts, Findings, detector
from .writes import BEFORE, follow_from_state, kept, stale


@detector("PUF302", "sometimes-written", unless=(*BEFORE, "silent-rows"))
def sometimes_written(facts: Facts) -> Findings:
    """A step writes whole rows, but for elements that some steps leave as they were."""
    cells = kept(facts)
    if cells.most_are_written:
        wander = [c for c in cells.some if c.varied and c.fell and c.rose and not c.reverted
                  and not follow_from_state([c])]
        yield from stale(facts, wander, "some steps leave {} as it was", "error")
