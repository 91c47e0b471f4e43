"""PUF302: what is set, and never cleared."""
from __future__ import annotations

from ....core.facts import Facts
from ....core.registry import detector
from .writes import BEFORE, follow_from_state, kept, stale

FEW = 32            # elements of an agent that are a one-hot rather than a board


@detector("PUF302", "never-cleared", unless=(*BEFORE, "silent-rows"))
def never_cleared(facts: Facts):
    """Elements keep what was once set until the episode ends, as a one-hot that is not cleared."""
    cells = kept(facts)
    one_way = cells.one_way
    if len(one_way) <= 1 or len(one_way) < len([c for c in cells.some if c.changed]) or \
            any(c.reverted for c in cells.some) or follow_from_state(one_way):
        return
    few = cells.most_are_written or len(one_way) <= FEW * facts.told_agents
    severity = "error" if few and not facts.source.clears_observations() else "warning"
    old = [c for c in one_way if c.held > c.retold] or one_way
    left = {(c.agent, c.element) for c in facts.all("poison", "left")}
    yield from stale(facts, [c for c in old if (c.agent, c.element) not in left],
                     "{} keep what was once set, within an episode", severity, "let-go")
