"""PUF411: values of a head that never lead to different futures."""
from ....collect.c.source import conditional
from ....core.vocabulary import EffectFact, Facts, Findings, NotTested, detector
from .action_ignored import ENOUGH, finding, tried

CHANCE = 0.01           # that different values looked alike at so many moments
SELDOM = 4              # a head that matters at fewer than one of so many moments is not compared


@detector("PUF411", "values")
def values(facts: Facts) -> Findings:
    """Two values of a head never lead to different observations, rewards or terminals."""
    unmet: set[tuple[int, int]] = set()
    for one in tried(facts):
        if SELDOM * one.moved > one.tested and one.fact.width > 1:      # numbers may be clamped
            yield from _same_values(facts, one.fact, one.name, unmet)
    if unmet:
        values = ", ".join(str(value) for _, value in sorted(unmet))
        raise NotTested(f"c_step handles action{'s' if len(unmet) > 1 else ''} {values} on "
                        "conditions that the play never met")


def _same_values(facts: Facts, fact: EffectFact, which: str, unmet: set[tuple[int, int]]
                 ) -> Findings:
    """Grouped by the first value; `unmet` gets values that the code handles under conditions."""
    asked = {id for id in conditional.ids(facts.source, facts.spec) if id[0] == fact.head}
    groups: dict[int, list[tuple[int, int]]] = {}
    for first, value, moments in fact.same:
        chance = chance_of(fact, first, value) ** moments * fact.values ** 2
        waiting = {(fact.head, int(each)) for each in (first, value)} & asked
        if moments < ENOUGH or chance >= CHANCE:
            continue
        if waiting:
            unmet |= waiting
        else:
            groups.setdefault(first, []).append((value, moments))
    for first, members in groups.items():
        values = ", ".join(f"{value:g}" for value, _ in members)
        subject = "actions" if len(members) > 1 else "action"
        of = f" of {which}" if which.startswith("head") else ""
        yield finding(facts, f"{subject} {values}{of} never "
                             f"do{'' if len(members) > 1 else 'es'} anything but action "
                             f"{first:g}", element=fact.head,
                      expected=f"{fact.values} different actions",
                      actual=f"no difference at {min(m for _, m in members)} moments",
                      hint="is the value handled? can it be reached?")


def chance_of(fact: EffectFact, first: float, second: float) -> float:
    """The chance that two values which differ lead to the same rows from one moment on.

    At a given moment many values may do nothing, as most swaps of a board do. How often a value
    matters is what its rate has beyond half the mean, for the other half is the other value's. One
    that is not handled never does: so it is taken to matter a quarter as often as they do on
    average, at least.
    """
    lowest = -1 if fact.width == 1 else 0
    mean = sum(fact.rates) / max(len(fact.rates), 1)
    rates = [fact.rates[int(value - lowest)] for value in (first, second)]
    return 1 - min(1.0, max(mean / 2, sum(rates) - mean))
