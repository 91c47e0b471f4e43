"""What plays: a trained policy, random play, idle play.  vec -> vec.actions, tick by tick

A player is a function play(vec) that fills vec.actions.
"""
from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ..base.errors import UsageError
from ..env.job import EnvJob
from ..env.living import ended, fill_empty, forget_empty, random_actions
from ..settings.texts import parse_action
from ..settings.values import Config
from ..training import backends, checkpoint


@dataclass(frozen=True)
class PlayersJob(EnvJob):
    """What load_players needs."""

    model: Path | None      # a checkpoint; None: baselines only
    greedy: bool            # take the likeliest action instead of drawing one


def load_players(job: PlayersJob, library) -> dict:
    """name -> make(vec, resolved), which returns a player.

    "trained" only if the job names a model. Raises UsageError if that does not fit.
    """
    players = {"random": random_player, "idle": idle_player}
    if job.model:
        past = checkpoint.load(job.model)
        about = library.describe(job.config.env)
        checkpoint.check_fits(past, {"name": job.name, **about.facts()}, job.config.env)
        players = {"random": random_player, "trained": trained_player(past, job.greedy),
                   "idle": idle_player}
    return players


def same_actions(vec, action):
    """(N, K): this action (K,) for every agent; where a mask forbids an id, the next legal one."""
    import numpy as np

    actions, column = np.tile(np.asarray(action, np.float32), (vec.num_agents, 1)), 0
    for head, width in enumerate(vec.act_sizes if vec.action_mask is not None else ()):
        if width > 1:
            legal = np.roll(vec.action_mask[:, column:column + width] != 0, -int(action[head]),
                            axis=1)
            actions[:, head] = (int(action[head]) + legal.argmax(1)) % width
        column += width
    return fill_empty(actions, vec.alive)


def random_player(vec, resolved: Config):
    """Plays random_actions, seeded by [eval] seed."""
    import numpy as np

    rng = np.random.default_rng(resolved.eval.seed)

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


def trained_player(past: checkpoint.Checkpoint, greedy: bool):
    """make(vec, resolved) for a checkpoint's policy. greedy: take the likeliest action."""
    def make(vec, resolved: Config):
        with past.named():
            actor = backends.make_actor(vec, past.config, past.tensors, resolved.eval.seed,
                                        greedy=greedy, threads=resolved.vec.num_threads)
        first = [True]

        def play(vec) -> None:
            if not first[0]:
                actor.ended(ended(vec))
            first[0] = False
            actions = actor.act(fill_empty(vec.observations, vec.alive),
                                fill_empty(vec.action_mask, vec.alive, 1))
            forget_empty(actor, vec.alive)
            vec.actions[:] = fill_empty(actions, vec.alive)

        return play

    return make
