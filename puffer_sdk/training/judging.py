"""The play of an evaluation within a run.  weights, a plan -> a Play that is over

Where an environment has teams, random play has the other ones. In a run of self-play the scripted
player and earlier weights of the run have as many of them.
"""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from ..env.abi import ffi
from ..env.child_pipe import Link
from ..env.library import EnvLibrary
from ..env.vec import VecEnv
from ..scoring.baselines import MakePlayer, Player, actor_player, random_player
from ..scoring.entries import Entries
from ..scoring.facing import SIDES, facing, scripted_player
from ..scoring.games import Games
from ..scoring.play_episodes import Plan, Play, make_envs
from ..settings.values import Config
from . import backends
from .schedules import obs_factors
from .watched import Watched

ROWS = 256              # agents that a thread of an evaluation acts for, at least
RANDOM, SCRIPTED, EARLIER = "random", "scripted", "earlier"     # opponents' names
LEVEL = 1               # of the scripted one


def play(library: EnvLibrary, config: Config, link: Link, chosen: Plan,
         tensors: Mapping[str, np.ndarray] | None, seed: int, *, for_sides: bool, watches: bool,
         rivals: Sequence[Mapping[str, np.ndarray]] = ()) -> tuple[Play, Watched, str]:
    """Play fresh envs to the end of the plan. Returns the play, what the weights did, and whom
    they met: "random", or "random, scripted and earlier"; "" without teams.

    tensors     the weights; None: random play
    seed        of envs and actions
    for_sides   whether they meet others, in envs of teams
    rivals      earlier weights of the run
    watches     whether what the weights do is kept, for a claim
    """
    seeded = replace(config, eval=replace(config.eval, seed=seed))
    watched: list[Watched] = []

    def acting(tensors: Mapping[str, np.ndarray]) -> MakePlayer:
        return lambda vec, resolved: actor_player(backends.make_actor(
            vec, config, tensors, resolved.eval.seed, threads=max(1, min(
                config.vec.num_threads, vec.num_agents // ROWS))))

    def make(vec: VecEnv, resolved: Config) -> Player:
        player = random_player if tensors is None else acting(tensors)
        watched.append(Watched(player(vec, resolved), obs_factors(config.train, vec.obs_size),
                               watches and tensors is not None))
        return watched[0]

    others: dict[str, list[MakePlayer]] = {RANDOM: [random_player]} if for_sides else {}
    if for_sides and config.selfplay.enabled:
        others[SCRIPTED] = [scripted_player(LEVEL)] * (library.api.bot != ffi().NULL)
        others[EARLIER] = [acting(each) for each in rivals]
    met = [make for makes in others.values() for make in makes][::-1]   # a short play: the last
    pairs = SIDES * max(1, len(met))
    if for_sides:
        chosen = replace(chosen, envs=-(-chosen.envs // pairs) * pairs)
    with make_envs(library, config, link, chosen.envs, seed, paired=for_sides) as vec:
        player = (facing([make, *met]) if for_sides else make)(vec, seeded)
        done = Play(vec, player, chosen, RANDOM if tensors is None else "trained",
                    Games if for_sides else Entries)
        done.run()
    *most, last = [name for name, makes in others.items() if makes] or [""]
    return done, watched[0], f"{', '.join(most)} and {last}" if most else last
