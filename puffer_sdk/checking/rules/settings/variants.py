"""Plays under other values of [env], for PUF113 and PUF114."""
from ...core.vocabulary import DEADLY, Facts, NotTested, Variant, need


def played(facts: Facts) -> list[Variant]:
    """Plays under other values, none if [env] gives no key that anything reads."""
    need(facts, "probe")
    others = [variant for variant in facts.variants if variant.key]
    if any(not v.outcome.ended for v in facts.variants if v.key is None):
        raise NotTested("the environment did not survive its own settings", *DEADLY)
    return others
