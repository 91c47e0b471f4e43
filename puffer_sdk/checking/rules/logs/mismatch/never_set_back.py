"""PUF422: sums that no reset sets back, in an env that sets no terminal."""
from __future__ import annotations

from collections.abc import Iterator

from ....core.fact_kinds import GrownFact
from ....core.facts import Facts
from ....core.finding import Finding
from ....core.often import enough, most
from ....core.registry import detector


@detector("PUF422", "never-set-back")
def never_set_back(facts: Facts) -> Iterator[Finding]:
    """Each entry holds the last one's sum and the episode's own: no c_reset sets it back.

    No terminal says where episodes end: the calls of c_reset in c_step do."""
    for fact in facts.all("hidden", GrownFact):
        if not (enough(fact.grown) and most(fact.grown, fact.judged)) or \
                most(fact.back, fact.judged):
            continue
        what = "rewards" if fact.name == "episode_return" else "steps"
        yield Finding("PUF422", f"Log.{fact.name} goes on over c_reset: it holds the {what} of "
                                f"earlier episodes in {fact.grown} of {fact.judged} entries",
                      **facts.at_store(fact.name), env=fact.env, step=fact.step,
                      element=fact.name, expected=f"{fact.measured:g}, since the last c_reset",
                      actual=f"{fact.logged:g}", seed=facts.seed,
                      hint="set the sum back to 0 in c_reset")
