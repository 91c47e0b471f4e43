"""Players without a policy, and what makes one of an actor.  vec -> vec.actions, tick by tick"""
from __future__ import annotations

import numpy as np

from ..base.errors import UsageError
from ..env.agent_slots import ended, fill_empty, forget_empty, random_actions
from ..settings.texts import parse_action
from ..settings.values import Config


def random_player(vec, resolved: Config, seed: int | None = None):
    """Plays random_actions, seeded by [eval] seed unless another is given."""
    rng = np.random.default_rng(resolved.eval.seed if seed is None else seed)

    def play(vec) -> None:
        vec.actions[:] = random_actions(vec, rng, resolved.vec.total_agents)

    return play


def idle_player(vec, resolved: Config):
    """Plays same_actions: [eval] idle_action, or zeros."""
    text = resolved.eval.idle_action
    action = parse_action(text) if text else (0.0,) * vec.num_atns
    if len(action) != vec.num_atns:
        raise UsageError("[eval] idle_action does not fit the action heads",
                         expected=f"{vec.num_atns} numbers", actual=text)

    def play(vec) -> None:
        vec.actions[:] = same_actions(vec, action)

    return play


def same_actions(vec, action):
    """(N, K): this action (K,) for every agent; where a mask forbids an id, the next legal one."""
    actions, column = np.tile(np.asarray(action, np.float32), (vec.num_agents, 1)), 0
    for head, width in enumerate(vec.act_sizes if vec.action_mask is not None else ()):
        if width > 1:
            legal = np.roll(vec.action_mask[:, column:column + width] != 0, -int(action[head]),
                            axis=1)
            actions[:, head] = (int(action[head]) + legal.argmax(1)) % width
        column += width
    return fill_empty(actions, vec.alive)


def actor_player(actor, eyes=None):
    """Plays what an actor chooses (training/backends.py: make_actor).

    eyes    whose observations it is shown; the vec's own unless given
    """
    begun = []

    def play(vec) -> None:
        if begun:
            actor.ended(ended(vec))
        begun.append(True)
        actions = actor.act(fill_empty((eyes or vec).observations, vec.alive),
                            fill_empty(vec.action_mask, vec.alive, 1))
        forget_empty(actor, vec.alive)
        vec.actions[:] = fill_empty(actions, vec.alive)

    return play
