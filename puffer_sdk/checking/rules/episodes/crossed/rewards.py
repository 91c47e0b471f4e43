"""PUF409: another agent is paid for an agent's choice."""
from ....core.vocabulary import ENOUGH, Facts, Findings, detector
from .rows_crossed import MOMENTS, answers, circle, finding, other_row, pooled

SELDOM = 0.05           # of the other row's changes: a target may pay for a shot, and may duck


@detector("PUF409", "rewards", unless=("actions",))
def rewards(facts: Facts) -> Findings:
    """The rewards of one other row depend on what an agent chooses, and its own do not."""
    by_agent = pooled(answers(facts))
    found = [other_row(agent, rows, lambda row: row.paid, least=ENOUGH)
             for agent, rows in by_agent.items()]
    edges = circle([edge for edge in found if edge and edge.own <= SELDOM * edge.times],
                   set(by_agent))
    if sum(edge.times for edge in edges) >= MOMENTS:
        yield finding(facts, edges, "row {row} is paid for what agent {agent} chooses",
                      "row {row} was paid otherwise at {times} of {tested} moments, its own at "
                      "{own}", "is rewards[i] the reward of agent i?", "rewards")
