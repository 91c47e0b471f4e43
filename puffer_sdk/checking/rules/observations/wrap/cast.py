"""PUF307: floats that do not fit into a byte."""
import re

from ....core.vocabulary import WRAPS, Facts, Finding, Findings, NotTested, detector, need
from ...memory.memory import CAST, undefined


@detector("PUF307", "cast")
def cast(facts: Facts) -> Findings:
    """The sanitizer saw a float that does not fit into a byte."""
    if facts.shape.dtype != "u8":
        return
    need(facts, "run")
    try:
        found = list(undefined(facts, CAST))
    except NotTested:
        return
    for one in found:
        value = re.match(r"(\S+) is outside", one.text)
        yield Finding("PUF307", "a float that does not fit is stored into a byte", **one.where,
                      expected="0 to 255", actual=value[1] if value else "another value",
                      word=WRAPS, hint="shift, scale or clamp it into 0..255")
