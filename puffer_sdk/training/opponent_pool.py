"""The pool of a self-play run.  snapshots of the weights, results of games -> who plays next

    members     snapshots: weights, the step at which they were taken, a rating
    pool        those that may be chosen: more than [selfplay] max_size thin the older half out
    seats       opponents that play at a time: [vec] num_policies without the learner
    rivals      snapshots of MILESTONES of the run, which evaluations meet

A seat has two players, so that the envs in the middle of a game finish it against its last opponent
while others begin with the next one. Ratings are Elo's. Everything follows from counts of steps and
games and from [selfplay] seed, and lies in state(): a resumed run goes on as if it had not stopped.
"""
from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ..env.seeds import mix_seed
from ..settings.table import Selfplay

Weights = Mapping[str, np.ndarray]
PLAYERS = 2             # of a seat
ELO_SCALE = 400.0       # rating points between players of whom one wins ten games of eleven
LEAST_CHANCE = 0.02     # weight of an opponent that never wins, by skill
PREFIX = "selfplay."    # of tensors in checkpoints
MILESTONES = (1 / 8, 1 / 4, 1 / 2)
POOLED, RIVAL = 1, 2    # what a member is, in checkpoints
LOST, DREW, WON = range(3)      # PUFFER_ of puffer_trainer.h: a game, for the learner


@dataclass
class Member:
    """A snapshot."""

    number: int
    step: int
    elo: float
    weights: Weights


@dataclass
class Seat:
    """An opponent's place.

    players     the opponents of its two players; the first of them at first
    active      which of the two begins new games
    games       against it, since it sat down, and how many of them the learner won; a draw is half
    since       steps at which it sat down
    """

    players: list[Member | None]
    active: int = 0
    games: float = 0.0
    won: float = 0.0
    since: int = 0

    @property
    def opponent(self) -> Member | None:
        return self.players[self.active]


def expected(elo: float, other: float) -> float:
    """The share of games that Elo expects of the first."""
    return float(1.0 / (1.0 + 10.0 ** ((other - elo) / ELO_SCALE)))


def _members(tensors: Mapping[str, np.ndarray]) -> list[tuple[Member, int]]:
    """All members that state() gave, and what they are."""
    found = []
    for number, step, elo, role in tensors.get(f"{PREFIX}members", np.zeros((0, 4))).tolist():
        start = f"{PREFIX}{int(number)}."
        found.append((Member(int(number), int(step), elo, {
            name[len(start):]: array for name, array in tensors.items()
            if name.startswith(start)}), int(role)))
    return found


def rivals_in(tensors: Mapping[str, np.ndarray]) -> list[Weights]:
    """The rivals among the tensors of a training state, the earliest first."""
    return [each.weights for each, role in _members(tensors) if role == RIVAL]


