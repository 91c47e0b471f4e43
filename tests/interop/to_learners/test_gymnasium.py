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
from helpers.short_or_long import some_or_all

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


def test_cartpole_is_gymnasiums_cartpole():
    ours, twin = puffer_sdk.to_gymnasium("cartpole"), puffer_sdk.to_gymnasium("cartpole")
    reward = ours.step(ours.reset(seed=0) and 0)[1]
    env = Begun(gymnasium.make("CartPole-v1"), twin, lambda first: first)
    env = gymnasium.wrappers.TransformReward(env, lambda theirs: float(np.float32(
        theirs * reward)))
    check_environments_match(env, ours, 300, seed=7, info_comparison="skip")


def swung(twin):
    """Gymnasium's pendulum with our units: the speed as a fraction, the action as one."""
    def state(first):
        return np.array([np.arctan2(first[1], first[0]), first[2] * 8.0])
    env = gymnasium.wrappers.TransformObservation(
        gymnasium.make("Pendulum-v1"), lambda row: (row / [1, 1, 8]).astype(np.float32),
        twin.observation_space)
    return gymnasium.wrappers.RescaleAction(Begun(env, twin, state), np.float32(-1), np.float32(1))


@pytest.mark.parametrize("seed", [3, 4, 5])
def test_pendulum_is_gymnasiums_pendulum(seed):
    """But for rewards, which are in another unit: each is the same part of theirs."""
    ours, twin = puffer_sdk.to_gymnasium("pendulum"), puffer_sdk.to_gymnasium("pendulum")
    check_environments_match(swung(twin), ours, 40, seed=seed, skip_rew=True,
                             info_comparison="skip")
    env, scale = swung(twin), []
    ours.reset(seed=seed)
    env.reset(seed=seed)
    for _ in range(150):
        action = ours.action_space.sample()
        seen, reward, over, cut, _ = ours.step(action)
        other, their_reward, *_ = env.step(action)
        assert np.allclose(seen, other, atol=2e-3) and not over and not cut
        scale.append(reward / their_reward)
    assert np.allclose(scale, 1 / 16, rtol=0.01)


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


@pytest.mark.parametrize("env", some_or_all(["cartpole", "breakout", SPECIMENS / "ocean" / "nim",
                                 SPECIMENS / "correct" / "quarry"], 0, 2), ids=str)
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


@pytest.mark.parametrize("env", ["cartpole", "target"])
def test_actions_of_any_type_do_the_same(env, target):
    """Whole numbers of 64 bits have a way of their own into C."""
    env, rows = target if env == "target" else env, []
    for kind in (np.int64, np.int32, np.float32, list):
        envs = puffer_sdk.to_vector(env, 2, autoreset="same_step")
        rows.append([envs.reset(seed=1)[0]])
        envs.action_space.seed(1)
        for _ in range(30):
            actions = envs.action_space.sample()
            assert actions.dtype == np.int64
            given = actions.tolist() if kind is list else actions.astype(kind)
            rows[-1].append(envs.step(given)[0])
        strided = np.repeat(actions, 2, axis=0)[::2]
        assert not strided.flags.c_contiguous
        rows[-1].append(envs.step(strided)[0])
    assert all(np.array_equal(rows[0], each) for each in rows)
    assert len(np.unique(rows[0], axis=0)) > 20


@pytest.mark.parametrize("finals", [False, True])
def test_with_the_same_arrays_each_time_all_is_said_as_with_copies(finals, probe):
    """final_obs too, where the library keeps no final observation: that before the last step."""
    env = "breakout" if finals else probe()
    played = []
    for copy in (True, False):
        envs, seen = puffer_sdk.to_vector(env, 5, autoreset="same_step", copy=copy), []
        seen.append(envs.reset(seed=2)[0].copy())
        envs.action_space.seed(3)
        arrays, endings = [], 0
        for _ in range(150):
            *found, infos = envs.step(envs.action_space.sample())
            arrays.append([id(array.base if array.base is not None else array)
                           for array in found])
            seen += [array.copy() for array in found]
            if "final_obs" in infos:
                ended = infos["_final_obs"]
                assert np.array_equal(ended, found[2] | found[3])
                assert np.array_equal(ended, infos["_final_info"])
                assert [final is not None for final in infos["final_obs"]] == ended.tolist()
                seen.append(np.array(list(infos["final_obs"][ended])))
                seen += [infos["final_info"][name] for name in envs.vec.description.log_names]
                endings += int(ended.sum())
        assert endings > 3 and (len({*map(tuple, arrays)}) == 1) == (not copy)
        played.append(seen)
    assert all(np.array_equal(a, b) for a, b in zip(*played, strict=True))


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


def test_a_folder_of_ones_own_is_made_many(squared):
    name = puffer_sdk.register(squared, "mine/squared")
    try:
        envs = gymnasium.make_vec(name, num_envs=3, autoreset="same_step")
        alone = gymnasium.make(name)
        assert envs.reset(seed=4)[0].shape == (3, *alone.observation_space.shape)
        assert np.array_equal(envs.reset(seed=4)[0][2], alone.reset(seed=6)[0])
        assert envs.metadata["autoreset_mode"] == AutoresetMode.SAME_STEP
        assert envs.step(envs.action_space.sample())[0] in envs.observation_space
        envs.close()
        alone.close()
    finally:
        del gymnasium.registry[name]


# ---- parts, masks, and who is there ----------------------------------------------------------

