"""PUF411: a head that changes nothing for some agents."""
from __future__ import annotations

from ....core.facts import Facts, ranges
from ....core.finding import Finding
from ....core.registry import detector
from .action_ignored import ENOUGH, place, tried

OFTEN = 0.5            # of moments, at which another agent's choice matters


@detector("PUF411", "agents")
def agents(facts: Facts):
    """Whatever some agents choose for a head changes nothing, and other agents' choices do."""
    for one in tried(facts):
        best = max(r.moved / max(r.tested, 1) for r in one.reach)
        idle = {r.agent: r.tested for r in one.reach
                if r.moved == 0 and r.tested >= ENOUGH // 3 and best > OFTEN}
        for first, last in ranges(idle):
            who = f"agent {first}" if first == last else f"agents {first}-{last}"
            yield Finding("PUF411", f"{one.name} of {who} changes nothing", **place(facts),
                          agent=first, element=one.fact.head,
                          expected="an effect, as the other agents' have",
                          actual=f"none, at {idle[first]} moments",
                          hint="does the loop reach every agent, and each its own row?")
