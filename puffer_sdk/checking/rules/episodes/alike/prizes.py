"""PUF410: the loser pays at some endings only."""
from ....core.vocabulary import Facts, Findings, PrizeFact, detector
from .not_alike import finding, tested

ENDINGS = 12            # of each kind


@detector("PUF410", "prizes", unless=("rewards",))
def prizes(facts: Facts) -> Findings:
    """The same win of one agent costs the others something at some endings only."""
    said = tested(facts)
    if said is None:
        return
    for fact in facts.all("places", PrizeFact):
        if min(fact.both, fact.alone) >= ENDINGS:
            yield finding(facts, said, f"a win of {fact.won:g} is not always a loss for the others",
                          **facts.at("c_step"), expected="a loss for each such win",
                          actual=f"one at {fact.both} endings, none at {fact.alone}",
                          hint="does each way to win pay both?")
