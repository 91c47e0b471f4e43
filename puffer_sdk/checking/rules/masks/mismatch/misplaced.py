"""PUF413: bytes that know when another action acts."""
from collections.abc import Mapping, Sequence

from ....core.vocabulary import Facts, Findings, MaskingFact, detector, elements, most, span
from .mask_mismatch import MOMENTS, finding, forbidden, heads, legal
from .one_legal import is_dead
from .upside_down import is_upside_down

WRONG = 5           # one of so many moments at which a byte is wrong: it is no exception


@detector("PUF413", "misplaced")
def misplaced(facts: Facts) -> Findings:
    """A byte of the mask says when another action acts, and not when its own does."""
    found = heads(facts)
    for mine in found:
        if not is_dead(mine) and not is_upside_down(mine):
            yield from misplaced_of(facts, mine, {one.action: one for each in found
                                                  for one in each})


def misplaced_of(facts: Facts, mine: Sequence[MaskingFact], actions: Mapping[int, MaskingFact],
                 agent: int | None = None) -> Findings:
    """The worst byte of a head; of one agent's mask, where that is given."""
    wrong = [(one, actions[one.twin]) for one in mine if one.twin in actions]
    wrong = [(one, owner) for one, owner in wrong if _tells(one) and _is_no_use(one)
             and owner.forbidden_acts >= MOMENTS and
             WRONG * owner.forbidden_acts >= forbidden(owner)]
    if not wrong:       # each may be rare, such as a jump in one direction
        wrong = [(one, actions[one.twin]) for one in mine if one.twin in actions
                 and one.forbidden_acts and not one.legal_acts and not one.twin_wrong]
        if len(wrong) == 1 or sum(one.forbidden_acts for one, _ in wrong) < MOMENTS // 2:
            return
    one, owner = max(wrong, key=lambda pair: (pair[0].twin_acts + pair[0].twin_idle,
                                              pair[1].forbidden_acts))
    mask, hint = ("the mask", "is the index that of another action? is the head's offset added?")
    if agent is not None:
        mask, hint = (f"agent {agent}'s mask", "c_step must read the action as the mask writes it: "
                                               "is one of them mirrored or turned?")
    yield finding(facts, f"{elements(one.twin, one.twin)} of {mask} tells when action "
                         f"{one.value} of head {one.head} does something, and not its own "
                         f"{elements(one.action, one.action)}",
                  agent=agent, element=span(one.twin, one.twin),
                  expected=f"element {owner.action} for action {owner.value} of head {owner.head}",
                  actual=f"that action acts at {owner.forbidden_acts} of {forbidden(owner)} "
                         "moments where it is forbidden",
                  hint=hint)


def _tells(one: MaskingFact) -> bool:
    """The other byte says when this action acts."""
    both = one.twin_acts + one.twin_idle
    return min(one.twin_acts, one.twin_idle) >= MOMENTS // 2 and most(both - one.twin_wrong, both)


def _is_no_use(one: MaskingFact) -> bool:
    """Its own byte does not."""
    wrong = one.legal_idle + one.forbidden_acts
    return wrong >= MOMENTS // 2 and WRONG * wrong >= legal(one) + forbidden(one)
