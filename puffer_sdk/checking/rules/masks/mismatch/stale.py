"""PUF413: a mask of an earlier moment than that of the next action."""
from ....core.vocabulary import Facts, Findings, MaskTruthFact, detector, enough
from .mask_mismatch import MOMENTS, finding, truths

LATER = 4           # bytes that a step puts right, for one that it makes wrong


@detector("PUF413", "stale", unless=("misplaced", "of-another-action", "upside-down"))
def stale(facts: Facts) -> Findings:
    """The mask of a head is wrong in both ways, and right one step later."""
    for head, found in truths(facts).items():
        late = sum(map(_late, found))
        acts, idle = (sum(getattr(one, way) for one in found) for way in ("late_acts", "late_idle"))
        spoiled = sum(one.spoiled for one in found)
        if enough(acts) and enough(idle) and late >= MOMENTS // 2 and late >= LATER * spoiled:
            wrong = sum(one.legal_idle + one.forbidden_acts for one in found)
            yield finding(facts, f"the mask of head {head} is at times that of an earlier "
                                 "moment",
                          element=head,
                          expected="1 exactly where the next action does something",
                          actual=f"{late} of {wrong} wrong bytes are right one step later",
                          hint="write the mask of all agents last, when all that the step changes "
                               "is changed")


def _late(one: MaskTruthFact) -> int:
    return one.late_acts + one.late_idle
