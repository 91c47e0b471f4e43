"""Ideas of one's own in training: advantages in place of ours, on both trainers."""
from types import SimpleNamespace

import numpy as np
import pytest
from helpers.small_trainer import SMALL

import puffer_sdk
from puffer_sdk.base.errors import RunError, UsageError
from puffer_sdk.training.seams import require_own_advantages

pytest_plugins = ["helpers.small_fixtures"]
LONGER = {**SMALL, "train.total_timesteps": 32 * 8 * 40, "train.replay_ratio": 2.0}
BACKENDS = pytest.mark.parametrize("backend", ["native", "torch"])


def gae(rollout, gamma=0.995, lam=0.9):
    """Generalised advantage estimation, as everybody writes it."""
    advantages, carried = np.zeros_like(rollout.rewards), 0
    following = rollout.bootstrap
    for t in reversed(range(rollout.rewards.shape[1])):
        alive = 1 - (rollout.ended[:, t] != 0)
        surprise = rollout.rewards[:, t] + gamma * alive * following - rollout.values[:, t]
        carried = surprise + gamma * lam * alive * carried
        advantages[:, t], following = carried, rollout.values[:, t]
    return advantages, advantages + rollout.values


def learn(vec, backend, epochs=1, **more):
    with puffer_sdk.Trainer(vec, {**LONGER, "train.backend": backend, **more.pop("settings", {})},
                            **more) as trainer:
        for _ in range(epochs):
            trainer.rollout()
            losses = trainer.update()
        return losses, {name: array.copy() for name, array in trainer.parameters.items()}


@BACKENDS
def test_a_rollouts_arrays(vec, backend):
    with puffer_sdk.Trainer(vec, {**LONGER, "train.backend": backend}) as trainer:
        rollout = trainer.rollout()
        assert rollout.obs.shape == (32, 8, 121) and rollout.obs.dtype == np.uint8
        assert rollout.actions.shape == (32, 8, 1) and rollout.bootstrap.shape == (32,)
        for name in ("log_probs", "values", "rewards", "ended", "truncated", "terminated"):
            assert getattr(rollout, name).shape == (32, 8)
        assert rollout.alive is rollout.masks is None and (rollout.log_probs < 0).all()
        assert np.array_equal(rollout.rewards[:, -1], vec.rewards)
        with pytest.raises(UsageError, match="no 'reward'") as caught:
            _ = rollout.reward
        assert "rewards" in caught.value.hint


@BACKENDS
def test_both_trainers_learn_the_same_from_the_same_advantages(vec, squared, backend):
    """One minibatch: V-trace is GAE there, so that a GAE in NumPy gives the same weights."""
    one = {"train.replay_ratio": 1.0, "train.minibatch_size": 256, "train.gae_lambda": 0.9,
           "train.gamma": 0.995}
    ours, weights = learn(vec, backend, settings=one)
    with puffer_sdk.make(squared, num_envs=32, seed=1) as again:
        theirs, others = learn(again, backend, settings=one, advantage=gae)
    assert all(np.allclose(weights[name], others[name], atol=2e-5) for name in weights)
    assert theirs["loss/explained_variance"] == pytest.approx(
        ours["loss/explained_variance"], abs=1e-3)


@BACKENDS
def test_advantages_are_asked_for_once_and_frozen_for_all_minibatches(vec, backend):
    asked = []

    def noted(rollout):
        asked.append(rollout)
        return rollout.rewards * 0 + 3, rollout.values

    learn(vec, backend, epochs=2, advantage=noted, settings={"train.prio_alpha": 0.5})
    assert len(asked) == 2      # and 16 minibatches
    if backend == "native":
        with puffer_sdk.Trainer(vec, LONGER, advantage=noted) as trainer:
            trainer.rollout()
            trainer.update()
            assert (trainer._trainer.rollout_tensors["advantages"] == 3).all()
            trainer.rollout()
            trainer.update(np.full((32, 8), 4), np.zeros((32, 8)))
            assert (trainer._trainer.rollout_tensors["advantages"] == 4).all()


def test_native_and_reference_agree_on_given_advantages(vec, squared):
    draw = np.random.default_rng(0)
    given = draw.normal(size=(2, 32, 8))
    found = {}
    for backend in ("native", "torch"):
        with puffer_sdk.make(squared, num_envs=32, seed=1) as fresh:
            _, found[backend] = learn(fresh, backend, advantage=lambda rollout: tuple(given),
                                      settings={"train.prio_alpha": 0.8})
    for name, weights in found["native"].items():
        assert np.allclose(weights, found["torch"][name], atol=1e-5), name


@pytest.mark.parametrize(("returned", "error", "match"), [
    (lambda r: r.rewards, UsageError, "two arrays"),
    (lambda r: (r.rewards[:, 1:], r.values), UsageError, "wrong shape"),
    (lambda r: (r.rewards * np.nan, r.values), RunError, "not finite: nan")])
@BACKENDS
def test_what_is_no_advantage_is_refused(vec, backend, returned, error, match):
    with pytest.raises(error, match=match):
        learn(vec, backend, advantage=returned)


def test_where_advantages_of_ones_own_cannot_be_taken(vec):
    for asks, ranks, what in (((True, "cuda"), 1, "train.async"), ((False, "cuda"), 1, "a GPU"),
                              ((False, "cpu"), 2, "several processes")):
        train = SimpleNamespace(async_=asks[0], device=asks[1])
        with pytest.raises(UsageError, match=f"one process, not {what}"):
            require_own_advantages(SimpleNamespace(train=train), ranks)
    with puffer_sdk.Trainer(vec, LONGER) as trainer:
        trainer.rollout()
        with pytest.raises(UsageError, match="come together"):
            trainer.update(advantages=np.zeros((32, 8)))
