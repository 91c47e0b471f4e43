"""PUF308: numbers that each agent sees twice, in places of its own."""
import numpy as np

from ....core.vocabulary import Facts, Finding, Findings, detector, enough
from .obs_duplicate import compared, named, pairs, sampled

OF_AGENT = 300          # rows of one agent that are enough


@detector("PUF308", "of-each-agent", unless=("same-number",))
def of_each_agent(facts: Facts) -> Findings:
    """Every agent sees numbers twice, in places that depend on the agent."""
    stats = sampled(facts)
    if stats is None:
        return
    agents, counts = np.unique(stats.agents, return_counts=True)
    if len(agents) == 1 or counts.min() < OF_AGENT:
        return
    found = []
    for agent in agents:
        mine = [pair for pair in pairs(stats.rows[stats.agents == agent], compared(facts))
                if pair[2] == 1]
        if not enough(len(mine)):
            return
        found.append(mine)
    first, second, _ = found[0][0]
    one = named(facts, second)
    yield Finding("PUF308", f"every agent sees {min(map(len, found))} numbers or more twice: for "
                            f"agent 0, {facts.called(second)} is always the same as "
                            f"{facts.called(first)}", file=one.file, line=one.line,
                  agent=0, element=second, expected="numbers of their own",
                  actual=f"so in each of {counts.min()} rows or more of an agent",
                  seed=facts.seed, seen_in="run",
                  hint="does an agent see itself, or its mates, where others should be?")
