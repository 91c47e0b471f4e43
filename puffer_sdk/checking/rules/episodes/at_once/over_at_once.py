"""The page of PUF408."""
from ....core.vocabulary import Facts, SampleFact, enough, family


@family("PUF408", "over-at-once")
def over_at_once() -> None:
    """Every episode has one step; or some openings end after one step, whatever the action.

    Why it ruins training: where each step ends an episode, an action has no later effect. There is
    nothing to plan, and no later reward to learn from. An opening that ends whatever the action is
    teaches nothing either, and its reward is noise in the returns.

    Bad:

        if (env->tick++ >= env->limit) end(env);        // and limit is 0

    Good:

        if (++env->tick >= env->limit) end(env);        // and limit is 100

    Fix: look at the test before the terminal: is its limit set before it is read, and is it the
    right way round? Where openings are lost, draw another one until it can be played.

    How it is seen: in a long run, every episode of every agent had one step (an error). Or: right
    after c_reset, the env is stepped once with each value of each head, and with random ones, from
    other seeds each time. Where all of them end the episode of every agent with the same rewards,
    the opening is lost (a warning). A few lost ones among openings that are drawn at random are
    bad luck: a tenth of all is reported, or lost openings that any seed gives, as levels of a list.

    Not reported: a bandit, whose c_step sets the terminal and calls c_reset without any test before
    it. If there is a test, declare it: `// puffer: bandit` above c_step, or beside the line that
    sets the terminal.
    """


def episodes_seen(facts: Facts) -> SampleFact | None:
    """Their lengths: `seen`, `low` and `high`."""
    return next((fact for fact in facts.all("run", SampleFact) if fact.name == "length"), None)


def have_one_step(facts: Facts) -> bool:
    """Whether no episode of the long run had a second step."""
    lengths = episodes_seen(facts)
    return lengths is not None and enough(lengths.seen) and lengths.high <= 1
