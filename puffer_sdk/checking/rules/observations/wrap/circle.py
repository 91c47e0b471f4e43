"""PUF307: elements that go round, where no store was counted."""
from ....collect.c.source import sites
from ....core.vocabulary import (
    WRAPS,
    CircleFact,
    Facts,
    Finding,
    Findings,
    detector,
    enough,
    gathered,
    most,
    need,
)

DISTINCT = 8        # values of an element that always makes the same step


@detector("PUF307", "circle", unless=("cast", "stored"))
def circle(facts: Facts) -> Findings:
    """An element moves in small steps within episodes, through 255 and 0, again and again.

    Where every store of a whole number was counted, there is nothing left to ask.
    """
    if facts.shape.dtype != "u8":
        return
    need(facts, "run")
    if sites.sees_all_bytes(facts.source, facts.sites):
        return
    wrapped = [fact for fact in facts.all("run", CircleFact) if _wraps(fact)]
    seen = {fact.element: fact for fact in wrapped}
    for element, members in gathered(seen):
        fact = min((seen[each] for each in members), key=lambda f: f.step)
        place = facts.at_element(members[0]) or facts.at("c_step")
        yield Finding("PUF307", f"{facts.called(element)} of the observation "
                                f"wrap{'s' if len(members) == 1 else ''} around: "
                                f"{fact.before} is followed by {fact.after}", **place,
                      env=fact.env, agent=fact.agent, step=fact.step,
                      element=element, expected="a value from 0 to 255",
                      actual="more than 255" if not fact.under else
                      "a negative value" if not fact.over else "a value outside",
                      seed=facts.seed, seen_in="run", word=WRAPS,
                      hint="shift, scale or clamp it into 0..255")


def _wraps(fact: CircleFact) -> bool:
    """Small steps round the circle of 256, or always the same step."""
    jumps, changes = fact.over + fact.under, fact.changes
    creeps = enough(jumps) and most(jumps, fact.jumps) and enough(fact.low) \
        and enough(fact.high) and most(fact.near, changes)
    strides = enough(fact.rounds) and most(fact.rounds, fact.jumps) \
        and fact.distinct >= DISTINCT and most(fact.usually, changes)
    return creeps or strides
