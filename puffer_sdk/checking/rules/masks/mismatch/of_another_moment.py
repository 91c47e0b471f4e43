"""PUF413: a mask of another moment than that of the next action."""
from __future__ import annotations

from ....core.facts import Facts
from ....core.finding import Finding
from ....core.often import most
from ....core.registry import PREVIEW, detector
from .mask_mismatch import MOMENTS, forbidden, heads, legal, place


@detector("PUF413", "of-another-moment", PREVIEW, unless=("misplaced",))
def of_another_moment(facts: Facts):
    """The mask of a head is nearly always right, and at times wrong in both ways."""
    for mine in heads(facts):
        acts, every = sum(one.legal_acts for one in mine), sum(map(legal, mine))
        wrong, refused = sum(one.forbidden_acts for one in mine), sum(map(forbidden, mine))
        if min(wrong, every - acts) >= MOMENTS // 2 and most(acts, every) and \
                most(refused - wrong, refused):
            yield Finding("PUF413", f"the mask of head {mine[0].head} is at times that of another "
                                    "moment", **place(facts), element=mine[0].head,
                          expected="1 exactly where the next action does something",
                          actual=f"{wrong} of {refused} forbidden actions act, {every - acts} of "
                                 f"{every} legal ones do nothing",
                          hint="write the mask last, when all that the step changes is changed")
