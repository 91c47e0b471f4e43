"""Rewards of several numbers, which [vec] reward_weights make one."""
import gymnasium
import numpy as np
import pytest

import puffer_sdk
from puffer_sdk.base.errors import RunError, UsageError

BOX = gymnasium.spaces.Box(0, 9, (1,), np.float32)
SOURCE = """
import gymnasium
import numpy as np


class Two(gymnasium.Env):
    observation_space = gymnasium.spaces.Box(0, 9, (1,), np.float32)
    action_space = gymnasium.spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.t = 0
        return np.float32([0]), {}

    def step(self, action):
        self.t += 1
        return np.float32([self.t]), np.array([action, -1.0]), False, self.t >= 4, {}
"""


@pytest.fixture
def two(tmp_path, monkeypatch):
    (tmp_path / "two.py").write_text(SOURCE)
    monkeypatch.chdir(tmp_path)
    return "two.py:Two"


class Pair:
    """PettingZoo's parallel interface."""

    metadata, possible_agents = {}, ["a", "b"]
    observation_space = staticmethod(lambda agent: BOX)
    action_space = staticmethod(lambda agent: gymnasium.spaces.Discrete(2))

    def reset(self, seed=None, options=None):
        self.agents, self.t = list(self.possible_agents), 0
        return {agent: np.float32([0]) for agent in self.agents}, {}

    def step(self, actions):
        self.t += 1
        over = dict.fromkeys(actions, self.t == 2)
        rewards = {agent: np.array([1.0, float(action)]) for agent, action in actions.items()}
        self.agents = [] if self.t == 2 else self.agents
        return {agent: np.float32([self.t]) for agent in actions}, rewards, over, over, {}

    def close(self):
        pass


@pytest.mark.parametrize("workers", [0, 1])
def test_the_reward_is_the_weighted_sum_and_each_number_is_logged(two, workers):
    with puffer_sdk.wrap(two, 2, workers=workers, reward_weights=(0.5, 2)) as envs:
        envs.reset()
        for _ in range(4):
            rewards = envs.step(np.array([0, 1]))[1].tolist()
        assert rewards == [-2, -1.5]
        log = envs.log()
        assert (log["episode_return"], log["reward_0"], log["reward_1"]) == (-7, 2, -4)


def test_each_agent_has_its_own_sums():
    with puffer_sdk.wrap(Pair, 1, workers=0, reward_weights=(1, 10)) as envs:
        envs.reset()
        assert envs.step(np.array([0, 1]))[1].tolist() == [1, 11]
        envs.step(np.array([0, 1]))
        log = envs.log()
        assert (log["episode_return"], log["reward_0"], log["reward_1"]) == (12, 2, 1)


def test_weights_are_of_train_eval_and_check(two):
    settings = {"vec.reward_weights": "1,0.5"}
    assert not [each for each in puffer_sdk.check(two, settings=settings, budget=0.1).findings
                if each.code == "PUF312"]
    run = puffer_sdk.train(two, {
        **settings, "train.total_timesteps": 512, "train.horizon": 8, "vec.total_agents": 8,
        "train.minibatch_size": 64, "policy.hidden_size": 8, "vec.num_workers": 0})
    assert "reward_weights = 1, 0.5\n" in (run.folder / "config.ini").read_text()
    score = puffer_sdk.evaluate(two, {**settings, "eval.episodes": 8}).scores["idle"]
    assert score.mean["episode_return"] == -2 and score.mean["reward_1"] == -4


def test_without_weights_or_with_too_few_the_error_names_them(two):
    for weights, said in ((), "no number"), ((1, 2, 3), "a number for each of vec.reward_weights"):
        with puffer_sdk.wrap(two, 1, workers=0, reward_weights=weights) as envs:
            envs.reset()
            with pytest.raises(RunError, match=said) as refused:
                envs.step(np.zeros(1))
        assert "reward_weights" in f"{refused.value.message} {refused.value.hint}"
    with pytest.raises(UsageError, match="reward-weights|reward_weights") as refused:
        puffer_sdk.train(two, {"vec.reward_weights": "much"})
    assert "0.7, 0.3" in refused.value.expected
