"""PUF409: another row answers to an agent's choice."""
from ....core.vocabulary import AnswerFact, Facts, Findings, detector
from .rows_crossed import Edge, answers, circle, finding, is_own, other_row


@detector("PUF409", "actions")
def actions(facts: Facts) -> Findings:
    """What an agent chooses shows in another agent's row, and not in its own."""
    found = answers(facts)
    crossed: dict[tuple[int, int], Edge] = {}
    owned: set[tuple[int, int]] = set()
    for (agent, head), rows in found.items():
        edge = other_row(agent, rows, lambda row: row.any)
        if edge:
            crossed[agent, head] = edge
        elif is_own(agent, rows, lambda row: row.any):
            owned.add((agent, head))
    # a head that only others ever answer to may be meant so, a message for one: it counts where
    # the agent has no other head, or where the same head of another agent is that agent's own
    edges = [edge for (agent, head), edge in crossed.items()
             if not any(one == agent for one, _ in owned) or any(h == head for _, h in owned)]
    edges = circle(edges, {agent for agent, _ in found})
    if edges:
        yield finding(facts, edges, "what agent {agent} chooses shows in row {row}, not in its own",
                      "row {row} at {times} of {tested} moments, its own at {own}",
                      *_cause(edges, found))


def _cause(edges: list[Edge], found: dict[tuple[int, int], list[AnswerFact]]
           ) -> tuple[str, str]:
    """The hint, and the array: where the agents are paid themselves, they are moved rightly."""
    paid = [row for edge in edges for (agent, _), rows in found.items() if agent == edge.agent
            for row in rows if row.paid]
    if paid and all(row.row == row.agent for row in paid):
        return "is row i of the observations written for agent i?", "observations"
    return "are actions read as agents x heads, and is each agent moved by its own row?", "actions"
