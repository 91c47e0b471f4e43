"""Games of two sides: who has which rows, when a game is over, who won it."""
import math
from types import SimpleNamespace

import numpy as np
import pytest
from helpers.places import SPECIMENS

import puffer_sdk
from puffer_sdk.base.errors import UsageError
from puffer_sdk.scoring.facing import RowsOf, facing, paired_seeds, seats_of, sides_of
from puffer_sdk.scoring.games import Games
from puffer_sdk.scoring.intervals import share_interval

DUEL = SPECIMENS / "duel"


class Table:
    """Stands for a VecEnv: rewards and endings are what the test says."""

    def __init__(self, teams, envs=2, alive=False):
        self.num_envs, rows = envs, len(teams)
        self.num_agents = n = envs * rows
        self.first_row = np.arange(envs + 1) * rows
        self.teams = self.seats = np.tile(teams, envs)
        self.rewards, self.terminals, self.truncations = np.zeros((3, n), np.float32)
        self.alive = np.ones(n, np.uint8) if alive else None
        self.layout, self.library = None, SimpleNamespace(folder=None)
        self.description = SimpleNamespace(log_names=(), name="table")

    def logs_of(self, envs):
        return np.zeros(len(envs)), np.zeros((len(envs), 0))

    def env_seed(self, env):
        return env // 2


def played(table, steps, quota=1, span=10):
    """steps: (rewards, terminals) or with (alive) of env 0; env 1 has the same rows."""
    games = Games(table, quota, span)
    for rewards, ends, *alive in steps:
        table.rewards[:] = np.tile(rewards, table.num_envs)
        table.terminals[:] = np.tile(ends, table.num_envs)
        if alive:
            table.alive[:] = np.tile(alive[0], table.num_envs)
        games.look()
    return games


def test_each_side_sits_in_each_seat_of_the_same_opening():
    library = puffer_sdk.load(DUEL)
    with puffer_sdk.VecEnv(library, total_agents=12, env_seeds=paired_seeds(5, 6)) as vec:
        first = vec.reset().reshape(3, 2, -1)
        np.testing.assert_array_equal(first[:, 0], first[:, 1])
        assert len(np.unique(first[:, 0], axis=0)) > 1
        np.testing.assert_array_equal(sides_of(vec), [0, 1, 1, 0] * 3)


def test_teams_may_have_any_numbers():
    np.testing.assert_array_equal(sides_of(Table([9, 4, 9, 6])), [0, 0, 0, 1, 1, 1, 1, 0])


def test_several_agents_without_teams_are_refused():
    table = Table([0, 0, 0])
    table.seats = None
    with pytest.raises(UsageError, match="declares no teams"):
        seats_of(table)


def test_a_player_sees_its_own_rows_only():
    """And what each does goes into these rows."""
    seen = []

    def make(value):
        def begin(rows, resolved):
            assert isinstance(rows, RowsOf)

            def play(rows):
                seen.append((value, rows.observations.copy(), rows.num_agents))
                rows.actions[:] = value
            return play
        return begin

    resolved = puffer_sdk.settings.config.resolve(DUEL)
    with puffer_sdk.make(DUEL, num_envs=4) as vec:
        vec.reset()
        facing([make(0), make(2)])(vec, resolved)(vec)
        np.testing.assert_array_equal(vec.actions[:, 0], [0, 2, 2, 0] * 2)
        for value, rows, count in seen:
            assert count == 4
            np.testing.assert_array_equal(rows, vec.observations[vec.actions[:, 0] == value])
        facing([make(0), make(1), make(2)])(vec, resolved)(vec)     # two share the other side
        np.testing.assert_array_equal(vec.actions[:, 0], [0, 1, 1, 0, 0, 2, 2, 0])


