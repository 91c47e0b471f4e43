"""The page of PUF413, and what its detectors share."""
from __future__ import annotations

from ....core.facts import Fact, Facts
from ....core.registry import family, need

MOMENTS = 20            # that are no accident


@family("PUF413", "mask-mismatch", "warning")
def mask_mismatch():
    """The action mask does not fit the actions: a byte tells of another action than its own, an
    agent's row is never written, or a new episode begins with the mask of the old one.

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
    """


def rows(facts: Facts) -> list[Fact]:
    """What became of each agent's row of the mask; [] where the env has none."""
    return _seen(facts, "mask_row")


def heads(facts: Facts) -> list[list[Fact]]:
    """What became of the bytes of each head."""
    found: dict[int, list[Fact]] = {}
    for one in _seen(facts, "mask_byte"):
        found.setdefault(one.head, []).append(one)
    return [found[head] for head in sorted(found)]


def _seen(facts: Facts, kind: str) -> list[Fact]:
    if facts.shape is None or not facts.shape.mask:
        return []
    need(facts, "masks")
    return facts.all("masks", kind)


def place(facts: Facts) -> dict:
    return {**facts.at("c_step"), "seed": facts.seed, "seen_in": "masks"}


def legal(one: Fact) -> int:
    return one.legal_acts + one.legal_idle


def forbidden(one: Fact) -> int:
    return one.forbidden_acts + one.forbidden_idle
