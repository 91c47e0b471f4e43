"""PUF302: the observation after an ending shows the episode that is over."""
from ....core.fact_kinds import OpeningFact, ReseededFact
from ....core.vocabulary import Facts, Finding, Findings, detector, enough, most, need
from ...episodes.no_reset.known import is_not_reset, is_reset_late

TELLS = 2           # elements that differ between an old and a new episode


@detector("PUF302", "old-opening", unless=("behind-the-state",))
def old_opening(facts: Facts) -> Findings:
    """Observations after an ending are nothing like those after c_reset."""
    need(facts, "poison")
    opening = facts.fact("audit", OpeningFact)
    reseeded = facts.fact("reseed", ReseededFact)
    env = step = None
    if reseeded and enough(reseeded.told) and most(reseeded.blind, reseeded.told):
        env, step, seen_in = reseeded.env, reseeded.step, "reseed"
        actual = "one that does not depend on how the new episode begins"
    elif opening and opening.tells >= TELLS and opening.old == opening.tells:
        seen_in, actual = "audit", f"{opening.old} elements where no c_reset puts them"
    else:
        return
    if is_not_reset(facts) or is_reset_late(facts):
        return
    yield Finding("PUF302", "the observation after an ending still shows the episode that is over",
                  **facts.at("c_step"), env=env, step=step, seen_in=seen_in,
                  expected="the first observation of a new episode", actual=actual, seed=facts.seed,
                  hint="observe at the end of c_reset, and call c_reset(env) on an ending")
