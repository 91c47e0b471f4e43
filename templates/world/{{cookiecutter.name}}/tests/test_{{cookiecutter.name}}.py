"""{{ cookiecutter.name }} from Python: what makes it trainable, and the numbers in its header.

Run it with `pytest` (which needs puffer-sdk installed) here or in any folder above.
"""
import subprocess
import sys
from pathlib import Path

import numpy as np

import puffer_sdk

ENV = Path(__file__).resolve().parents[1]
CELLS, MEALS, LIFE, SIGHT = 16, 3, 200, 140     # as in the header
HUNTER, CELL, PLANT = -1, 0, 1                  # what an entry of the list is
RIGHT = (2, 1)


def entries(observations):
    """The list of each row: there, kind, dx, dy."""
    return observations[:, 2:].reshape(len(observations), 8, 4)


def nearest(observations, kind):
    """How far the nearest thing of a kind is, in SIGHTs, 9 if there is none; and the way to it."""
    there, kinds, dx, dy = np.moveaxis(entries(observations), 2, 0)
    far = np.where((there == 1) & (kinds == kind), np.hypot(dx, dy), 9)
    rows, best = np.arange(len(far)), far.argmin(1)
    return far[rows, best], np.stack([dx, dy], 2)[rows, best]


def steps_along(way):
    return 1 + np.where(np.abs(way) * SIGHT < 3, 0, np.sign(way))


def act_randomly(rng, observations):
    return rng.integers(0, 3, (len(observations), 2))


def graze(rng, observations):
    """To the nearest plant; right, if none is in sight."""
    far, way = nearest(observations, PLANT)
    return np.where(far[:, None] <= 1, steps_along(way), RIGHT)


def graze_and_flee(rng, observations):
    """The same, but away from a hunter that is near."""
    far, way = nearest(observations, HUNTER)
    return np.where(far[:, None] < 0.45, 2 - steps_along(way), graze(rng, observations))


def play(pilot, steps, *, num_envs=16, seed=1, threads=1):
    """Each tick as (alive and observations before, rewards, terminals, alive after), and the log."""
    rng, trace = np.random.default_rng(seed), []
    with puffer_sdk.make(ENV, num_envs=num_envs, seed=seed, threads=threads) as vec:
        vec.reset()
        for _ in range(steps):
            before = vec.alive == 1, vec.observations.copy()
            vec.actions[:] = pilot(rng, vec.observations)
            _, rewards, terminals, _ = vec.step()
            trace.append((*before, rewards.copy(), terminals == 1, vec.alive == 1))
        return trace, vec.log()


def test_same_seed_same_pond():
    once, again, threaded = (play(act_randomly, 200, threads=each)[0] for each in (1, 1, 3))
    for first, *others in zip(once, again, threaded):
        lived = first[0]
        for other in others:
            assert np.array_equal(lived, other[0]) and np.array_equal(first[4], other[4])
            assert all(np.array_equal(a[lived], b[lived]) for a, b in zip(first[1:4], other[1:4]))


def test_lists_are_filled_from_the_front():
    for alive, observations, *_ in play(graze, 200)[0]:
        there, kinds, dx, dy = np.moveaxis(entries(observations[alive]), 2, 0)
        assert (np.diff(there, axis=1) <= 0).all() and set(np.unique(there)) <= {0, 1}
        assert (entries(observations[alive])[there == 0] == 0).all()
        assert (np.hypot(dx, dy) < 1.0001).all()
        order = np.where(there == 1, np.array([2, 1, 0])[kinds.astype(int)], 3)
        assert (np.diff(order, axis=1) >= 0).all()      # hunters, plants, cells, nothing


def test_lives_are_won_lost_or_timed_out():
    won = lost = late = 0
    for alive, observations, rewards, ended, _ in play(act_randomly, 1000)[0]:
        meals, age = np.rint(observations[:, 0] * MEALS), np.rint(observations[:, 1] * LIFE)
        win, loss = alive & (rewards == 1), alive & (rewards == -1)
        timeout = alive & ended & (rewards == 0)
        assert (ended[alive] == (win | loss | timeout)[alive]).all()
        assert (meals[win] + 2 >= MEALS).all()          # two plants may be within reach at once
        assert (age[timeout] == LIFE - 1).all() and (age[alive & ~timeout] < LIFE).all()
        far = nearest(observations[loss], HUNTER)[0]
        assert ((far < 0.6) | (far == 9)).all()         # 9: it got hungry in this very tick
        won, lost, late = won + win.sum(), lost + loss.sum(), late + timeout.sum()
    assert min(won, lost, late) > 100


def test_rows_come_free_and_are_taken():
    freed = born = 0
    for alive, _, rewards, ended, after in play(act_randomly, 1000)[0]:
        assert (ended | after)[alive].all()             # who is gone has got its terminal
        ponds = [each.reshape(-1, CELLS) for each in (alive, after, alive & ended,
                                                      alive & (rewards == 1))]
        before, now, ends, wins = (each.sum(1) for each in ponds)
        room = CELLS - (before - ends)
        come = now - (before - ends)
        assert (come == np.minimum(room, 2 * wins + (before < CELLS // 2))).all()
        freed, born = freed + ends.sum(), born + come.sum()
    assert min(freed, born) > 500


def test_a_pond_never_ends_together():
    for alive, _, _, ended, after in play(act_randomly, 1000)[0]:
        assert after.reshape(-1, CELLS).any(1).all()
        assert ((alive & ~ended).reshape(-1, CELLS)).any(1).all()


def test_numbers_in_the_header():
    def shares(pilot):
        log = play(pilot, 2000)[1]
        return round(log["perf"], 2), round(log["perf"] - log["episode_return"], 2)

    for pilot, won, lost in ((act_randomly, 0.25, 0.40), (graze, 0.75, 0.21),
                             (graze_and_flee, 0.91, 0.02)):
        assert np.allclose(shares(pilot), (won, lost), atol=0.025), pilot.__name__


def test_check_finds_nothing():
    command = [sys.executable, "-m", "puffer_sdk", "check", str(ENV)]
    result = subprocess.run(command, capture_output=True, text=True)
    assert result.returncode == 0, result.stdout + result.stderr