def test_a_dict_has_the_names_and_numbers_of_the_header():
    rows = puffer_sdk.to_vector("breakout", 2, autoreset="same_step")
    parts = puffer_sdk.to_vector("breakout", 2, autoreset="same_step", observations="dict")
    names = ["paddle_x", "paddle_y", "ball_x", "ball_y", "ball_vx", "ball_vy", "fired", "score",
             "balls", "paddle_width", "bricks"]
    space = parts.single_observation_space
    assert {*space} == {*names} and space["bricks"].shape == (108,)
    assert (space["ball_x"].low, space["ball_vx"].low, space["ball_vx"].high) == (0, -1, 1)
    row, found = rows.reset(seed=1)[0], parts.reset(seed=1)[0]
    for _ in range(90):
        assert found in parts.observation_space
        for at, name in enumerate(names):
            assert np.array_equal(found[name], row[:, at:at + 1] if at < 10 else row[:, 10:]), name
        row, found = rows.step([1, 2])[0], parts.step([1, 2])[0]
    alone = puffer_sdk.to_gymnasium("breakout", observations="dict")
    assert {*alone.reset(seed=1)[0]} == {*names}


def test_final_observations_are_dicts_too():
    rows = puffer_sdk.to_vector("cartpole", 2, autoreset="same_step")
    parts = puffer_sdk.to_vector("cartpole", 2, autoreset="same_step", observations="dict")
    endings = 0
    for each in (rows, parts):
        each.reset(seed=1)
    for _ in range(60):
        *_, infos = rows.step([1, 1])
        *_, told = parts.step([1, 1])
        for env in np.flatnonzero(infos.get("_final_obs", [])):
            endings += 1
            final = told["final_obs"][env]
            assert [*final] == ["x", "x_speed", "theta", "theta_speed"]
            assert np.array_equal(np.concatenate([*final.values()]), infos["final_obs"][env])
    assert endings > 5


def test_what_lies_between_the_names_has_one_too(probe):
    env = puffer_sdk.to_gymnasium(probe(("#define OBS_SIZE 2", "enum { OBS_DID = 1 };\n"
                                         "#define OBS_SIZE 2"),
                                        ("observations[2 * a + 1]", "observations[2 * a + OBS_DID]"
                                         )), observations="dict")
    assert {name: space.shape for name, space in env.observation_space.items()} == {
        "rest_0": (1,), "did": (1,)}
    env.reset(seed=0)
    seen = env.step(2)[0]
    assert (seen["rest_0"], seen["did"]) == (1, 2)


def test_masks_are_in_the_infos_of_each_step():
    """Whoever obeys them stays on the ladder; the mask of a vector's env is that of one alone."""
    ladder = SPECIMENS / "correct" / "ladder"
    envs = puffer_sdk.to_vector(ladder, 3, autoreset="same_step")
    alone = puffer_sdk.to_gymnasium(ladder)
    _, infos = envs.reset(seed=4)
    _, info = alone.reset(seed=5)
    draw, seen = np.random.default_rng(0), set()
    for _ in range(120):
        masks = infos["action_mask"]
        assert masks.dtype == np.int8 and masks.shape == (3, 3) and infos["_action_mask"].all()
        assert np.array_equal(masks[1], info["action_mask"])
        seen.add(tuple(masks[1].tolist()))
        actions = np.array([draw.choice(np.flatnonzero(mask)) for mask in masks])
        *_, infos = envs.step(actions)
        *_, ended, _, info = alone.step(actions[1])
        if ended:
            _, info = alone.reset()
    assert len(seen) > 3
    alone.action_space.seed(0)
    assert info["action_mask"][alone.action_space.sample(info["action_mask"])]


def test_who_is_there_stands_in_the_infos():
    """Fighters that fell are away for a while, and see nothing: their rows are NaN."""
    envs = puffer_sdk.to_vector(SPECIMENS / "correct" / "battle", 2)
    rows, infos = envs.reset(seed=3)
    counts = set()
    for _ in range(150):
        assert infos["alive"].dtype == bool and infos["_alive"].all()
        assert np.array_equal(infos["alive"], ~np.isnan(rows).any(1))
        counts.add(int(infos["alive"].sum()))
        actions = np.where(infos["alive"], envs.action_space.sample(), 0)
        rows, *_, infos = envs.step(actions)
    assert len(counts) > 2
    assert "alive" not in puffer_sdk.to_vector("snake", 1).reset(seed=0)[1]


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
    envs = puffer_sdk.to_vector("breakout", 2, render_mode="rgb_array", autoreset="same_step")
    plain = puffer_sdk.to_vector("breakout", 2, autoreset="same_step")
    envs.reset(seed=1)
    plain.reset(seed=1)
    endings = 0
    for _ in range(90):                     # drawn copies are in another process
        (*seen, infos), (*theirs, told) = envs.step([1, 2]), plain.step([1, 2])
        assert all(np.array_equal(a, b) for a, b in zip(seen, theirs))
        assert infos.keys() == told.keys()
        for name, values in told.get("final_info", {}).items():
            endings += 1
            assert np.array_equal(values, infos["final_info"][name]), name
    assert endings
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
    with pytest.raises(UsageError, match="does not exist|wrong shape"):
        envs.step(actions)


def test_what_is_not_installed_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "stable_baselines3.common.vec_env", None)
    monkeypatch.setitem(sys.modules, "stable_baselines3", None)
    monkeypatch.delitem(sys.modules, "puffer_sdk.interop.to_learners.sb3_vec_env", raising=False)
    with pytest.raises(UsageError, match="stable_baselines3 is not installed") as caught:
        puffer_sdk.to_sb3("pong", 1)
    assert "pip install 'puffer-sdk[sb3]'" in caught.value.hint


def test_a_project_elsewhere_is_found_by_its_folder():
    assert puffer_sdk.to_gymnasium(ROOT / "examples" / "pong").opened.name
