"""{{ cookiecutter.name }} from Python: what makes it trainable, and the numbers in its header.

Run it with `pytest` (which needs puffer-sdk installed) here or in any folder above.
"""
import subprocess
import sys
from pathlib import Path

import numpy as np

import puffer_sdk

ENV = Path(__file__).resolve().parents[1]
SIDE, STEP, REACH, CLEAR, MINES, AIR = 48, 2, 6, 14, 4, 60      # as in the header and the ini
BAR, BOAT = 80, 255                                             # their shades
WAYS = STEP * np.array([(0, 0), (-1, 0), (1, 0), (0, -1), (0, 1)])
MINE = np.eye(7, dtype=bool) | np.eye(7, dtype=bool)[::-1]
WRECK = np.array([[*row] for row in ("..###..", ".#...#.", "#.....#", "#.....#", "#.....#",
                                     ".#...#.", "..###..")]) == "#"


def likeness(observations, shape):
    """How many pixels around each one are as in a shape, less those that are not."""
    screens = observations.reshape(-1, SIDE, SIDE)
    lit = np.pad(np.int8((screens > BAR) & (screens < BOAT)), ((0, 0), (3, 3), (3, 3)), "wrap")
    return sum((1 if pixel else -1) * lit[:, y:y + SIDE, x:x + SIDE]
               for (y, x), pixel in np.ndenumerate(shape))


def wrecks(observations):
    """Where they are, x and y from the boat."""
    best = likeness(observations, WRECK).reshape(-1, SIDE * SIDE).argmax(1)
    return np.stack([best % SIDE, best // SIDE], 1) - SIDE // 2


def mines(observations):
    """Where they are: the number of the screen, and x and y from the boat."""
    screen, y, x = np.nonzero(likeness(observations, MINE) > 6)
    return screen, np.stack([x, y], 1) - SIDE // 2


def distances(places):
    """How far a boat is from them after each action."""
    return np.hypot(*np.moveaxis(places[:, None] - WAYS, 2, 0))


def act_randomly(rng, observations):
    return rng.integers(0, 5, len(observations))


def go_straight(rng, observations):
    """To the wreck."""
    return distances(wrecks(observations)).argmin(1)


def keep_away(rng, observations):
    """The same, but not within 8 pixels of a mine."""
    far, (screen, places) = distances(wrecks(observations)), mines(observations)
    near = distances(places)
    np.add.at(far, screen, np.where(near < 8, 100 - near, 0))
    return far.argmin(1)


def play(pilot, steps, *, num_envs=64, seed=1, threads=1):
    """Each tick as (observations before, rewards, whether it ended a dive), and the log."""
    rng, trace = np.random.default_rng(seed), []
    with puffer_sdk.make(ENV, num_envs=num_envs, seed=seed, threads=threads) as vec:
        vec.reset()
        for _ in range(steps):
            before = vec.observations.copy()
            vec.actions[:, 0] = pilot(rng, before)
            _, rewards, terminals, _ = vec.step()
            trace.append((before, rewards.copy(), terminals == 1))
        return trace, vec.log()


def test_same_seed_same_dives():
    once, again, threaded = (play(act_randomly, 100, num_envs=16, threads=each)[0]
                             for each in (1, 1, 3))
    for first, *others in zip(once, again, threaded):
        assert all(np.array_equal(a, b) for other in others for a, b in zip(first, other))


def test_the_screen_shows_all_that_is_there():
    with puffer_sdk.make(ENV, num_envs=256, seed=1) as vec:
        screens = vec.reset().copy()
    away = np.hypot(*wrecks(screens).T)
    assert away.min() >= CLEAR and away.max() > 30          # up to a corner
    screen, places = mines(screens)
    assert np.hypot(*places.T).min() >= CLEAR
    assert 0.9 * MINES < len(screen) / len(screens) < 1.1 * MINES   # some lie one on another


def test_the_bar_shows_how_much_air_is_left():
    ticks = np.zeros(64, int)
    for before, _, ended in play(act_randomly, 200)[0]:
        bar = (before.reshape(-1, SIDE, SIDE)[:, 0] == BAR).sum(1)
        assert (bar == np.ceil(SIDE * (AIR - ticks) / AIR)).all()
        ticks = np.where(ended, 0, ticks + 1)


def test_all_moves_past_the_boat():
    with puffer_sdk.make(ENV, num_envs=64, seed=1) as vec:
        place = wrecks(vec.reset())
        for action in (1, 3, 2, 4, 0):
            vec.actions[:] = action
            observations, _, terminals, _ = vec.step()
            assert not terminals.any()
            place = (place - WAYS[action] + SIDE // 2) % SIDE - SIDE // 2
            hidden = likeness(observations, WRECK).max((1, 2)) < 12     # at the edge, by the bar
            assert (hidden | (wrecks(observations) == place).all(1)).all() and hidden.mean() < 0.2


def test_dives_are_won_lost_or_timed_out():
    won = lost = late = 0
    ticks = np.zeros(64, int)
    for before, rewards, ended in play(act_randomly, 600)[0]:
        ticks += 1
        win, loss, timeout = rewards == 1, rewards == -1, ended & (rewards == 0)
        assert (ended == (win | loss | timeout)).all()
        assert (np.hypot(*wrecks(before[win]).T) < REACH + STEP).all()
        assert (ticks[timeout] == AIR).all() and (ticks <= AIR).all()
        won, lost, late = won + win.sum(), lost + loss.sum(), late + timeout.sum()
        ticks[ended] = 0
    assert min(won, lost, late) > 20


def test_numbers_in_the_header():
    def shares(pilot):
        log = play(pilot, 1000)[1]
        return round(log["perf"], 2), round(log["perf"] - log["score"], 2)

    for pilot, won, lost in ((act_randomly, 0.04, 0.58),
                             (go_straight, 0.77, 0.23), (keep_away, 0.94, 0.04)):
        assert np.allclose(shares(pilot), (won, lost), atol=0.025), pilot.__name__


def test_check_finds_nothing():
    command = [sys.executable, "-m", "puffer_sdk", "check", str(ENV)]
    result = subprocess.run(command, capture_output=True, text=True)
    assert result.returncode == 0, result.stdout + result.stderr
