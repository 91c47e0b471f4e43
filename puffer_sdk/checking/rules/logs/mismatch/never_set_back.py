"""PUF422: sums that no reset sets back, in an env that sets no terminal."""
from ....core.vocabulary import Facts, Finding, Findings, GrownFact, detector, enough, most


@detector("PUF422", "never-set-back")
def never_set_back(facts: Facts) -> Findings:
    """Each entry holds the last one's sum and the episode's own: no c_reset sets it back.

    No terminal says where episodes end: the calls of c_reset in c_step do."""
    for fact in facts.all("hidden", GrownFact):
        if not (enough(fact.grown) and most(fact.grown, fact.judged)) or \
                most(fact.back, fact.judged):
            continue
        what = "rewards" if fact.name == "episode_return" else "steps"
        yield Finding("PUF422", f"Log.{fact.name} goes on over c_reset: it holds the {what} of "
                                f"earlier episodes in {fact.grown} of {fact.judged} entries",
                      **facts.at_store(fact.name), env=fact.env, step=fact.step,
                      element=fact.name, expected=f"{fact.measured:g}, since the last c_reset",
                      actual=f"{fact.logged:g}", seed=facts.seed,
                      hint="set the sum back to 0 in c_reset")
