"""PUF307: bytes that wrap around (byte_wrap.c, probes.c)."""
from __future__ import annotations

import re

from ....env import row
from ...collect.c.source import sites
from ...core.facts import Fact, Facts, ranges
from ...core.finding import WRAPS, Finding, span
from ...core.registry import NotTested, need, rule
from ..memory.memory import CAST, undefined


@rule("PUF307", "value-wrap", "warning")
def value_wrap(facts: Facts):
    """A byte observation wraps around: what is stored into it is larger than 255 or negative.

    Why it ruins training: 256 becomes 0 and -1 becomes 255. One step more of a counter, and
    the agent sees the smallest value where the largest is meant; a target just to the left
    looks like one far to the right. No network can tell.

    Bad:

        obs[0] = (unsigned char)(target->x - env->x);   // -3 is stored as 253

    Good:

        obs[0] = (unsigned char)(target->x - env->x + WIDTH);

    Fix: shift, scale or clamp the value into 0..255, or make the observations floats.

    How it is seen: whole numbers are looked at where they are stored into observations, and the
    sanitizer reports floats that do not fit. Elsewhere, an element moves in small steps on a
    circle within episodes, through 255 and 0, again and again (cells of a board jump between
    their codes). `& 255` and `% 256` fit, and so does a field that is a byte already and goes on
    from its own value. A byte that is meant to wrap is declared: `// puffer: wraps`.
    """
    if facts.shape.dtype != "u8":
        return
    need(facts, "run")
    casts = list(_casts(facts))
    yield from casts
    if casts:
        return
    stores = list(_stores_that_wrap(facts))
    yield from stores
    if stores or sites.sees_all_bytes(facts.source, facts.sites):
        return
    wrapped = [fact for fact in facts.all("run", "circle") if _wraps(fact)]
    seen = {fact.element: fact for fact in wrapped}
    for first, last in ranges(seen):
        fact = min((seen[e] for e in range(first, last + 1)), key=lambda f: f.step)
        place = facts.at_element(first) or facts.at("c_step")
        name = row.title(facts.row.parts, first, last)
        yield Finding("PUF307", f"{name} wrap{'s' if first == last else ''} around: "
                                f"{fact.before} is followed by {fact.after}", **place,
                      env=fact.env, agent=fact.agent, step=fact.step,
                      element=span(first, last), expected="a value from 0 to 255",
                      actual="more than 255" if not fact.under else
                      "a negative value" if not fact.over else "a value outside",
                      seed=facts.seed, seen_in="run", word=WRAPS,
                      hint="shift, scale or clamp it into 0..255")


def _casts(facts: Facts):
    """Floats that do not fit into a byte, as the sanitizer saw them."""
    try:
        found = list(undefined(facts, CAST))
    except NotTested:
        return
    for where, _, text in found:
        value = re.match(r"(\S+) is outside", text)
        yield Finding("PUF307", "a float that does not fit is stored into a byte", **where,
                      expected="0 to 255", actual=value[1] if value else "another value",
                      word=WRAPS, hint="shift, scale or clamp it into 0..255")


def _stores_that_wrap(facts: Facts):
    """Whole numbers that did not fit, as counted where they are stored."""
    for site, fact in facts.counted("byte", "observations"):
        if fact.outside:
            yield Finding("PUF307", f"{site.target} wraps around: {fact.first} is stored as "
                                    f"{fact.first & 255}", file=site.file, line=site.line,
                          expected="a value from 0 to 255", actual=str(fact.first),
                          seed=facts.seed, word=WRAPS, beside=facts.beside(site),
                          hint=f"shift, scale or clamp {site.text} into 0..255")


def _wraps(fact: Fact) -> bool:
    """Small steps round the circle of 256, or always the same step."""
    jumps, changes = fact.over + fact.under, fact.changes
    creeps = jumps >= 3 and jumps >= 0.9 * fact.jumps and fact.low >= 3 \
        and fact.high >= 3 and fact.near >= 0.95 * changes
    strides = fact.rounds >= 3 and fact.rounds >= 0.9 * fact.jumps \
        and changes >= 16 and fact.distinct >= 8 and fact.usually >= 0.9 * changes
    return creeps or strides
