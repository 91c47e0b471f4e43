"""wrap(): rows, endings, seeds, masks, agents and logs, the same for any number of workers."""
import os

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces
from helpers.places import SPECIMENS
from helpers.short_or_long import long_only, some_or_all

import puffer_sdk
from puffer_sdk.base.errors import UsageError
from puffer_sdk.env.seeds import mix_seed

GAMES = SPECIMENS / "python_envs" / "games.py"
WORKERS = (0, 1, 2, 3)


def play(name, workers, ticks=40, num_envs=5, seed=7, **options):
    """All rows of a random play, and the log."""
    with puffer_sdk.wrap(name, num_envs, workers=workers, seed=seed, **options) as envs:
        return play_on(envs, ticks)


def play_on(envs, ticks=40, **reset):
    rng, seen = np.random.default_rng(0), [envs.reset(**reset).copy()]
    for _ in range(ticks):
        draw = rng.random((envs.num_agents, envs.num_atns))
        envs.actions = np.floor(draw * np.array(envs.act_sizes))
        found = envs.step()
        seen.append(np.concatenate([np.ravel(array) for array in (
            *found, envs.final_observations, envs.has_final)]))
    return seen, envs.log()


@pytest.mark.parametrize("name", some_or_all([f"{GAMES}:Count", f"{GAMES}:Rich", f"{GAMES}:Walkers",
                                  "gymnasium:CartPole-v1"], 0))
def test_the_number_of_workers_changes_no_byte(name):
    first, log = play(name, WORKERS[0])
    assert log["n"] > 0
    for workers in WORKERS[1:]:
        other, theirs = play(name, workers)
        assert theirs == log
        assert all(np.array_equal(a, b) for a, b in zip(first, other))


@pytest.mark.parametrize("workers", some_or_all([0, 2], 0))
@pytest.mark.parametrize("name", [f"{GAMES}:Count", f"{GAMES}:Rich", f"{GAMES}:Walkers",
                                  "gymnasium.vector:CartPole-v1"])
def test_reset_takes_a_new_seed(name, workers):
    """All is as in a new vec with this seed, whatever was played before: Count numbers its
    episodes, and its infos have names."""
    first, log = play(name, workers)
    with puffer_sdk.wrap(name, 5, workers=workers, seed=1) as envs:
        play_on(envs, 13)
        again, theirs = play_on(envs, seed=7)
        assert theirs == log and all(np.array_equal(a, b) for a, b in zip(first, again))
        assert envs.seed == 7 and envs.ticks == 40 and envs.restarts == 0
        assert [envs.env_seed(env) for env in range(5)] == [mix_seed(7, env) for env in range(5)]
        other, _ = play_on(envs, seed=8)
        same = all(np.array_equal(a, b) for a, b in zip(first, other))
        assert same == name.endswith("Walkers")             # which draw nothing


def test_a_new_seed_when_some_are_at_work_and_one_fails():
    with puffer_sdk.wrap(f"{GAMES}:Count", 4, workers=2, seed=1) as envs:
        envs.reset()
        envs.send()
        assert envs.reset(seed=3)[:, 1:].tolist() == [[1, 0]] * 4
        envs.send()
        assert sorted(envs.recv()) == [0, 1, 2, 3]
    keywords = {"fault": "raise", "at": 2}
    for workers in (0, 2):
        with puffer_sdk.wrap(f"{GAMES}:Count", 2, workers=workers, keywords=keywords) as envs:
            envs.reset(seed=3)
            envs.step(np.zeros(2))
            with pytest.raises(ValueError, match="no such lever"):
                envs.step(np.zeros(2))
            with pytest.raises(ValueError, match="no such lever"):
                envs.reset(seed=3)


