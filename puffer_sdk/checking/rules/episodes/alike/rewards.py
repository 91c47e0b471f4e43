"""PUF410: what an agent is paid depends on its row."""
from ....core.vocabulary import Facts, Findings, PlaceFact, detector
from .not_alike import finding, places, tested

SAID = {"negative": "has a negative reward on {mean:.2%} of steps, others on {others:.2%}",
        "positive": "has a positive reward on {mean:.2%} of steps, others on {others:.2%}",
        "reward": "is paid {mean:.3g} a step, others {others:.3g}"}


@detector("PUF410", "rewards")
def rewards(facts: Facts) -> Findings:
    """One agent is paid more, or is rewarded or punished more often, than the others."""
    said = tested(facts)
    if said is None:
        return
    found: dict[str, PlaceFact] = {}
    for fact in places(facts):
        found.setdefault(fact.what, fact)
    for what in SAID:
        if what in found:               # one finding is enough
            fact = found[what]
            told = SAID[what].format(mean=fact.mean, others=fact.others)
            yield finding(facts, said, f"agent {fact.agent} {told}", agent=fact.agent,
                          expected="the same in all places, as declared",
                          actual=f"{abs(fact.t):.0f} errors apart",
                          hint="is everybody paid by the same lines?")
            return
