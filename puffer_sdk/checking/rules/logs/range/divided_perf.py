"""PUF423: a perf that was divided as integers."""
from ....core.vocabulary import Facts, Finding, Findings, detector, enough, need


@detector("PUF423", "divided-integers")
def divided(facts: Facts) -> Findings:
    """perf is 0 until all is reached: it was divided as integers."""
    need(facts, "run")
    for site, fact in facts.counted("quotient", "perf"):
        if not fact.beyond and enough(fact.inexact) and fact.high > fact.low:
            yield Finding("PUF423", f"Log.perf is 0 or 1 and nothing between: {site.text} is a "
                                    "division of integers", file=site.file, line=site.line,
                          element="perf", expected="a fraction",
                          actual=f"0 for numerators from {fact.low} to {fact.high}",
                          seed=facts.seed, hint="divide floats: (float)a / b")