@pytest.mark.parametrize("workers", [0, 2])
def test_a_constructor_that_fails_the_second_time_is_told(workers, tmp_path):
    class Once(gymnasium.Env):
        """Cannot be made where a file stands."""

        observation_space, action_space = spaces.Box(0, 1, (1,)), spaces.Discrete(2)

        def __init__(self, path):
            if os.path.exists(path):
                raise OSError("made once already")

        def reset(self, *, seed=None, options=None):
            return np.zeros(1, np.float32), {}

        def step(self, action):
            return np.zeros(1, np.float32), 0.0, False, False, {}

    with puffer_sdk.wrap(Once, 4, workers=workers, keywords={"path": str(tmp_path / "x")}) as envs:
        envs.reset()
        (tmp_path / "x").touch()
        with pytest.raises(OSError, match="made once already"):
            envs.reset(seed=2)
        with pytest.raises(OSError, match="made once already"):
            envs.step(np.zeros(4))


def test_spaces_hold_what_the_rows_hold():
    """Numbers between their bounds, ids as one-hot; bytes where all are bytes."""
    with puffer_sdk.wrap(f"{GAMES}:Rich", 3, workers=0) as envs:
        assert envs.reset() in envs.observation_space
        low, high = (getattr(envs.single_observation_space, name) for name in ("low", "high"))
        bounds = {leaf.path[0]: (low[leaf.first], high[leaf.first]) for leaf in envs.layout.leaves}
        assert bounds == {"where": (-2, 2), "tool": (0, 1), "bag": (0, 1), "deep": (0, 255)}
        assert envs.observation_space.shape == envs.observations.shape
        for _ in range(9):
            assert envs.step(envs.action_space.sample())[0] in envs.observation_space
    with puffer_sdk.wrap("gymnasium:Pendulum-v1", 2, workers=0) as envs:
        assert envs.action_space.shape == (2, 1) and envs.single_action_space.high[0] == 1
        assert envs.reset() in envs.observation_space
        assert envs.step(envs.action_space.sample())[0] in envs.observation_space


def test_each_env_has_a_seed_of_its_own_however_they_are_dealt():
    """PufferLib gave envs of neighbouring workers the same seeds."""
    for workers in (0, 2):
        with puffer_sdk.wrap(f"{GAMES}:Count", 8, workers=workers, seed=42) as envs:
            digits = envs.reset()[:, 0]
            seeds = [envs.env_seed(env) for env in range(8)]
        assert seeds == [mix_seed(42, env) for env in range(8)] and len({*seeds}) == 8
        assert digits.tolist() == [seed % 1000 for seed in seeds]


def test_an_ending_shows_the_next_episode_and_keeps_the_last_observation():
    with puffer_sdk.wrap(f"{GAMES}:Count", 2, workers=1, keywords={"length": 4}) as envs:
        envs.reset()
        for tick in range(1, 13):
            _, _, terminals, truncations = envs.step(np.ones(2))
            over = tick % 4 == 0
            episode = (tick - 1) // 4 + 1
            assert terminals.tolist() == [over] * 2
            assert truncations.tolist() == [over and episode == 3] * 2
            assert envs.has_final.tolist() == [over] * 2
            if over:
                assert envs.final_observations[:, 1:].tolist() == [[episode, 4]] * 2
                assert envs.observations[:, 1:].tolist() == [[episode + 1, 0]] * 2
            else:
                assert envs.observations[:, 1:].tolist() == [[episode, tick % 4]] * 2


def test_a_time_limit_of_gymnasium_is_a_truncation():
    with puffer_sdk.wrap("gymnasium:Pendulum-v1", 2, workers=0) as envs:
        envs.reset()
        ends = [tick for tick in range(1, 401) if envs.step()[2].any()]
        assert ends == [200, 400] and envs.truncations.tolist() == [1, 1]
        log = envs.log()
        assert (log["episode_length"], log["n"]) == (200, 4) and log["episode_return"] < -500
        assert np.abs(envs.final_observations).max() <= 8 and envs.has_final.all()


