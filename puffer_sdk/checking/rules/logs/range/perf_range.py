"""PUF423: perf outside [0, 1]."""
from math import isfinite

from ....core.fact_kinds import LogRangeFact, RunFact
from ....core.vocabulary import Facts, Finding, Findings, NotTested, detector, enough, needed
from .columns import elements


@detector("PUF423", "beyond")
def beyond(facts: Facts) -> Findings:
    """perf is below 0 or above 1 in an entry."""
    run = needed(facts, "run", RunFact)
    if ("perf", None) not in elements(facts):
        return
    if run.entries == 0:
        raise NotTested("there are no log entries")
    fact = facts.fact("run", LogRangeFact)
    if fact is None:
        yield from _of_one(facts)
    else:
        first, largest = float(fact.value), float(fact.largest)
        yield Finding("PUF423", f"Log.perf is {first:.6g}{' in an entry' * isfinite(first)}",
                      **facts.at("c_step"), env=fact.env, step=fact.step, element="perf",
                      expected="within [0, 1]",
                      actual=f"{largest:.6g}",
                      seed=facts.seed, hint="divide by the best that can be reached",
                      seen_in="run")


def _of_one(facts: Facts) -> Findings:
    """Where several agents have entries on one step, and only their mean is within."""
    for site, fact in facts.counted("share", "perf"):
        if enough(fact.outside):
            largest = f"{(fact.high or fact.low) / 1000:g}"
            yield Finding("PUF423", f"Log.perf is {largest} in an entry", file=site.file,
                          line=site.line, element="perf", expected="within [0, 1]",
                          actual=f"{largest} ({fact.outside:,} of {fact.count:,} are outside)",
                          seed=facts.seed, seen_in="audit",
                          hint="divide by the best that can be reached")
