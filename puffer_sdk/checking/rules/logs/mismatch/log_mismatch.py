"""The page of PUF422, and what its detectors share."""
from ....core.fact_kinds import RewardNotFiniteFact, RunFact
from ....core.vocabulary import Facts, NotTested, Proof, family, most, needed
from ...episodes.no_reset.known import is_not_reset


@family("PUF422", "log-mismatch", proof=Proof("log"))
def log_mismatch() -> None:
    """`episode_return` or `episode_length` of the log disagree with what was measured: the
    rewards that were paid since the last ending, and the steps that were made.

    Why it ruins training: the log is what you compare runs by. A return that forgets the last
    reward misses the win itself; one that is not set to zero in c_reset grows for ever, which
    looks like learning. A length that is off by one hides that something else is, too.

    Bad:

        if (won) { add_log(env); env->rewards[0] = 1.0f; c_reset(env); }

    Good:

        env->rewards[0] = won ? 1.0f : 0.0f;
        env->episode_return += env->rewards[0];
        if (won) { add_log(env); c_reset(env); }

    Warnings: c_step sums something for the log, and c_render sums the same over one element more or
    less. A value is assigned (log.score = s), which keeps one entry of those that n counts;
    `// puffer: assigned` after the field declares that it is meant. A step sets the log back to 0,
    and entries that nobody has read are lost. Some endings leave no entry, and the entries that
    follow tell of their own episode only: `if (won) add_log(env);` makes a perf of 1, whatever the
    policy does. An episode has several entries, one for each life, and each holds the running sums
    of the whole episode.

    Where the sums grow and n does not, all figures are too large (an error).

    Fix: add every reward to the sum in one place, before the log entry is made, and set the
    sum and the tick to zero in c_reset.

    What counts as right, with several agents: the return of one agent, the mean or the sum
    over all, or over those that end; one entry per env or one per agent. A length counted in
    frames is right where a loop of so many passes counts them, and so is one without the steps that
    an agent waits to come back; one step that only some of the endings miss is not reported. A
    field that nothing writes is PUF423's. Entries that are made per goal, without a terminal, are
    not compared with episodes. Where num_agents changes, an agent may take its sums to another row:
    then a mismatch proves nothing.
    """


def entries(facts: Facts) -> RunFact:
    """The facts of the run, where entries can be held against episodes. Raises NotTested."""
    run = of_episodes(facts)
    if run.entries == 0:
        raise NotTested("there are no log entries", "PUF421")
    if facts.fact("run", RewardNotFiniteFact):
        raise NotTested("rewards are not finite", "PUF312")
    if not most(run.entries - run.goals, run.entries):
        raise NotTested("entries are logged per goal, not per episode: "
                        f"{run.goals} of {run.entries} came without a terminal")
    return run


def of_episodes(facts: Facts) -> RunFact:
    """The facts of a run in which episodes ended. Raises NotTested."""
    run = needed(facts, "run", RunFact)
    if run.terminals == 0:
        raise NotTested("no terminal was ever set")
    if is_not_reset(facts):
        raise NotTested("episodes do not begin anew", "PUF401")
    return run
