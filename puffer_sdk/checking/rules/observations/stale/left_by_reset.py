"""PUF302: elements that c_reset leaves as they were."""
from ....core.vocabulary import Facts, Finding, Findings, LeftFact, Shows, detector, need
from ..groups import grouped, whole
from ..unwritten import unwritten


@detector("PUF302", "left-by-reset")
def left_by_reset(facts: Facts) -> Findings:
    """c_reset leaves elements as they were, which some step writes."""
    need(facts, "poison")
    _, left = unwritten(facts)
    derived = [c for c in facts.all("poison", LeftFact) if c.derived]
    if not left and derived and not facts.differences and "trace-again" in facts.traces:
        left = derived
    for group in grouped(facts, left):
        yield Finding("PUF302", f"c_reset leaves {whole(facts, group.element)} as it was"
                                f"{group.who}",
                      **facts.at("c_reset"), env=group.env, agent=group.agent, step=0,
                      element=group.element, expected="a value that c_reset determines",
                      actual="what the buffer held before", seed=facts.seed, seen_in="poison",
                      shows=Shows("determined"),
                      hint="write the whole observation in c_reset: the first of an episode "
                           "is an observation like any other")
