"""PUF410: what an element of the observation holds depends on the row."""
from ....core.vocabulary import Facts, Findings, blocks, detector
from .not_alike import finding, places, tested


@detector("PUF410", "views")
def views(facts: Facts) -> Findings:
    """An element of the observation has another mean in one agent's row than in the others."""
    said = tested(facts)
    found = [fact for fact in places(facts) if fact.what == "element"] if said else []
    if said and found:
        first = found[0]
        where = blocks({fact.element for fact in found})
        yield finding(facts, said, f"{facts.called(first.element)} is "
                      f"{first.mean:.3g} on average for agent {first.agent}, and "
                      f"{first.others:.3g} for others", agent=first.agent, element=where[0],
                      expected="the same in all places, as declared",
                      actual=f"{abs(first.t):.0f} errors apart; so of elements "
                             f"{', '.join(map(str, where[:4]))}",
                      hint="is each row written from its own agent's side?")
