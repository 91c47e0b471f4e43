"""Rewards of one's own between environment and learner, on both trainers."""
import numpy as np
import pytest
from helpers.small_trainer import SMALL

import puffer_sdk
from puffer_sdk.base.errors import PufferError, UsageError
from puffer_sdk.training.seams import require_own_advantages

pytest_plugins = ["helpers.small_fixtures"]
BACKENDS = pytest.mark.parametrize("backend", ["native", "torch"])


def learn(vec, backend, epochs=2, **more):
    with puffer_sdk.Trainer(vec, {**SMALL, "train.backend": backend}, **more) as trainer:
        for _ in range(epochs):
            rewards = trainer.rollout().rewards.copy()
            losses = trainer.update()
        return losses, rewards, {name: array.copy() for name, array in trainer.parameters.items()}


@BACKENDS
def test_the_trainer_learns_from_what_it_returns(vec, squared, backend):
    asked = []

    def doubled(rollout):
        asked.append(rollout.rewards.copy())
        return 2 * rollout.rewards + 1

    class Doubled(puffer_sdk.VecWrapper):
        def step(self, actions=None):
            found = super().step(actions)
            self.rewards[:] = 2 * self.rewards + 1
            return found

    losses, seen, weights = learn(vec, backend, reward=doubled)
    assert len(asked) == 2 and np.array_equal(seen, 2 * asked[1] + 1)
    assert losses["reward"] == pytest.approx(seen.mean())
    with puffer_sdk.make(squared, num_envs=32, seed=1) as again:
        _, same, others = learn(Doubled(again), backend)
    assert np.array_equal(seen, same)
    assert all(np.array_equal(weights[name], others[name]) for name in weights)


@BACKENDS
def test_rewards_given_back_change_no_bits_and_advantages_see_them(vec, squared, backend):
    _, _, plain = learn(vec, backend)
    with puffer_sdk.make(squared, num_envs=32, seed=1) as again:
        _, _, same = learn(again, backend, reward=lambda rollout: rollout.rewards)
    assert all(np.array_equal(plain[name], same[name]) for name in plain)
    seen = []

    def advantage(rollout):
        seen.append(rollout.rewards.copy())
        return rollout.rewards, rollout.values

    learn(vec, backend, 1, reward=lambda rollout: np.full((32, 8), 7), advantage=advantage)
    assert (seen[0] == 7).all()


@BACKENDS
@pytest.mark.parametrize(("reward", "match"), [
    (lambda rollout: rollout.rewards[:, 1:], "rewards have the wrong shape"),
    (lambda rollout: "many", "no array of numbers"),
    (lambda rollout: rollout.rewards * np.nan, "not finite: nan"),
    (lambda rollout: rollout.reward, "no 'reward'"),
    (lambda rollout: 1 / 0, "reward failed: ZeroDivisionError")])
def test_what_are_no_rewards_is_refused_with_its_line(vec, backend, reward, match):
    with pytest.raises(PufferError, match=match) as caught:
        learn(vec, backend, reward=reward)
    assert __file__ in caught.value.where


def test_by_file_and_where_they_cannot_be_taken(vec, tmp_path):
    (tmp_path / "ideas.py").write_text("def one(rollout):\n    return 0 * rollout.rewards + 1\n\n\n"
                                       "def flat(rollout):\n    return rollout.rewards - 1, "
                                       "rollout.values\n")
    named = {"train.reward": f"{tmp_path}/ideas.py:one",
             "train.advantage": f"{tmp_path}/ideas.py:flat"}
    with puffer_sdk.Trainer(vec, {**SMALL, **named}) as trainer:
        assert (trainer.rollout().rewards == 1).all()
        assert trainer.update()["reward"] == 1
        assert (trainer._trainer.rollout_tensors["advantages"] == 0).all()
        config = trainer.config
        with pytest.raises(UsageError, match="rewards of your own need the CPU and one process"):
            require_own_advantages(config, 2, "rewards")
