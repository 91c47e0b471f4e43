"""Memory that experiments treat specially: private fields and random generators.

    typedef struct Player { int hand[5];    // puffer: private
                            float score; } Player;

source/layout.py says where such fields lie; private.c and forks.c get them in bytes.
"""
import re
from collections.abc import Iterable
from dataclasses import dataclass

from ...core.fact_kinds import WordFact
from ...core.facts import Facts
from .source.layout import Layout, Scalar
from .source.model import INTEGER

MOST = 256              # as in rules/determinism/private.c
_PRIVATE = re.compile(r"^(?P<code>[^;]*);[^\n]*//\s*puffer:\s*private\b")
LEAST, MOST_FLIPS = 0.35, 0.8   # share of its bits that a change of a generator turns over


@dataclass(frozen=True)
class Place:
    """One agent's private field."""

    field: str          # "hand"
    agent: int
    pointer: int        # byte of the env struct where the pointer to the agents lies; -1 = none
    offset: int
    bytes: int
    file: str           # where it is declared
    line: int

    @property
    def option(self) -> str:
        return f"{self.agent}:{self.pointer}:{self.offset}:{self.bytes}"


def declared(facts: Facts) -> dict[str, tuple[str, int]]:
    """Fields that a `// puffer: private` marks: name -> (file, line)."""
    found = {}
    for file, text in facts.source.files.items():
        for number, line in enumerate(text.splitlines(), 1):
            match = _PRIVATE.match(line)
            if match:
                names = re.findall(r"(\w+)\s*(?:\[[^\]]*\]\s*)*(?=,|$)", match["code"])
                found.update({name: (file, number) for name in names})
    return found


def places(facts: Facts) -> list[Place]:
    """Where each agent's private fields lie: in an array of num_agents, or in a block."""
    wanted, layout = declared(facts), facts.layout
    agents = facts.probed.env_agents if facts.probed else 1
    if not wanted or layout is None or agents < 2:
        return []
    found = _in_arrays(layout, wanted, agents)
    for path, pointee in layout.pointees.items():
        pointer = layout.find(path)
        if pointer is None:
            continue
        for name, (file, line) in wanted.items():
            low, high = _extent(s for s in pointee.scalars if name in _names(s))
            found += [Place(name, agent, pointer.offset, agent * pointee.size + low, high - low,
                            file, line) for agent in range(agents) if high > low]
    return found[:MOST]


def _in_arrays(layout: Layout, wanted: dict[str, tuple[str, int]], agents: int) -> list[Place]:
    found = []
    for name, (file, line) in wanted.items():
        mine = [s for s in layout.scalars if name in _names(s) and s.arrays
                and s.arrays[0].count >= agents]
        for agent in range(agents if mine else 0):
            low, high = _extent(s for s in mine if s.path.startswith(
                f"{s.arrays[0].path}[{agent}]"))
            if high > low:
                found.append(Place(name, agent, -1, low, high - low, file, line))
    return found


def _names(scalar: Scalar) -> list[str]:
    return re.findall(r"[A-Za-z_]\w*", scalar.path)


def _extent(scalars: Iterable[Scalar]) -> tuple[int, int]:
    ends = [(s.offset, s.offset + s.size) for s in scalars]
    return (min(low for low, _ in ends), max(high for _, high in ends)) if ends else (0, 0)


def generators(facts: Facts) -> list[Scalar]:
    """The struct's random generators besides rng: whole numbers of which each change turned over
    about half of the bits, and that seldom came to a value again, as where c_reset begins anew."""
    random = {fact.at for fact in facts.all("probe", WordFact) if 2 * fact.again <= fact.moves
              and LEAST <= fact.flips / (fact.moves * fact.bits) <= MOST_FLIPS}
    return [s for s in (facts.layout.scalars if facts.layout else [])
            if INTEGER.fullmatch(s.type) and not (s.path == "rng" and facts.has_rng)
            and random & set(range(s.offset, s.offset + s.size, 4))]


def as_option(scalars: list[Scalar]) -> str:
    """Places of the struct for the harness, in bytes: "96:8,104:4"."""
    return ",".join(f"{s.offset}:{s.size}" for s in scalars)
