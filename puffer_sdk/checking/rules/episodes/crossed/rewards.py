"""PUF409: another agent is paid for an agent's choice."""
from __future__ import annotations

from ....core.facts import Facts
from ....core.registry import detector
from .rows_crossed import answers, circle, finding, other_row

SELDOM = 0.05           # of what another row is paid: who is shot at may pay, and may duck


@detector("PUF409", "rewards", unless=("actions",))
def rewards(facts: Facts):
    """The rewards of one other row depend on what an agent chooses, and its own do not."""
    found, edges = answers(facts), {}
    for (agent, head), rows in found.items():
        edge = other_row(agent, rows, lambda row: row.paid)
        own = any(row.row == agent and row.paid for row in rows)
        if edge and edge.own <= SELDOM * edge.times:
            edges[agent, head] = edge
        elif own:
            edges[agent, head] = None
    whole = [edge for (agent, _), edge in edges.items() if edge and all(
        other for (one, _), other in edges.items() if one == agent)]
    whole = circle(whole, {agent for agent, _ in found})
    if whole:
        yield finding(facts, whole, "row {row} is paid for what agent {agent} chooses",
                      "row {row} was paid otherwise at {times} of {tested} moments, its own at "
                      "{own}", "is rewards[i] the reward of agent i?", "rewards")
