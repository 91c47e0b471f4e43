"""PUF302: elements that show a word of the state, and when they do not.

Facts -> Findings
"""
from __future__ import annotations

from collections.abc import Iterator

from ....core.fact_kinds import MirrorFact
from ....core.facts import Facts, ranges
from ....core.finding import Elements, Finding, span
from ....core.kinds import Fact
from ....core.often import enough, most
from ....core.registry import detector, need
from ....core.repro_spec import Shows

STUCK = 4           # steps on end: three were seen of an index of -1 that changed a word
FROZEN = 0.4        # of the steps, from which an element does not show that word at all


@detector("PUF302", "behind-the-state")
def behind_the_state(facts: Facts) -> Iterator[Finding]:
    """Elements that elsewhere show a word of the state do not on some steps, or after endings."""
    need(facts, "poison")
    mirrors = facts.all("mirror", MirrorFact)
    old = [m for m in mirrors if enough(m.ends) and most(m.ends_old, m.ends)]
    frozen = [m for m in mirrors if m not in old and m.stuck >= STUCK
              and 0 < m.frozen < FROZEN * m.seen]
    if old:
        cell, place = _first_of(facts, old)
        yield Finding("PUF302", f"after an ending, {place['which']} of the observation still "
                                f"{place['show']} the episode that is over", **place["finding"],
                      expected=_shown(facts, cell), actual=f"{cell.value:g}",
                      shows=Shows("shown", agent=cell.agent,
                                  pointer=cell.word[0], offset=cell.word[1],
                                  field=facts.field_at(cell.word) or "",
                                  is_float=cell.is_float, scale=cell.scale,
                                  shift=cell.shift),
                      hint="observe after c_reset: the observation of an ending opens the next "
                           "episode")
    alone = [m for m in mirrors if enough(m.alone) and most(m.alone_old, m.alone)]
    if alone and not old:
        cell, place = _first_of(facts, alone)
        yield Finding("PUF302", f"after an agent's own ending, {place['which']} of its observation "
                                f"still {place['show']} the episode that is over",
                      **{**place["finding"], "seen_in": ""}, expected=_shown(facts, cell),
                      actual=f"{cell.value:g} ({cell.alone_old} of {cell.alone} times)",
                      hint="let agents begin anew before they are observed, not after")
    if frozen:
        cell, place = _first_of(facts, frozen)
        yield Finding("PUF302", f"some steps leave {place['which']} of the observation as it was, "
                                "although what it shows has changed", **place["finding"],
                      expected=_shown(facts, cell),
                      actual=f"{cell.value:g}, the value of an earlier step "
                             f"({cell.frozen} of {cell.seen} times)",
                      hint="write the whole observation on every path through c_step")


def _first_of(facts: Facts, cells: list[Fact]) -> tuple[Fact, dict]:
    """The first of these elements, with the place of a finding that speaks of them all."""
    agents = sorted({c.agent for c in cells})
    mine = [c for c in cells if c.agent == agents[0]]
    pairs = list(ranges(c.element for c in mine))
    numbers = Elements(*pairs[0], ", ".join(str(span(*pair)) for pair in pairs))
    one = len(mine) == 1
    everyone = len(agents) == facts.shape.env_agents
    cell = mine[0]
    return cell, {"which": f"element{'' if one else 's'} {numbers}",
                  "show": "shows" if one else "show", "finding": dict(
        **facts.at("c_step"), env=cell.env, agent=None if everyone else agents[0],
        step=cell.step, element=cell.element if one else numbers, seed=facts.seed,
        seen_in="mirror")}


def _shown(facts: Facts, cell: dict) -> str:
    which = facts.field_at(cell.word)
    return f"{cell.expected:g}" + (f" (by '{which}')" if which else "")
