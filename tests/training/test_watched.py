"""What the play of a claim shows: actions that are held, observations far from unit scale."""
from types import SimpleNamespace

import numpy as np
import pytest

from puffer_sdk.settings import factors
from puffer_sdk.training.watched import FAR, TICKS, Watched


def watched(observe, act, *, widths=(4,), alive=None, mask=None, scale=None, ticks=50,
            watches=True):
    """Eight agents; observe(tick) and act(tick) -> rows."""
    vec = SimpleNamespace(num_agents=8, act_sizes=widths, alive=alive, action_mask=mask,
                          observations=np.zeros((8, 3), np.float32),
                          actions=np.zeros((8, len(widths)), np.float32))
    found = Watched(lambda vec: vec.actions.__setitem__(slice(None), act(tick)), scale,
                    watches)
    for tick in range(ticks):
        vec.observations[:] = observe(tick)
        found(vec)
    return found.shown()


def ones(tick):
    return 1.0


def both(tick):
    return np.arange(8)[:, None] % 2


@pytest.mark.parametrize("act, widths, held", [
    (lambda tick: 2.0, (4,), [2.0]), (both, (4,), None),
    (lambda tick: [3, tick % 2], (4, 2), None), (lambda tick: [3, 1], (4, 2), [3.0, 1.0]),
    (lambda tick: 2.0 * (tick > 0), (4,), None),        # one tick in fifty is two in a hundred
    (lambda tick: -0.5 + 0.01 * (tick % 2), (1,), [-0.49]),
    (lambda tick: 0.3 * (tick % 2), (1,), None),
])
def test_an_action_is_held_where_nearly_all_are_one(act, widths, held):
    assert watched(ones, act, widths=widths).get("held") == held


def test_a_negative_zero_is_shown_as_zero():
    assert str(watched(ones, lambda tick: -0.001, widths=(1,))["held"]) == "[0.0]"


def test_who_is_absent_or_cannot_act_holds_nothing():
    half = np.arange(8) < 4
    assert watched(ones, lambda tick: half[:, None], alive=half.astype(np.uint8))["held"] == [1.0]
    mask = np.repeat(half[:, None], 4, 1).astype(np.uint8)
    assert watched(ones, lambda tick: half[:, None], mask=mask)["held"] == [1.0]
    assert watched(ones, both, alive=np.zeros(8, np.uint8)) == {}


@pytest.mark.parametrize("row, scale, count", [
    ([1, 0.5, 3], None, 0), ([0, 0, 1], None, 0), ([FAR, 1 / FAR, 1], None, 0),
    ([1e6, 0.5, 1], None, 1), ([1e6, 0.5, 1], 2.0**-19, 2), ([1e-3, 1e-3, 2e-3], None, 3),
    ([255, 255, 255], 1 / 255, 0)])
def test_numbers_far_from_one_are_counted_and_their_factors_bring_them_near(row, scale, count):
    scale = None if scale is None else np.full(3, scale, np.float32)
    far = watched(lambda tick: row, both, scale=scale).get("far")
    assert (far["count"] if far else 0) == count
    if far:
        again = np.array(factors.expand(far["factors"], 3), np.float32)
        assert "far" not in watched(lambda tick: row, both, scale=again)


def test_the_first_ticks_alone_are_watched_and_long_factors_are_left_out():
    late = watched(lambda tick: 1e9 * (tick >= TICKS) + 1, both, ticks=TICKS + 9)
    assert "far" not in late
    far = watched(lambda tick: [1.7e5, 3.1e-4, 4.3e7], both)["far"]
    assert far["count"] == 3 and len(far["factors"]) <= 60


def test_where_nobody_asks_nothing_is_kept():
    assert watched(lambda tick: 1e9, lambda tick: 2.0, watches=False) == {}
