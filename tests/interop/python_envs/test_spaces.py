"""Spaces as rows and back: every kind, nested, against Gymnasium's own samples."""
import re

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces

from puffer_sdk.base.errors import RunError, UsageError
from puffer_sdk.interop.python_envs import space_checks
from puffer_sdk.interop.python_envs.masks import flat_mask
from puffer_sdk.interop.python_envs.oddities import refuse
from puffer_sdk.interop.python_envs.probe_env import probe
from puffer_sdk.interop.python_envs.python_spec import PythonSpec
from puffer_sdk.interop.python_envs.space_rows import actions_of, observations_of

RICH = spaces.Dict({
    "b": spaces.Box(-2.0, 2.0, (2, 2), np.float64), "a": spaces.Discrete(4, start=-1),
    "c": spaces.Tuple((spaces.MultiDiscrete([2, 3]), spaces.MultiBinary(3))),
    "d": spaces.Dict({"x": spaces.Box(0, 255, (2, 3), np.uint8)})})


def write(space, value):
    plan = observations_of(space)
    row = np.full(plan.size, 7, plan.dtype)         # what stood there before must not matter
    plan.writer(row)(value)
    return plan, row


@pytest.mark.parametrize("space", [
    spaces.Box(-1, 1, (2, 3), np.float32), spaces.Box(0, 255, (4, 4, 3), np.uint8),
    spaces.MultiBinary((2, 2)), spaces.Discrete(5), spaces.Discrete(5, start=3),
    spaces.MultiDiscrete([3, 2, 4]), spaces.MultiDiscrete([[2, 3], [4, 5]]),
    spaces.Tuple((spaces.Discrete(2), spaces.Box(-1, 1, (), np.float32))), RICH],
    ids=lambda space: type(space).__name__)
def test_a_row_is_what_gymnasium_flattens(space):
    """Dicts in the order of their keys, one-hot ids; Gymnasium's own flatten is the judge."""
    space.seed(3)
    for _ in range(20):
        value = space.sample()
        plan, row = write(space, value)
        expected = spaces.flatten(space, value)
        assert np.array_equal(row, expected.astype(plan.dtype)), (value, row)


def test_pixels_alone_stay_bytes_and_mixtures_are_floats():
    assert observations_of(spaces.Box(0, 255, (2, 2), np.uint8)).dtype == np.uint8
    two = spaces.Dict({"a": spaces.Box(0, 255, (2,), np.uint8),
                       "b": spaces.Box(0, 255, (3,), np.uint8)})
    assert observations_of(two).dtype == np.uint8
    assert observations_of(RICH).dtype == np.float32
    assert observations_of(spaces.Discrete(3)).size == 3        # PufferLib's had none


def test_unflatten_gives_views_of_rows_by_their_names():
    plan = observations_of(RICH)
    RICH.seed(1)
    values = [RICH.sample() for _ in range(4)]
    rows = np.zeros((4, plan.size), np.float32)
    for row, value in zip(rows, values):
        plan.writer(row)(value)
    found = plan.unflatten(rows)
    assert list(found) == list(RICH.spaces) and found["b"].shape == (4, 2, 2)
    assert np.allclose(found["b"], [value["b"] for value in values])
    assert [int(one.argmax()) - 1 for one in found["a"]] == [value["a"] for value in values]
    assert np.array_equal(found["d"]["x"], [value["d"]["x"] for value in values])
    assert np.array_equal(found["c"][1], [value["c"][1] for value in values])
    assert np.shares_memory(found["b"], rows)


ACTIONS = [
    spaces.Discrete(3), spaces.Discrete(3, start=2), spaces.MultiDiscrete([2, 3, 4]),
    spaces.MultiBinary(3), spaces.Box(-2, 6, (2,), np.float32), spaces.Box(0, 9, (3,), np.int64),
    spaces.Dict({"go": spaces.Discrete(2), "how": spaces.Tuple((
        spaces.MultiDiscrete([2, 3]), spaces.Box(-1, 1, (2, 2), np.float64)))})]


@pytest.mark.parametrize("space", ACTIONS, ids=lambda space: type(space).__name__)
def test_all_that_heads_can_say_is_in_the_space(space):
    plan, rng = actions_of(space), np.random.default_rng(0)
    rows = np.stack([rng.normal(0, 2, 64) if width == 1 else rng.integers(0, width, 64)
                     for width in plan.sizes], 1).astype(np.float32)
    found = plan.reader()(rows)
    assert len(found) == 64 and all(space.contains(action) for action in found), found[0]


