"""PUF323: final observations of the next episode."""
from ....core.vocabulary import Facts, Finding, Findings, detector, enough, most
from ..no_reset.known import is_not_reset, is_reset_late
from .final_observation import truncations


@detector("PUF323", "next-one", unless=("blank",))
def next_one(facts: Facts) -> Findings:
    """final_observations holds the first observation of the next episode."""
    fact = truncations(facts)
    if fact and enough(fact.next) and most(fact.next, fact.moved) and not (
            is_not_reset(facts) or is_reset_late(facts)):
        yield Finding("PUF323", "final_observations holds the first observation of the next "
                                "episode", **facts.at("c_step"), env=fact.env, agent=fact.agent,
                      step=fact.step, seed=facts.seed, expected="what the agent saw last",
                      actual=f"what it sees after c_reset, {fact.next} times of {fact.cuts}",
                      hint="fill the row before c_reset is called")
