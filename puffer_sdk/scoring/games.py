"""Count the games of two sides.  VecEnv, tick by tick -> entries: who won, returns, lengths

A game of an env is over when every agent that it has had has ended an episode since the game began.
A side's return is the mean over its rows of their rewards in the game; the side with more has won.
An opponent that plays inside the env has no rows: then a game is won with a return above 0, and
lost with one below. Where no game ends within the span, what was played of it is one.

    win_rate            1 won, 1/2 drawn, 0 lost, of side 0
    draw_rate           1 drawn
    episode_return      of side 0, for each of its agents
    opponent_return     of side 1
    episode_length      ticks

Envs 2k and 2k + 1 are one cluster: they begin alike, with the sides swapped.
"""
from __future__ import annotations

import numpy as np

from ..env.agent_slots import ended as endings_of
from ..env.agent_slots import living
from ..env.child_pipe import Link
from ..env.library import EnvLibrary
from ..env.vec import VecEnv
from ..settings.goal import OF_GAMES
from ..settings.values import Config
from .baselines import random_player
from .entries import Entries, Entry
from .facing import SIDES, sides_of
from .play_episodes import PATIENCE, Plan, make_envs

ROWS = 4096             # of compiled envs, whose copies cost little
LOOKED = 512            # ticks of random play that show whether rewards are opposites
EVEN = 1e-6             # of the larger return: what differs by less is a draw
MEASURES = OF_GAMES
WIN = MEASURES[0]


def plan_games(resolved: Config, agents: int) -> Plan:
    """[eval] episodes games, in pairs of envs: a game each, unless that makes too many envs.

    agents      of one env
    """
    games = resolved.eval.episodes
    rows = max(resolved.vec.total_agents, 0 if resolved.of_python else ROWS)
    envs = min(-(-games // SIDES) * SIDES, max(SIDES, rows // agents // SIDES * SIDES))
    steps = resolved.eval.steps
    return Plan(envs, -(-games // envs), steps, steps * PATIENCE)


def is_for_sides(library: EnvLibrary, resolved: Config, link: Link, agents: int) -> bool:
    """Whether a policy is to be judged by its games against another: teams are declared, or what
    one agent wins in random play another loses, and each can only be its own team.

    agents      of one env
    """
    if agents < SIDES:
        return False
    with make_envs(library, resolved, link, 1) as vec:
        vec.reset()
        if vec.teams is not None or vec.seats is None:
            return vec.teams is not None
        entries, play = Entries(vec, 1, LOOKED), random_player(vec, resolved)
        while entries.tick < LOOKED:
            play(vec)
            vec.step()
            entries.look()
            if vec.rewards.any() and not entries.zero_sum:
                return False
        return entries.zero_sum


class Games(Entries):
    """Entries of a vec that two sides play, one for each game. Rates are those of side 0."""

    def __init__(self, vec: VecEnv, quota: int, span: int, rating: bool = False):
        super().__init__(vec, quota, span, rating)
        self.ours = sides_of(vec) == 0
        self.had = self.lived.copy()            # rows that have had an agent in this game
        self.over_now = np.zeros(vec.num_agents, bool)
        self.won = np.zeros(vec.num_agents)     # rewards of each row in this game
        self.begun = np.zeros(vec.num_envs, int)
        self.played = np.zeros(vec.num_envs, int)
        self.cut = np.zeros(vec.num_envs, bool)     # envs in which no game ended within the span
        self._games: list[Entry] = []

    def look(self, paused: np.ndarray | None = None) -> None:
        """As Entries.look; and whose game is over."""
        vec, lived = self.vec, self.lived
        if paused is not None:
            lived = lived & ~paused[self.env_of]
        super().look(paused)
        self.earned[~self.ours] = self.rated[~self.ours] = 0
        self.won += np.where(lived, vec.rewards, 0.0)
        self.over_now |= endings_of(vec, lived)
        open_rows = self.per_env((self.had & ~self.over_now).astype(int))
        for env in np.flatnonzero((open_rows == 0) & (self.per_env(self.had.astype(int)) > 0)):
            self._end(int(env))
        if vec.alive is not None:
            self.had |= living(vec)
        for env in np.flatnonzero((self.clocks == self.span) & (self.played == 0)):
            self.cut[env] = True
            self._end(int(env))
        self.done = (self.played >= self.quota) | self.cut
        if self.tick >= self.span and not self.done[:self.kept].all():
            self.rating = True

    def _judge(self) -> None:
        """Nothing yet: look() does it, once it knows whose game is over."""

    def keep(self, envs: int) -> None:
        """Whole pairs of envs."""
        super().keep(-(-envs // SIDES) * SIDES)

    @property
    def counted(self) -> list[Entry]:
        """One entry for each game. `env` is that of its pair: side 0 sat in either seat."""
        return [{**game, "env": game["env"] // SIDES} for game in self._games
                if game["env"] < self.kept]

    def _end(self, env: int) -> None:
        """The game of an env is over: its entry, and what the next begins with."""
        first, last = self.vec.first_row[env:env + 2]
        rows = slice(int(first), int(last))
        if self.played[env] < self.quota:
            self._games.append(self._game(env, rows))
        self.played[env] += 1
        self.begun[env] = self.clocks[env]
        self.won[rows], self.over_now[rows] = 0.0, False
        self.had[rows] = living(self.vec)[rows]

    def _game(self, env: int, rows: slice) -> Entry:
        ours, theirs = self._mean(rows, self.ours), self._mean(rows, ~self.ours)
        gap = ours - theirs
        drawn = abs(gap) <= EVEN * max(abs(ours), abs(theirs))
        return {**self._place(env), "n": 1.0, "seat": env % SIDES,
                WIN: 0.5 if drawn else float(gap > 0), "draw_rate": float(drawn),
                "episode_return": ours, "opponent_return": theirs,
                "episode_length": float(self.clocks[env] - self.begun[env])}

    def _mean(self, rows: slice, whose: np.ndarray) -> float:
        """Of the rows that had an agent; 0 of none."""
        there = whose[rows] & self.had[rows]
        return float(self.won[rows][there].mean()) if there.any() else 0.0
