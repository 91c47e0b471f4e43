"""PUF422: several entries of one episode that hold its running sums."""
from ....core.vocabulary import Facts, Finding, Findings, GoalsFact, detector, enough, most, need


@detector("PUF422", "running-sums", unless=("never-set-back",))
def running_sums(facts: Facts) -> Findings:
    """An episode has several entries, and each holds the sums since its beginning."""
    need(facts, "run")
    fact = facts.fact("run", GoalsFact)
    if fact and enough(fact.running) and most(fact.running, fact.later):
        yield Finding("PUF422", "an entry for each part of an episode holds the sums of the whole "
                                "episode so far", **facts.at_store("n"), env=fact.env,
                      step=fact.step, element="episode_length", seed=facts.seed,
                      expected="sums of the part, or one entry for each episode",
                      actual=f"the length since the last terminal in {fact.running} of "
                             f"{fact.later} later entries", severity="warning",
                      hint="set the sums to 0 after each entry, or write the log where the "
                           "terminal is set")
