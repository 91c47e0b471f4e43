"""PUF502: copies of the generator that are not stored back."""
from ....core.vocabulary import Facts, Finding, Findings, detector, enough

SHARE = 4           # one of so many copies begins with the state of the one before


@detector("PUF502", "copied")
def copied(facts: Facts) -> Findings:
    """A copy of the generator begins with the same state again and again."""
    for copy, fact in facts.counted("copy", "generator"):
        if not enough(fact.again) or SHARE * fact.again < fact.count:
            continue
        yield Finding("PUF502", f"'{copy.target}' is a copy of the generator '{copy.text}' that is "
                                "not stored back", file=copy.file, line=copy.line,
                      expected="other numbers at the next call", seed=facts.seed,
                      actual=f"the same numbers as before, {fact.again} times of {fact.count}",
                      hint=f"pass &{copy.text}, or store '{copy.target}' back into it")
