"""Elements of the observation that have one fault are one finding.  cells -> Groups"""
import math
from collections import defaultdict
from collections.abc import Collection
from typing import NamedTuple

from ....env.obs_spec import named
from ...core.fact_kinds import CellFact, LeftFact
from ...core.vocabulary import REPEATS, Elements, Facts, as_one, blocks, ranges, span


class Group(NamedTuple):
    """Elements of the observation that have one fault."""

    element: int | Elements
    agent: int | None       # the first one's; None = every agent's
    who: str                # " of agent 3", " of agents 0-3, 5"; "" = of every agent
    env: int                # where it was seen first


def grouped(facts: Facts, cells: Collection[CellFact | LeftFact]) -> list[Group]:
    """Cells of agents' rows: those that have one cause are one group.

    Agents whose rows have the same cells share them. Rows that have some cells of one pattern each,
    as they were met in play, are taken together.
    """
    rows: dict[int, set[int]] = defaultdict(set)
    for cell in cells:
        rows[cell.agent].add(cell.element)
    agents_of: dict[tuple[int, ...], list[int]] = defaultdict(list)
    for agent, mine in sorted(rows.items()):
        agents_of[tuple(sorted(mine))].append(agent)
    if len(agents_of) >= REPEATS:
        agents_of = {tuple(sorted(set().union(*rows.values()))): sorted(rows)}
    found = []
    for row, agents in sorted(agents_of.items()):
        everyone = len(agents) == facts.told_agents
        names = ", ".join(str(span(*pair)) for pair in ranges(agents))
        who = "" if everyone else f" of agent{'s' if agents[1:] else ''} {names}"
        env = next(getattr(cell, "env", 0) for cell in cells if cell.agent in agents)
        found += [Group(each, None if everyone else agents[0], who, env)
                  for each in (blocks(row) if _are_named(facts, row) else [as_one(row)])]
    return found


def _are_named(facts: Facts, row: Collection[int]) -> bool:
    """Whether elements belong to different parts of the row: each may have a cause of its own."""
    return len({named(facts.row.parts, element) for element in row}) > 1


def whole(facts: Facts, element: int | Elements) -> str:
    """"the whole observation", "rows 3-7 of the image", "elements 3-7 of the observation"."""
    if isinstance(element, int):
        return f"element {element} of the observation"
    first, last = element.first, element.last
    if element != f"{first}-{last}":
        return f"elements {element} of the observation"
    if first == 0 and last == facts.shape.obs_size - 1:
        return "the whole observation"
    for part in facts.row.described:
        width = math.prod(part.shape[1:])
        if part.kind in ("grid", "image") and part.first <= first and last <= part.last and \
                (first - part.first) % width == 0 and (last + 1 - part.first) % width == 0:
            lines = span((first - part.first) // width, (last - part.first) // width)
            return f"row{'' if isinstance(lines, int) else 's'} {lines} of the {part.kind}"
    return f"elements {element} of the observation"
