"""PUF401: envs in which nothing happens any more."""
from ....core.vocabulary import Facts, Findings, Shows, detector
from .no_reset import endings, finding


@detector("PUF401", "frozen")
def frozen(facts: Facts) -> Findings:
    """After the endings of all agents nothing changes any more."""
    fact = endings(facts)
    if fact.frozen:
        yield finding(facts, fact,
                      "after every agent's episode has ended, nothing happens any more",
                      expected="a new episode",
                      actual="2000 steps without any change", shows=Shows("goes-on"),
                      hint="call c_reset(env) in c_step when the last agent's episode has ended")
