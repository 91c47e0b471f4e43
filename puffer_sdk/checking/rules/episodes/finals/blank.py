"""PUF323: final observations that were not written."""
from ....core.vocabulary import Facts, Finding, Findings, detector, enough
from .final_observation import truncations


@detector("PUF323", "blank")
def blank(facts: Facts) -> Findings:
    """Truncations leave final_observations as it was."""
    fact = truncations(facts)
    if fact and enough(fact.blank):
        yield Finding("PUF323", f"{fact.blank} of {fact.cuts} truncations leave "
                                "final_observations as it was", **facts.at("c_step"),
                      env=fact.blank_env, agent=fact.blank_agent, step=fact.blank_step,
                      seed=facts.seed, expected="what the agent saw last",
                      actual="what the array held before",
                      hint="fill the agent's row wherever its truncation is set to 1")
