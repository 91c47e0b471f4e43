"""PUF423: fields of Log that no line of code stores to."""
from ....collect.c.source import logging
from ....core.vocabulary import Facts, Finding, Findings, as_one, detector, need, present
from .columns import logged


@detector("PUF423", "unwritten-column")
def unwritten_column(facts: Facts) -> Findings:
    """No line of code stores to a field of Log, or to an element of it: it is 0 in every entry."""
    need(facts, "run")
    binding, columns = facts.source.binding_text, logged(facts)
    spec = present(facts.spec)
    for field in spec.log_fields:
        names = [f"{field.name}[{i}]" for i in range(field.length or 0)] or [field.name]
        empty = [i for i, name in enumerate(names)
                 if name in columns and columns[name].low == columns[name].high == 0
                 and not logging.may_fill(facts.source, field.name, i if field.length else None)]
        if not empty or facts.handwritten and f'"{field.name}"' not in binding:
            continue
        whole = len(empty) == len(names)
        name = field.name if whole else f"{field.name}[{as_one(empty)}]"
        yield Finding("PUF423", f"nothing ever writes Log.{name}",
                      file=spec.header.name, line=field.line, element=name,
                      expected=f"log.{name} += ... where n grows", actual="0 in each of "
                      f"{columns[names[0]].entries:,} entries", seed=facts.seed, seen_in="run",
                      hint=f"add to it where the entry is made, or "
                           f"{'delete the field' if whole else 'make the array shorter'}")
