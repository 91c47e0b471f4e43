"""PUF423: fields of Log that no line of code stores to."""
from __future__ import annotations

from ....core.facts import Facts
from ....core.finding import Finding
from ....core.registry import detector, need


@detector("PUF423", "unwritten-column")
def unwritten_column(facts: Facts):
    """No line of code stores to a field of Log: it is 0 in every entry."""
    need(facts, "run")
    run, binding = facts.fact("run", "run"), facts.source.files.get("binding.c", "")
    for field in facts.spec.log_fields if run.entries else ():
        shown = not facts.handwritten or f'"{field.name}"' in binding
        if field.name != "n" and shown and not facts.source.sets_column(field.name):
            yield Finding("PUF423", f"nothing ever writes Log.{field.name}",
                          file=facts.spec.header.name, line=field.line, element=field.name,
                          expected=f"log.{field.name} += ... where n grows", actual="0 in each of "
                          f"{run.entries:,} entries", seed=facts.seed, seen_in="run",
                          hint="add to it where the entry is made, or delete the field")
