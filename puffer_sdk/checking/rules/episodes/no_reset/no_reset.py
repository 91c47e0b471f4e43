"""The page of PUF401, and what its detectors share."""
from __future__ import annotations

from typing import TYPE_CHECKING

from ....core.fact_kinds import EndingsFact, RunFact
from ....core.vocabulary import Details, Facts, Finding, NotTested, Proof, family, needed

if TYPE_CHECKING:
    from typing_extensions import Unpack

TOO_SHORT = "no episode ended in the short play that looks at resets"


@family("PUF401", "no-reset", proof=Proof("reset"))
def no_reset() -> None:
    """The env goes on from a finished episode instead of resetting itself.

    Why it ruins training: nobody else resets it. After its first ending the env stays in a
    state that should not exist: off the board, out of time, dead. Nearly all experience comes from
    such states.

    Bad:

        if (won) { env->rewards[0] = 1.0f; env->terminals[0] = 1.0f; add_log(env); }

    Good:

        if (won) { env->rewards[0] = 1.0f; env->terminals[0] = 1.0f; add_log(env); c_reset(env); }

    Fix: end c_step with c_reset(env) whenever the episode is over, and leave rewards and
    terminals alone in c_reset: they still describe the step that ended.

    A reset that comes one step late is a warning: one action an episode is ignored, or played in an
    episode whose first observation the policy has not seen.

    How it is seen: every c_reset sets some words of the struct (or of the observation) to the same
    value, such as a tick to 0. After an ending they are far from it, and no random number was
    drawn although every c_reset draws one; or some endings call c_reset, and others neither call it
    nor reset such a word. Where most endings bring some words back, only these words count: another
    function than c_reset may start the episodes of play.
    """


def endings(facts: Facts) -> EndingsFact:
    """What was seen of endings. Raises NotTested where there was none."""
    fact = needed(facts, "audit", EndingsFact)
    if fact.endings == 0 and not fact.frozen:
        run = facts.fact("run", RunFact)
        raise NotTested("no step ended the episodes of all agents of an env together" if fact.part
                        else TOO_SHORT if run and run.terminals else "no episode ended")
    return fact


def finding(facts: Facts, fact: EndingsFact, message: str, **more: Unpack[Details]) -> Finding:
    """At c_step, and at the first such ending, unless `more` has another place."""
    told: Details = {**facts.at("c_step"), "env": fact.env, "step": fact.step, "seed": facts.seed,
                     "seen_in": "audit", **more}
    return Finding("PUF401", message, **told)
