"""What detectors of PUF423 share: the values of each field of Log in a long run."""
from ....core.vocabulary import Facts, LoggedFact, present


def elements(facts: Facts) -> list[tuple[str, int | None]]:
    """(field, index) of each float of Log; the index is None where the field is no array."""
    return [(field.name, i if field.length else None) for field in present(facts.spec).log_fields
            for i in range(field.length or 1)]


def logged(facts: Facts) -> dict[str, LoggedFact]:
    """Field of Log, "hits", or element of one, "kills[2]" -> its lowest and highest value in
    entries; not of n."""
    names = [name if i is None else f"{name}[{i}]" for name, i in elements(facts)]
    return {names[fact.element]: fact for fact in facts.all("run", LoggedFact)
            if fact.element < len(names) and names[fact.element] != "n"}
