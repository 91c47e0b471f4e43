"""What detectors of PUF423 share: the values of each field of Log in a long run."""
from __future__ import annotations

from ....core.fact_kinds import LoggedFact
from ....core.facts import Facts
from ....core.kinds import Fact


def logged(facts: Facts) -> dict[str, Fact]:
    """Field of Log, "hits", or element of one, "kills[2]" -> its lowest and highest value in
    entries; not of n."""
    names = [f"{field.name}[{i}]" if field.length else field.name
             for field in facts.spec.log_fields for i in range(field.length or 1)]
    return {names[fact.element]: fact for fact in facts.all("run", LoggedFact)
            if fact.element < len(names) and names[fact.element] != "n"}
