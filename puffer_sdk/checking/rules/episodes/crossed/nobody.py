"""PUF409: a choice is paid to a row without an agent."""
from ....core.vocabulary import CrossedFact, Facts, Finding, Findings, detector, half
from .rows_crossed import MOMENTS, answers

SHARE = 0.1             # of all choices that change a reward


@detector("PUF409", "nobody", unless=("actions", "rewards"))
def nobody(facts: Facts) -> Findings:
    """What an agent chooses is paid to a row that has no agent, and to nobody else."""
    answers(facts)
    fact = facts.fact("crossed", CrossedFact)
    if fact is None or half(fact.filled, fact.empty):
        return                          # numbers in empty rows are no rewards
    if fact.nobody >= MOMENTS and fact.nobody >= SHARE * fact.paid:
        yield Finding("PUF409", "a reward is paid to a row without an agent, where it is lost",
                      **facts.at_row("rewards"), env=fact.env, agent=fact.agent, step=fact.step,
                      expected="the row of an agent that is there",
                      actual=f"nobody's, at {fact.nobody} of {fact.paid} moments at which what "
                             "an agent chose changed a reward", seed=facts.seed,
                      seen_in="crossed", hint="is rewards[i] the reward of agent i, also where "
                                              "agents before it are gone?")
