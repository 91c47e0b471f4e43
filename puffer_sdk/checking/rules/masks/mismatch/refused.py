"""PUF413: a legal action that is treated as a forbidden one."""
from ....core.vocabulary import Facts, Findings, MaskByteFact, detector, most
from .mask_mismatch import MOMENTS, finding, forbidden, heads
from .one_legal import is_dead
from .upside_down import is_upside_down


@detector("PUF413", "refused")
def refused(facts: Facts) -> Findings:
    """Whenever the mask allows an action, it does what forbidden ones do."""
    for mine in heads(facts):
        if not is_dead(mine) and not is_upside_down(mine):
            yield from _of_head(facts, mine)


def _of_head(facts: Facts, mine: list[MaskByteFact]) -> Findings:
    """Of several, each may be what a phase of the game makes of the forbidden ones."""
    tried = [one for one in mine if one.beside >= MOMENTS and forbidden(one) >= MOMENTS // 2]
    same = [one for one in tried if one.like == one.beside]
    others = [one for one in tried if one.like < one.beside]
    if len(same) == 1 <= len(others) and all(most(one.beside - one.like, one.beside)
                                             for one in others):
        for one in same:
            yield finding(facts, f"the mask allows action {one.value} of head {one.head}, and "
                                 "the code treats it as it treats forbidden ones",
                          element=one.action,
                          expected="an effect of its own where it is legal",
                          actual=f"what a forbidden action does, at {one.beside} moments",
                          hint="is the range of the check one too small?")
