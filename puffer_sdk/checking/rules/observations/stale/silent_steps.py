"""PUF302: steps that write no observation."""
from ....core.vocabulary import Facts, Finding, Findings, RowFact, Shows, detector
from .writes import BEFORE, writes_whole, written


@detector("PUF302", "silent-steps", unless=(*BEFORE, "silent-rows", "silent-beginnings"))
def silent_steps(facts: Facts) -> Findings:
    """A step writes whole rows, and on some steps nothing although the game moves on.

    Where later observations do not show what moved, it was not part of them: a sum of rewards, say.
    """
    rows = written(facts, RowFact)
    if rows and rows[0].tried and not rows[0].shown:
        return
    moved = [r for r in rows if r.blank_moved > 0]
    if moved and all(writes_whole(r) for r in rows):
        r = moved[0]
        yield Finding("PUF302", f"c_step leaves the observation as it was on {r.blank_moved} "
                                f"of {r.steps} steps, although the state has changed",
                      **facts.at("c_step"), env=r.env, agent=r.agent, step=r.step,
                      expected="an observation of the new state", actual="the old one",
                      seed=facts.seed, seen_in="rewrite", shows=Shows(agent=-1),
                      hint="observe before every return of c_step")
