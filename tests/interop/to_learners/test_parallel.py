"""C environments as PettingZoo's: its own test, agents that leave, many agents a copy."""
import pickle

import numpy as np
import pytest
from helpers.places import SPECIMENS
from pettingzoo.test import (
    api_test,
    max_cycles_test,
    parallel_api_test,
    parallel_seed_test,
    render_test,
    seed_test,
)
from pettingzoo.utils import parallel_to_aec

import puffer_sdk

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


def test_pettingzoos_test_passes(target):
    parallel_api_test(puffer_sdk.to_parallel("snake"), num_cycles=60)
    parallel_api_test(puffer_sdk.to_parallel(target), num_cycles=60)
    api_test(parallel_to_aec(puffer_sdk.to_parallel(target)), num_cycles=60)


class Swinging:
    """Modules of PettingZoo have these two, and a limit of an episode's steps."""

    @staticmethod
    def parallel_env(max_cycles):
        return puffer_sdk.to_parallel("pendulum", env_settings={"max_steps": max_cycles})

    @classmethod
    def env(cls, max_cycles):
        return parallel_to_aec(cls.parallel_env(max_cycles))


def test_pettingzoos_tests_of_seeds_and_limits_pass(target):
    seed_test(lambda: parallel_to_aec(puffer_sdk.to_parallel(target)), 30)
    parallel_seed_test(lambda: puffer_sdk.to_parallel("snake"), 30)
    max_cycles_test(Swinging)


def test_pettingzoos_test_of_pictures_passes(display, monkeypatch):
    monkeypatch.setenv("DISPLAY", display.env["DISPLAY"])
    render_test(lambda render_mode: parallel_to_aec(
        puffer_sdk.to_parallel("snake", render_mode=render_mode)))


def test_agents_play_what_the_rows_play(target):
    env = puffer_sdk.to_parallel(target)
    envs = puffer_sdk.to_vector(target, 1)
    seen, _ = env.reset(seed=3)
    rows, _ = envs.reset(seed=3)
    assert list(seen) == env.possible_agents and envs.num_envs == len(seen)
    assert np.array_equal(np.stack(list(seen.values())), rows)
    for _ in range(40):
        actions = {agent: space.sample() for agent, space in env.action_spaces.items()}
        rows, rewards, *_ = envs.step(np.array(list(actions.values())))
        playing = list(env.agents)
        seen, earned, over, cut, _ = env.step(actions)
        for agent in playing:
            row = env.possible_agents.index(agent)
            assert earned[agent] == rewards[row]
            assert over[agent] or cut[agent] or np.array_equal(seen[agent], rows[row])
        if not env.agents:
            break
        assert set(env.agents) <= set(playing)


def test_the_same_seed_begins_the_same_episode_and_the_next_follows():
    env = puffer_sdk.to_parallel("pong")
    first, second = env.reset(seed=1)[0], env.reset()[0]
    assert np.array_equal(env.reset(seed=1)[0]["agent_0"], first["agent_0"])
    assert np.array_equal(env.reset()[0]["agent_0"], second["agent_0"])
    assert not np.array_equal(first["agent_0"], second["agent_0"])


def test_who_leaves_is_no_longer_among_the_agents():
    env = puffer_sdk.to_parallel(SPECIMENS / "correct" / "arena")
    env.reset(seed=0)
    counts, left = [], set()
    for _ in range(200):
        counts.append(len(env.agents))
        stepped = list(env.agents)
        _, _, over, cut, _ = env.step({agent: env.action_space(agent).sample()
                                       for agent in stepped})
        gone = {agent for agent in stepped if over[agent] or cut[agent]}
        assert not gone & left and set(env.agents) == set(stepped) - gone
        left |= gone
        if not env.agents:
            break
    assert not env.agents and len(set(counts)) > 1
    assert env.step({}) == ({}, {}, {}, {}, {})
    env.reset()
    assert env.agents


def test_a_pickled_one_is_made_anew():
    env = puffer_sdk.to_parallel("snake", env_settings={"num_agents": 3})
    seen, again = env.reset(seed=2)[0], pickle.loads(pickle.dumps(env)).reset(seed=2)[0]
    assert list(again) == list(seen) and np.array_equal(again["agent_2"], seen["agent_2"])


def test_a_missing_action_is_named():
    env = puffer_sdk.to_parallel("pong")
    env.reset(seed=0)
    with pytest.raises(puffer_sdk.UsageError, match="no action for agent_0"):
        env.step({})
