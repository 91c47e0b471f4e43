"""C environments as Gymnasium's: its own checkers, seeds, endings, all three ways to begin anew."""
import subprocess
import sys

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from gymnasium.utils.env_match import check_environments_match
from gymnasium.vector import AutoresetMode
from helpers.places import ROOT, SPECIMENS

import puffer_sdk
from puffer_sdk.base.errors import UsageError

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning:gymnasium")
MODES = ("next_step", "same_step", "disabled")


@pytest.mark.parametrize("name, layout", [
    ("cartpole", "row"), ("pendulum", "row"), ("pong", "row"), ("breakout", "dict")])
def test_gymnasiums_checker_finds_nothing(name, layout):
    check_env(puffer_sdk.to_gymnasium(name, observations=layout), skip_render_check=True)


def test_a_picture_of_bytes_is_a_box_of_its_shape():
    space = puffer_sdk.to_parallel("snake").observation_space("agent_0")
    assert (space.shape, space.dtype, int(space.high.max())) == ((11, 11), np.uint8, 4)


class Begun(gymnasium.Wrapper):
    """Gymnasium's environment, with episodes that begin as ours do."""

    def __init__(self, env, other, state):
        super().__init__(env)
        self.other, self.state = other, state
        self.observation_space = other.observation_space

    def reset(self, *, seed=None, options=None):
        _, info = self.env.reset(seed=seed)
        first, _ = self.other.reset(seed=seed)
        self.unwrapped.state = self.state(first.astype(np.float64))
        return first, info


def theirs(name, other, state, **wrapped):
    env = Begun(gymnasium.make(name), other, state)
    if "action" in wrapped:
        env = gymnasium.wrappers.RescaleAction(env, *wrapped["action"])
    return gymnasium.wrappers.TransformReward(env, lambda reward: float(np.float32(
        reward * wrapped["reward"])))


def test_cartpole_is_gymnasiums_cartpole():
    ours, twin = puffer_sdk.to_gymnasium("cartpole"), puffer_sdk.to_gymnasium("cartpole")
    reward = ours.step(ours.reset(seed=0) and 0)[1]
    check_environments_match(theirs("CartPole-v1", twin, lambda first: first, reward=reward), ours,
                             300, seed=7, info_comparison="skip")


def test_pendulum_is_gymnasiums_pendulum():
    ours, twin = puffer_sdk.to_gymnasium("pendulum"), puffer_sdk.to_gymnasium("pendulum")

    def state(first):
        return np.array([np.arctan2(first[1], first[0]), first[2] * 8.0])
    env = theirs("Pendulum-v1", twin, state, reward=1.0, action=(-1.0, 1.0))
    ours.reset(seed=3)
    env.reset(seed=3)
    scale = []
    for _ in range(150):
        action = ours.action_space.sample()
        seen, reward, over, cut, _ = ours.step(action)
        other, their_reward, *_ = env.step(action)
        other[2] /= 8.0
        assert np.allclose(seen, other, atol=2e-3) and not over and not cut
        scale.append(reward / their_reward)
    assert np.ptp(scale) < 0.01 * np.mean(scale)        # the same rewards, in another unit


# ---- seeds and endings ----------------------------------------------------------------------

