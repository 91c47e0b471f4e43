"""PUF413: a mask the wrong way round."""
from collections.abc import Sequence

from ....core.vocabulary import Facts, Findings, MaskingFact, detector, half, most
from .mask_mismatch import MOMENTS, finding, forbidden, heads, legal
from .one_legal import is_dead


@detector("PUF413", "upside-down")
def upside_down(facts: Facts) -> Findings:
    """Actions of a head act where they are forbidden, and do nothing where they are legal."""
    for mine in heads(facts):
        if not is_dead(mine) and is_upside_down(mine):
            worst = next(each for each in mine if forbidden(each) >= MOMENTS and acts_against(each))
            yield finding(facts, f"the mask of head {worst.head} forbids actions where they do "
                                 "something, and allows them where they do nothing",
                          element=worst.action,
                          expected="1 where the action does something",
                          actual=f"action {worst.value} acted at {worst.forbidden_acts} of "
                                 f"{forbidden(worst)} moments where it is forbidden, and at "
                                 f"{worst.legal_acts} of {legal(worst)} where it is legal",
                          hint="is the condition that of another action?")


def is_upside_down(mine: Sequence[MaskingFact]) -> bool:
    """Most actions of the head that are forbidden often enough."""
    often = [one for one in mine if forbidden(one) >= MOMENTS]
    return bool(often) and half(sum(map(acts_against, often)), len(often))


def acts_against(one: MaskingFact) -> bool:
    return legal(one) >= MOMENTS and most(one.forbidden_acts, forbidden(one)) and \
        not half(one.legal_acts, legal(one))
