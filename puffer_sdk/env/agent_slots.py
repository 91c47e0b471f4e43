"""A variable number of agents.  a VecEnv after reset or step -> active agents, ended episodes

A row without an agent has no meaning, except for the reward and the ending of the step in which
its agent died.
"""
from __future__ import annotations

from typing import Protocol, TypeVar, overload

import numpy as np
from numpy.typing import NDArray


class AgentRows(Protocol):
    """What a VecEnv, or what stands for one, says of its rows."""

    @property
    def num_agents(self) -> int: ...
    @property
    def terminals(self) -> NDArray[np.float32]: ...
    @property
    def truncations(self) -> NDArray[np.float32]: ...
    @property
    def alive(self) -> NDArray[np.uint8] | None: ...


class ActingRows(AgentRows, Protocol):
    """The same, and what its agents may do."""

    @property
    def actions(self) -> NDArray[np.float32]: ...
    @property
    def act_sizes(self) -> tuple[int, ...]: ...
    @property
    def action_mask(self) -> NDArray[np.uint8] | None: ...


class Actor(Protocol):
    """What remembers, from step to step, the episode of each row."""

    def ended(self, terminals: NDArray[np.float32], /) -> object: ...


S = TypeVar("S", bound=np.generic)


def living(vec: AgentRows) -> NDArray[np.bool_]:
    """(N,) bool: rows that have an agent now."""
    return np.ones(vec.num_agents, bool) if vec.alive is None else vec.alive.astype(bool)


def ended(vec: AgentRows, lived: NDArray[np.bool_] | None = None) -> NDArray[np.bool_]:
    """(N,) bool: rows whose episode has ended, and rows without an agent: dying is an ending.

    lived       (N,) bool, living() before the step: only those count
    """
    over: NDArray[np.bool_] = (vec.terminals != 0) | (vec.truncations != 0)
    if vec.alive is not None:
        over |= vec.alive == 0
    return over if lived is None else over & lived


@overload
def fill_empty(rows: NDArray[S], alive: NDArray[np.uint8] | None, value: float = 0
               ) -> NDArray[S]: ...
@overload
def fill_empty(rows: None, alive: NDArray[np.uint8] | None, value: float = 0) -> None: ...
def fill_empty(rows: NDArray[S] | None, alive: NDArray[np.uint8] | None, value: float = 0
               ) -> NDArray[S] | None:
    """rows (N, ...) with `value` in inactive rows, a copy; the same array if all are active.

    alive       (N,) as VecEnv.alive
    """
    if rows is None or alive is None or np.all(alive):
        return rows
    filled: NDArray[S] = np.where((alive != 0).reshape(-1, *[1] * (rows.ndim - 1)), rows,
                                  rows.dtype.type(value))
    return filled


def forget_empty(actor: Actor, alive: NDArray[np.uint8] | None) -> None:
    """After an act: rows without an agent carry nothing over to one that comes, as in training."""
    if alive is not None and not np.all(alive):
        actor.ended((alive == 0).astype(np.float32))


def random_actions(vec: ActingRows, rng: np.random.Generator, drawn: int = 0
                   ) -> NDArray[np.float32]:
    """(N, K): uniform over the legal ids of each head; uniform in [-1, 1] for a continuous head.

    drawn       agents to draw for, if that is more than N: the first N then do the same in a vec
                of any size
    """
    n = vec.num_agents
    drawn = max(n, drawn)
    actions, column = np.empty_like(vec.actions), 0
    for head, width in enumerate(vec.act_sizes):
        if width == 1:
            actions[:, head] = rng.uniform(-1, 1, drawn)[:n]
        elif vec.action_mask is None:
            actions[:, head] = rng.integers(0, width, drawn)[:n]
        else:
            legal = vec.action_mask[:, column:column + width] != 0
            draw = rng.random((drawn, width))[:n]
            actions[:, head] = np.where(legal, draw, -1).argmax(1)
        column += width
    return fill_empty(actions, vec.alive)
