"""PUF302: what a board shows where it was as well as where it is.

Facts -> Findings
"""
from __future__ import annotations

from collections.abc import Iterator

from ....core.facts import Facts
from ....core.finding import Finding
from ....core.often import half
from ....core.registry import detector, need

MOVES, COPIES, CLEARED = 100, 20, 50    # at least; at least; copies for each that a step cleared


@detector("PUF302", "left-behind", unless=("behind-the-state", "old-opening"))
def left_behind(facts: Facts) -> Iterator[Finding]:
    """A number that moves from cell to cell of a board stays at times in the cell that it leaves,
    for good."""
    need(facts, "poison")
    found = [one for one in facts.all("copies", "copy") if one.kept >= COPIES
             and one.moves >= MOVES and half(one.moves - one.kept, one.moves)
             and CLEARED * one.cleared <= one.kept]
    for one in found[:1]:
        yield Finding("PUF302", f"what the observation shows as {one.value:g} moves on to "
                                f"{facts.called(one.element, one.element)} and stays in "
                                f"{facts.called(one.origin, one.origin)} as well",
                      **facts.at("c_step"), severity="warning", env=one.env, agent=one.agent,
                      step=one.step, element=one.origin, seed=facts.seed,
                      expected=f"one place, as after {one.moves} other moves",
                      actual=f"{one.kept} old places that only the next episode clears",
                      hint="clear the old cell on every path before the new one is set")