def test_next_step_resets_in_the_following_step_and_disabled_never():
    """With next_step the step after an ending takes no action and earns nothing."""
    with puffer_sdk.wrap(f"{GAMES}:Count", 1, workers=1, autoreset="next_step",
                         keywords={"length": 2}) as envs:
        envs.reset()
        rows = []
        for _ in range(6):
            observations, rewards, terminals, _ = envs.step([2])
            rows.append((*observations[0, 1:], rewards[0], terminals[0]))
        assert rows == [(1, 1, 2, 0), (1, 2, 2, 1), (2, 0, 0, 0),
                        (2, 1, 2, 0), (2, 2, 2, 1), (3, 0, 0, 0)]
        assert envs.log()["n"] == 2
    with puffer_sdk.wrap(f"{GAMES}:Count", 1, workers=0, autoreset="disabled",
                         keywords={"length": 2}) as envs:
        envs.reset()
        envs.step([0])
        assert envs.step([0])[0][0, 1:].tolist() == [1, 2]
        with pytest.raises(UsageError, match="was not reset"):
            envs.step([0])


def test_infos_of_an_episode_are_means_under_their_own_names():
    """Numbers only; PufferLib sent every info through a pipe."""
    with puffer_sdk.wrap(f"{GAMES}:Count", 3, workers=2, keywords={"length": 2}) as envs:
        envs.reset()
        assert envs.log() == {}
        for actions in ([0, 0, 0], [0, 1, 2], [0, 0, 0], [2, 2, 2]):
            envs.step(actions)
        assert envs.log_of(1) == {"episode_return": 1.5, "episode_length": 2, "levers": 1.5, "n": 2}
        log = envs.log()
        assert log["levers"] == 1.5 and log["n"] == 4 and envs.log() == {}


def test_agents_of_pettingzoo_come_and_go():
    """ann leaves at 3, cy joins at 2, all are cut at 5, and the next episode begins at once."""
    with puffer_sdk.wrap(f"{GAMES}:Walkers", 2, workers=2) as envs:
        envs.reset()
        assert envs.num_agents == 6 and envs.alive.tolist() == [1, 1, 0] * 2
        lived, over, cut = [], [], []
        for _ in range(5):
            envs.step(np.ones(6))
            lived.append(envs.alive[:3].tolist())
            over.append(envs.terminals[:3].tolist())
            cut.append(envs.truncations[:3].tolist())
        assert lived == [[1, 1, 0], [1, 1, 1], [0, 1, 1], [0, 1, 1], [1, 1, 0]]
        assert over == [[0, 0, 0], [0, 0, 0], [1, 0, 0], [0, 0, 0], [0, 1, 1]]
        assert cut == [[0, 0, 0], [0, 0, 0], [0, 0, 0], [0, 0, 0], [0, 1, 1]]
        assert envs.final_observations[1].tolist() == [1, 5]
        assert envs.observations[:2].tolist() == [[0, 0], [1, 0]]
        log = envs.log()
        assert log["n"] == 6 and log["left_at"] == pytest.approx((3 + 5 + 5) / 3)
        assert log["episode_length"] == pytest.approx((3 + 5 + 3) / 3)


