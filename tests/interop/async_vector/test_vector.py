"""puffer_sdk.vector.Vector: what Gymnasium's own vectors return, to the byte."""
import os
import signal
import time

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.utils.env_checker import data_equivalence
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from helpers.short_or_long import some_or_all

import puffer_sdk
from puffer_sdk.vector import OldInfos, Vector


class Odd(gymnasium.Env):
    """Nested spaces of several types, infos now and then, and short episodes."""

    metadata = {"render_modes": ["rgb_array"]}
    observation_space = spaces.Dict({
        "where": spaces.Box(-1, 1, (2, 3), np.float64), "id": spaces.Discrete(9, start=-3),
        "both": spaces.Tuple([spaces.MultiBinary(3), spaces.MultiDiscrete([2, 5])])})
    action_space = spaces.Tuple([spaces.Discrete(4), spaces.Box(-1, 1, (2,), np.float32)])
    gravity, render_mode = 9.8, "rgb_array"

    def _see(self):
        rng = self.np_random
        return {"where": rng.random((2, 3)), "id": np.int64(rng.integers(-3, 6)),
                "both": (rng.integers(0, 2, 3, np.int8), rng.integers(0, 2, 2))}

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.tick = 0
        return self._see(), {"began": True} if options else {}

    def step(self, action):
        self.tick += 1
        info = {"tick": self.tick, "word": "third"} if self.tick % 3 == 0 else {}
        return (self._see(), float(action[0]) + float(action[1][0]), self.tick == 5,
                bool(self.np_random.random() < 0.1), info)

    def render(self):
        return np.full((2, 2, 3), self.tick, np.uint8)


def same(ours, theirs):
    return data_equivalence(ours, theirs, exact=True)


@pytest.mark.parametrize("mode", some_or_all([AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP], 0))
@pytest.mark.parametrize("workers, shared", [(1, True), (3, True), (3, False)])
def test_it_returns_what_gymnasiums_own_returns(mode, workers, shared):
    made = [Odd] * 4
    theirs = SyncVectorEnv(made, autoreset_mode=mode)
    ours = Vector(made, shared, autoreset_mode=mode, workers=workers)
    try:
        assert (ours.observation_space, ours.action_space) == (
            theirs.observation_space, theirs.action_space)
        found, other = (envs.reset(seed=3, options={"x": 1}) for envs in (ours, theirs))
        assert same(found[0], other[0]) and same(found[1], other[1])
        for _ in range(25):
            actions = theirs.action_space.sample()
            found, other = ours.step(actions), theirs.step(actions)
            assert all(same(a, b) for a, b in zip(found, other))
        assert found[0] in ours.observation_space
    finally:
        ours.close()


def test_an_env_can_be_asked_and_told():
    envs = Vector([Odd] * 3, workers=2)
    try:
        envs.reset(seed=0)
        assert envs.np_random_seed == (0, 1, 2)
        envs.set_attr("gravity", [1.0, 2.0, 3.0])
        assert envs.get_attr("gravity") == (1.0, 2.0, 3.0)
        envs.step(envs.action_space.sample())
        assert [frame.max() for frame in envs.render()] == [1, 1, 1]
    finally:
        envs.close()


class Failing(Odd):
    def step(self, action):
        if action[0] == 3:
            raise LookupError("no such lever")
        if action[0] == 2:
            os.kill(os.getpid(), signal.SIGKILL)
        return super().step(action)


def acts(*heads):
    return np.array(heads), np.zeros((len(heads), 2), np.float32)


def test_what_an_env_raises_is_raised_and_a_death_is_named_in_a_second():
    envs = Vector([Failing] * 4, workers=2)
    envs.reset(seed=0)
    with pytest.raises(LookupError, match="no such lever") as caught:
        envs.step(acts(0, 0, 0, 3))
    assert "in step" in str(caught.value.__cause__) and "env 3" in caught.value.__notes__[0]
    envs.close()
    envs = Vector([Failing] * 4, workers=2)
    envs.reset(seed=0)
    begun = time.monotonic()
    with pytest.raises(puffer_sdk.RunError, match="ended in step: SIGKILL") as caught:
        envs.step(acts(0, 0, 2, 0))
    assert caught.value.where == "env 2" and time.monotonic() - begun < 5
    envs.close()
    assert not any(process.alive for process in envs._workers.processes)


class Large(Odd):
    """More in an info and in an action than a socket holds."""

    action_space = spaces.Text(2_000_000)

    def step(self, action):
        found = super().step((len(action), [0.0]))
        return (*found[:4], {"picture": np.ones((600, 600)), "length": len(action)})


def test_large_infos_and_loose_actions_get_through():
    envs = Vector([Large] * 3, workers=2)
    try:
        envs.reset(seed=0)
        *_, infos = envs.step(("x" * 1_500_000, "", "y" * 700_000))
        assert infos["length"].tolist() == [1_500_000, 0, 700_000]
        assert infos["picture"].sum() == 3 * 600 * 600
    finally:
        envs.close()


@pytest.mark.parametrize("actions, error", [
    (0, TypeError), ([0, 1], ValueError), (np.zeros(4, int), ValueError)])
def test_actions_for_another_number_are_refused_and_nothing_is_lost(actions, error):
    envs = Vector([lambda: gymnasium.make("CartPole-v1")] * 3, workers=1)
    try:
        envs.reset(seed=0)
        with pytest.raises(error):
            envs.step(actions)
        assert envs.step([0, 1, 0])[0].shape == (3, 4)
    finally:
        envs.close()


def test_what_cannot_be_opened_is_said():
    with pytest.raises(RuntimeError, match="env 1 has another observation space"):
        Vector([Odd, lambda: gymnasium.make("CartPole-v1")], workers=2)
    with pytest.raises(ZeroDivisionError):
        Vector([lambda: 1 // 0])
    with pytest.raises(puffer_sdk.UsageError, match="already has workers"):
        Vector([Odd], worker=print)


def recorded():
    return gymnasium.wrappers.RecordEpisodeStatistics(gymnasium.make("CartPole-v1"))


def test_old_infos_are_those_of_gymnasium_029():
    envs = OldInfos(Vector([recorded] * 3, autoreset_mode="SameStep", workers=1))
    rows = OldInfos(gymnasium.wrappers.vector.RecordEpisodeStatistics(
        puffer_sdk.to_vector("cartpole", 3, autoreset="same_step")))
    for vector in (envs, rows):
        vector.reset(seed=0)
        ends, length = np.zeros(3, bool), 0
        while not ends.any():
            _, _, over, cut, infos = vector.step(np.zeros(3, int))
            ends, length = over | cut, length + 1
        for env, ended in enumerate(ends):
            info, last = infos["final_info"][env], infos["final_observation"][env]
            assert (info is not None, last is not None) == (ended, ended)
            assert not ended or (info["episode"]["l"] == length and last.shape == (4,))
        assert infos["_final_info"].tolist() == ends.tolist()
        vector.close()
    with pytest.raises(puffer_sdk.UsageError, match="in the same step"):
        OldInfos(puffer_sdk.to_vector("cartpole", 2))
