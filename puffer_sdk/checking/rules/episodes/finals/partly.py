"""PUF323: final observations that were written in part."""
from ....core.vocabulary import Facts, Finding, Findings, detector, elements, enough, span
from .final_observation import truncations


@detector("PUF323", "partly", unless=("blank",))
def partly(facts: Facts) -> Findings:
    """Truncations leave elements of final_observations as they were."""
    fact = truncations(facts)
    if fact and fact.left and enough(fact.cuts - fact.blank):
        be = "is" if fact.left_first == fact.left_last else "are"
        yield Finding("PUF323", f"{elements(fact.left_first, fact.left_last)} of "
                                f"final_observations {be} never written", **facts.at("c_step"),
                      seed=facts.seed, element=span(fact.left_first, fact.left_last),
                      expected="the whole row that the agent saw last",
                      actual=f"what the array held before, at {fact.cuts} truncations",
                      hint="copy OBS_SIZE elements: sizeof of a pointer is 8")
