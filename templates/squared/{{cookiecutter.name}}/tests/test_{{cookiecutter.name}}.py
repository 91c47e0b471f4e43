"""{{ cookiecutter.name }} from Python: what makes it trainable, and the numbers in its header.

Run it with `pytest` (which needs puffer-sdk installed) here or in any folder above.
"""
import subprocess
import sys
from pathlib import Path

import numpy as np

import puffer_sdk

ENV = Path(__file__).resolve().parents[1]
AGENT, TARGET = 1, 2                        # TILE_ values
STAY, DOWN, UP, LEFT, RIGHT = range(5)      # ACT_ values


def act_randomly(rng, observations):
    return rng.integers(0, 5, len(observations))


def stay(rng, observations):
    return np.full(len(observations), STAY)


def walk_to_target(rng, observations):
    size = int(observations.shape[1] ** 0.5)
    row, col = np.divmod((observations == AGENT).argmax(1), size)
    target_row, target_col = np.divmod((observations == TARGET).argmax(1), size)
    return np.select([row < target_row, row > target_row, col > target_col],
                     [DOWN, UP, LEFT], RIGHT)


def play(pilot, steps, *, num_envs=256, seed=1, threads=1):
    """All that happened, as bytes, and the log."""
    rng = np.random.default_rng(seed)
    trace = []
    with puffer_sdk.make(ENV, num_envs=num_envs, seed=seed, threads=threads) as vec:
        observations = vec.reset()
        for _ in range(steps):
            vec.actions[:, 0] = pilot(rng, observations)
            observations, rewards, terminals, _ = vec.step()
            trace += [observations.tobytes(), rewards.tobytes(), terminals.tobytes()]
        return b"".join(trace), vec.log()


def test_same_seed_same_game():
    once, _ = play(act_randomly, 200, num_envs=16)
    again, _ = play(act_randomly, 200, num_envs=16)
    threaded, _ = play(act_randomly, 200, num_envs=16, threads=3)
    assert once == again == threaded


def test_other_seed_other_game():
    assert play(stay, 10, seed=1)[0] != play(stay, 10, seed=2)[0]


def test_there_is_one_agent_and_one_target():
    with puffer_sdk.make(ENV, num_envs=64, seed=1) as vec:
        board = vec.reset()
        assert ((board == AGENT).sum(1) == 1).all()
        assert ((board == TARGET).sum(1) == 1).all()


def test_leaving_the_board_loses():
    with puffer_sdk.make(ENV, num_envs=64, seed=1) as vec:
        size = int(vec.reset().shape[1] ** 0.5)
        vec.actions[:] = UP
        for _ in range(size // 2 + 1):
            _, rewards, terminals, _ = vec.step()
        on_the_way = rewards != -1          # had its target straight above
        assert on_the_way.mean() < 0.25
        assert (terminals[~on_the_way] == 1).all()


def test_numbers_in_the_header():
    at_random = play(act_randomly, 2000)[1]
    assert 1 / 9.5 < at_random["perf"] < 1 / 8.5
    assert play(stay, 2000)[1]["perf"] == 0
    pilot = play(walk_to_target, 2000)[1]
    assert pilot["perf"] == 1
    assert 5.45 < pilot["episode_length"] < 5.55


def test_check_finds_nothing():
    command = [sys.executable, "-m", "puffer_sdk", "check", str(ENV)]
    result = subprocess.run(command, capture_output=True, text=True)
    assert result.returncode == 0, result.stdout + result.stderr
