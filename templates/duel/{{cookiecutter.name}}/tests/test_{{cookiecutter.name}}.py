"""{{ cookiecutter.name }} from Python: what makes it trainable, and the numbers in its header.

Run it with `pytest` (which needs puffer-sdk installed) here or in any folder above.
"""
import subprocess
import sys
from pathlib import Path

import numpy as np

import puffer_sdk

ENV = Path(__file__).resolve().parents[1]
COLS, ROWS, LINE = 6, 5, 4
CELLS = COLS * ROWS


def act_randomly(rng, vec):
    """A legal column for those who move; 0 for those who wait."""
    return (rng.random(vec.action_mask.shape) * vec.action_mask).argmax(1)


def play(steps, *, num_envs=64, seed=1, threads=1):
    """What happened in each tick, and the log."""
    rng, trace = np.random.default_rng(seed), []
    with puffer_sdk.make(ENV, num_envs=num_envs, seed=seed, threads=threads) as vec:
        vec.reset()
        for _ in range(steps):
            vec.actions[:, 0] = act_randomly(rng, vec)
            before = vec.observations.copy()
            _, rewards, terminals, _ = vec.step()
            trace.append((before, vec.actions[:, 0].astype(int).copy(), rewards.copy(),
                          terminals.copy(), vec.action_mask.copy()))
        return trace, vec.log()


def has_line(stones):
    """Whether LINE stones lie in a row, of (ROWS, COLS) truths."""
    for row in range(ROWS):
        for col in range(COLS):
            for down, right in (0, 1), (1, 0), (1, 1), (1, -1):
                cells = [(row + i * down, col + i * right) for i in range(LINE)]
                if all(0 <= r < ROWS and 0 <= c < COLS and stones[r, c] for r, c in cells):
                    return True
    return False


def test_same_seed_same_game():
    once, again, threaded = (play(100, num_envs=16, threads=each)[0] for each in (1, 1, 3))
    for first, *others in zip(once, again, threaded):
        assert all(np.array_equal(a, b) for other in others for a, b in zip(first, other))


def test_players_move_in_turn():
    trace, _ = play(100)
    for *_, terminals, mask in trace:
        moving = mask.reshape(-1, 2, COLS).any(2)
        assert (moving.sum(1) == 1).all()


def test_lines_win_and_nothing_else_does():
    trace, _ = play(60, num_envs=16)
    ended = 0
    for (before, actions, rewards, terminals, _), mask in zip(trace[1:], (t[-1] for t in trace)):
        for env in range(16):
            mover = int(mask[2 * env + 1].any())
            mine, theirs = (before[2 * env + mover].reshape(2, ROWS, COLS) != 0)
            col = actions[2 * env + mover]
            mine[(mine | theirs)[:, col].sum(), col] = True
            won = has_line(mine)
            assert rewards[2 * env + mover] == won and rewards[2 * env + 1 - mover] == -won
            assert terminals[2 * env] == (won or (mine | theirs).all())
            ended += int(terminals[2 * env])
    assert ended > 20


def test_numbers_in_the_header():
    trace, log = play(2000, num_envs=256)
    ends = [(rewards[::2], terminals[::2]) for _, _, rewards, terminals, _ in trace]
    games = sum(int(terminals.sum()) for _, terminals in ends)
    draws = sum(int(((rewards == 0) & (terminals == 1)).sum()) for rewards, terminals in ends)
    assert 0.03 < draws / games < 0.04 and log["perf"] == 0.5
    result = puffer_sdk.match(ENV, ["random", "bot:1"], games=2000)
    assert 0.95 < result.pairings[0].losses / 2000 < 0.97


def test_check_finds_nothing():
    command = [sys.executable, "-m", "puffer_sdk", "check", str(ENV)]
    result = subprocess.run(command, capture_output=True, text=True)
    assert result.returncode == 0, result.stdout + result.stderr
