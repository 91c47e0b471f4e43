"""PUF506: observations that reveal another agent's private fields."""
from ...collect.c import hidden
from ...core.vocabulary import Facts, Finding, Findings, NotTested, SecretFact, enough, need, rule

ENOUGH = 12             # moments at which a secret must have been exchanged


@rule("PUF506", "agent-leak", "warning")
def agent_leak(facts: Facts) -> Findings:
    """An agent's observation reveals what another agent should hide. Only declared fields are
    checked: write `// puffer: private` after a field of the agents' struct.

    Why it ruins training: agents learn to read each other's cards. The scores are superb, and
    worth nothing as soon as the game is played by its rules.

    Bad:

        int hand[5];                            // puffer: private
        ...
        for (int j = 0; j < num_agents; j++) obs[j] = agents[j].hand[0];

    Good:

        obs[0] = agents[i].hand[0];             // one's own

    Fix: write only what this agent may see into its row.

    How it is seen: at many moments, one agent's field gets the value that it has in another env.
    If only the others' observations differ one step later, they show the field.
    """
    if not hidden.declared(facts):
        return
    need(facts, "private")
    places = hidden.places(facts)
    rows = facts.all("private", SecretFact)
    tested, told = 0, set()
    for row in rows:
        place = places[row.index]
        tested = max(tested, row.tests)
        if row.tests < ENOUGH or not enough(row.leaks) or place.field in told:
            continue
        told.add(place.field)
        yield Finding("PUF506", f"agent {row.seer} sees '{place.field}' of agent "
                                f"{place.agent}", file=place.file, line=place.line,
                      env=row.env, agent=row.seer, step=row.step,
                      element=row.element, expected="private, as declared",
                      actual=f"another observation at {row.leaks} of {row.tests} moments",
                      seed=facts.seed, seen_in="private",
                      hint="leave it out of the other agents' rows")
    if tested < ENOUGH:
        raise NotTested("no two envs held different private values often enough")
