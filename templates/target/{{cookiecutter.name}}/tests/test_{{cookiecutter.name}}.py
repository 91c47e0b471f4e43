"""{{ cookiecutter.name }} from Python: what makes it trainable, and the numbers in its header.

Run it with `pytest` (which needs puffer-sdk installed) here or in any folder above.
"""
import subprocess
import sys
from pathlib import Path

import numpy as np

import puffer_sdk

ENV = Path(__file__).resolve().parents[1]
AGENTS, GOALS, FIELD = 8, 4, (952, 592)     # as in the ini
IDLE = (4, 2)                               # straight on, coasting


def act_randomly(rng, observations):
    return rng.integers(0, (9, 5), (len(observations), 2))


def do_nothing(rng, observations):
    return np.tile(IDLE, (len(observations), 1))


def steer(observations, politeness):
    """Full speed at the nearest goal; one that others are closer to counts as farther away."""
    goals = observations[:, :2 * GOALS].reshape(-1, GOALS, 2) * FIELD
    agents = observations[:, 2 * GOALS:-4].reshape(-1, AGENTS, 2) * FIELD
    own = np.hypot(goals[..., 0], goals[..., 1])
    between = goals[:, None] - agents[:, :, None]
    closer = (np.hypot(between[..., 0], between[..., 1]) < own[:, None]).sum(1)
    best = (own + politeness * closer).argmin(1)
    dx, dy = goals[np.arange(len(goals)), best].T
    turn = np.arctan2(dy, dx) - 2 * np.pi * observations[:, -4]
    turn = (turn + np.pi) % (2 * np.pi) - np.pi
    return np.stack([np.clip(np.rint(12 * turn), -4, 4) + 4, np.full(len(goals), 4)], 1)


def steer_at_nearest(rng, observations):
    return steer(observations, politeness=0)


def leave_to_whoever_is_closer(rng, observations):
    return steer(observations, politeness=150)


def play(pilot, steps, *, num_envs, seed=1, threads=1):
    """All that happened, as bytes, and goals per agent per 1000 ticks."""
    rng = np.random.default_rng(seed)
    trace, goals = [], 0.0
    with puffer_sdk.make(ENV, num_envs=num_envs, seed=seed, threads=threads) as vec:
        observations = vec.reset()
        for _ in range(steps):
            vec.actions[:] = pilot(rng, observations)
            observations, rewards, terminals, _ = vec.step()
            trace += [observations.tobytes(), rewards.tobytes(), terminals.tobytes()]
            goals += float(rewards.sum())
        return b"".join(trace), 1000 * goals / (steps * vec.num_agents)


def test_same_seed_same_game():
    once, _ = play(act_randomly, 200, num_envs=4)
    again, _ = play(act_randomly, 200, num_envs=4)
    threaded, _ = play(act_randomly, 200, num_envs=4, threads=3)
    assert once == again == threaded


def test_other_seed_other_game():
    assert play(do_nothing, 10, num_envs=4)[0] != play(do_nothing, 10, num_envs=4, seed=2)[0]


def test_last_observations_are_the_agent_itself():
    with puffer_sdk.make(ENV, num_envs=4, seed=1) as vec:
        rng = np.random.default_rng(1)
        start = vec.reset()[:, -4:].copy()
        assert (start[:, :2] == 0).all()            # facing right, no reward yet
        for _ in range(300):
            vec.actions[:] = act_randomly(rng, vec.observations)
            observations, rewards, _, _ = vec.step()
            assert (observations[:, -3] == rewards).all()
            assert (observations[:, -4] >= 0).all() and (observations[:, -4] < 1).all()


def test_headings_wrap():
    with puffer_sdk.make(ENV, num_envs=1, seed=1) as vec:
        vec.reset()
        vec.actions[:] = (3, 2)                     # a little to the left of 0
        observations, *_ = vec.step()
        assert np.allclose(observations[:, -4], 1 - 1 / 12 / (2 * np.pi), atol=1e-5)


def test_nothing_ever_ends_and_idle_agents_move_on():
    with puffer_sdk.make(ENV, num_envs=4, seed=1) as vec:
        start = vec.reset()[:, -2:].copy()
        vec.actions[:] = IDLE
        for _ in range(511):
            observations, _, terminals, _ = vec.step()
            assert not terminals.any()
        assert (observations[:, -2:] == start).all()
        vec.step()
        moved = (observations[:, -2:] != start).any(1)
        assert moved.mean() > 0.5                   # all but those that a goal fell upon


def test_numbers_in_the_header():
    def goals(pilot):
        return play(pilot, 1000, num_envs=128)[1]

    assert 0.1 < goals(do_nothing) < 0.3
    assert 3.3 < goals(act_randomly) < 3.9
    assert 20 < goals(steer_at_nearest) < 23
    assert 54 < goals(leave_to_whoever_is_closer) < 58


def test_check_finds_nothing():
    command = [sys.executable, "-m", "puffer_sdk", "check", str(ENV)]
    result = subprocess.run(command, capture_output=True, text=True)
    assert result.returncode == 0, result.stdout + result.stderr
