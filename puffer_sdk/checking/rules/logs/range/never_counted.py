"""PUF423: a field of Log that adds what nothing counts."""
from ....collect.c.source import logging
from ....core.vocabulary import Facts, Finding, Findings, detector, need
from .columns import logged


@detector("PUF423", "never-counted")
def never_counted(facts: Facts) -> Findings:
    """A field of Log is 0 in every entry: no line of code changes what it adds."""
    need(facts, "run")
    idle, columns = logging.idle(facts.source), logged(facts)
    for name, field in idle.items():
        fact = columns.get(name)
        if fact and fact.low == fact.high == 0 and not (
                facts.config and field.name in facts.config.env):
            what = f"nothing ever counts {field.name}" if field.kind == "member" else "it adds 0"
            yield Finding("PUF423", f"Log.{name} is 0 in each of {fact.entries:,} entries: {what}",
                          **facts.at_store(name), element=name,
                          expected=f"a line that counts it, or no field {name}",
                          actual="0", seed=facts.seed, seen_in="run",
                          hint="count it where it happens, or delete the field")