class OpponentPool:
    """Call begin() before the first rollout, then rate() and turn() after each update."""

    def __init__(self, settings: Selfplay, seats: int, total: int):
        """total: agent steps of the run"""
        self.settings, self.total = settings, total
        self.pool: list[Member] = []
        self.rivals: list[Member] = []
        self.seats = [Seat([None] * PLAYERS) for _ in range(seats)]
        self.elo = settings.elo_init        # of the learner
        self.choices = self.taken = self.numbers = 0    # opponents chosen; step of the last
        #                                                 snapshot; snapshots made

    @property
    def players(self) -> list[Member | None]:
        """Whom each player plays: those of seat 0, of seat 1, ..."""
        return [member for seat in self.seats for member in seat.players]

    def begin(self, step: int, weights: Weights) -> None:
        """The weights that the run begins with are the first opponent."""
        if not self.pool:
            self.add(step, weights)
        for seat in self.seats:
            if seat.opponent is None:
                seat.players[seat.active], seat.since = self.choose(), step

    def add(self, step: int, weights: Weights) -> None:
        """A snapshot of the learner."""
        self.pool.append(self.snapshot(step, weights))
        self.taken = step
        if len(self.pool) > self.settings.max_size:
            del self.pool[1:(len(self.pool) + 1) // 2:2]

    def snapshot(self, step: int, weights: Weights) -> Member:
        self.numbers += 1
        return Member(self.numbers - 1, step, self.elo, {
            name: array.copy() for name, array in weights.items()})

    def choose(self) -> Member:
        """The next opponent; one that has no seat, where there is one."""
        sitting = {seat.opponent.number for seat in self.seats if seat.opponent}
        free = [each for each in self.pool if each.number not in sitting] or self.pool
        random = np.random.default_rng(mix_seed(self.settings.seed, self.choices))
        self.choices += 1
        if self.settings.choice == "newest":
            return free[-1]
        chances = np.ones(len(free))
        if self.settings.choice == "skill":     # who is never beaten is played most
            chances = np.array([max(LEAST_CHANCE, expected(each.elo, self.elo) ** 2)
                                for each in free])
        return free[int(random.choice(len(free), p=chances / chances.sum()))]

    def rate(self, results: np.ndarray) -> dict[str, float]:
        """Take the results of an epoch's games, (players, 3): the learner lost, drew and won.
        Returns what to log of them."""
        games = results.sum(1)
        won = results[:, WON] + 0.5 * results[:, DREW]
        for player, member in enumerate(self.players):
            if member is None or not games[player]:
                continue
            seat, place = divmod(player, PLAYERS)
            if place == self.seats[seat].active:
                self.seats[seat].games += float(games[player])
                self.seats[seat].won += float(won[player])
            surprise = float(won[player] / games[player]) - expected(self.elo, member.elo)
            self.elo += self.settings.elo_k * surprise
            member.elo -= self.settings.elo_k * surprise
        total = float(games.sum())
        return {"selfplay/games": total,
                **({"selfplay/win_rate": float(won.sum()) / total} if total else {})}

    def turn(self, step: int, weights: Weights, playing: set[int]) -> dict[str, float]:
        """Take a snapshot, and give seats to other opponents, where that is due. Returns what to
        log.

        playing     players that have not finished their last games
        """
        settings, beaten = self.settings, []
        for number, seat in enumerate(self.seats):
            wins = seat.games >= settings.min_games \
                and seat.won >= settings.swap_winrate * seat.games
            late = 0 < settings.opp_timeout_steps <= step - seat.since
            other = 1 - seat.active
            if (wins or late) and PLAYERS * number + other not in playing:
                beaten.append((seat, other, wins))
        interval = settings.snapshot_interval
        if any(wins for *_, wins in beaten) or 0 < interval <= step - self.taken:
            self.add(step, weights)
        if step >= (*MILESTONES, math.inf)[len(self.rivals)] * self.total:
            self.rivals.append(self.snapshot(step, weights))
        for seat, other, _ in beaten:
            seat.players[other] = self.choose()
            seat.active, seat.games, seat.won, seat.since = other, 0.0, 0.0, step
        ratings = [each.elo for each in self.pool]
        return {"selfplay/elo": self.elo, "selfplay/pool": float(len(self.pool)),
                "selfplay/pool_elo": float(np.mean(ratings)), "selfplay/best_elo": max(ratings),
                "selfplay/oldest_elo": ratings[0]}

    # -- checkpoints

    def state(self) -> dict[str, np.ndarray]:
        """Tensors for a checkpoint; load() takes them. {} before begin()."""
        if not self.pool:
            return {}
        seated = [each for each in self.players if each]
        members = {each.number: each for each in (*self.pool, *self.rivals, *seated)}
        roles = dict.fromkeys(members, 0)
        roles.update({each.number: RIVAL for each in self.rivals})
        roles.update({each.number: POOLED for each in self.pool})
        return {
            f"{PREFIX}learner": np.array([self.elo, self.choices, self.taken, self.numbers]),
            f"{PREFIX}members": np.array([(each.number, each.step, each.elo, roles[each.number])
                                          for each in members.values()], float),
            f"{PREFIX}seats": np.array([
                (seat.active, seat.games, seat.won, seat.since,
                 *(-1 if each is None else each.number for each in seat.players))
                for seat in self.seats], float),
            **{f"{PREFIX}{number}.{name}": array for number, each in members.items()
               for name, array in each.weights.items()}}

    def load(self, tensors: Mapping[str, np.ndarray]) -> None:
        """What state() gave; of other tensors nothing: the pool begins with the next weights."""
        if f"{PREFIX}learner" not in tensors:
            return
        self.elo = float(tensors[f"{PREFIX}learner"][0])
        self.choices, self.taken, self.numbers = map(int, tensors[f"{PREFIX}learner"][1:])
        found = _members(tensors)
        members = {each.number: each for each, _ in found}
        self.pool = [each for each, role in found if role == POOLED]
        self.rivals = [each for each, role in found if role == RIVAL]
        rows = tensors[f"{PREFIX}seats"].tolist()
        if len(rows) != len(self.seats):
            return                  # of other settings: all sit down anew
        self.seats = [Seat([members.get(int(each)) for each in players], int(active), games, won,
                           int(since)) for active, games, won, since, *players in rows]
