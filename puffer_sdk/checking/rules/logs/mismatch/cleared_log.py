"""PUF422: entries that go before the trainer has read them."""
from ....core.vocabulary import Facts, Finding, Findings, detector
from .assigned import replaced


@detector("PUF422", "cleared")
def cleared(facts: Facts) -> Findings:
    """A step sets the log back to 0: entries of other agents and episodes are lost.

    Not of a field that is assigned elsewhere: its 0 is one more value.
    """
    assigned = replaced(facts)
    for name, file, line in facts.source.cleared_logs():
        if name in assigned:
            continue
        what = "log" if name == "log" else f"log.{name}"
        yield Finding("PUF422", f"{what} is set back to 0 while the game goes on", file=file,
                      line=line, element=name, severity="warning",
                      expected="entries that stay until they are collected: the caller clears them",
                      actual="entries of other agents and episodes are lost",
                      hint="delete the line: the log is the caller's to clear")
        return
