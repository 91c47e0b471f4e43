"""PUF413: a new episode with the mask of the old one."""
from ....core.vocabulary import Facts, Findings, detector, enough
from .mask_mismatch import MOMENTS, finding, rows


@detector("PUF413", "of-the-last")
def of_the_last(facts: Facts) -> Findings:
    """Every step writes the row of the mask, and the start of an episode does not."""
    for row in rows(facts):
        if MOMENTS <= row.written == row.steps and enough(row.ends) and not row.ends_written:
            yield finding(facts, "a new episode begins with the mask of the last one",
                          env=row.env, agent=row.agent, step=row.step,
                          expected="a mask that c_reset writes, as each step does",
                          actual=f"left as it was at {row.ends} endings",
                          hint="write the mask in c_reset, where the observation is written")
            return
