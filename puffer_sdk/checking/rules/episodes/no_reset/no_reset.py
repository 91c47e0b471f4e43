"""The page of PUF401, and what its detectors share."""
from __future__ import annotations

from ....core.fact_kinds import EndingsFact, RunFact
from ....core.facts import Fact, Facts
from ....core.registry import NotTested, family, need
from ....core.repro_spec import Proof

TOO_SHORT = "no episode ended in the short play that looks at resets"


@family("PUF401", "no-reset", proof=Proof("reset"))
def no_reset():
    """The env goes on from a finished episode instead of resetting itself.

    Why it ruins training: nobody else resets it. After its first ending the env stays in a
    state that should not exist: off the board, out of time, dead. Nearly all of what the
    agent learns from comes from there.

    Bad:

        if (won) { env->rewards[0] = 1.0f; env->terminals[0] = 1.0f; add_log(env); }

    Good:

        if (won) { env->rewards[0] = 1.0f; env->terminals[0] = 1.0f; add_log(env); c_reset(env); }

    Fix: end c_step with c_reset(env) whenever the episode is over, and leave rewards and
    terminals alone in c_reset: they still describe the step that ended.

    A reset that comes one step late is a warning: one action an episode is ignored, or played in an
    episode whose first observation nobody has seen, and learned from.

    How it is seen: words of the struct (or of the observation) that every c_reset brings to
    the same value, like a tick to 0, are nowhere near it after an ending, and no random
    number was drawn although every c_reset draws one; or some endings call c_reset, and others
    neither call it nor bring such a word back.
    """


def endings(facts: Facts) -> Fact:
    """What was seen of endings. Raises NotTested where there was none."""
    need(facts, "audit")
    fact = facts.fact("audit", EndingsFact)
    if fact.endings == 0 and not fact.frozen:
        run = facts.fact("run", RunFact)
        raise NotTested("no step ended the episodes of all agents of an env together" if fact.part
                        else TOO_SHORT if run and run.terminals else "no episode ended")
    return fact


def place(facts: Facts, fact: Fact) -> dict:
    return {**facts.at("c_step"), "env": fact.env, "step": fact.step, "seed": facts.seed,
            "seen_in": "audit"}
