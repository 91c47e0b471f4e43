"""PUF410: the loser pays at some endings only."""
from __future__ import annotations

from ....core.facts import Facts
from ....core.registry import detector
from .not_alike import finding, tested

ENDINGS = 12            # of each kind


@detector("PUF410", "prizes", unless=("rewards",))
def prizes(facts: Facts):
    """One agent wins the same at many endings: at some of them others pay, and at some nobody."""
    said = tested(facts)
    for fact in facts.all("places", "prize") if said else []:
        if min(fact.both, fact.alone) >= ENDINGS:
            yield finding(facts, said, f"who wins {fact.won:g} is not always paid by the loser",
                          **facts.at("c_step"), expected="a loss for each such win",
                          actual=f"one at {fact.both} endings, none at {fact.alone}",
                          hint="does each way to win pay both?")
