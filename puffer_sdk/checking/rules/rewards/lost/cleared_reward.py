"""PUF315: rewards that are set back to 0."""
from ....core.vocabulary import Facts, Finding, Findings, detector, enough


@detector("PUF315", "cleared")
def cleared(facts: Facts) -> Findings:
    """A reward is set to 0 after the step has paid one."""
    for site, fact in facts.counted("clear", "rewards"):
        if enough(fact.outside):
            yield Finding("PUF315", f"{site.target} is set back to 0 on steps that have paid a "
                                    "reward", file=site.file, line=site.line,
                          expected="rewards that are cleared before anything is paid",
                          actual=f"{fact.outside} of {fact.count} times it was not 0 any more",
                          seed=facts.seed, hint="clear the rewards once, at the top of c_step")
