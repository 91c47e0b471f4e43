"""PUF413: a mask that c_reset alone writes, of a game that goes on."""
from __future__ import annotations

from ....core.facts import Fact, Facts
from ....core.finding import Finding
from ....core.registry import detector
from .mask_mismatch import MOMENTS, place, truths


@detector("PUF413", "of-the-start")
def of_the_start(facts: Facts):
    """The mask is right where an episode begins, stays as it is, and is wrong later."""
    starts = truths(facts, start=True)
    for head, later in truths(facts).items():
        found = starts.get(head, [])
        idle, acts = (sum(getattr(one, way) for one in later)
                      for way in ("legal_idle", "forbidden_acts"))
        if min(idle, acts) >= MOMENTS // 2 and not any(map(_wrong, found)) and \
                min(sum(one.legal_acts for one in found),
                    sum(one.forbidden_idle for one in found)) >= MOMENTS:
            yield Finding("PUF413", f"the mask of head {head} stays as c_reset wrote it, while the "
                                    "game goes on", **place(facts), element=head,
                          expected="a mask that each step writes",
                          actual=f"later {idle} legal actions did nothing, {acts} forbidden ones "
                                 "acted; at the start of an episode none",
                          hint="write the mask in c_step too, when all that the step changes is "
                               "changed")


def _wrong(one: Fact) -> int:
    return one.legal_idle + one.forbidden_acts
