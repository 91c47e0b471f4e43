"""PUF423: a perf that was divided as integers."""
from __future__ import annotations

from collections.abc import Iterator

from ....core.facts import Facts
from ....core.finding import Finding
from ....core.often import enough
from ....core.registry import detector, need


@detector("PUF423", "divided-integers")
def divided(facts: Facts) -> Iterator[Finding]:
    """perf is 0 until all is reached: it was divided as integers."""
    need(facts, "run")
    for site, fact in facts.counted("quotient", "perf"):
        if not fact.beyond and enough(fact.inexact) and fact.high > fact.low:
            yield Finding("PUF423", f"Log.perf is 0 or 1 and nothing between: {site.text} is a "
                                    "division of integers", file=site.file, line=site.line,
                          element="perf", expected="a fraction",
                          actual=f"0 for numerators from {fact.low} to {fact.high}",
                          seed=facts.seed, hint="divide floats: (float)a / b")
