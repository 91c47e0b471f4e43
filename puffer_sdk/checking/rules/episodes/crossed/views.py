"""PUF409: an agent is shown what another one does."""
from ....core.vocabulary import Facts, Findings, ViewFact, detector, enough, most
from .rows_crossed import MOMENTS, Edge, answers, circle, finding, other_row


@detector("PUF409", "views", unless=("actions",))
def views(facts: Facts) -> Findings:
    """An agent is paid for its own choices, and its observation shows those of another one."""
    found, edges = answers(facts), []
    shown = {(fact.agent, fact.row): fact for fact in facts.all("crossed", ViewFact)}
    tried = {agent for agent, _ in found}
    for (agent, _), rows in found.items():
        own = sum(row.paid for row in rows if row.row == agent)
        others = max((row.paid for row in rows if row.row != agent), default=0)
        if own < MOMENTS or not most(own, own + others):
            continue                    # where others are paid, too, theirs is what matters
        edge = other_row(agent, rows, lambda row: row.seen)
        theirs = [row for row in rows if (view := shown.get((agent, row.row)))
                  and enough(view.theirs) and view.own == 0]
        if edge:
            edges.append(edge)
        elif len(theirs) == 1:
            edges.append(Edge(agent, theirs[0].row, theirs[0].seen, sum(
                row.seen for row in rows if row.row == agent), theirs[0].tested))
    edges = circle(edges, tried)
    if edges:
        yield finding(facts, edges, "row {row} shows what agent {agent} does, not its own agent",
                      "row {row} differed at {times} of {tested} moments, its own at {own}",
                      "is row i of the observations written for agent i?", "observations")
