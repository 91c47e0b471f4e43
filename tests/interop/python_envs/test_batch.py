"""Environments that step all their copies by themselves: their endings, seeds and observations."""
import numpy as np
import pytest
from helpers.places import SPECIMENS

import puffer_sdk
from puffer_sdk.base.errors import UsageError
from puffer_sdk.env.agent_slots import random_actions
from puffer_sdk.interop.python_envs import probe_env
from puffer_sdk.interop.python_envs.makers import find_callable, read_name
from puffer_sdk.interop.python_envs.masks import flat_masks
from puffer_sdk.interop.python_envs.one_copy import OneCopy

GAMES = SPECIMENS / "python_envs" / "games.py"
MODES = ["SameStep", "NextStep", "Disabled"]


def wrap(num_envs=2, workers=1, **keywords):
    return puffer_sdk.wrap(f"{GAMES}:together", num_envs, workers=workers, seed=3,
                           keywords={"length": 3, **keywords})


def play(mode, steps):
    """[(episode, time) seen, reward, terminal, truncation, alive, has_final] of the first row."""
    with wrap(mode=mode) as envs:
        envs.reset()
        rows, finals = [], []
        for _ in range(steps):
            envs.step([2, 1])
            rows.append((*envs.observations[0, 1:].tolist(), envs.rewards[0], envs.terminals[0],
                         envs.truncations[0], envs.alive[0], envs.has_final[0]))
            if envs.has_final[0]:
                finals.append(envs.final_observations[0, 1:].tolist())
        log = envs.log()
        assert (log["n"], log["episode_return"], log["episode_length"]) == (
            2 * len(finals), 4.5, 3)        # each row earns 2 or 1 a step
        return rows, finals


@pytest.mark.parametrize("mode", ["SameStep", "Disabled"])
def test_an_ending_shows_the_next_episode_at_once(mode):
    """Also where nobody resets: the lane asks for it."""
    rows, finals = play(mode, 9)
    assert rows == [(1, 1, 2, 0, 0, 1, 0), (1, 2, 2, 0, 0, 1, 0), (2, 0, 2, 1, 0, 1, 1),
                    (2, 1, 2, 0, 0, 1, 0), (2, 2, 2, 0, 0, 1, 0), (3, 0, 2, 1, 0, 1, 1),
                    (3, 1, 2, 0, 0, 1, 0), (3, 2, 2, 0, 0, 1, 0), (4, 0, 2, 1, 1, 1, 1)]
    assert finals == [[1, 3], [2, 3], [3, 3]]


def test_nobody_lives_in_a_step_that_only_resets():
    """The step after an ending takes no action, earns nothing and is not trained on."""
    rows, finals = play("NextStep", 8)
    assert rows == [(1, 1, 2, 0, 0, 1, 0), (1, 2, 2, 0, 0, 1, 0), (1, 3, 2, 1, 0, 0, 1),
                    (2, 0, 0, 0, 0, 1, 0), (2, 1, 2, 0, 0, 1, 0), (2, 2, 2, 0, 0, 1, 0),
                    (2, 3, 2, 1, 0, 0, 1), (3, 0, 0, 0, 0, 1, 0)]
    assert finals == [[1, 3], [2, 3]]


@pytest.mark.parametrize("workers", [0, 1, 3])
def test_each_copy_has_a_seed_of_its_own(workers):
    """Seeds that a C int holds; ALE takes them as an array, and no list."""
    with wrap(6, workers) as envs:
        digits = envs.reset()[:, 0].tolist()
        seeds = [envs.env_seed(env) for env in range(6)]
    assert max(seeds) > 2**31               # else this test could not fail
    assert digits == [seed % 2**31 % 1000 for seed in seeds]


@pytest.mark.parametrize("mode", MODES)
def test_parts_and_ids_are_rows_as_those_of_single_copies(mode):
    with wrap(3, 2, kind="Sorted", mode=mode) as many, puffer_sdk.wrap(
            f"{GAMES}:Sorted", 3, workers=0, seed=3, keywords={"length": 3}) as single:
        seen = many.reset()[:, 1:], single.reset()[:, 1:]
        assert many.obs_size == single.obs_size == 8
        for _ in range(3):
            assert np.array_equal(*seen)
            seen = many.step([1, 0, 2])[0][:, 1:], single.step([1, 0, 2])[0][:, 1:]
        assert np.array_equal(many.final_observations[:, 1:], single.final_observations[:, 1:])
        assert many.has_final.all()