def test_a_game_is_over_when_all_have_ended():
    """The first of side 0 ends early, and what its side earns after that still counts."""
    games = played(Table([0, 0, 1, 1]), [
        ([1, 0, 0, 0], [1, 0, 0, 0]), ([0, 0, 3, 3], [0, 1, 1, 0]), ([8, 0, 0, 0], [0, 0, 0, 1])])
    assert [game["env"] for game in games.counted] == [0, 0]       # a pair of envs
    ours, theirs = games.counted
    assert (ours["episode_return"], ours["opponent_return"], ours["win_rate"]) == (4.5, 3, 1)
    assert (theirs["episode_return"], theirs["opponent_return"], theirs["win_rate"]) == (3, 4.5, 0)
    assert ours["episode_length"] == 3 and (ours["seat"], theirs["seat"]) == (0, 1)
    assert games.over and not games.earned[~games.ours].any()


def test_equal_returns_are_a_draw():
    [game, _] = played(Table([0, 1]), [([0.1, 0.2], [0, 0]), ([0.2, 0.1], [1, 1])]).counted
    assert (game["win_rate"], game["draw_rate"]) == (0.5, 1)


def test_only_the_first_games_count_and_rewards_are_not_carried_over():
    games = played(Table([0, 1]), [([5, 0], [1, 1]), ([0, 1], [1, 1]), ([9, 0], [1, 1])], quota=2)
    assert [game["win_rate"] for game in games.counted] == [1, 0, 0, 1]
    assert [game["episode_return"] for game in games.counted] == [5, 0, 0, 1]


def test_games_that_do_not_end_are_cut_at_the_span():
    games = played(Table([0, 1]), [([1, 0], [0, 0])] * 10)
    assert games.over and [game["episode_length"] for game in games.counted] == [10, 10]
    one_dies = played(Table([0, 1]), [([1, 0], [1, 0])] + [([0, 0], [0, 0])] * 9)
    assert one_dies.over and [game["win_rate"] for game in one_dies.counted] == [1, 0]


def test_who_has_no_agent_is_not_waited_for():
    """Row 1 of side 0 dies by its mark; row 3 was empty all the time."""
    table = Table([0, 0, 1, 1], alive=True)
    table.alive[:] = np.tile([1, 1, 1, 0], 2)
    games = played(table, [([0, 2, 0, 7], [0, 0, 0, 0], [1, 0, 1, 0]),
                           ([0, 0, 4, 7], [1, 0, 1, 0], [1, 0, 1, 0])])
    assert [(game["episode_return"], game["opponent_return"]) for game in games.counted] == [
        (1, 4), (4, 1)]


def test_an_opponent_without_rows_is_beaten_by_a_return_above_0():
    table = Table([0], envs=4)
    games = Games(table, 1, 10)
    table.rewards[:], table.terminals[:] = [1, -1, 0, 2], 1
    games.look()
    assert [game["win_rate"] for game in games.counted] == [1, 0, 0.5, 1]


@pytest.mark.parametrize(("values", "clusters", "mean", "low", "high"), [
    ([1] * 100, range(100), 1.0, 0.963, 1.0),       # Wilson: n / (n + z^2)
    ([1, 0] * 50, range(100), 0.5, 0.404, 0.596),
    ([0] * 10, range(10), 0.0, 0.0, 0.278),
    ([1, 1, 1, 0] * 10, [0] * 20 + [1] * 20, 0.75, 0.598, 0.858)])     # two clusters that agree
def test_a_share_has_wilsons_interval(values, clusters, mean, low, high):
    assert share_interval(values, clusters) == pytest.approx((mean, low, high), abs=2e-3)


def test_games_of_a_pair_are_no_independent_ones():
    """Ten clusters of ten equal games are worth about ten."""
    values, clusters = [i // 10 % 2 for i in range(100)], [i // 10 for i in range(100)]
    _, low, high = share_interval(values, clusters)
    assert high - low == pytest.approx(2 * 1.96 * math.sqrt(0.25 / 13), rel=0.15)
