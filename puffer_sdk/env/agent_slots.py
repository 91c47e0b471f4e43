"""A variable number of agents.  a VecEnv after reset or step -> active agents, ended episodes

What stands in a row without an agent means nothing, but for the reward and the ending of the step
in which its agent died.
"""
from __future__ import annotations

from typing import Protocol

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


def living(vec: AgentRows) -> NDArray[np.bool_]:
    """(N,) bool: rows that have an agent now."""
    return np.ones(vec.num_agents, bool) if vec.alive is None else vec.alive != 0


def ended(vec: AgentRows, lived: NDArray[np.bool_] | None = None) -> NDArray[np.bool_]:
    """(N,) bool: rows whose episode has ended, and rows without an agent: dying is an ending.

    lived       (N,) bool, living() before the step: only those count
    """
    over = (vec.terminals != 0) | (vec.truncations != 0)
    if vec.alive is not None:
        over |= vec.alive == 0
    return over if lived is None else over & lived


def fill_empty(rows: np.ndarray | None, alive: np.ndarray | None, value=0) -> np.ndarray | None:
    """rows (N, ...) with `value` in inactive rows, a copy; the same array if all are active.

    alive       (N,) as VecEnv.alive
    """
    if rows is None or alive is None or np.all(alive):
        return rows
    return np.where((np.asarray(alive) != 0).reshape(-1, *[1] * (rows.ndim - 1)), rows,
                    rows.dtype.type(value))


def forget_empty(actor, alive: np.ndarray | None) -> None:
    """After an act: rows without an agent carry nothing over to one that comes, as in training.

    actor   has ended(terminals)
    """
    if alive is not None and not np.all(alive):
        actor.ended((np.asarray(alive) == 0).astype(np.float32))


def random_actions(vec, rng, drawn: int = 0):
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
