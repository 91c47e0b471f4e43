"""PUF413: rows of the mask that nothing writes."""
from ....core.vocabulary import Facts, Findings, detector, ranges
from .mask_mismatch import MOMENTS, finding, rows


@detector("PUF413", "unwritten")
def unwritten(facts: Facts) -> Findings:
    """Rows of some agents keep what they held, while other agents' are written."""
    found = rows(facts)
    if not any(row.written >= MOMENTS for row in found):
        return
    blank = {row.agent: row for row in found if row.steps >= MOMENTS and not row.written}
    for first, last in ranges(blank):
        who = f"agent {first}" if first == last else f"agents {first}-{last}"
        yield finding(facts, f"the mask of {who} is never written", agent=first,
                      expected="each agent's own row, as agent "
                               f"{next(r.agent for r in found if r.written)}'s is",
                      actual=f"left as it was on {blank[first].steps} steps",
                      hint="env->action_mask + i * ACT_COUNT is the row of agent i")
