"""The first reset and step of every copy against the space; copies that cannot live together."""
import inspect
import sys

import gymnasium
import numpy as np
import pytest

import puffer_sdk
from puffer_sdk.base.errors import RunError, UsageError
from puffer_sdk.checking.core import registry
from puffer_sdk.interop.python_envs.oddities import ODD
from puffer_sdk.interop.python_envs.pool_vec import PoolVec

BOX = gymnasium.spaces.Box(-1, 1, (3,), np.float32)
BYTES = gymnasium.spaces.Box(0, 255, (2,), np.uint8)


class Says(gymnasium.Env):
    """Its step returns what it was made with, its reset what fits."""

    action_space = gymnasium.spaces.Discrete(2)

    def __init__(self, space, ob=None, reward=0.0, over=False, info=None):
        self.observation_space = space
        self.found = (space.sample() if ob is None else ob, reward, over, False, info or {})

    def reset(self, *, seed=None, options=None):
        return np.zeros(self.observation_space.shape, self.observation_space.dtype), {}

    def step(self, action):
        return self.found


@pytest.mark.parametrize(("given", "code", "actual"), [
    ({"ob": np.zeros(1, np.float32)}, "PUF306", "(1,)"),            # NumPy would stretch it
    ({"ob": np.array([0.5, 0.2]), "space": BYTES}, "PUF103", "float64"),     # and cut that to 0
    ({"reward": [1.0]}, "PUF312", "list"),
    ({"reward": np.array([1.0, 2.0])}, "PUF312", "ndarray of shape (2,)"),
    ({"reward": None}, "PUF312", "NoneType"),
    ({"over": None}, "PUF322", "None (NoneType)"),
    ({"over": True, "ob": np.zeros(1, np.float32)}, "PUF306", "(1,)")])
def test_the_first_step_is_held_to_the_space_in_the_words_of_check(given, code, actual):
    with puffer_sdk.wrap(lambda: Says(**{"space": BOX, **given}), 2, workers=0) as envs:
        envs.reset()
        with pytest.raises(RunError) as refused:
            envs.step(np.zeros(2))
    error = refused.value
    assert (error.code, error.actual) == (code, actual) and code in registry.load()
    assert error.where.startswith("env 0, seed ") and error.where.endswith("step 1")
    assert any(kind.code == code and kind.message.split("{")[0] in error.message
               for kind in ODD.values())


def test_what_check_only_warns_of_is_played():
    with puffer_sdk.wrap(lambda: Says(BOX, np.zeros(3), np.array([2.5])), 1, workers=0) as envs:
        envs.reset()
        assert envs.step(np.zeros(1))[1].tolist() == [2.5]


ONE = Says(BOX)


class Alone(Says):
    living = 0

    def __init__(self):
        super().__init__(BOX)
        if Alone.living:
            raise RuntimeError("one emulator a process")
        Alone.living = 1

    def close(self):
        Alone.living = 0


def test_one_object_for_all_copies_is_refused():
    def again():
        return gymnasium.wrappers.TimeLimit(ONE, 5)         # another wrapper, the same game
    with pytest.raises(RunError, match="again.* returned the same object twice") as refused:
        puffer_sdk.wrap(again, 2, workers=0)
    assert refused.value.code == "PUF503"
    puffer_sdk.wrap(lambda: ONE, 1, workers=0).close()      # a single copy is no fault


def test_what_lives_once_in_a_process_has_a_process_each():
    with puffer_sdk.wrap(Alone, 3, workers=1) as envs:
        envs.reset()
        assert envs.num_workers == 3 and "one emulator" in envs.library.facts.alone
    with pytest.raises(UsageError, match="only one instance") as refused:
        puffer_sdk.wrap(Alone, 2, workers=0)
    assert refused.value.hint == "set workers to the number of copies"


class Level(Says):
    def __init__(self, level=0):
        super().__init__(BOX, np.full(3, level / 10, np.float32))


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("given", [
    {"env": [lambda: Level(0), lambda: Level(1), lambda: Level(2)]},
    {"env": Level, "keywords": lambda env_index: {"level": env_index}},
    {"env": lambda env_index: Level(env_index)}])
def test_each_copy_has_an_argument_of_its_own(workers, given):
    with puffer_sdk.wrap(num_envs=3, workers=workers, **given) as envs:
        envs.reset()
        assert envs.step(np.zeros(3))[0][:, 0].tolist() == pytest.approx([0, 0.1, 0.2])
    if isinstance(given["env"], list):
        with pytest.raises(UsageError, match="one function for each copy"):
            puffer_sdk.wrap(num_envs=2, workers=0, **given)


