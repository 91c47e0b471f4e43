"""PUF410: of two that do the same at the same moment, one is always paid more."""
from ....core.vocabulary import Facts, Findings, TieFact, detector
from .not_alike import finding, tested

TIES = 12           # envs in which one was paid more: all of them favour the same agent


@detector("PUF410", "ties", unless=("rewards",))
def ties(facts: Facts) -> Findings:
    """Where two agents see the same and act alike, the same one of them is paid more."""
    said = tested(facts)
    if said is None:
        return
    for fact in facts.all("places", TieFact):
        if max(fact.first, fact.second) >= TIES and not min(fact.first, fact.second):
            best, other = (fact.agent, fact.other) if fact.first else (fact.other, fact.agent)
            yield finding(facts, said, f"agent {best} is paid more than agent {other} wherever "
                          "both see the same and act alike", agent=best, **facts.at("c_step"),
                          expected="now one of them, now the other",
                          actual=f"agent {best}, in each of {max(fact.first, fact.second)} envs",
                          hint="does the loop settle a tie for whom it visits first? draw who is "
                               "first, or split the prize")
            return
