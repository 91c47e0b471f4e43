"""C environments as Stable-Baselines3's: its checker, its buffers, its PPO."""
import numpy as np
import pytest
from helpers.places import SPECIMENS
from stable_baselines3 import PPO
from stable_baselines3.common.env_checker import check_env
from stable_baselines3.common.monitor import Monitor

import puffer_sdk

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


@pytest.mark.parametrize("name, layout", [("cartpole", "row"), ("breakout", "dict")])
def test_its_checker_finds_nothing(name, layout):
    check_env(puffer_sdk.to_gymnasium(name, observations=layout))


def test_endings_are_told_as_it_wants_them():
    envs = puffer_sdk.to_sb3("pendulum", 3, seed=2, env_settings={"max_steps": 4})
    alone = puffer_sdk.to_gymnasium("pendulum", env_settings={"max_steps": 4})
    seen, last = envs.reset(), alone.reset(seed=3)[0]
    assert np.array_equal(seen[1], last)
    kept, earned = seen.copy(), 0.0
    for tick in range(4):
        actions = np.full((3, 1), 0.3 * tick, np.float32)
        seen, rewards, dones, infos = envs.step(actions)
        last, reward, _, _, info = alone.step(actions[1])
        earned += reward
        assert dones.tolist() == [tick == 3] * 3 and rewards[1] == np.float32(reward)
    assert np.array_equal(infos[1]["terminal_observation"], last)
    assert infos[1]["TimeLimit.truncated"] and infos[1]["episode"]["l"] == 4
    assert infos[1]["episode"]["r"] == pytest.approx(earned, rel=1e-6)
    assert infos[1]["score"] == info["score"]
    assert np.array_equal(seen[1], alone.reset()[0]) and not np.array_equal(kept, seen)


def test_it_answers_what_every_vecenv_is_asked():
    envs = puffer_sdk.to_sb3("pong", 2)
    envs.reset()
    assert envs.env_is_wrapped(Monitor) == [True, True]
    assert envs.get_attr("render_mode") == [None, None] and envs.num_envs == 2
    assert envs.seed(5) == [5, 6]
    first = envs.reset()
    envs.step(np.array([1, 2]))
    envs.seed(5)
    assert np.array_equal(envs.reset(), first)
    with pytest.raises(puffer_sdk.UsageError, match="no action mask"):
        envs.action_masks()
    with pytest.raises(puffer_sdk.UsageError, match="no attributes to set"):
        envs.set_attr("gravity", 1.0)
    envs.close()


def test_masks_are_told_as_maskable_ppo_asks_for_them():
    """A ladder's ends forbid a step each, and the bell rings on one rung."""
    envs = puffer_sdk.to_sb3(SPECIMENS / "correct" / "ladder", 4, seed=3)
    rows, draw, seen = envs.reset(), np.random.default_rng(1), set()
    for _ in range(80):
        masks = envs.action_masks()
        assert masks.dtype == bool and masks.shape == (4, 3)
        assert np.array_equal(masks, np.column_stack([rows[:, 0] < 1, rows[:, 0] > 0,
                                                      rows[:, 0] == rows[:, 1]]))
        assert np.array_equal(envs.env_method("action_masks", indices=[2])[0], masks[2])
        seen |= {*map(tuple, masks.tolist())}
        rows, _, _, infos = envs.step(np.array([draw.choice(np.flatnonzero(mask))
                                                for mask in masks]))
        assert np.array_equal([info["action_mask"] for info in infos], envs.action_masks())
    assert len(seen) > 3
    with pytest.raises(puffer_sdk.UsageError, match="no methods to call"):
        envs.env_method("ring")


def test_its_ppo_learns_on_them():
    envs = puffer_sdk.to_sb3("cartpole", 8, seed=1)
    model = PPO("MlpPolicy", envs, n_steps=128, batch_size=256, n_epochs=4, seed=1,
                learning_rate=1e-3)
    model.learn(1024)
    before = np.mean([info["r"] for info in model.ep_info_buffer])
    model.learn(12_000)
    assert np.mean([info["r"] for info in model.ep_info_buffer]) > 2 * before
