"""PUF423: a field of Log that adds what was just set to 0."""
from ....collect.c.source import logging
from ....core.vocabulary import Facts, Finding, Findings, detector, enough, need
from .columns import logged

MEASURED = ("episode_return", "episode_length")     # PUF422 holds them against the play


@detector("PUF423", "set-to-zero")
def set_to_zero(facts: Facts) -> Findings:
    """A field of Log is 0 in every entry, and what it adds was not 0 before the step."""
    need(facts, "run")
    added = logging.added(facts.source)
    for name, fact in logged(facts).items():
        _, field = added.get(name, (None, None))
        if fact.low == fact.high == 0 and field and name not in MEASURED and (
                enough(fact.before) and logging.begins_at_zero(facts.source, field)):
            yield Finding("PUF423", f"Log.{name} is 0 in each of {fact.entries:,} entries, but "
                                    f"{field.name} was not 0 one step before {fact.before:,} of "
                                    "them", **facts.at_store(name), element=name,
                          expected=f"what {field.name} was in the episode",
                          actual=f"{field.name} is 0 again when it is added", seed=facts.seed,
                          seen_in="run",
                          hint="make the entry first, then begin the next episode")
