"""PUF413: a mask that c_reset alone writes, of a game that goes on."""
from ....core.vocabulary import Facts, Findings, detector
from .mask_mismatch import MOMENTS, finding, truths

SELDOM = 20         # one byte of so many: others may have decided what it did


@detector("PUF413", "of-the-start")
def of_the_start(facts: Facts) -> Findings:
    """The mask is right where an episode begins, stays as it is, and is wrong later."""
    starts = truths(facts, start=True)
    for head, later in truths(facts).items():
        found = starts.get(head, [])
        idle, acts = (sum(getattr(one, way) for one in later)
                      for way in ("legal_idle", "forbidden_acts"))
        right = [sum(getattr(one, way) for one in found)
                 for way in ("legal_acts", "forbidden_idle")]
        wrong = sum(one.legal_idle + one.forbidden_acts for one in found)
        if min(idle, acts) >= MOMENTS // 2 and min(right) >= MOMENTS and \
                SELDOM * wrong <= sum(right):
            yield finding(facts, f"the mask of head {head} stays as c_reset wrote it, while the "
                                 "game goes on", element=head,
                          expected="a mask that each step writes",
                          actual=f"{idle} legal actions that did nothing, {acts} forbidden ones "
                                 f"that acted; right after c_reset {wrong} of both",
                          hint="write the mask in c_step too, when all that the step changes is "
                               "changed")
