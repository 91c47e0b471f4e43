"""PUF422: a number that is logged and drawn, and counted over different ranges."""
from ....collect.c.source import sums
from ....core.vocabulary import Facts, Finding, Findings, detector


@detector("PUF422", "drawn-otherwise")
def drawn_otherwise(facts: Facts) -> Findings:
    """A sum for the log is over another range than where the same thing is drawn."""
    for mine, other in list(sums.unlike(facts.source))[:1]:
        yield Finding("PUF422", f"'{mine.name}' adds up {mine.text} for the log over another range "
                                "than where it is drawn", file=mine.file, line=mine.line,
                      severity="warning",
                      expected=f"{other.count}, as on line {other.line} of {other.file}",
                      actual=mine.count, hint="count in one function that both call")
