"""PUF423: a perf or score that is the same for all episodes."""
from ....core.fact_kinds import FinishesFact, RunFact
from ....core.vocabulary import Facts, Finding, Findings, NotTested, detector, enough, most, needed
from .columns import logged

JUDGES = ("perf", "score")      # what episodes are compared by


@detector("PUF423", "same-value")
def same_value(facts: Facts) -> Findings:
    """perf or score is the same in every entry, and not 0, although some episodes end well and
    others badly."""
    run, columns = needed(facts, "run", RunFact), logged(facts)
    if run.agents > run.envs or not columns:
        return                          # a mean over winners and losers may well be the same
    if not most(run.entries - run.goals, run.entries):
        raise NotTested("entries are logged per goal, not per episode")
    ends = needed(facts, "run", FinishesFact)
    kinds = {"above 0": ends.gained, "0": ends.even, "below 0": ends.lost}
    found = [f"{what} in {count:,}" for what, count in kinds.items() if enough(count)]
    for name in JUDGES:
        fact = columns.get(name)
        if len(found) > 1 and fact and fact.low == fact.high != 0 and enough(fact.entries):
            yield Finding("PUF423", f"Log.{name} is {fact.low:g} in each of {fact.entries:,} "
                                    f"entries, and the last reward is {' and '.join(found)}",
                          **facts.at_store(name), element=name,
                          expected="a figure that tells good episodes from bad ones",
                          actual=f"{fact.low:g} in all", seed=facts.seed, seen_in="run",
                          hint="add what the episode has reached, not what each one adds")
