"""PUF502: generators that start from a constant each time."""
from ....collect.c.source import generators
from ....core.vocabulary import Facts, Finding, Findings, detector


@detector("PUF502", "begun-anew")
def begun_anew(facts: Facts) -> Findings:
    """A generator is a local variable that begins with a constant."""
    for function, name, line in generators.begun_anew(facts.source):
        yield Finding("PUF502", f"{function.name} draws from '{name}', which begins anew each time",
                      file=function.file, line=line, expected="other numbers in another episode",
                      actual="the same in all envs and episodes",
                      hint="draw from env->rng; what is meant to stay belongs into init")
