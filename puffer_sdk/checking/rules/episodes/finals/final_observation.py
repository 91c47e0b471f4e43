"""The page of PUF323, and what its detectors share."""
from ....core.vocabulary import Facts, FinalsFact, NotTested, enough, family, need


@family("PUF323", "final-observation")
def final_observation() -> None:
    """final_observations does not hold what a truncated agent saw last: it holds the first
    observation of the next episode, or was not written, or not as a whole.

    Why it ruins training: an episode that a time limit cuts off is not over for the agent. Its
    value there stands for all that was still to come, and that value is computed from this row.
    With the first observation of another episode in it, every truncation teaches the wrong value.

    Bad:

        c_reset(env);
        if (late) observe(env, env->final_observations);

    Good:

        if (late) observe(env, env->final_observations);
        c_reset(env);

    Fix: fill the row where the truncation is set, before c_reset. Without the field, `build`
    looks for a way to keep the final observations by itself.

    How it is seen: the row is overwritten before each step and looked at after each truncation,
    as the ini has it and with time limits of 24 steps. An element that is never written is reported
    where it differs from truncation to truncation.
    """


def truncations(facts: Facts) -> FinalsFact | None:
    """What was seen of them, as the ini has the game or with short time limits; None where the env
    writes no final observations. Raises NotTested where there were too few."""
    if facts.spec is None or not facts.spec.writes_final_obs:
        return None
    need(facts, "finals")
    played = [one for one in (facts.fact("finals", FinalsFact),
                              facts.fact("finals-short", FinalsFact)) if one]
    fact = max(played, key=lambda one: (enough(one.next) or enough(one.blank), one.cuts))
    if not enough(fact.cuts):
        raise NotTested("fewer than 3 episodes were cut off")
    return fact
