"""PUF401: envs in which nothing happens any more."""
from __future__ import annotations

from ....core.facts import Facts
from ....core.finding import Finding
from ....core.registry import detector
from ....core.repro_spec import Shows
from .no_reset import endings, place


@detector("PUF401", "frozen")
def frozen(facts: Facts):
    """After the endings of all agents nothing changes any more."""
    fact = endings(facts)
    if fact.frozen:
        yield Finding("PUF401", "after every agent's episode has ended, nothing happens any more",
                      **place(facts, fact), expected="a new episode",
                      actual="2000 steps without any change", shows=Shows("goes-on"),
                      hint="call c_reset(env) in c_step when the last agent's episode has ended")
