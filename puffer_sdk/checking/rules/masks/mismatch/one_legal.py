"""PUF413: a head that leaves one value alone."""
from collections.abc import Sequence

from ....core.vocabulary import Facts, Findings, MaskingFact, detector, half
from .mask_mismatch import MOMENTS, finding, forbidden, heads, legal


@detector("PUF413", "one-legal")
def one_legal(facts: Facts) -> Findings:
    """The mask never allows more than one value of a head, although others act."""
    for mine in heads(facts):
        if is_dead(mine):
            only = next(one for one in mine if legal(one))
            yield finding(facts, f"the mask never allows anything but action {only.value} of "
                                 f"head {only.head}", element=only.head,
                          expected="1 where an action does something",
                          actual=f"0 at each of {max(map(forbidden, mine))} moments",
                          hint="is the condition the wrong way round?")


def is_dead(mine: Sequence[MaskingFact]) -> bool:
    """One value alone is ever legal, and most of the others act where they are tried."""
    never = [one for one in mine if not legal(one)]
    if not never or len(never) != len(mine) - 1:
        return False
    return all(forbidden(one) >= MOMENTS for one in never) and \
        half(sum(half(one.forbidden_acts, forbidden(one)) for one in never), len(never))
