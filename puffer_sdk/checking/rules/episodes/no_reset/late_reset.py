"""PUF401: resets that come one step late."""
from ....core.vocabulary import Facts, Findings, detector, enough, half, most
from .no_reset import endings, finding


@detector("PUF401", "late", unless=("frozen",))
def late(facts: Facts) -> Findings:
    """Every reset comes one step after the ending."""
    fact = endings(facts)
    if enough(fact.late) and most(fact.late, fact.endings):
        yield finding(facts, fact, "after every ending the env resets one step late",
                      severity="warning", **facts.at_call("c_reset"),
                      env=fact.late_env, step=fact.late_step,
                      expected="the first observation of a new episode",
                      actual="the last of the old one; the action that answers it is " +
                             ("played in a new one that nobody has seen"
                              if half(fact.late_played, fact.late) else "ignored"),
                      hint="call c_reset(env) on the step that ends the episode")
