"""Rows of actions from a seed.  (T, K) numbers in [0, 1) -> actions that the masks allow

An action is chosen before anybody knows what will be legal: as one number in [0, 1) for each head.
So the same play can be repeated elsewhere, and with one head or value replaced.
"""
from collections.abc import Callable, Hashable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .python_facts import Given

Read = Callable[[NDArray[np.float32]], list[Given]]
UNIFORM, STICKY, CORNERS, HELD = range(4)
STAY = 0.85             # chance that a sticky player repeats itself


@dataclass(frozen=True)
class Swap:
    """Replaces a head's value, or all its values, each time it is chosen.

    head        -1: every head
    value       None: whatever is chosen is replaced by another one
    agent       of one agent only; None: of all
    """

    head: int
    value: int | None = None
    other: int | None = None
    agent: Hashable = None


class Actor:
    """Chooses for all agents.

    read        rows of heads -> actions of the space (interop/python_envs/space_rows.py)
    sizes       head widths, 1 = continuous
    swapped     how many choices a Swap has replaced
    seen        for each head the values that were chosen
    """

    def __init__(self, read: Read, sizes: tuple[int, ...], agents: list[Hashable], seed: list[int],
                 style: int = UNIFORM, swap: Swap | None = None):
        self.read, self.sizes = read, sizes
        self.continuous = np.array(sizes) == 1
        self.rng = np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed)))
        self.agents, self.style, self.swap = agents, style, swap
        self.swapped = 0
        self.seen: list[set[int]] = [set() for _ in self.sizes]
        self.held = {agent: self._draw() for agent in agents}
        self.last: dict[Hashable, NDArray[np.float32]] = {}

    def _draw(self) -> NDArray[np.float64]:
        return self.rng.random(len(self.sizes))

    def _next(self, agent: Hashable) -> NDArray[np.float64]:
        drawn, stay = self._draw(), self.rng.random()
        if self.style == HELD:
            return self.held[agent]
        if self.style == STICKY and stay < STAY:
            return self.held[agent]
        if self.style == CORNERS:
            drawn = np.where(self.continuous, np.floor(drawn * 3) / 2, drawn)
        self.held[agent] = drawn
        return drawn

    def choose(self, living: list[Hashable], masks: dict[Hashable, NDArray[np.bool_]]
               ) -> dict[Hashable, Given]:
        """An action for each agent that lives."""
        drawn = {agent: self._next(agent) for agent in self.agents}
        found = {}
        for agent in living:
            row = self._row(agent, drawn[agent], masks.get(agent))
            self.last[agent] = row
            found[agent] = self.read(row.reshape(1, -1))[0]
        return found

    def _row(self, agent: Hashable, drawn: NDArray[np.float64], mask: NDArray[np.bool_] | None
             ) -> NDArray[np.float32]:
        row = np.zeros(len(self.sizes), np.float32)
        swap = self.swap if self.swap and self.swap.agent in (None, agent) else None
        first = 0
        for head, width in enumerate(self.sizes):
            mine = swap if swap and swap.head in (-1, head) else None
            if width == 1:
                value = 2 * drawn[head] - 1
                if mine:
                    value = value - 1 if value > 0 else value + 1
                    self.swapped += 1
            else:
                legal = list(range(width)) if mask is None else [
                    int(id) for id in np.flatnonzero(mask[first:first + width])]
                first += width
                legal = legal or list(range(width))
                chosen = legal[int(drawn[head] * len(legal))]
                if mine:
                    chosen = self._replaced(mine, chosen, legal)
                self.seen[head].add(chosen)
                value = chosen
            row[head] = value
        return row

    def _replaced(self, swap: Swap, value: int, legal: list[int]) -> int:
        if swap.value is None:
            others = [each for each in legal if each != value]
            if others:
                self.swapped += 1
                return others[(value * 7 + self.swapped) % len(others)]
        elif value == swap.value and swap.other is not None and swap.other in legal:
            self.swapped += 1
            return swap.other
        return value
