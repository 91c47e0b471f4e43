"""The page of PUF411, and what its detectors share."""
from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from ....core.fact_kinds import EffectFact, ReachFact
from ....core.vocabulary import Details, Facts, Finding, NotTested, family, need

if TYPE_CHECKING:
    from typing_extensions import Unpack

AHEAD = 64              # steps that follow a choice: AHEAD of play/forks.c
ENOUGH = 40             # moments at which a choice must have been tried


@family("PUF411", "action-ignored", "warning")
def action_ignored() -> None:
    """An action value, a whole head, or everything that one agent chooses changes nothing.

    Why it ruins training: the policy spends its exploration on choices without consequence,
    and the move that the head was made for does not exist. The usual causes are a missing
    `case`, a loop that ends one agent early, and an index that always reads the first head.

    Bad:

        #define ACT_SIZES {4}
        switch (action) { case 0: up(env); break; case 1: down(env); break; case 2: left(env); }

    Good:

        switch (action) { case 0: up(env); break; case 1: down(env); break;
                          case 2: left(env); break; case 3: right(env); break; }

    Fix: handle the value, or make ACT_SIZES smaller.

    How it is seen: from many moments on, the same env is played with each value held for 48
    steps, and 16 more at random, all other actions being the same. Two values that never lead
    to different observations, rewards or terminals are one value. Where most values do nothing at
    most moments, such as the swaps of a board, it takes more moments to say so. A head that changes
    nothing by then is tried once more, to the end of an episode and beyond.
    """


class Head(NamedTuple):
    """What came of the choices of one head."""

    fact: EffectFact
    name: str               # "the action", or "head 1"
    reach: list[ReachFact]  # of each agent
    tested: int             # moments
    moved: int              # of these, at which some choice changed something
    moved_late: bool        # in the longer play, if there was one


def tried(facts: Facts) -> Iterator[Head]:
    """Heads of which enough moments were tried. Raises NotTested where there is none, and after
    the last where the mask forbids some values of one."""
    need(facts, "effect")
    heads, any_tested = facts.all("effect", EffectFact), False
    late = {r.head for r in facts.all("effect-far", ReachFact) if r.moved}
    for fact in heads:
        reach = [r for r in facts.all("effect", ReachFact) if r.head == fact.head]
        head = Head(fact, f"head {fact.head}" if len(heads) > 1 else "the action", reach,
                    sum(r.tested for r in reach), sum(r.moved for r in reach), fact.head in late)
        if head.tested >= ENOUGH:
            any_tested = True
            yield head
    if not any_tested:
        raise NotTested("too few moments were tried")
    masked = [(f.head, f.never) for f in heads if f.never]
    if masked:
        number, values = masked[0]
        raise NotTested(f"{'actions' if len(values) > 1 else 'action'} "
                        f"{', '.join(f'{v:g}' for v in values)} of head {number} never taken: "
                        "the mask forbids it")


def finding(facts: Facts, message: str, **more: Unpack[Details]) -> Finding:
    """At ACT_SIZES, by the experiment `effect`."""
    told: Details = {**(facts.at_macro("ACT_SIZES") or facts.at("c_step")), "seed": facts.seed,
                     "seen_in": "effect", **more}
    return Finding("PUF411", message, **told)
