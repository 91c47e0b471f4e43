"""PUF411: a head that changes nothing for some agents."""
from ....core.vocabulary import AnswerFact, Facts, Findings, detector, ranges
from .action_ignored import ENOUGH, Head, finding, tried

OFTEN = 0.5            # of moments, at which another agent's choice matters


@detector("PUF411", "agents")
def agents(facts: Facts) -> Findings:
    """Whatever some agents choose for a head changes nothing, and other agents' choices do."""
    for one in tried(facts):
        best = max(r.moved / max(r.tested, 1) for r in one.reach)
        idle = {r.agent: r.tested for r in one.reach
                if r.moved == 0 and r.tested >= ENOUGH // 3 and best > OFTEN}
        idle = idle or _unanswered(facts, one)
        for first, last in ranges(idle):
            who = f"agent {first}" if first == last else f"agents {first}-{last}"
            yield finding(facts, f"{one.name} of {who} changes nothing",
                          agent=first, element=one.fact.head,
                          expected="an effect, as the other agents' have",
                          actual=f"none, at {idle[first]} moments",
                          hint="does the loop reach every agent, and each its own row?")


def _unanswered(facts: Facts, one: Head) -> dict[int, int]:
    """Agents whose choice for one step never changed any row, while others' choices did, and their
    moments. In a game of turns moves seldom show otherwise."""
    found: dict[int, list[AnswerFact]] = {}
    for fact in facts.all("crossed", AnswerFact):
        if fact.head == one.fact.head:
            found.setdefault(fact.agent, []).append(fact)
    tested = {agent: max(row.tested for row in rows) for agent, rows in found.items()}
    share = {agent: max(row.any for row in rows) / max(tested[agent], 1)
             for agent, rows in found.items()}
    if max(share.values(), default=0) <= OFTEN:
        return {}
    still = {reach.agent for reach in one.reach if not reach.moved}
    return {agent: tested[agent] for agent in still & set(found)
            if not share[agent] and tested[agent] >= ENOUGH}
