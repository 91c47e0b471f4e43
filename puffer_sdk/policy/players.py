"""Players: a trained policy, random play, idle play.  vec -> vec.actions, tick by tick

A player is a function play(vec) that fills vec.actions.
"""
from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from ..env.job import EnvJob
from ..env.library import EnvLibrary
from ..env.vec import VecEnv
from ..scoring.baselines import MakePlayer, Player, actor_player, idle_player, random_player
from ..settings.values import Config
from ..training import backends, checkpoint


@dataclass(frozen=True)
class PlayersJob(EnvJob):
    """What load_players needs."""

    model: Path | None      # a checkpoint; None: baselines only
    greedy: bool            # take the likeliest action instead of drawing one
    seconds: float = field(default=0.0, kw_only=True)   # of each player, at most; 0: to the end
    torch_class: str = field(default="", kw_only=True)  # in place of the one that the model names


def load_players(job: PlayersJob, library: EnvLibrary) -> dict[str, MakePlayer]:
    """name -> make(vec, resolved), which returns a player.

    "trained" only if the job names a model. Raises UsageError if that does not fit.
    """
    players: dict[str, MakePlayer] = {"random": random_player}
    if job.model:
        past = checkpoint.load(job.model).with_class(job.torch_class)
        about = library.describe(job.config.env)
        checkpoint.check_fits(past, checkpoint.env_facts(about, job.name), job.config.env)
        players["trained"] = trained_player(past, job.greedy)
    return {**players, "idle": idle_player}


def trained_player(past: checkpoint.Checkpoint, greedy: bool) -> MakePlayer:
    """make(vec, resolved) for a checkpoint's policy. greedy: take the likeliest action."""
    def make(vec: VecEnv, resolved: Config) -> Player:
        with past.named():
            return actor_player(backends.make_actor(
                vec, past.config, past.tensors, resolved.eval.seed, greedy=greedy,
                threads=resolved.vec.num_threads))

    return make
