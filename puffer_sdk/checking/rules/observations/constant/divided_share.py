"""PUF305: shares that were divided as integers."""
from .....env import obs_spec
from ....core.vocabulary import Facts, Finding, Findings, detector, enough
from .obs_constant import observed


@detector("PUF305", "divided-integers", unless=("whole",))
def divided(facts: Facts) -> Findings:
    """A share is always 0, or 0 until it is 1: it was divided as integers."""
    found = divisions(facts)
    for element, file, line, text in found:
        yield Finding("PUF305", f"{obs_spec.title(facts.row.parts, element, element)} is always "
                                f"0: {text} is a division of integers", file=file, line=line,
                      element=element, expected="a fraction", actual="0 on every step",
                      seed=facts.seed, seen_in="run", hint="divide floats: (float)a / b")
    yield from _lost(facts, {(file, line) for _, file, line, _ in found})


def divisions(facts: Facts) -> list[tuple[int, str, int, str]]:
    """(element, file, line, text) of quotients of integers into elements that are always 0."""
    stats = observed(facts)
    return [each for each in facts.source.integer_divisions() if each[0] < len(stats.low)
            and stats.low[each[0]] == stats.high[each[0]] == 0]


def _lost(facts: Facts, told: set[tuple[str, int]]) -> Findings:
    """Shares that are divided as whole numbers: 1 at the very end, and 0 all the way there."""
    for site, fact in facts.counted("quotient", "observations"):
        if fact.beyond or not enough(min(fact.ones, fact.inexact)) or \
                (site.file, site.line) in told:
            continue
        yield Finding("PUF305", f"{site.target} is 0 or 1 and nothing between: {site.text} is a "
                                "division of integers", file=site.file, line=site.line,
                      expected="a fraction", actual=f"0 for {fact.inexact} of {fact.count} "
                      "numerators that are not 0, and 1 where both are equal", seed=facts.seed,
                      hint="divide floats: (float)a / b")
    for site, fact in facts.counted("product", "observations"):
        if fact.beyond or not enough(min(fact.nearly, fact.inexact)) or \
                (site.file, site.line) in told:
            continue
        yield Finding("PUF305", f"{site.target} is 0 until {site.text} is 1: a division of "
                                "integers comes before what multiplies it", file=site.file,
                      line=site.line, expected="a fraction of the whole", actual=f"0 for "
                      f"{fact.inexact} of {fact.count} numerators that are not 0, {fact.nearly} of "
                      "them nearly the whole", seed=facts.seed, hint="multiply first: 10 * a / b")