@pytest.mark.parametrize("inside", [False, True], ids=["info", "observation"])
@pytest.mark.parametrize(("name", "copies"), [("Guess", 16), ("Guessers", 8)])
def test_masks_reach_the_sampler(name, copies, inside):
    """Both raise if a masked action comes: random play by the mask, then a training. Guessers are
    two agents of PettingZoo."""
    from puffer_sdk.env.agent_slots import random_actions

    with puffer_sdk.wrap(f"{GAMES}:{name}", copies, workers=2,
                         keywords={"in_observation": inside}) as envs:
        assert envs.obs_size == 8
        envs.reset()
        assert envs.action_mask.sum(1).tolist() == [4] * 16
        rng = np.random.default_rng(0)
        for _ in range(20):
            right, legal = envs.observations.argmax(1), envs.action_mask.reshape(16, 2, 4)
            assert (legal.any(2).argmax(1) == right // 4).all()
            envs.step(random_actions(envs, rng))
        with puffer_sdk.Trainer(envs, {"train.total_timesteps": 16 * 512, "train.horizon": 16,
                                       "train.minibatch_size": 256, "policy.hidden_size": 32,
                                       "policy.num_layers": 1}) as trainer:
            while not trainer.finished:
                trainer.rollout()
                trainer.update()
        assert envs.action_mask.sum(1).tolist() == [4] * 16


def test_who_is_done_first_is_received_first():
    """PufferLib's pool could not be reached: its sync_traj was forced."""
    with puffer_sdk.wrap(f"{GAMES}:Count", 6, workers=3) as envs:
        envs.reset()
        envs.send()
        first = envs.recv(2)
        assert len(first) in (2, 4, 6) and {*first.tolist()} <= {*range(6)}
        rest = envs.recv() if len(first) < 6 else np.array([], int)
        assert sorted([*first, *rest]) == [0, 1, 2, 3, 4, 5]
        assert envs.observations[:, 2].tolist() == [1] * 6
        envs.send(np.array([2, 3]))
        assert envs.recv().tolist() == [2, 3]
        assert envs.observations[:, 2].tolist() == [1, 1, 2, 2, 1, 1]
        with pytest.raises(UsageError, match="nothing was sent"):
            envs.recv()
        with pytest.raises(UsageError, match="whole|together"):
            envs.send(np.array([3]))
        envs.send()
        with pytest.raises(UsageError, match="sent but not received"):
            envs.step()
        envs.recv()


def test_slow_workers_do_not_hold_up_fast_ones():
    """One worker sleeps; the other one has been around several times by then."""
    with puffer_sdk.wrap(f"{GAMES}:Uneven", 2, workers=2) as envs:
        envs.reset()
        envs.send()
        rounds = 0
        while True:
            ids = envs.recv(1)
            if 0 in ids:
                break
            rounds += 1
            envs.send(ids)
        assert rounds >= 3


def test_render_is_what_the_env_returns():
    with puffer_sdk.wrap(f"{GAMES}:Count", 3, workers=2,
                         keywords={"render_mode": "rgb_array"}) as envs:
        envs.reset()
        envs.step([0, 0, 0])
        assert envs.render(2).shape == (24, 32, 3)
        envs.step([0, 0, 0])            # the lane steps on after it
        assert envs.observations[:, 2].tolist() == [2, 2, 2]


@pytest.mark.parametrize(("arguments", "says"), [
    (("gymnasium:Nothing-v0",), "Gymnasium has no environment"),
    (("gymnasium:CartPole-v7",), "has no environment"),
    (("nowhere.at.all:Env",), "there is no module"),
    (("pettingzoo:pettingzoo.butterfly.pistonball_v5",), r"did you mean .*pistonball_v\d"),
    ((f"{GAMES}:Cuont",), "has no Cuont"),
    (("no_such_file.py:Env",), "no such file"),
    (("pettingzoo:games",), "there is no module|PettingZoo has no environment"),
    (("CartPole-v1",), "not the name of an environment"),
    ((f"{GAMES}:texts",), "fixed length: Text at says"),
    ((f"{GAMES}:Count", 0), "num_envs cannot be 0"),
    ((object(),), "neither a name nor a callable"),
    (("json:dumps",), "dumps")])
def test_names_that_lead_nowhere(arguments, says):
    with pytest.raises(Exception, match=says):
        puffer_sdk.wrap(*arguments, workers=1)


def test_a_function_of_ones_own_is_sent_to_the_workers():
    limit = 3

    def make(length=limit):
        from puffer_sdk.interop.python_envs.makers import find_callable
        return find_callable(f"{GAMES}:Count")(length=length)
    with puffer_sdk.wrap(make, 2, workers=2) as envs:
        envs.reset()
        assert [bool(envs.step([0, 0])[2][0]) for _ in range(6)] == [False, False, True] * 2
    with puffer_sdk.wrap(make, 2, workers=0, keywords={"length": 2}) as envs:
        envs.reset()
        assert [bool(envs.step([0, 0])[2][0]) for _ in range(4)] == [False, True] * 2


def test_python_and_c_agree_on_a_lane():
    """Sizes, places and numbers of lanes.h, which shared.py states for NumPy."""
    from puffer_sdk.interop.python_envs import shared_rows
    from puffer_sdk.interop.python_envs.games import base
    from puffer_sdk.interop.python_envs.lanes import ffi, library

    c, lib = ffi(), library()
    assert (c.sizeof("Lane"), c.sizeof("LaneCounter")) == (
        shared_rows.LANE_BYTES, shared_rows.COUNTER_BYTES)
    at = {name: c.offsetof("Lane", name) for name in ("done", "command", "state", "env", "pulse",
                                                      "phase")}
    assert at == {"done": shared_rows.DONE_AT, "command": 4 * shared_rows.COMMAND,
                  "state": 4 * shared_rows.STATE,
                  "env": 8 * shared_rows.ENV, "pulse": 8 * shared_rows.PULSE,
                  "phase": 4 * shared_rows.PHASE}
    for name in ("STEP", "RESET", "CALL", "FINE", "RAISED", "DEAD", "SILENT", "LATE", "REPLACED"):
        assert getattr(lib, f"LANE_{name}") == getattr(shared_rows, name)
    assert [c.offsetof("Lane", name) for name in ("go", "done")] == [
        4 * shared_rows.GO, 4 * shared_rows.DONE]
    assert lib.PUFFER_RESET == shared_rows.RESETS == base.RESET


@long_only
def test_more_workers_than_envs_or_cores_are_fine():
    """PufferLib refused more workers than cores."""
    with puffer_sdk.wrap(f"{GAMES}:Count", 3, workers=24) as envs:
        assert envs.num_workers == 3
        envs.reset()
        envs.step([1, 1, 1])
    with puffer_sdk.wrap(f"{GAMES}:Count", 8, workers=8) as envs:
        envs.reset()
        assert envs.step(np.ones(8))[1].tolist() == [1] * 8


def test_the_programs_of_the_guide_run(tmp_path, monkeypatch):
    """docs/guides/python.md, its Python blocks as they stand; the ini is one."""
    from helpers.places import ROOT
    from helpers.sessions import blocks

    page = ROOT / "docs" / "guides" / "python.md"
    monkeypatch.chdir(tmp_path)
    programs = blocks(page, "python")
    room, *programs = programs
    assert len(programs) == 4 and room.startswith("# room.py")      # test_layouts.py runs it
    for program in programs:
        exec(program, {})
    from puffer_sdk.interop.python_envs import env_source
    assert f"{env_source.DEFAULTS['train.total_timesteps']:,} steps" in page.read_text()
    text, *_ = blocks(page, "ini")      # the last one: sweeping/test_sweep_python.py
    (tmp_path / "given.ini").write_text(text)
    config = env_source.find("gymnasium:CartPole-v1").resolve(ini=tmp_path / "given.ini")
    assert config.env["sutton_barto_reward"] is True and config.vec.num_workers == 4


def test_the_wrapper_of_the_benchmarks_page_fits_an_old_environment():
    """docs/why/bridges.md shows how an environment of four values is named."""
    from gymnasium import spaces
    from helpers.places import ROOT
    from helpers.sessions import blocks

    class Old:
        def reset(self):
            return np.zeros(2, np.float32)

        def step(self, action):
            return np.full(2, action, np.float32), 1.0, action == 1, {}

    names = {}
    for program in blocks(ROOT / "docs" / "why" / "bridges.md", "python"):
        exec(program, names)
    box, two = spaces.Box(-1, 1, (2,), np.float32), spaces.Discrete(2)
    with puffer_sdk.wrap(lambda: names["OldGym"](Old(), box, two), 2, workers=0) as envs:
        envs.reset()
        assert envs.step([0, 1])[2].tolist() == [0, 1]
        assert envs.final_observations[1].tolist() == [1, 1]
