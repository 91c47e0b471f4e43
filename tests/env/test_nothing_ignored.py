"""What would do nothing is refused: assignments, steps that C would not call, arguments of another
kind; and what a checked VecEnv refuses."""
import pickle

import numpy as np
import pytest
from helpers.small_trainer import SMALL

import puffer_sdk
from puffer_sdk.base.errors import RunError, UsageError
from puffer_sdk.training.native.native_ppo import NativePPO
from puffer_sdk.training.reference.reference_ppo import TorchPPO

pytest_plugins = ["helpers.small_fixtures"]


class Paid(puffer_sdk.VecWrapper):
    def step(self, actions=None):
        found = super().step(actions)
        self.rewards[:] = 7
        return found


class Loud(puffer_sdk.VecEnv):
    def step(self, actions=None):
        return super().step(actions)


@pytest.mark.parametrize(("name", "hint"), [
    ("all_final", "did you mean 'all_finals'"),
    ("seed", "reset(seed=...)"), ("num_envs", "make another one"), ("rewards", "vec.rewards[:]"),
    ("env_settings", "make another one"), ("observation_space", None), ("ticks", None)])
def test_assignments_to_a_vec_that_would_do_nothing(vec, name, hint):
    with pytest.raises(UsageError) as caught:
        setattr(vec, name, True)
    assert hint is None or hint in caught.value.hint


def test_settings_of_envs_that_exist_are_fixed(vec):
    with pytest.raises(UsageError, match="would do nothing") as caught:
        vec.env_settings["size"] = 5
    assert "make another one" in caught.value.hint
    assert pickle.loads(pickle.dumps(vec.env_settings)) == {"size": 11}


def test_classes_of_the_users_own_may_add_names(vec):
    with Loud(vec.library, total_agents=4, env_settings=vec.env_settings) as mine:
        mine.novelty = mine.novelty = 3
        with pytest.raises(UsageError, match="seed is fixed"):
            mine.seed = 4
    vec.step = mine.step            # methods can be replaced, as Python has it


@pytest.mark.parametrize("how", ["subclass", "instance", "later", "array"])
def test_the_native_trainer_refuses_a_step_that_it_would_not_call(vec, how):
    mine, trainer = vec, None
    if how in ("subclass", "array"):
        own = Loud if how == "subclass" else type(
            "Other", (puffer_sdk.VecEnv,), {"rewards": property(lambda self: self._rewards * 2)})
        mine = own(vec.library, total_agents=32, env_settings=vec.env_settings)
    trainer = puffer_sdk.Trainer(mine, SMALL)
    if how == "later":
        trainer.rollout()
    if how in ("later", "instance"):
        mine.step = lambda actions=None: None
    with pytest.raises(UsageError, match="would not call this") as caught:
        trainer.rollout()
    assert "VecWrapper" in caught.value.hint


@pytest.mark.parametrize("backend", ["native", "torch"])
def test_a_wrappers_step_is_called_in_every_tick(vec, backend):
    wrapped = Paid(Paid(vec))
    with puffer_sdk.Trainer(wrapped, {**SMALL, "train.backend": backend}) as trainer:
        trainer.rollout()
        inner = trainer._trainer
        rewards = inner.rollout_tensors["rewards"] if backend == "native" else inner.rewards.numpy()
        assert (rewards == 7).all() and vec.ticks == 8
        assert trainer.update()["loss/entropy"] > 0
        trainer.use(Paid(vec))
    wrapped.actions = np.ones(32)
    assert vec.actions.all() and wrapped.num_agents == 32
    wrapped.all_finals = True
    assert vec.all_finals
    with pytest.raises(UsageError, match="cannot be wrapped"):
        Paid("my_env")


@pytest.mark.parametrize(("call", "hint"), [
    (lambda vec: puffer_sdk.Trainer("my_env"), "puffer_sdk.make('my_env'"),
    (lambda vec: puffer_sdk.Trainer("gymnasium:X"), "puffer_sdk.wrap('gymnasium:X'"),
    (lambda vec: puffer_sdk.Trainer(vec, "a.ini"), "configure"),
    (lambda vec: puffer_sdk.make("gymnasium:CartPole-v1"), "puffer_sdk.wrap("),
    (lambda vec: puffer_sdk.wrap(str(vec.library.folder)), "puffer_sdk.make("),
    (lambda vec: puffer_sdk.make(vec), None), (lambda vec: puffer_sdk.train(vec), None),
    (lambda vec: NativePPO(vec, {}), "Trainer(vec, {...})"),
    (lambda vec: TorchPPO(vec, {}), "Trainer(vec, {...})"),
    (lambda vec: puffer_sdk.Trainer(
        vec, puffer_sdk.configure(vec.library.folder, {"env.size": 5})), "puffer_sdk.make")])
def test_arguments_of_another_kind(vec, call, hint):
    with pytest.raises(UsageError) as caught:
        call(vec)
    assert hint is None or hint in caught.value.hint


@pytest.mark.parametrize(("name", "hint"), [
    ("vec", "trainer.use(vec)"), ("learning_rate", "Trainer(vec, {...})"),
    ("gamma", "Trainer(vec, {...})"), ("metric", "did you mean 'metrics'"),
    ("config", "Trainer(vec, {...})")])
def test_assignments_to_a_trainer_that_would_do_nothing(vec, name, hint):
    with puffer_sdk.Trainer(vec, SMALL) as trainer:
        with pytest.raises(UsageError) as caught:
            setattr(trainer, name, 3)
        assert hint in caught.value.hint
        with pytest.raises(UsageError, match="no attribute 'rolout'") as caught:
            _ = trainer.rolout
        assert "rollout" in caught.value.hint and not hasattr(trainer, "gamma")


@pytest.mark.parametrize("action", [5, -1, np.nan, np.inf, 0.5])
def test_a_checked_vec_refuses_actions_that_no_head_has(squared, action):
    with puffer_sdk.make(squared, num_envs=4, checked=True) as vec:
        with pytest.raises(UsageError, match="before the first reset"):
            vec.step()
        vec.reset()
        vec.step(np.full(4, 4))
        with pytest.raises(UsageError, match="no action of its head") as caught:
            vec.step([0, 0, action, 0])
        assert "vec.actions[2, 0]" in caught.value.where
        assert "from 0 to 4" in caught.value.expected and vec.ticks == 1


def test_a_checked_vec_refuses_what_a_mask_forbids(squared):
    with puffer_sdk.make(squared, num_envs=3, checked=True) as vec:
        vec.reset()
        vec._action_mask = np.ones((3, 5), np.uint8)
        vec.step([1, 2, 3])
        vec.action_mask[1, 2] = 0
        with pytest.raises(UsageError, match="forbidden by action_mask") as caught:
            vec.step([1, 2, 3])
        assert "vec.actions[1, 0]" in caught.value.where


def test_a_checked_vec_names_the_row_that_is_not_finite(squared):
    with puffer_sdk.make(squared, num_envs=3, checked=True) as vec:
        vec.reset()
        vec.rewards[1] = np.nan
        with pytest.raises(RunError, match="rewards not finite: nan") as caught:
            vec._checks.after_step()
        assert "vec.rewards[1]" in caught.value.where
