"""The play of an evaluation within a run.  weights, a plan -> a Play that is over

Where an environment has teams, random play has the other ones.
"""
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from ..env.child_pipe import Link
from ..env.library import EnvLibrary
from ..env.vec import VecEnv
from ..scoring.baselines import Player, actor_player, random_player
from ..scoring.entries import Entries
from ..scoring.facing import SIDES, facing
from ..scoring.games import Games
from ..scoring.play_episodes import Plan, Play, make_envs
from ..settings.values import Config
from . import backends
from .schedules import obs_factors
from .watched import Watched

ROWS = 256              # agents that a thread of an evaluation acts for, at least
RANDOM = "random"       # the opponent's name


def play(library: EnvLibrary, config: Config, link: Link, chosen: Plan,
         tensors: Mapping[str, np.ndarray] | None, seed: int, *, for_sides: bool, watches: bool
         ) -> tuple[Play, Watched]:
    """Play fresh envs to the end of the plan.

    tensors     the weights; None: random play
    seed        of envs and actions
    for_sides   whether they meet random play, in envs of teams
    watches     whether what the weights do is kept, for a claim
    """
    seeded = replace(config, eval=replace(config.eval, seed=seed))
    watched: list[Watched] = []

    def make(vec: VecEnv, resolved: Config) -> Player:
        player = random_player(vec, resolved) if tensors is None else actor_player(
            backends.make_actor(vec, config, tensors, resolved.eval.seed, threads=max(1, min(
                config.vec.num_threads, vec.num_agents // ROWS))))
        watched.append(Watched(player, obs_factors(config.train, vec.obs_size),
                               watches and tensors is not None))
        return watched[0]

    if for_sides:
        chosen = replace(chosen, envs=-(-chosen.envs // SIDES) * SIDES)
    with make_envs(library, config, link, chosen.envs, seed, paired=for_sides) as vec:
        player = (facing([make, random_player]) if for_sides else make)(vec, seeded)
        done = Play(vec, player, chosen, RANDOM if tensors is None else "trained",
                    Games if for_sides else Entries)
        done.run()
    return done, watched[0]
