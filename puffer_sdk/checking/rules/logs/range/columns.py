"""What detectors of PUF423 share: the values of each field of Log in a long run."""
from __future__ import annotations

from ....core.facts import Fact, Facts


def logged(facts: Facts) -> dict[str, Fact]:
    """Field of Log -> its lowest and highest value in entries; not of n, nor of arrays."""
    found, at = {}, 0
    facts_of = {fact.element: fact for fact in facts.all("run", "logged")}
    for field in facts.spec.log_fields:
        if not field.length and field.name != "n" and at in facts_of:
            found[field.name] = facts_of[at]
        at += field.length or 1
    return found
