"""puffer_sdk.vector.SB3Vector: what Stable-Baselines3's own VecEnvs return and are asked."""
import gymnasium
import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.utils.env_checker import data_equivalence
from helpers.short_or_long import long_only, some_or_all
from stable_baselines3 import PPO
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.monitor import Monitor
from stable_baselines3.common.vec_env import DummyVecEnv, VecFrameStack, VecNormalize

from puffer_sdk.vector import SB3Vector, Vector

ACTIONS = {"box": spaces.Box(-1, 1, (2,), np.float32), "discrete": spaces.Discrete(4),
           "many": spaces.MultiDiscrete([3, 2]), "bits": spaces.MultiBinary(3)}


class Short(gymnasium.Env):
    """Episodes of a few steps, that end both ways, with infos at either end."""

    metadata = {"render_modes": ["rgb_array"]}
    observation_space = spaces.Dict({"where": spaces.Box(-1, 1, (2, 3), np.float64),
                                     "id": spaces.Discrete(9)})
    render_mode = "rgb_array"

    def __init__(self, actions="box"):
        self.action_space, self.gravity = ACTIONS[actions], 9.8

    def _see(self):
        return {"where": self.np_random.random((2, 3)), "id": self.np_random.integers(9)}

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.tick, self.last = 0, (options or {}).get("last", 5)
        return self._see(), {"options": options}

    def step(self, action):
        self.tick += 1
        over, cut = self.tick == self.last, bool(self.np_random.random() < 0.2)
        return self._see(), float(np.sum(action)) / 3, over, cut, {"tick": self.tick}

    def render(self):
        return np.full((2, 2, 3), self.tick, np.uint8)

    def weight(self, times=1.0, *, plus=0.0):
        return self.gravity * times + plus


def same(ours, theirs):
    return data_equivalence(ours, theirs, exact=True)


@pytest.mark.parametrize("actions", some_or_all(ACTIONS, 0))
@pytest.mark.parametrize("workers", some_or_all([1, 3], 1))
def test_it_returns_what_dummyvecenv_returns(actions, workers):
    made = [lambda: Short(actions)] * 4
    ours, theirs = SB3Vector(made, workers=workers), DummyVecEnv(made)
    endings = {True: 0, False: 0}
    try:
        for envs in (ours, theirs):
            envs.seed(3)
            envs.set_options([{"last": last} for last in (2, 3, 4, 5)])
        for _ in range(2):              # the second has neither seeds nor options
            assert same(dict(ours.reset()), dict(theirs.reset()))
            assert ours.reset_infos == theirs.reset_infos
            for _ in range(12):
                acts = [theirs.action_space.sample() for _ in range(4)]
                found, other = ours.step(acts), theirs.step(np.array(acts))
                assert same(dict(found[0]), dict(other[0]))
                assert all(same(*pair) for pair in zip(found[1:3], other[1:3]))
                assert same(list(found[3]), list(other[3]))
                assert ours.reset_infos == theirs.reset_infos
                for done, info in zip(found[2], found[3]):
                    endings[info["TimeLimit.truncated"]] += bool(done)
        assert min(endings.values()) > 0
    finally:
        ours.close()


@long_only
def test_single_environments_are_asked_and_told():
    envs = SB3Vector([Short, lambda: Monitor(Short()), Short], workers=2)
    try:
        envs.reset()
        envs.set_attr("gravity", 2.0, indices=[0, -1])
        assert envs.get_attr("gravity") == [2.0, 9.8, 2.0]
        assert envs.get_attr("gravity", indices=1) == [9.8]
        assert envs.env_method("weight", 3.0, indices=[2, 0], plus=1.0) == [7.0, 7.0]
        assert envs.env_is_wrapped(Monitor) == [False, True, False]
        assert envs.has_attr("gravity") and not envs.has_attr("levity")
        envs.set_attr("tick", 7, indices=2)
        assert [frame.max() for frame in envs.get_images()] == [0, 0, 7]
        assert envs.render().shape == (4, 4, 3)
    finally:
        envs.close()


@long_only
def test_a_call_that_fails_is_raised_and_the_environments_live_on():
    envs = SB3Vector([Short] * 3, workers=2)
    try:
        envs.reset()
        with pytest.raises(AttributeError, match="levity"):
            envs.get_attr("levity")
        with pytest.raises(TypeError) as caught:
            envs.env_method("weight", "heavy", indices=1)
        assert "in weight" in str(caught.value.__cause__)
        assert envs.step(np.zeros((3, 2), np.float32))[2].shape == (3,)
    finally:
        envs.close()


@long_only
def test_a_pending_step_is_closed_with_the_rest():
    envs = SB3Vector([Short] * 2)
    envs.reset()
    envs.step_async(np.zeros((2, 2), np.float32))
    envs.close()
    envs.close()
    assert envs.vector.closed


@long_only
def test_one_environment_for_two_places_is_refused():
    env = Short()
    for kind in (SB3Vector, Vector):
        with pytest.raises(ValueError, match="the same environment"):
            kind([lambda: env] * 3, workers=2)
    with pytest.raises(ValueError, match="cannot find context"):
        SB3Vector([Short], start_method="teleport")


def test_its_wrappers_and_ppo_run_on_it():
    envs = make_vec_env("CartPole-v1", 4, seed=1, vec_env_cls=SB3Vector)
    wrapped = VecFrameStack(VecNormalize(envs), 2)
    model = PPO("MlpPolicy", wrapped, n_steps=64, batch_size=64, n_epochs=1, seed=1)
    model.learn(512)
    assert len(model.ep_info_buffer) > 10 and envs.env_is_wrapped(Monitor) == [True] * 4
    envs.close()
