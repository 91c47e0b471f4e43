"""Teams: what a header, PufferLib's own means or a PettingZoo environment say of each row."""
import shutil

import numpy as np
import pytest
from helpers.places import SPECIMENS

import puffer_sdk
from puffer_sdk.base.errors import BuildError, UsageError
from puffer_sdk.env import header
from puffer_sdk.env.contract import team_sizes

DUEL = SPECIMENS / "duel"
LINE = "// puffer: teams 2 x 1"


def changed(tmp_path, *changes, home=DUEL):
    folder = shutil.copytree(home, tmp_path / home.name, ignore=shutil.ignore_patterns("build"))
    path = folder / f"{home.name}.h"
    text = path.read_text()
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    path.write_text(text)
    return folder


@pytest.mark.parametrize(("said", "found"), [
    (" 2 x 5", (2, 5)), (" 2x5, red and blue", None), (" 3 x 1   each its own", (3, 1)),
    (" 4", (4, 0)), (" 1 x 2", None), (" 2 x 0", None), ("", None), (" two", None),
    (" 2 of 5", (2, 0))])
def test_the_line_has_a_number_of_teams_and_perhaps_their_size(said, found):
    assert team_sizes(said) == found


def test_a_line_that_says_nothing_is_refused(tmp_path):
    folder = changed(tmp_path, (LINE, "// puffer: teams red blue"))
    with pytest.raises(BuildError, match="declares no teams") as caught:
        header.read(folder)
    assert str(caught.value.where).startswith("duel.h:")


def test_a_line_of_the_header_declares_them():
    spec = header.read(DUEL)
    assert (spec.teams, spec.in_teams, spec.has_bot) == ((2, 1), True, True)
    with puffer_sdk.make(DUEL, num_envs=2) as vec:
        vec.reset()
        np.testing.assert_array_equal(vec.teams, [0, 1, 0, 1])
        vec.actions[:] = -1
        assert vec.play_scripted([0, 3], 1) and not vec.set_bot_policy(1)
        assert vec.actions[0, 0] == vec.actions[3, 0] == 1 and (vec.actions[1:3] == -1).all()


def test_an_array_of_the_struct_declares_them(tmp_path):
    folder = changed(tmp_path, (LINE + "\n", ""), ("    int tick;\n", """\
    int tick;
    int second;
    int team[2];
"""), ("env->num_agents = 2;", "env->num_agents = 2; env->team[0] = 7; "
       "env->team[1] = env->second;"))
    for second, teams in ((3, [7, 3]), (7, None)):
        with puffer_sdk.make(folder, num_envs=1, env_settings={"second": second}) as vec:
            vec.reset()
            assert (vec.teams is None) == (teams is None)
            assert list(vec.seats) == (teams or [0, 1])
    with puffer_sdk.make(folder, num_envs=1, env_settings={"second": -1}) as vec:
        vec.reset()
        with pytest.raises(UsageError, match="do not fit") as caught:
            _ = vec.teams
        assert caught.value.actual == [7, -2]


@pytest.mark.parametrize(("folder", "seats"), [("ocean/perms", True), ("form5/tug", False)])
def test_pufferlib_has_means_of_its_own(folder, seats):
    """MY_USES_PERM of 4.0: each slot is a team. In 5.0 every policy of tug is 0."""
    assert header.read(SPECIMENS / folder).in_teams == seats
    with puffer_sdk.make(SPECIMENS / folder, num_envs=2) as vec:
        vec.reset()
        assert (None if vec.teams is None else list(vec.teams)) == ([0, 1, 0, 1] if seats else None)


@pytest.mark.parametrize(("teams", "found"), [
    ({"a": 0, "b": 1, "c": 0}, [0, 1, 0]), (None, None), ({"a": 0, "b": 1}, UsageError),
    ({"a": 0, "b": 1, "c": "red"}, UsageError)])
def test_a_pettingzoo_environment_has_an_attribute(teams, found):
    from gymnasium.spaces import Box, Discrete
    from pettingzoo import ParallelEnv

    class Three(ParallelEnv):
        metadata = {"name": "three"}
        possible_agents = ["a", "b", "c"]

        def observation_space(self, agent):
            return Box(0, 1, (1,))

        def action_space(self, agent):
            return Discrete(2)

        def reset(self, seed=None, options=None):
            self.agents = list(self.possible_agents)
            return {agent: np.zeros(1, np.float32) for agent in self.agents}, \
                {agent: {} for agent in self.agents}

    Three.teams = teams
    if found is UsageError:
        with pytest.raises(UsageError, match="every possible agent"):
            puffer_sdk.wrap(Three, num_envs=2, workers=0)
        return
    with puffer_sdk.wrap(Three, num_envs=2, workers=0) as vec:
        vec.reset()
        assert (None if vec.teams is None else list(vec.teams)) == (found and found * 2)
        assert list(vec.seats) == (found or [0, 1, 2]) * 2
