"""The page of PUF413, and what its detectors share."""
from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from ....core.fact_kinds import MaskByteFact, MaskingFact, MaskRowFact, MaskTruthFact
from ....core.vocabulary import Details, Facts, Finding, K, family, need

M = TypeVar("M", bound=MaskingFact)
if TYPE_CHECKING:
    from typing_extensions import Unpack

MOMENTS = 20            # that are no accident


@family("PUF413", "mask-mismatch", "warning")
def mask_mismatch() -> None:
    """The action mask does not fit the actions: a byte tells of another action than its own, an
    agent's row is never written, or the mask is that of an earlier moment or of the old episode.

    Why it ruins training: the policy can only choose what the mask allows. A move whose byte lies
    in the wrong place is forbidden where it would help, and allowed where it does nothing; the
    policy cannot learn its way around that.

    Bad:

        env->action_mask[ACT_LEFT] = env->x > 0;
        env->action_mask[ACT_LEFT] = env->x < env->size - 1;        // and ACT_RIGHT?

    Good:

        env->action_mask[ACT_LEFT] = env->x > 0;
        env->action_mask[ACT_RIGHT] = env->x < env->size - 1;

    Fix: write the whole row of each agent, i * ACT_COUNT + the offset of the head + the value,
    in one function that both c_reset and c_step call.

    How it is seen: from many moments on, every value of a head is tried, also those that the mask
    forbids. A value acts where it leads to other rows than each other value of its head. Reported
    is a byte that says when another action acts and not when its own does, a head whose actions act
    when they are forbidden and do nothing when they are legal, a head of which the mask never
    allows more than one value although others act, and an action that the code treats like a
    forbidden one whenever it is legal. A mask that is stricter than the code is not.

    A mask is stale where it is wrong in both ways (it allows actions that change nothing for their
    agent, and forbids actions that do) and is right one step later, if the agent changes nothing in
    that step; or where it is right when an episode begins, and never changes. What other agents and
    chance decide in between is no fault of the mask: such moments are played again with other
    actions and other random numbers, and count only where the result is the same.
    """


def rows(facts: Facts) -> list[MaskRowFact]:
    """What became of each agent's row of the mask; [] where the env has none."""
    return _seen(facts, MaskRowFact)


def heads(facts: Facts) -> list[list[MaskByteFact]]:
    """What became of the bytes of each head."""
    return _by_head(_seen(facts, MaskByteFact))


def truths(facts: Facts, *, start: bool = False) -> dict[int, list[MaskTruthFact]]:
    """By head, the bytes of all agents that are at times 1 and at times 0; [start] those of the
    moments where an episode begins. {} where the mask seemed right.
    """
    seen = [one for one in _seen(facts, MaskTruthFact) if one.start == start
            and legal(one) and forbidden(one)]
    return {found[0].head: found for found in _by_head(seen)}


def of_agents(facts: Facts) -> dict[int, list[list[MaskTruthFact]]]:
    """By agent, the bytes of each head. {} where the mask seemed right."""
    seen = [one for one in _seen(facts, MaskTruthFact) if not one.start]
    return {agent: _by_head([one for one in seen if one.agent == agent])
            for agent in sorted({one.agent for one in seen})}


def _by_head(seen: list[M]) -> list[list[M]]:
    found: dict[int, list[M]] = {}
    for one in seen:
        found.setdefault(one.head, []).append(one)
    return [found[head] for head in sorted(found)]


def _seen(facts: Facts, kind: type[K]) -> list[K]:
    if not facts.shape.mask:
        return []
    need(facts, "masks")
    return facts.all("masks", kind)


def finding(facts: Facts, message: str, **more: Unpack[Details]) -> Finding:
    """In c_step, by the experiment `masks`."""
    told: Details = {**facts.at("c_step"), "seed": facts.seed, "seen_in": "masks", **more}
    return Finding("PUF413", message, **told)


def legal(one: MaskingFact) -> int:
    return one.legal_acts + one.legal_idle


def forbidden(one: MaskingFact) -> int:
    return one.forbidden_acts + one.forbidden_idle