@pytest.mark.parametrize("mode", MODES)
def test_many_play_what_each_would_play_alone(mode):
    rng, count = np.random.default_rng(1), 3
    alone = [puffer_sdk.to_gymnasium("cartpole") for _ in range(count)]
    envs = puffer_sdk.to_vector("cartpole", count, autoreset=mode)
    assert envs.metadata["autoreset_mode"] == envs.autoreset_mode == AutoresetMode[mode.upper()]
    seen, _ = envs.reset(seed=5)
    assert np.array_equal(seen, [env.reset(seed=5 + at)[0] for at, env in enumerate(alone)])
    waiting, endings = np.zeros(count, bool), 0
    for _ in range(150):
        if mode == "disabled" and waiting.any():
            begun = envs.reset(options={"reset_mask": waiting})[0]
            for at in np.flatnonzero(waiting):
                assert np.array_equal(begun[at], alone[at].reset()[0])
            assert np.array_equal(begun[~waiting], seen[~waiting])
            waiting[:] = False
        actions = rng.integers(2, size=count)
        seen, rewards, over, cut, infos = envs.step(actions)
        for at, env in enumerate(alone):
            if waiting[at]:             # next_step: this step only begins the next episode
                assert np.array_equal(seen[at], env.reset()[0])
                assert (rewards[at], over[at], cut[at]) == (0, False, False)
                waiting[at] = False
                continue
            last, reward, ended, late, info = env.step(actions[at])
            assert (reward, ended, late) == (rewards[at], over[at], cut[at])
            if ended or late:
                endings += 1
                logged = infos["final_info"] if mode == "same_step" else infos
                assert logged["episode_length"][at] == info["episode_length"]
                if mode == "same_step":
                    assert np.array_equal(infos["final_obs"][at], last)
                    last = env.reset()[0]
                else:
                    waiting[at] = True
            assert np.array_equal(seen[at], last)
    assert endings > 5


class Beside:
    """Copies of a vector with autoreset="disabled", and what each plays alone."""

    def __init__(self, env, count, **options):
        self.envs = puffer_sdk.to_vector(env, count, autoreset="disabled", **options)
        self.alone = [puffer_sdk.to_gymnasium(env) for _ in range(count)]
        self.waiting, self.endings = np.zeros(count, bool), 0
        self.seen, _ = self.envs.reset(seed=5)
        self.last = [each.reset(seed=5 + at)[0] for at, each in enumerate(self.alone)]
        self.compare()

    def compare(self):
        for ours, theirs in zip(self.seen, self.last):
            assert np.array_equal(ours, theirs)

    def begin(self, mask, seeds):
        self.seen, infos = self.envs.reset(seed=seeds, options={"reset_mask": mask})
        for at in np.flatnonzero(mask).tolist():
            seed = None if seeds is None else seeds + at if isinstance(seeds, int) else seeds[at]
            self.last[at], info = self.alone[at].reset(seed=seed)
            assert "action_mask" not in info or np.array_equal(infos["action_mask"][at],
                                                               info["action_mask"])
        self.waiting &= ~mask
        self.compare()

    def play(self, steps):
        for _ in range(steps):
            if self.waiting.any():
                self.begin(self.waiting.copy(), None)
            actions = [self.envs.single_action_space.sample() for _ in self.alone]
            self.seen, rewards, over, cut, _ = self.envs.step(np.array(actions))
            for at, env in enumerate(self.alone):
                self.last[at], *theirs, _ = env.step(actions[at])
                assert theirs == [rewards[at], over[at], cut[at]]
            self.waiting = over | cut
            self.endings += int(self.waiting.sum())
            self.compare()


@pytest.mark.parametrize("env", ["cartpole", "breakout", SPECIMENS / "ocean" / "nim",
                                 SPECIMENS / "correct" / "quarry"], ids=str)
def test_single_copies_are_given_seeds(env):
    """Each then plays what one alone plays with its seed; nim calls rand(), quarry allocates."""
    beside = Beside(env, 3)
    beside.envs.single_action_space.seed(1)
    beside.play(9)
    beside.begin(np.array([False, True, False]), [1, 90, 2])
    beside.play(30)
    beside.begin(np.array([True, False, True]), [90, 1, None])
    beside.play(30)
    beside.begin(np.array([True, True, False]), 40)
    beside.play(200)
    assert beside.endings > 2
    beside.envs.close()


def test_a_copy_that_draws_is_given_a_seed():
    envs = puffer_sdk.to_vector("breakout", 2, autoreset="disabled", render_mode="rgb_array")
    alone = puffer_sdk.to_gymnasium("breakout", render_mode="rgb_array")
    envs.reset(seed=1)
    alone.reset(seed=8)
    for drawn in (False, True, True):           # a copy is closed only if it has drawn
        envs.step([1, 2])
        envs.reset(seed=[8, 9], options={"reset_mask": np.ones(2, bool)})
        if drawn:
            assert np.array_equal(envs.vec.frame(0), alone.render())
    assert np.array_equal(envs.render()[0], alone.render())
    envs.close()


