"""set() in Python environments: attributes and reset options, from each copy's next reset on."""
import gymnasium
import numpy as np
import pytest

import puffer_sdk
from puffer_sdk.base.errors import PufferError, UsageError


class Walk(gymnasium.Env):
    """Reach the goal, `level` fields to the left or right. `late` and `far` are options alone."""

    observation_space = gymnasium.spaces.Box(-1, 1, (3,), np.float32)
    action_space = gymnasium.spaces.Discrete(2)

    def __init__(self, level=1):
        self.level = level

    def look(self):
        return np.array([self.x, self.goal, self.extra], np.float32) / 40

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        chosen = {"late": 20, "far": 0} | dict(options or {})
        self.x = self.t = 0
        self.late, self.extra = chosen["late"], chosen["far"]
        self.goal = self.level * int(self.np_random.choice([-1, 1]))
        return self.look(), {}

    def step(self, action):
        self.x, self.t = self.x + 2 * int(action) - 1, self.t + 1
        there = self.x == self.goal
        return self.look(), float(there), there, self.t >= self.late, {"level": self.level}


class Strict(Walk):
    """Looks for one option by its name."""

    def reset(self, *, seed=None, options=None):
        self.level = (options or {}).get("level", 2)
        return super().reset(seed=seed)


def goals(vec, column=1):
    return np.abs(np.rint(vec.observations[:, column] * 40)).astype(int)


def play(vec, ticks, dice):
    for _ in range(ticks):
        vec.actions[:, 0] = dice.integers(2, size=vec.num_agents)
        vec.step()
        yield goals(vec), vec.observations.tobytes(), vec.terminals != 0


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("kind", [Walk, Strict])
def test_it_begins_with_the_next_episode_of_these_copies(kind, workers):
    with puffer_sdk.wrap(kind, num_envs=4, workers=workers, seed=0) as vec:
        vec.reset()
        before = goals(vec)
        vec.set("level", 5, envs=slice(0, 2))
        assert vec.waiting == 2 and (goals(vec) == before).all()
        changed = np.zeros(4, bool)
        for found, _, over in play(vec, 60, np.random.default_rng(0)):
            changed |= over
            assert (found == np.where(changed & (np.arange(4) < 2), 5, before)).all()
        assert changed.all() and vec.waiting == 0
        vec.reset(seed=1)
        assert (goals(vec) == np.where(np.arange(4) < 2, 5, before)).all()


def test_workers_change_nothing_in_what_is_drawn():
    found = []
    for workers in (0, 1, 2):
        with puffer_sdk.wrap(Walk, num_envs=4, workers=workers, seed=0) as vec:
            vec.set("level", "1..4")
            vec.set("far", "3 | 9")
            vec.reset()
            found.append([rows for _, rows, _ in play(vec, 120, np.random.default_rng(0))])
            assert set(goals(vec, 2)) <= {3, 9}
            log = vec.log()
            assert 1.2 < log["level"] < 3.5
            assert [each["value"] for each in vec.changes_now] == ["1..4", "3 | 9"]
    assert found[0] == found[1] == found[2]


def test_an_option_alone_is_read_by_the_reset():
    with puffer_sdk.wrap(Walk, num_envs=2, workers=0, seed=0) as vec:
        vec.reset()
        vec.set("late", 3)
        vec.set("level", 9)
        vec.log()
        vec.reset()
        for _ in range(6):
            vec.step()
        log = vec.log()
        assert (log["n"], log["episode_length"]) == (4, 3)
        with puffer_sdk.wrap("gymnasium:CartPole-v1", num_envs=2, workers=0) as poles:
            poles.set("low", 0.02)              # Gymnasium's own options
            poles.set("high", 0.03)
            assert (poles.reset() >= 0.02).all()


@pytest.mark.parametrize(("kind", "name", "match"), [
    (Walk, "levle", "no 'levle' that a reset would read"), (Walk, "_np_random", "no '_np_random'"),
    (Strict, "levels", "no 'levels'")])
def test_unknown_names_are_refused_with_the_nearest(kind, name, match):
    with puffer_sdk.wrap(kind, num_envs=2, workers=1) as vec:
        vec.reset()
        with pytest.raises(UsageError, match=match) as caught:
            vec.set(name, 3)
        assert caught.value.where == kind.__name__ and caught.value.actual == f"'{name}'"
        assert "level" in (caught.value.hint or "level") and not vec.changes
        vec.step()


def test_a_name_that_no_reset_has_read_ends_the_first():
    with puffer_sdk.wrap(Strict, num_envs=2, workers=0) as vec:
        vec.set("gravity", 3)
        with pytest.raises(PufferError, match="no 'gravity' that a reset would read"):
            vec.reset()


def test_copies_of_one_object_are_refused():
    with puffer_sdk.wrap(lambda num_envs=1: gymnasium.make_vec(
            "CartPole-v1", num_envs=num_envs, vectorization_mode="sync"), num_envs=2) as vec, \
            pytest.raises(UsageError, match="one object steps"):
        vec.set("low", 0.1)
