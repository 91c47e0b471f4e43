"""PUF113: fractions that are made whole numbers before they are used."""
from ....collect.c.source import fractions
from ....core.vocabulary import Facts, Finding, Findings, detector


@detector("PUF113", "cut-short")
def cut_short(facts: Facts) -> Findings:
    """The value in the ini has a fraction that is cut wherever the game reads it."""
    for key, (file, line, text) in fractions.cut_short(facts.source).items():
        yield from whole(facts, key, file, line, text,
                         "multiply first, then cast: (int)(env->share * 1000.0f)")


def whole(facts: Facts, key: str, file: str, line: int, text: str, hint: str) -> Findings:
    """A key that counts as a whole number, where its value is none."""
    value = float((facts.config.env if facts.config else {}).get(key, 0))
    if value % 1:
        yield Finding("PUF113", f"[env] {key} = {value:g} counts as {int(value)}: it is made a "
                                "whole number before it is used", file=file, line=line,
                      expected=f"{value:g}", actual=f"{text}, which is {int(value)}", hint=hint)
