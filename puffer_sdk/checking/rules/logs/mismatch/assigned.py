"""PUF422: values that replace those of earlier entries."""
from __future__ import annotations

from collections.abc import Iterator

from ....core.fact_kinds import ColumnFact
from ....core.facts import Facts
from ....core.finding import ASSIGNED, Finding
from ....core.registry import detector


@detector("PUF422", "assigned")
def assigned(facts: Facts) -> Iterator[Finding]:
    """A value of Log replaces those of earlier entries, while n counts all of them."""
    names = replaced(facts)
    places = {name: (file, line) for name, file, line in reversed(facts.source.assigned_logs())}
    for name in names:
        file, line = places.get(name) or tuple(facts.at("c_step").values())
        yield Finding("PUF422", f"Log.{name} is assigned, and n counts all entries", file=file,
                      line=line, element=name, severity="warning", word=ASSIGNED,
                      beside=facts.column_at(name), seed=facts.seed,
                      expected=f"log.{name} += ...: what is collected is divided by n",
                      actual=f"log.{name} = ...: the last entry's share of all",
                      hint="add to it, as to n")


def replaced(facts: Facts) -> list[str]:
    """Fields of Log in which entries left neither what was far above them, as a maximum does, nor
    what was far below, as a minimum does; those that are just set back to 0 are not meant, nor
    those that are computed from other fields."""
    names = [field.name for field in facts.spec.log_fields for _ in range(field.length or 1)]
    cleared = {name for name, _, _ in facts.source.cleared_logs()}
    computed, found = facts.source.computed_logs(), {}
    for fact in facts.all("columns", ColumnFact):
        name = names[fact.element] if fact.element < len(names) else ""
        is_cleared = fact.zero == fact.entries and cleared & {name, "log"}
        is_meant = is_cleared or name in computed
        finite = fact.entries - fact.odd        # PUF423 speaks of the others
        if name and not is_meant and max(fact.above, fact.below) < finite:
            found[name] = True
    return list(found)