def test_copies_that_are_made_all_at_once_cannot_be():
    envs = puffer_sdk.to_vector(SPECIMENS / "correct" / "convoy", 1, autoreset="disabled")
    seen, _ = envs.reset(seed=1)
    with pytest.raises(UsageError, match="all envs at once"):
        envs.reset(seed=2, options={"reset_mask": np.ones(1, bool)})
    assert envs.step(np.zeros(1, int))[0].shape == seen.shape


def test_threads_and_lists_of_seeds_change_nothing():
    def play(seed, **options):
        with_seed = puffer_sdk.to_vector("breakout", 6, autoreset="same_step", **options)
        rows = [with_seed.reset(seed=seed)[0]]
        rows += [with_seed.step(np.full(6, tick % 3))[0] for tick in range(80)]
        return np.array(rows)

    first = play(11)
    assert np.array_equal(first, play([11, 12, 13, 14, 15, 16]))
    assert np.array_equal(first, play(11, threads=3))
    assert not np.array_equal(first, play(12))


def test_without_a_seed_no_two_runs_are_alike_and_reset_goes_on():
    env = puffer_sdk.to_gymnasium("cartpole")
    other = puffer_sdk.to_gymnasium("cartpole")
    assert not np.array_equal(env.reset()[0], other.reset()[0])
    first, second = env.reset(seed=4)[0], env.reset()[0]
    assert not np.array_equal(first, second)
    assert np.array_equal(env.reset(seed=4)[0], first) and np.array_equal(env.reset()[0], second)


def test_what_is_handed_out_stays_as_it_was():
    envs = puffer_sdk.to_vector("cartpole", 2)
    first, _ = envs.reset(seed=0)
    kept = first.copy()
    seen, rewards, *_ = envs.step([0, 1])
    envs.step([0, 1])
    assert np.array_equal(first, kept) and not np.array_equal(seen, first)
    shared = puffer_sdk.to_vector("cartpole", 2, autoreset="same_step", copy=False)
    assert shared.reset(seed=0)[0].base is shared.step([0, 1])[0].base


def test_a_time_limit_truncates():
    env = puffer_sdk.to_gymnasium("pendulum", env_settings={"max_steps": 3})
    env.reset(seed=0)
    flags = [env.step(env.action_space.sample())[2:4] for _ in range(3)]
    assert flags == [(False, False), (False, False), (False, True)]


# ---- names ----------------------------------------------------------------------------------

def test_gymnasium_makes_them_by_name():
    env = gymnasium.make("puffer/cartpole")
    assert env.reset(seed=1)[0].shape == (4,)
    envs = gymnasium.make_vec("puffer/breakout", num_envs=3)
    assert envs.metadata["autoreset_mode"] == AutoresetMode.NEXT_STEP
    assert envs.step(envs.reset(seed=1) and envs.action_space.sample())[0].shape == (3, 119 - 1)
    wrapped = gymnasium.wrappers.vector.RecordEpisodeStatistics(
        gymnasium.make_vec("puffer/cartpole", num_envs=4))
    wrapped.reset(seed=0)
    lengths = []
    for _ in range(120):
        *_, infos = wrapped.step(np.ones(4, int))
        if "episode" in infos:
            lengths += infos["episode"]["l"][infos["_episode"]].tolist()
            assert infos["episode_length"][infos["_episode"]].tolist() == \
                infos["episode"]["l"][infos["_episode"]].tolist()
    assert len(lengths) > 20


def test_a_folder_of_ones_own_gets_a_name(squared):
    name = puffer_sdk.register(squared)
    assert name == "puffer/squared"
    try:
        env = gymnasium.make(name)
        assert env.reset(seed=0)[0] in env.observation_space
    finally:
        del gymnasium.registry[name]


@pytest.mark.parametrize("program", ["""
import sys, puffer_sdk
assert "gymnasium" not in sys.modules
import gymnasium
assert "puffer/pong" in gymnasium.registry
assert type(gymnasium.__spec__.loader).__name__ == "SourceFileLoader"
""", """
import gymnasium, puffer_sdk
assert "puffer/pong" in gymnasium.registry
"""])
def test_names_come_with_the_later_import_and_the_package_imports_nothing(program):
    subprocess.run([sys.executable, "-c", program], check=True, cwd=ROOT)


