"""Cells that c_reset leaves, for PUF301 and PUF302.  Facts -> facts of the experiment `poison`"""
from ...core.vocabulary import Facts, LeftFact, repeated


def unwritten(facts: Facts) -> tuple[list[LeftFact], list[LeftFact]]:
    """Cells that c_reset leaves: those that nothing ever writes, and those that some step writes.

    An element that a step writes for another agent, or elsewhere in the pattern, counts as written:
    nobody stood here. But a row of which nothing was written was forgotten.
    """
    left = [c for c in facts.all("poison", LeftFact) if not c.derived]
    touched = {c.element for c in left if c.touched}
    met = {c.agent for c in left if c.touched}
    pattern = repeated({c.element for c in left})
    if pattern and pattern == repeated(touched):
        touched = {c.element for c in left}
    parts: tuple[list[LeftFact], list[LeftFact]] = ([], [])
    for c in left:
        parts[bool(c.touched or (c.element in touched and c.agent in met))].append(c)
    return parts
