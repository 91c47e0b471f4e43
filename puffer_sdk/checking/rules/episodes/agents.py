"""PUF407: as many agents as the env has rows for."""
from ...core.fact_kinds import AgentsCountFact, RowsCountFact, SeenAtFact
from ...core.vocabulary import Facts, Finding, Findings, Proof, need, present, rule


@rule("PUF407", "agent-count", proof=Proof("count"))
def agent_count(facts: Facts) -> Findings:
    """`num_agents` changes in an env without `max_agents`, or leaves 0 to `max_agents`, or
    `max_agents` changes after init.

    Why it ruins training: the rows of all envs are laid out once, after init. An env that counts
    more agents than it has rows writes into its neighbour's. One that counts fewer leaves rows
    as they were, and without `max_agents` nobody knows that they are empty: the trainer goes on
    learning from the last observation and reward of an agent that is not there.

    Bad:

        int num_agents;

        env->num_agents--;                  // one has left: its row stays as it was

    Good:

        int num_agents;                     // may change in c_reset and c_step
        int max_agents;                     // rows: set in init, never changed

        env->num_agents--;                  // rows from num_agents on are empty

    Fix: add `int max_agents` and set it in init; keep num_agents within 0 to max_agents. Or keep
    the number, add `unsigned char* alive`, and write 0 there for an agent that has gone.
    """
    need(facts, "run")
    rows, field = facts.shape.env_agents, present(facts.spec).rows_field
    grows = field == "max_agents"
    made = facts.fact("run", RowsCountFact)
    if made:
        yield _finding(facts, made, f"max_agents became {float(made.value):g}",
                       f"{rows}, as after init",
                       "set max_agents in init only: the rows are laid out once")
    fact = facts.fact("run", AgentsCountFact)
    if fact:
        yield _finding(facts, fact, f"num_agents became {float(fact.value):g}",
                       f"0 to {rows} (max_agents)" if grows else f"{rows}, as after init",
                       "an agent without a row has to wait until one is free" if grows else
                       "add a field `int max_agents`, the number of rows, and set it in init")


def _finding(facts: Facts, fact: SeenAtFact, message: str, expected: str, hint: str) -> Finding:
    return Finding("PUF407", message, **facts.at("c_step" if fact.step else "c_reset"),
                   env=fact.env, step=fact.step, expected=expected, actual=fact.value,
                   seed=facts.seed, seen_in="run", hint=hint)
