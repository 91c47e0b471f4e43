"""Environments that step all their copies by themselves: their endings, seeds and observations."""
import numpy as np
import pytest
from helpers.places import SPECIMENS

import puffer_sdk
from puffer_sdk.base.errors import UsageError

GAMES = SPECIMENS / "python_envs" / "games.py"


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


@pytest.mark.parametrize("mode", ["SameStep", "NextStep", "Disabled"])
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


def test_actions_that_are_no_array_are_refused():
    from gymnasium import spaces

    from puffer_sdk.bridges import probing

    class Two:
        num_envs = 1
        single_observation_space = spaces.Box(0, 1, (1,))
        single_action_space = spaces.Dict({"a": spaces.Discrete(2), "b": spaces.Discrete(2)})
        observation_space, action_space, reset, step = None, None, None, None
    with pytest.raises(UsageError, match="takes arrays of actions"):
        probing.probe(Two())


@pytest.mark.parametrize("mode", ["SameStep", "NextStep", "Disabled"])
def test_one_copy_of_many_is_an_environment(mode):
    """As `check` plays it: its endings, final observations and seeds are those of a single one."""
    from puffer_sdk.bridges.makers import read_name
    from puffer_sdk.bridges.one_copy import OneCopy

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
