"""Several players in one vec, each in rows of its own.  players, a vec after reset -> a player

The teams of an env are dealt out in turn: of two sides, side 0 plays the even teams of env 0, the
odd ones of env 1, and so on. Envs 2k and 2k + 1 begin with one seed (paired_seeds), so that each
side plays each opening from both seats.
"""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ..base.errors import UsageError
from ..env.library import Obs
from ..env.seeds import mix_seed
from ..env.teams import HINT
from ..env.vec import VecEnv
from ..settings.values import Config
from .baselines import MakePlayer, Player

SIDES = 2


def paired_seeds(seed: int, envs: int) -> list[int]:
    """Seeds of so many envs, of which neighbours share one."""
    return [mix_seed(seed, env // SIDES) for env in range(envs)]


def seats_of(vec: VecEnv) -> NDArray[np.int64]:
    """(N,) the team of each row; declared, or each agent its own where that is the only way. Raises
    UsageError where neither holds."""
    seats = vec.seats
    if seats is None:
        raise UsageError("this environment declares no teams", hint=HINT,
                         where=vec.library.folder or vec.description.name,
                         expected="which of its agents play together",
                         actual=f"{int(np.diff(vec.first_row).max())} agents in an env")
    return seats


def sides_of(vec: VecEnv) -> NDArray[np.int64]:
    """(N,) 0 or 1: which side plays each row. All 0 where an env has one row: its opponent plays
    inside it."""
    if (np.diff(vec.first_row) == 1).all():
        return np.zeros(vec.num_agents, np.int64)
    seats, first = seats_of(vec), vec.first_row[:-1]
    env_of = np.repeat(np.arange(vec.num_envs), np.diff(vec.first_row))
    place = np.empty_like(seats)            # teams may have any numbers: 3 and 7 are 0 and 1
    for env, start in enumerate(first):
        end = vec.first_row[env + 1]
        place[start:end] = np.unique(seats[start:end], return_inverse=True)[1]
    return (place + env_of) % SIDES


class RowsOf(VecEnv):
    """Some rows of a vec, as a player sees them: copies, made anew each tick.

    vec         the whole
    rows        (n,) numbers of these rows
    """

    def __init__(self, vec: VecEnv, rows: NDArray[np.int64]):
        before = set(vars(self))
        self.vec, self.rows, self._handle = vec, rows, None
        self.library, self.description = vec.library, vec.description
        self.num_agents, self.num_envs = len(rows), 0   # each may wait for a row of another player
        self.obs_size, self.act_sizes = vec.obs_size, vec.act_sizes
        self.num_atns, self.env_settings = vec.num_atns, vec.env_settings
        self._actions = np.zeros((len(rows), vec.num_atns), np.float32)
        self.look()
        self.seal(before)

    def look(self) -> None:
        """Copy what the last step wrote into these rows."""
        vec, rows = self.vec, self.rows

        def some(array: Obs | None) -> Obs | None:
            return None if array is None else np.ascontiguousarray(array[rows])

        for name in ("observations", "rewards", "terminals", "truncations", "action_mask",
                     "alive"):
            vars(self)[f"_{name}"] = some(getattr(vec, name))


def own_dice(resolved: Config, side: int) -> Config:
    """The settings with another [eval] seed for each side: two that draw actions alike would
    mirror each other."""
    seed = resolved.eval.seed
    return replace(resolved, eval=replace(
        resolved.eval, seed=mix_seed(seed, side) if side else seed))


def facing(makes: Sequence[MakePlayer]) -> MakePlayer:
    """make(vec, resolved) of a player in which the first of these plays side 0. The others share
    side 1: one plays it in a pair of envs, the next one in the next pair, and so on."""
    def make(vec: VecEnv, resolved: Config) -> Player:
        seated: list[tuple[RowsOf, Player]] = []

        def play(vec: VecEnv) -> None:
            if not seated:
                pair_of = np.repeat(np.arange(vec.num_envs) // SIDES, np.diff(vec.first_row))
                players = np.where(sides_of(vec) == 0, 0, 1 + pair_of % max(1, len(makes) - 1))
                for number, make in enumerate(makes):
                    rows = np.flatnonzero(players == number)
                    if len(rows):
                        view = RowsOf(vec, rows)
                        seated.append((view, make(view, own_dice(resolved, number))))
            for view, player in seated:
                view.look()
                player(view)
                vec.actions[view.rows] = view.actions

        return play

    return make


def scripted_player(level: int) -> MakePlayer:
    """The header's c_bot(env, agent, level)."""
    def make(vec: VecEnv, resolved: Config) -> Player:
        def play(vec: VecEnv) -> None:
            whole, rows = (vec.vec, vec.rows) if isinstance(vec, RowsOf) else (
                vec, np.arange(vec.num_agents))
            if not whole.play_scripted(rows, level):
                raise UsageError("the header has no scripted player",
                                 where=vec.library.folder or vec.description.name,
                                 expected="void c_bot(Env* env, int agent, int level)",
                                 hint="random and idle play every environment")
            vec.actions[:] = whole.actions[rows]

        return play

    return make
