"""PUF423: perf outside [0, 1]."""
from __future__ import annotations

from ....core.facts import Facts
from ....core.finding import Finding
from ....core.registry import NotTested, detector, need


@detector("PUF423", "beyond")
def beyond(facts: Facts):
    """perf is below 0 or above 1 in an entry."""
    need(facts, "run")
    if not any(field.name == "perf" for field in facts.spec.log_fields):
        return
    if facts.fact("run", "run").entries == 0:
        raise NotTested("there are no log entries")
    fact = facts.fact("run", "log_range")
    if fact:
        largest = fact.largest
        yield Finding("PUF423", f"Log.perf is {fact.value:.6g} in an entry"
                      if not isinstance(fact.value, str) else f"Log.perf is {fact.value}",
                      **facts.at("c_step"), env=fact.env, step=fact.step, element="perf",
                      expected="within [0, 1]",
                      actual=f"{largest:.6g}" if not isinstance(largest, str) else largest,
                      seed=facts.seed, hint="divide by the best that can be reached",
                      seen_in="run")
