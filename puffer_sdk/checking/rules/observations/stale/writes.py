"""What steps write, and what they leave, for detectors of PUF302."""
from typing import NamedTuple

from ....core.fact_kinds import CellFact, RowFact
from ....core.vocabulary import Elements, Facts, Finding, Findings, K, Shows, half, most, need
from ..groups import grouped, whole

SEEN = 32           # steps of an element, whether they wrote it or not
RETOLD = 16         # times that elements which keep their values were shown anew
BEFORE = ("behind-the-state", "old-opening")    # say more than what is here


def written(facts: Facts, kind: type[K]) -> list[K]:
    """How each row, or cell, was written; [] where the env does not survive strange rows, as one
    that counts on its own may not."""
    need(facts, "poison")
    return [] if facts.outcome("rewrite") is None else facts.all("rewrite", kind)


def writes_whole(row: RowFact) -> bool:
    """Whether most steps write the whole row, or nothing of it."""
    return row.full > 0 and most(row.full + row.blank, row.steps)


class Kept(NamedTuple):
    """Elements that some steps leave as they were."""

    never: list[CellFact]           # that no step writes
    some: list[CellFact]            # that some steps write
    most_are_written: bool      # at least half of all rows, on every step
    one_way: list[CellFact]         # of `some`: they take one value, and keep it


def kept(facts: Facts) -> Kept:
    cells = [c for c in written(facts, CellFact) if c.written < c.seen and c.seen >= SEEN]
    some = [c for c in cells if c.written > 0]
    every = facts.shape.obs_size * facts.told_agents
    return Kept([c for c in cells if c.written == 0], some, half(every - len(cells), every),
                [c for c in some if c.changed and not c.reverted and not c.varied])


def follow_from_state(cells: list[CellFact]) -> bool:
    """Two ways to one state: whenever such an element had kept its value, a step that began with
    the row of c_reset showed that value, too. A cell of a board that stays set is no old value."""
    held = sum(c.held for c in cells)
    return held >= RETOLD and held == sum(c.retold for c in cells)


def stale(facts: Facts, cells: list[CellFact], text: str, severity: str, expect: str = "written"
          ) -> Findings:
    for group in grouped(facts, cells):
        yield Finding("PUF302", text.format(whole(facts, group.element) + group.who),
                      **facts.at("c_step"),
                      agent=group.agent, element=group.element, severity=severity,
                      expected="a value of this step", actual="a value of an earlier step",
                      seed=facts.seed, seen_in="rewrite", shows=Shows(expect),
                      hint="clear the block, then set what holds now",
                      remedy=(group.element.first, group.element.last)
                      if isinstance(group.element, Elements) else (group.element, group.element))