def test_heads_reach_every_id_and_both_ends_of_a_box():
    assert actions_of(spaces.Discrete(3, start=2)).reader()(
        np.array([[0], [1], [2]], np.float32)) == [2, 3, 4]
    box = actions_of(spaces.Box(np.array([-2, 0]), np.array([6, np.inf]), (2,), np.float32))
    found = box.reader()(np.array([[-1, -3], [0, 0.5], [1, 40], [9, 7]], np.float32))
    assert np.allclose(found, [[-2, -3], [2, 0.5], [6, 40], [6, 7]])
    assert box.sizes == (1, 1) and box.mask_size == 0
    assert actions_of(spaces.MultiBinary(2)).sizes == (2, 2)    # PufferLib's were one head of 2
    assert actions_of(spaces.Tuple((spaces.Discrete(2), spaces.Discrete(5)))).mask_size == 7


@pytest.mark.parametrize("space", [
    spaces.Text(5), spaces.Sequence(spaces.Discrete(2)),
    spaces.Graph(spaces.Box(0, 1, (1,)), None), spaces.OneOf([spaces.Discrete(2)])],
    ids=lambda space: type(space).__name__)
def test_what_cannot_be_a_row_is_refused_by_its_name(space):
    """PufferLib passed Text and Sequence silently, and broken."""
    nested = spaces.Dict({"a": spaces.Discrete(2), "b": spaces.Tuple((space,))})
    with pytest.raises(UsageError) as refused:
        observations_of(nested)
    assert type(space).__name__ in refused.value.message and "b[0]" in refused.value.message
    assert all(f"{what}Observation" in refused.value.hint for what in ("Filter", "Transform"))
    with pytest.raises(UsageError, match="action space"):
        actions_of(space)


def test_actions_that_no_heads_can_stand_for_are_refused():
    with pytest.raises(UsageError, match="too many parts"):
        actions_of(spaces.MultiDiscrete([2] * 129))
    with pytest.raises(UsageError, match="one value only"):
        actions_of(spaces.Discrete(1))


@pytest.mark.parametrize(("space", "value", "says"), [
    (spaces.Discrete(3), 3, "expected 0 to 2, got 3"), (spaces.Discrete(3), -1, "got -1"),
    (spaces.MultiDiscrete([2, 2]), np.array([0, 2]), r"within \[0, 1\], got element 1: 2"),
    (spaces.Box(0, 1, (2,)), np.zeros(3), r"expected \(2,\), got \(3,\)"),
    (spaces.Dict({"a": spaces.Box(0, 1, (2,))}), {}, "'a' of the observation is missing"),
    (spaces.Box(0, 1, (2,)), "words", "another type")])
def test_an_observation_outside_its_space_is_named(space, value, says):
    plan = observations_of(space)
    with pytest.raises((IndexError, ValueError, KeyError)):
        plan.writer(np.zeros(plan.size, plan.dtype))(value)
    with pytest.raises(RunError) as refused:
        refuse(space_checks.observation(space, value), "step", strict=True)
    assert re.search(says, str(refused.value)), str(refused.value)


@pytest.mark.parametrize(("space", "value", "fits"), [
    (spaces.Box(0, 255, (2,), np.uint8), np.array([0.0, 0.0]), False),      # fractions would go
    (spaces.Box(0, 255, (2,), np.uint8), np.array([300, 0]), False),        # it would wrap
    (spaces.Box(0, 255, (2,), np.uint8), np.array([255, 0]), True),
    (spaces.Box(-1, 1, (2,), np.float32), np.array([1, 0]), True),
    (spaces.Box(-1, 1, (2,), np.float32), np.array([1.5, 0]), True),        # check says it alone
    (spaces.Box(-1, 1, (3,), np.float32), np.zeros(1, np.float32), False)])
def test_train_refuses_what_a_row_cannot_hold(space, value, fits):
    if fits:
        refuse(space_checks.observation(space, value), "reset")
        return
    with pytest.raises(RunError):
        refuse(space_checks.observation(space, value), "reset")


def test_a_mask_is_flat_whatever_form_it_comes_in():
    assert flat_mask(np.array([1, 0, 1], np.int8), 3).tolist() == [True, False, True]
    assert flat_mask((np.array([1, 0]), np.array([0, 1, 1])), 5).tolist() == [1, 0, 0, 1, 1]
    with pytest.raises(ValueError, match="has 2 entries, the action space has 3"):
        flat_mask([1, 0], 3)


def test_the_threshold_that_an_id_is_registered_with_is_its_goal():
    env = gymnasium.make("CartPole-v1")
    for each, goal in ((env, "episode_return >= 475"), (env.unwrapped.__class__(), "")):
        spec = PythonSpec("cart", probe(each))
        assert spec.registered == goal
        assert (spec.to_dict()["reward_threshold"] is None) == (not goal)
