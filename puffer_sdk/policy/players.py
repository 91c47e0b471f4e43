"""Players: a trained policy, random play, idle play, a scripted one.  vec -> vec.actions

A player is a function play(vec) that fills vec.actions, tick by tick.
"""
from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from ..base.errors import UsageError
from ..env.child_pipe import Link
from ..env.job import EnvJob
from ..env.library import EnvLibrary
from ..env.vec import VecEnv
from ..interop.python_envs.env_source import CompiledSource, PythonSource
from ..scoring.baselines import MakePlayer, Player, actor_player, idle_player, random_player
from ..scoring.facing import facing, scripted_player
from ..scoring.games import is_for_sides, plan_games
from ..scoring.play_episodes import LEAST_ENVS, Plan, make_envs, plan
from ..settings.values import Config
from ..training import backends, checkpoint, flat
from ..training.find_model import find_model

RANDOM, IDLE, BOT, SELF, POLICY = "random", "idle", "bot", "self", "policy"
_BOT = re.compile(r"bot(?::(\d{1,9}))?")


@dataclass(frozen=True)
class Contestant:
    """Who plays.

    name    as tables show it: "random", "run 3", "bot:2"
    kind    RANDOM, IDLE, BOT, POLICY; or SELF: all agents are played by who is judged
    level   of BOT: the number that the environment's author gives it a meaning
    model   of POLICY: its checkpoint
    """

    name: str
    kind: str
    level: int = 0
    model: Path | None = None

    @classmethod
    def named(cls, text: str, find_weights: Callable[[str], Path]) -> Contestant:
        """'random', 'idle', 'self', 'bot', 'bot:2', or a run or file, whose checkpoint is found."""
        if found := _BOT.fullmatch(text):
            return cls(text, BOT, int(found[1] or 0))
        if text in (RANDOM, IDLE, SELF):
            return cls(text, text)
        return cls(f"run {text}" if text.isdigit() else text, POLICY, model=find_weights(text))


def is_bot(text: str) -> bool:
    """Whether this names a BOT."""
    return _BOT.fullmatch(text) is not None


def find_contestant(text: str, source: CompiledSource | PythonSource,
                    settings: Mapping[str, object] | None, runs_dir: Path | None, *,
                    verbose: bool = False) -> Contestant:
    """A Contestant by its name; a run or a file of weights is looked for. Raises UsageError where
    there is none, or its network may not be run here."""
    def find_weights(which: str) -> Path:
        found = find_model(source.runs_dir(runs_dir), which)
        weights = flat.as_checkpoint(found, source, settings)
        past = checkpoint.load(weights)
        backends.require_actor(past.config, past.path, verbose=verbose)
        return weights

    return Contestant.named(text, find_weights)


@dataclass(frozen=True)
class PlayersJob(EnvJob):
    """What load_players needs."""

    model: Path | None      # a checkpoint; None: baselines only
    greedy: bool            # take the likeliest action instead of drawing one
    seconds: float = field(default=0.0, kw_only=True)   # of each player, at most; 0: to the end
    torch_class: str = field(default="", kw_only=True)  # in place of the one that the model names
    opponent: Contestant | None = field(default=None, kw_only=True)     # None: find_opponent


def load_players(job: PlayersJob, library: EnvLibrary, opponent: Contestant | None = None
                 ) -> dict[str, MakePlayer]:
    """name -> make(vec, resolved), which returns a player.

    opponent    who plays the other side of each of them; None: nobody
    "trained" only if the job names a model. Raises UsageError if that does not fit.
    """
    players: dict[str, MakePlayer] = {"random": random_player}
    if job.model:
        players["trained"] = make_contestant(Contestant("trained", POLICY, model=job.model), job,
                                             library)
    players["idle"] = idle_player
    if opponent is None:
        return players
    other = make_contestant(opponent, job, library)
    return {name: facing([make, other]) for name, make in players.items()}


def make_contestant(who: Contestant, job: PlayersJob, library: EnvLibrary) -> MakePlayer:
    """make(vec, resolved) of a contestant. Raises UsageError where its policy does not fit."""
    if who.model is None:
        return {RANDOM: random_player, IDLE: idle_player, BOT: scripted_player(who.level)}[who.kind]
    past = checkpoint.load(who.model).with_class(job.torch_class if who.model == job.model else "")
    about = library.describe(job.config.env)
    checkpoint.check_fits(past, checkpoint.env_facts(about, job.name), job.config.env)
    return trained_player(past, job.greedy)


def trained_player(past: checkpoint.Checkpoint, greedy: bool) -> MakePlayer:
    """make(vec, resolved) for a checkpoint's policy. greedy: take the likeliest action."""
    def make(vec: VecEnv, resolved: Config) -> Player:
        with past.named():
            return actor_player(backends.make_actor(
                vec, past.config, past.tensors, resolved.eval.seed, greedy=greedy,
                threads=resolved.vec.num_threads))

    return make


# -- whom a policy meets


def find_opponent(job: PlayersJob, library: EnvLibrary, link: Link, agents: int
                  ) -> Contestant | None:
    """Whom the job's players meet: who was asked for, or random play where a policy is judged by
    its games. None: each plays all agents. agents: of one env"""
    if job.opponent is not None:
        return None if job.opponent.kind == SELF else job.opponent
    found = is_for_sides(library, job.config, link, agents)
    return Contestant(RANDOM, RANDOM) if found else None


def plan_of(resolved: Config, agents: int, opponent: Contestant | None,
            least_envs: int = LEAST_ENVS) -> Plan:
    """What [eval] asks for. least_envs: if [vec] total_agents allows so many"""
    return plan_games(resolved, agents) if opponent else plan(resolved, agents,
                                                              least_envs=least_envs)


def make_sides(library: EnvLibrary, resolved: Config, link: Link, envs: int,
               opponent: Contestant | None) -> VecEnv:
    """Fresh envs for an evaluation; paired, where there is an opponent. Raises UsageError where it
    cannot play here."""
    vec = make_envs(library, resolved, link, envs, paired=opponent is not None)
    try:
        if opponent and vec.num_agents == vec.num_envs:
            _play_inside(vec, opponent)
    except BaseException:
        vec.close()
        raise
    return vec


def _play_inside(vec: VecEnv, opponent: Contestant) -> None:
    """An opponent of envs that have one row each: it is the env's own."""
    if opponent.kind != BOT or not vec.set_bot_policy(opponent.level):
        raise UsageError("an env has one agent, which leaves no seat for an opponent",
                         where=vec.library.folder or vec.description.name, actual=opponent.name,
                         expected="two agents or more; or bot:LEVEL, where the header has "
                                  "PUF_HAS_BOT_POLICY and puf_set_bot_policy",
                         hint="the number of agents may be a setting: --env.num-agents 2")
