"""Players without a policy, and what makes one of an actor.  vec -> vec.actions, tick by tick"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

import numpy as np

from ..base.errors import UsageError
from ..env.agent_slots import ended, fill_empty, forget_empty, random_actions
from ..env.vec import VecEnv
from ..settings.texts import parse_action
from ..settings.values import Config

Player = Callable[[VecEnv], None]               # fills vec.actions
MakePlayer = Callable[[VecEnv, Config], Player]


class Actor(Protocol):
    """What chooses actions from observations, tick by tick (training/backends.py: make_actor)."""

    def act(self, obs: np.ndarray, mask: np.ndarray | None = None) -> np.ndarray:
        """(n, D) and (n, A) -> (n, K); the recurrent state moves on."""

    def ended(self, terminals: np.ndarray) -> None:
        """(n,) nonzero where an episode has just ended."""


def random_player(vec: VecEnv, resolved: Config, seed: int | None = None) -> Player:
    """Plays random_actions, seeded by [eval] seed unless another is given."""
    rng = np.random.default_rng(resolved.eval.seed if seed is None else seed)

    def play(vec: VecEnv) -> None:
        vec.actions[:] = random_actions(vec, rng, resolved.vec.total_agents)

    return play


def idle_player(vec: VecEnv, resolved: Config) -> Player:
    """Plays same_actions: [eval] idle_action, or zeros. Raises UsageError if that does not fit."""
    text = resolved.eval.idle_action
    action = parse_action(text) if text else (0.0,) * vec.num_atns
    if len(action) != vec.num_atns:
        raise UsageError("[eval] idle_action does not fit the action heads",
                         expected=f"{vec.num_atns} numbers", actual=text)

    def play(vec: VecEnv) -> None:
        vec.actions[:] = same_actions(vec, action)

    return play


def same_actions(vec: VecEnv, action: Sequence[float] | np.ndarray) -> np.ndarray:
    """(N, K): this action (K,) for every agent; where a mask forbids an id, the next legal one."""
    actions, column = np.tile(np.asarray(action, np.float32), (vec.num_agents, 1)), 0
    mask = vec.action_mask
    for head, width in enumerate(vec.act_sizes):
        if width > 1 and mask is not None:
            legal = np.roll(mask[:, column:column + width] != 0, -int(action[head]), axis=1)
            actions[:, head] = (int(action[head]) + legal.argmax(1)) % width
        column += width
    return fill_empty(actions, vec.alive)


def actor_player(actor: Actor, shown: np.ndarray | None = None) -> Player:
    """Plays what an actor chooses.

    shown   the observations, (N, D), that stay where they are; the vec's own unless given
    """
    begun = False

    def play(vec: VecEnv) -> None:
        nonlocal begun
        if begun:
            actor.ended(ended(vec))
        begun = True
        actions = actor.act(fill_empty(vec.observations if shown is None else shown, vec.alive),
                            fill_empty(vec.action_mask, vec.alive, 1))
        forget_empty(actor, vec.alive)
        vec.actions[:] = fill_empty(actions, vec.alive)

    return play