# ---- pictures -------------------------------------------------------------------------------

def test_it_draws_what_it_plays_though_others_were_opened_without():
    puffer_sdk.to_gymnasium("breakout").reset(seed=0)       # a raylib that draws nothing is open
    env = gymnasium.make("puffer/breakout", render_mode="rgb_array")
    assert env.metadata["render_modes"] == ["rgb_array", "human"]
    env.reset(seed=1)
    first = env.render()
    assert first.dtype == np.uint8 and first.ndim == 3 and first.std() > 10
    for _ in range(40):
        env.step(1)
    assert not np.array_equal(env.render(), first)
    env.reset(seed=1)
    assert np.array_equal(env.render(), first)
    env.close()
    envs = puffer_sdk.to_vector("breakout", 2, render_mode="rgb_array")
    envs.reset(seed=1)
    frames = envs.render()
    assert len(frames) == 2 and np.array_equal(frames[0], first)
    envs.close()


def test_human_opens_a_window_and_every_step_draws(display, monkeypatch):
    monkeypatch.setenv("DISPLAY", display.env["DISPLAY"])
    env = gymnasium.make("puffer/breakout", render_mode="human")
    env.reset(seed=1)
    begun = display.wait_for(lambda pixels: pixels if pixels.std() > 10 else None)
    for _ in range(40):
        env.step(1)
    display.wait_for(lambda pixels: not np.array_equal(pixels, begun))
    env.close()


# ---- refused --------------------------------------------------------------------------------

@pytest.mark.parametrize("call, words", [
    (lambda: puffer_sdk.to_gymnasium("snake"), "has one agent"),
    (lambda: puffer_sdk.to_vector("snake", 1, autoreset="next_step"), "must be 'same_step'"),
    (lambda: puffer_sdk.to_vector("pong", 1, autoreset="later"), "autoreset cannot be"),
    (lambda: puffer_sdk.to_vector("pong", 1, copy=False), "copy=False needs"),
    (lambda: puffer_sdk.to_vector("pong", 0), "num_envs cannot be"),
    (lambda: puffer_sdk.to_gymnasium("pong", render_mode="ansi"), "render_mode cannot be"),
    (lambda: puffer_sdk.to_gymnasium("pong", observations="tree"), "observations cannot be"),
    (lambda: puffer_sdk.to_gymnasium("nothing_like_it"), "no environment called"),
    (lambda: puffer_sdk.to_gymnasium("pong").step(0), "no episode to step"),
    (lambda: puffer_sdk.to_vector("pong", 2).reset(seed=[1]), "a seed for each copy"),
    (lambda: puffer_sdk.to_vector("pong", 2).reset(
        options={"reset_mask": np.ones(2, bool)}), "reset_mask is for"),
])
def test_what_cannot_be_is_said(call, words):
    with pytest.raises(UsageError, match=words):
        call()


@pytest.mark.parametrize("actions", [[3, 0], [-1, 0], [0], [0, 0, 0], [np.nan, 0]])
def test_actions_that_c_would_index_with_are_refused(actions):
    envs = puffer_sdk.to_vector("pong", 2)
    envs.reset(seed=0)
    with pytest.raises(UsageError, match="does not exist|another shape"):
        envs.step(actions)


def test_what_is_not_installed_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "stable_baselines3.common.vec_env", None)
    monkeypatch.setitem(sys.modules, "stable_baselines3", None)
    monkeypatch.delitem(sys.modules, "puffer_sdk.adapters.sb3", raising=False)
    with pytest.raises(UsageError, match="stable_baselines3 is not installed") as caught:
        puffer_sdk.to_sb3("pong", 1)
    assert "pip install 'puffer-sdk[sb3]'" in caught.value.hint


def test_a_project_elsewhere_is_found_by_its_folder():
    assert puffer_sdk.to_gymnasium(ROOT / "examples" / "pong").opened.name
