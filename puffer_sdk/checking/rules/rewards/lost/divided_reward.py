"""PUF315: rewards that were divided as integers."""
from ....core.vocabulary import Facts, Finding, Findings, detector, enough


@detector("PUF315", "divided-integers")
def divided(facts: Facts) -> Findings:
    """A reward is 0 until it is 1: it was divided as integers."""
    for site, fact in facts.counted("quotient", "rewards"):
        if not fact.beyond and enough(fact.inexact) and fact.high > fact.low:
            yield Finding("PUF315", f"{site.text} is a division of integers: no reward until both "
                                    "are equal", file=site.file, line=site.line,
                          expected="a fraction",
                          actual=f"0 for {fact.inexact} of {fact.count} numerators that are not 0",
                          seed=facts.seed, hint="divide floats: (float)a / b")
