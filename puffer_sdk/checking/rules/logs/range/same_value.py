"""PUF423: a perf or score that does not tell one episode from another."""
from __future__ import annotations

from ....core.facts import Facts
from ....core.finding import Finding
from ....core.often import enough, most
from ....core.registry import NotTested, detector, need
from .columns import logged

JUDGES = ("perf", "score")      # what episodes are compared by


@detector("PUF423", "same-value")
def same_value(facts: Facts):
    """perf or score is the same in every entry, and not 0, although returns differ."""
    need(facts, "run")
    run, columns = facts.fact("run", "run"), logged(facts)
    if not most(run.entries - run.goals, run.entries):
        raise NotTested("entries are logged per goal, not per episode")
    returns = _returns(facts, columns)
    for name in JUDGES:
        fact = columns.get(name)
        if returns and fact and fact.low == fact.high != 0 and enough(fact.entries):
            yield Finding("PUF423", f"Log.{name} is {fact.low:g} in each of {fact.entries:,} "
                                    f"entries, and returns go from {returns[0]:g} to "
                                    f"{returns[1]:g}", **facts.at_store(name), element=name,
                          expected="a figure that tells good episodes from bad ones",
                          actual=f"{fact.low:g} in all", seed=facts.seed, seen_in="run",
                          hint="add what the episode has reached, not what each one adds")


def _returns(facts: Facts, columns: dict) -> tuple[float, float] | None:
    """The lowest and the highest of what the same entries are about, where they differ."""
    fact = columns.get("episode_return")
    if fact is None and facts.shape.env_agents == 1:
        fact = next((each for each in facts.all("run", "sample") if each.name == "return"), None)
    return (fact.low, fact.high) if fact and fact.low < fact.high else None
