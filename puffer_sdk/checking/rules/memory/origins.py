"""Where a value that is not finite came from.  UBSan's divisions by zero -> a place"""
from ...core.vocabulary import Facts, FileLine, NotTested
from .memory import DIVISION, undefined


class Origin(FileLine):
    """Arguments of a Finding: where it came from."""

    hint: str | None


def origin(facts: Facts, value: float | str, place: FileLine) -> Origin:
    """Of a finding about a value that is not finite: the line where floats were divided by zero, if
    there is just one; else `place`."""
    try:
        lines = sorted({(one.file, one.line) for one in undefined(facts, DIVISION)})
    except NotTested:
        lines = []
    if not lines or not isinstance(value, str):
        return {**place, "hint": None}
    shown = ", ".join(f"{file}:{line}" for file, line in lines[:4])
    if len(lines) == 1:
        return {"file": lines[0][0], "line": lines[0][1],
                "hint": "the divisor was 0 here: treat that case on its own"}
    return {**place, "hint": f"floats are divided by 0 at {shown}"}
