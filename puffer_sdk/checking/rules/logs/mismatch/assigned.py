"""PUF422: values that replace those of earlier entries."""
from ....core.vocabulary import ASSIGNED, ColumnFact, Facts, FileLine, Finding, Findings, detector
from ..range.columns import elements


@detector("PUF422", "assigned")
def assigned(facts: Facts) -> Findings:
    """A value of Log replaces those of earlier entries, while n counts all of them."""
    names = replaced(facts)
    places: dict[str, FileLine] = {name: {"file": file, "line": line} for name, file, line in
                                   reversed(facts.source.assigned_logs())}
    for name in names:
        yield Finding("PUF422", f"Log.{name} is assigned, and n counts all entries",
                      **(places.get(name) or facts.at("c_step")), element=name,
                      severity="warning", word=ASSIGNED, beside=facts.column_at(name),
                      seed=facts.seed,
                      expected=f"log.{name} += ...: the sum is divided by n",
                      actual=f"log.{name} = ...: only the last entry is kept, then divided by n",
                      hint="add to it, as to n")


def replaced(facts: Facts) -> list[str]:
    """Fields of Log in which entries left neither what was far above them, as a maximum does, nor
    what was far below, as a minimum does; those that are just set back to 0 are not meant, nor
    those that are computed from other fields."""
    names = [name for name, _ in elements(facts)]
    cleared = {name for name, _, _ in facts.source.cleared_logs()}
    computed = facts.source.computed_logs()
    found: dict[str, None] = {}
    for fact in facts.all("columns", ColumnFact):
        name = names[fact.element] if fact.element < len(names) else ""
        is_cleared = fact.zero == fact.entries and cleared & {name, "log"}
        is_meant = is_cleared or name in computed
        finite = fact.entries - fact.odd        # the others are PUF423's
        if name and not is_meant and max(fact.above, fact.below) < finite:
            found[name] = None
    return list(found)
