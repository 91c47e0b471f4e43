"""PUF410: two agents are shown one and the same view."""
from ....core.vocabulary import Facts, Findings, SameViewFact, detector
from .not_alike import finding, tested

MOMENTS = 12            # at which the view depends on which of the two did what


@detector("PUF410", "same-view")
def same_view(facts: Facts) -> Findings:
    """Two agents are always shown the same row, although it depends on which of them did what."""
    said = tested(facts)
    if said is None:
        return
    for fact in facts.all("places", SameViewFact):
        if fact.told >= MOMENTS:
            yield finding(facts, said, f"agents {fact.agent} and {fact.other} are always shown the "
                          "same", agent=fact.other, expected="each its own view",
                          actual=f"equal rows, which are others at {fact.told} of {fact.moments} "
                                 "moments if the two exchange what they do",
                          hint="is row i written from what agent i sees?")
