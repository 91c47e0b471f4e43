"""PUF315: rewards that another value replaces."""
from ....core.vocabulary import Facts, Finding, Findings, detector, enough


@detector("PUF315", "replaced")
def replaced(facts: Facts) -> Findings:
    """A reward is set to another value after the step has paid one."""
    for site, fact in facts.counted("replace", "rewards"):
        if enough(fact.outside):
            yield Finding("PUF315", f"{site.target} is overwritten after the step paid a reward",
                          file=site.file, line=site.line, expected="a line that adds to it: +=, -=",
                          actual=f"{fact.outside} of {fact.count} times it was not 0 any more",
                          seed=facts.seed, hint="did you mean += or -=?")