class Slots(gymnasium.Env):
    """sb3-contrib's convention: action_masks() says what is legal, and all else is an error."""

    observation_space = gymnasium.spaces.MultiBinary(4)
    action_space = gymnasium.spaces.Discrete(4)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.free = np.ones(4, np.int8)
        return self.free.copy(), {}

    def action_masks(self):
        return self.free.astype(bool)

    def step(self, action):
        assert self.free[action], "taken"
        self.free[action] = 0
        return self.free.copy(), 1.0, not self.free.any(), False, {}


@pytest.mark.parametrize("autoreset", ["same_step", "next_step"])
def test_masks_that_a_method_returns_are_read(autoreset):
    def made():
        return gymnasium.wrappers.RecordEpisodeStatistics(Slots())
    with puffer_sdk.wrap(made, 3, workers=0, autoreset=autoreset) as envs:
        envs.reset()
        for _ in range(12):
            assert envs.action_mask.any(axis=1).all()
            envs.step(envs.action_mask.argmax(axis=1))
        assert envs.log()["episode_length"] == 4


@pytest.mark.parametrize("workers", [0, 2])
def test_copies_are_called_and_their_attributes_set_between_steps(workers):
    def made():
        env = Slots()
        env.level, env.raised = 1, lambda by=1: env.level + by
        return gymnasium.wrappers.TimeLimit(env, 9)
    with puffer_sdk.wrap(made, 3, workers=workers) as envs:
        envs.reset()
        envs.set_attr("level", 5)
        envs.step(np.zeros(3))
        assert envs.call("raised", by=2) == [7, 7, 7]
        envs.set_attr("level", [1, 2, 3])
        assert envs.call("level") == [1, 2, 3]
        assert [mask.tolist() for mask in envs.call("action_masks")] == [[False, *[True] * 3]] * 3
        with pytest.raises(AttributeError, match="nothing_of_that_name"):
            envs.call("nothing_of_that_name")
        with pytest.raises(UsageError, match="one for each copy"):
            envs.set_attr("level", [1])
        envs.step(np.ones(3))                       # an error there ends nothing


def test_a_class_without_a_file_trains_and_is_found_by_its_name(tmp_path, monkeypatch):
    """As in a notebook: the class lives in __main__, which no other process can import."""
    monkeypatch.chdir(tmp_path)
    cell = {"__name__": "__main__", "gymnasium": gymnasium, "np": np}
    exec(inspect.getsource(Slots), cell)
    monkeypatch.setattr(sys.modules["__main__"], "Slots", cell["Slots"], raising=False)
    run = puffer_sdk.train(cell["Slots"], {"train.total_timesteps": 2048, "vec.total_agents": 16,
                                   "train.horizon": 16, "vec.num_workers": 1})
    assert run.folder.relative_to(tmp_path).parts[:3] == ("runs", "__main__", "Slots")
    found = puffer_sdk.evaluate("__main__:Slots", {"eval.episodes": 4}, model=None)
    assert set(found.scores) == {"random", "idle"}
    with pytest.raises(UsageError, match="neither a name nor a callable"):
        puffer_sdk.train(Slots())


def test_copies_that_live_at_once_have_numbers_of_their_own():
    """Evaluations of a run play beside its copies: each holds its port."""
    held = set()

    class Port(Level):
        def __init__(self, env_index):
            super().__init__(env_index)
            assert env_index not in held, "in use"
            held.add(env_index)
            self.port = env_index

        def close(self):
            held.discard(self.port)

    with puffer_sdk.wrap(Port, 2, workers=0) as envs:
        other, third = PoolVec(envs.library, total_agents=3), PoolVec(envs.library, total_agents=1)
        assert held == set(range(6)) and third.indices == range(5, 6)
        other.close()
        with PoolVec(envs.library, total_agents=2):
            assert held == {0, 1, 2, 3, 5}
        third.close()


def test_what_an_env_wrote_is_placed_in_training():
    class Late(Says):
        ticks = 0

        def step(self, action):
            self.ticks += 1
            return np.full(3, np.nan if self.ticks == 5 else 0, np.float32), 0.0, False, False, {}
    with puffer_sdk.wrap(lambda: Late(BOX), 4, workers=0, seed=3) as envs:
        settings = {"train.horizon": 8, "train.minibatch_size": 32, "train.total_timesteps": 64}
        with puffer_sdk.Trainer(envs, settings) as trainer, pytest.raises(RunError) as refused:
            trainer.rollout()
        assert refused.value.where == f"env 0, seed {envs.env_seed(0)}, tick 5"
