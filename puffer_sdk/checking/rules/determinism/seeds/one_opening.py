"""PUF502: episodes that all begin alike."""
from __future__ import annotations

from collections.abc import Iterator

from ....collect.c.source import generators
from ....core.fact_kinds import AgainFact
from ....core.facts import Facts
from ....core.finding import Finding
from ....core.often import enough
from ....core.registry import detector, explained_by
from .seed_ignored import begins_without_reset, explained

TESTS = 24          # openings that are compared with others of the env


@detector("PUF502", "one-opening", unless=("one-game", "copied"))
@explained_by(explained, begins_without_reset)
def one_opening(facts: Facts) -> Iterator[Finding]:
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
