"""PUF502: episodes that all begin alike."""
from ....collect.c.source import generators
from ....core.vocabulary import AgainFact, Facts, Finding, Findings, detector, enough, explained_by
from .seed_ignored import begins_without_reset, explained

TESTS = 24          # openings that are compared with others of the env


@detector("PUF502", "one-opening", unless=("one-game", "copied"))
@explained_by(explained, begins_without_reset)
def one_opening(facts: Facts) -> Findings:
    """Every episode of an env begins with the same observation, another seed with another."""
    again = facts.fact("again", AgainFact)
    if again and again.tests >= TESTS and again.same == again.tests \
            and enough(again.by_seed) and generators.are_read_by_reset(facts.source):
        yield Finding("PUF502", "every episode of an env begins with the same observation, "
                                "although another seed makes another episode",
                      **facts.at("c_reset"), seed=facts.seed, seen_in="again",
                      expected="another episode after c_reset",
                      actual=f"the same one, {again.same} times of {again.tests}",
                      hint="does the state of the generator move on? a copy of it does not count")
