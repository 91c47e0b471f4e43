"""PUF307: whole numbers that do not fit into a byte."""
from ....core.vocabulary import WRAPS, Facts, Finding, Findings, detector, need


@detector("PUF307", "stored", unless=("cast",))
def stored(facts: Facts) -> Findings:
    """A whole number did not fit, as counted where it is stored into the observation."""
    if facts.shape.dtype != "u8":
        return
    need(facts, "run")
    for site, fact in facts.counted("byte", "observations"):
        if fact.outside:
            yield Finding("PUF307", f"{site.target} wraps around: {fact.first} is stored as "
                                    f"{fact.first & 255}", file=site.file, line=site.line,
                          expected="a value from 0 to 255", actual=str(fact.first),
                          seed=facts.seed, word=WRAPS, beside=facts.beside(site),
                          hint=f"shift, scale or clamp {site.text} into 0..255")
