"""PUF401: resets that come one step late."""
from __future__ import annotations

from ....core.facts import Facts
from ....core.finding import Finding
from ....core.often import enough, half, most
from ....core.registry import detector
from .no_reset import endings, place


@detector("PUF401", "late", unless=("frozen",))
def late(facts: Facts):
    """Every reset comes one step after the ending."""
    fact = endings(facts)
    if enough(fact.late) and most(fact.late, fact.endings):
        yield Finding("PUF401", "after every ending the env resets one step late",
                      severity="warning", **{**place(facts, fact), **facts.at_call("c_reset"),
                                             "env": fact.late_env, "step": fact.late_step},
                      expected="the first observation of a new episode",
                      actual="the last of the old one; the action that answers it is " +
                             ("played in a new one that nobody has seen"
                              if half(fact.late_played, fact.late) else "ignored"),
                      hint="call c_reset(env) on the step that ends the episode")
