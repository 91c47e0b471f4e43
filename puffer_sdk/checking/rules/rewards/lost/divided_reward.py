"""PUF315: rewards that were divided as integers."""
from __future__ import annotations

from collections.abc import Iterator

from ....core.facts import Facts
from ....core.finding import Finding
from ....core.often import enough
from ....core.registry import detector


@detector("PUF315", "divided-integers")
def divided(facts: Facts) -> Iterator[Finding]:
    """A reward is 0 until it is 1: it was divided as integers."""
    for site, fact in facts.counted("quotient", "rewards"):
        if not fact.beyond and enough(fact.inexact) and fact.high > fact.low:
            yield Finding("PUF315", f"{site.text} is a division of integers: no reward until both "
                                    "are equal", file=site.file, line=site.line,
                          expected="a fraction",
                          actual=f"0 for {fact.inexact} of {fact.count} numerators that are not 0",
                          seed=facts.seed, hint="divide floats: (float)a / b")