@pytest.mark.parametrize("bare", [False, True], ids=["flags", "bare"])
@pytest.mark.parametrize("inside", [False, True], ids=["info", "observation"])
@pytest.mark.parametrize("mode", MODES)
def test_masks_reach_the_sampler(mode, inside, bare):
    """Guess raises if a masked action comes: random play by the mask, then a training."""
    with puffer_sdk.wrap(f"{GAMES}:together", 8, workers=0, seed=3, keywords={
            "kind": "Guess", "mode": mode, "in_observation": inside, "bare": bare}) as envs:
        assert envs.obs_size == 8
        envs.reset()
        rng = np.random.default_rng(0)
        for _ in range(2 * 9):
            lives = envs.alive != 0
            right = envs.observations[lives].argmax(1)
            masks = envs.action_mask[lives]
            assert (masks.reshape(-1, 2, 4).any(2).argmax(1) == right // 4).all()
            assert (masks.sum(1) == 4).all()
            assert (envs.action_mask[~lives] == 1).all()    # whatever was legal after the end
            envs.step(random_actions(envs, rng))
        with puffer_sdk.Trainer(envs, {"train.total_timesteps": 8 * 64, "train.horizon": 16,
                                       "train.minibatch_size": 128, "policy.hidden_size": 16,
                                       "policy.num_layers": 1}) as trainer:
            while not trainer.finished:
                trainer.rollout()
                trainer.update()


def test_a_copy_that_gives_no_mask_may_do_everything():
    rows = np.array([[1, 0, 0], [0, 0, 0]])
    assert flat_masks(rows, 2, 3).tolist() == [[1, 0, 0], [0, 0, 0]]
    assert flat_masks((rows[:, :2], rows), 2, 5).tolist() == [[1, 0, 1, 0, 0], [0] * 5]
    lists = np.full(2, None, object)
    lists[1] = [0, 2, 0]
    assert flat_masks(lists, 2, 3).tolist() == [[1, 1, 1], [0, 1, 0]]
    with pytest.raises(ValueError, match="action_mask has 3 entries, the action space has 4"):
        flat_masks(rows, 2, 4)

    def sometimes(num_envs=1):
        """In each second step, one of two copies gives no mask."""
        envs = find_callable(f"{GAMES}:together")(num_envs, kind="Guess")
        step, steps = envs.step, iter(range(99))

        def flagged(actions):
            *found, infos = step(actions)
            infos["_action_mask"][:] = next(steps) % 2, 1
            return *found, infos
        envs.step = flagged
        return envs
    with puffer_sdk.wrap(sometimes, 2, workers=0) as envs:
        envs.reset()
        seen = [envs.action_mask.sum(1).tolist()]
        for _ in range(3):
            envs.step(envs.observations.argmax(1))
            seen.append(envs.action_mask.sum(1).tolist())
        assert seen == [[4, 4], [8, 4], [4, 4], [8, 4]]


@pytest.mark.parametrize("mode", MODES)
def test_infos_of_an_episode_are_means_as_those_of_single_copies(mode):
    """Not those of the reset in the same step; only of the episodes that told them."""
    def log(name, steps, **more):
        with puffer_sdk.wrap(f"{GAMES}:{name}", 3, workers=0, seed=3,
                             keywords={"length": 3, **more}) as envs:
            envs.reset()
            for _ in range(steps):
                envs.step([0, 1, 2])
            return envs.log()
    single = log("Told", 15)
    assert log("together", 19 if mode == "NextStep" else 15, kind="Told", mode=mode) == single
    assert single["n"] == 15 and (single["levers"], single["pace"], single["won"]) == (1, 3, 0.2)
    assert {*single} == {"episode_return", "episode_length", "n", "levers", "pace", "won", "rare",
                         "mixed", "_hidden"}
    assert single["mixed"] == 3 and single["_hidden"] == 0.5
    assert single["rare"] == 3          # of episodes 1, 3 and 5


def test_what_envpool_tells_of_its_copies_is_logged_without_their_numbers():
    from puffer_sdk.interop.python_envs.games.batch import numbers_of

    infos = {"env_id": np.arange(3), "elapsed_step": np.arange(3), "lives": np.ones(3),
             "players": {"env_id": np.arange(3)}, "reward": np.zeros((3, 2)), "_lives": np.ones(3)}
    assert [*numbers_of(infos)] == ["elapsed_step", "lives"] and numbers_of(None) == {}


def test_actions_that_are_no_array_are_refused():
    from gymnasium.spaces import Box, Dict, Discrete

    class Two:
        num_envs = 1
        single_observation_space = Box(0, 1, (1,))
        single_action_space = Dict({"a": Discrete(2), "b": Discrete(2)})
        observation_space, action_space, reset, step = None, None, None, None
    with pytest.raises(UsageError, match="takes arrays of actions"):
        probe_env.probe(Two())


@pytest.mark.parametrize("mode", MODES)
def test_one_copy_of_many_is_an_environment(mode):
    """As `check` plays it: its endings, final observations and seeds are those of a single one."""
    maker = read_name(f"{GAMES}:together", {"length": 3, "mode": mode, "kind": "Sorted"})
    one = OneCopy(maker, maker())
    single = read_name(f"{GAMES}:Sorted", {"length": 3})()
    seen = one.reset(seed=1234)[0], single.reset(seed=1234)[0]
    for action in (1, 2, 0):
        assert one.observation_space.contains(seen[0])
        assert all(np.array_equal(seen[0][key], seen[1][key]) for key in ("ids", "all"))
        steps = one.step(action), single.step(action)
        assert steps[0][1:4] == steps[1][1:4]
        seen = steps[0][0], steps[1][0]
    assert steps[0][2] and seen[0]["all"].tolist() == seen[1]["all"].tolist() == [234, 1, 3]
    assert one.reset()[0]["all"][2] == 0
    one.close()


@pytest.mark.parametrize("mode", MODES)
def test_one_copy_tells_of_the_episode_that_has_ended(mode):
    maker = read_name(f"{GAMES}:together", {"length": 3, "mode": mode, "kind": "Told"})
    one = OneCopy(maker, maker())
    assert one.reset(seed=1)[1]["pace"] == -100
    assert [one.step(1)[4]["pace"] for _ in range(3)] == [1, 2, 3]
    one.close()
