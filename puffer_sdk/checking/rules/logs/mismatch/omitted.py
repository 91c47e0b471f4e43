"""PUF422: endings that n does not count, or that leave no entry."""
from ....core.vocabulary import Facts, Finding, Findings, OmittedFact, detector, enough, most
from .log_mismatch import entries

AGENTS = 12         # entries that are each of just those agents that ended on that step


@detector("PUF422", "uncounted")
def uncounted(facts: Facts) -> Findings:
    """n does not count endings that other fields sum up."""
    entries(facts)
    fact = facts.fact("run", OmittedFact)
    if fact and not fact.partial and enough(fact.endings) and enough(fact.summed) \
            and not fact.elsewhere:
        yield _finding(facts, fact, f"log.n does not count {_share(fact)}, although other fields "
                       "of the log sum them up", severity="error",
                       expected="n grows by 1 with each episode that the log takes in",
                       actual="sums of more episodes than they are divided by",
                       hint="add 1 to log.n wherever the other fields are added to")


@detector("PUF422", "left-out")
def left_out(facts: Facts) -> Findings:
    """Some endings leave no entry, and the entries that follow tell of their own episode only."""
    entries(facts)
    fact = facts.fact("run", OmittedFact)
    if fact is None:
        return
    if not fact.partial and not fact.summed and enough(fact.endings) and enough(fact.own) \
            and most(fact.own, fact.after):
        told, made = f"{_share(fact)} leave no entry in the log", fact.endings - fact.unlogged
    elif fact.partial and enough(fact.left) and fact.theirs >= AGENTS \
            and most(fact.theirs, fact.theirs + fact.others):
        told = f"{fact.left} endings leave no entry in the log, and others of these agents do"
        made = fact.theirs
    else:
        return
    yield _finding(facts, fact, told, severity="warning",
                   expected="an entry of each episode, however it ends", actual=f"{made} entries",
                   hint="write the log wherever a terminal is set: a mean over wins only says "
                        "nothing")


def _finding(facts: Facts, fact: OmittedFact, message: str, severity: str, expected: str,
             actual: str, hint: str) -> Finding:
    return Finding("PUF422", message, **facts.at("c_step"), env=fact.env, step=fact.step,
                   element="n", severity=severity, expected=expected, actual=actual,
                   seed=facts.seed, hint=hint)


def _share(fact: OmittedFact) -> str:
    return f"{fact.unlogged} of {fact.endings} endings"
