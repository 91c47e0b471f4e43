"""PUF409: the terminal of an agent stands in another row."""
from ....core.vocabulary import Facts, Findings, LoneEndFact, detector, most
from .rows_crossed import MOMENTS, Edge, answers, circle, finding

JUMP = 3.0              # times the usual change of an observation: another episode
CALM = 1.5              # times the usual change: the same episode


@detector("PUF409", "terminals")
def terminals(facts: Facts) -> Findings:
    """The terminal of one agent stands in the row of another one, whose episode goes on."""
    tried = {agent for agent, _ in answers(facts)}
    by_agent: dict[int, list[LoneEndFact]] = {}
    for fact in facts.all("crossed", LoneEndFact):
        if fact.ends >= MOMENTS:
            by_agent.setdefault(fact.agent, []).append(fact)
    edges = []
    for agent, rows in by_agent.items():
        own = next(row for row in rows if row.row == agent)
        calm = most(own.jumps, own.ends) and own.jump < CALM * own.usual
        for row in rows:
            gone = row.left + row.jumps
            anew = row.jump > JUMP * row.usual > 0 or most(row.left, gone)
            if row.row != agent and calm and anew and most(gone, row.ends):
                edges.append(Edge(agent, row.row, gone, 0, row.ends))
    edges = circle(edges, tried)
    if edges:
        yield finding(facts, edges, "the terminal in row {agent} belongs to agent {row}, whose "
                                    "episode ended", "agent {row} began anew or left at {times} of "
                      "{tested} terminals, agent {agent} went on",
                      "is terminals[i] written for the agent whose episode ended?", "terminals")
