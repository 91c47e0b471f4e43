"""Settings and points of the cube: there and back, snapped, and refused with a sentence."""
import numpy as np
import pytest

from puffer_sdk.base.errors import UsageError
from puffer_sdk.sweeping.space import Space

ROWS = {
    "uniform": {"distribution": "uniform", "min": -2, "max": 3},
    "whole": {"distribution": "int_uniform", "min": 1, "max": 8, "mean": 4, "scale": 2.0},
    "power": {"distribution": "uniform_pow2", "min": 8, "max": 128},
    "log": {"distribution": "log_normal", "min": 1e-5, "max": 0.1, "scale": "auto"},
    "logit": {"distribution": "logit_normal", "min": 0.8, "max": 0.9999},
    "kind": {"distribution": "choice", "choices": ("lstm", "mingru", "none")},
    "fixed": {"distribution": "int_uniform", "min": 3, "max": 3},
}


def test_settings_and_points_are_inverse():
    space = Space(ROWS)
    points = space.snap(np.random.default_rng(0).random((200, len(space))))
    for point in points:
        settings = space.settings(point)
        assert np.allclose(space.point(settings), point, atol=1e-9)
        assert space.settings(space.point(settings)) == settings
        assert settings["fixed"] == 3 and type(settings["whole"]) is int
        assert settings["power"] in (8, 16, 32, 64, 128)


@pytest.mark.parametrize("name, middle", [("uniform", 0.5), ("log", 1e-3), ("power", 32)])
def test_the_middle_of_the_cube_is_the_middle_of_the_distribution(name, middle):
    space = Space({name: ROWS[name]})
    assert space.settings([0.5])[name] == pytest.approx(middle)


@pytest.mark.parametrize("name", ["whole", "power", "kind"])
def test_every_level_has_an_equal_share(name):
    space = Space({name: ROWS[name]})
    drawn = [space.settings([unit])[name] for unit in (np.arange(2400) + 0.5) / 2400]
    levels = space.dimensions[0].levels
    assert [drawn.count(value) for value in dict.fromkeys(drawn)] == [2400 // levels] * levels


def test_ends_are_the_bounds_exactly():
    space = Space(ROWS)
    low, high = space.settings([0.0] * len(space)), space.settings([1.0] * len(space))
    for name in ("uniform", "whole", "power", "log", "logit"):
        assert (low[name], high[name]) == (ROWS[name]["min"], ROWS[name]["max"])


def test_start_values_outside_the_bounds_stand_at_their_end():
    space = Space({"log": ROWS["log"]})
    assert space.point({"log": 50})[0] == 1 and space.point({"log": 0})[0] == 0


def test_choices_are_equally_far_from_each_other():
    space = Space({"kind": ROWS["kind"]})
    seen = space.features(np.array([[1 / 6], [3 / 6], [5 / 6]]))
    assert seen.shape == (3, 3)
    for i, j in ((0, 1), (0, 2), (1, 2)):
        assert ((seen[i] - seen[j]) ** 2).sum() == pytest.approx(1)


def test_repair_is_what_is_proposed():
    space = Space({"power": ROWS["power"]}, repair=lambda s: {**s, "half": s["power"] // 2})
    assert space.settings([0.0]) == {"power": 8, "half": 4}


@pytest.mark.parametrize("row, said", [
    ({"distribution": "log_normal", "min": 1, "max": 0.1}, "crossed"),
    ({"distribution": "log_normal", "min": 0, "max": 1}, "above 0"),
    ({"distribution": "logit_normal", "min": 0.5, "max": 1}, "between 0 and 1"),
    ({"distribution": "lognormal", "min": 1, "max": 2}, "no such distribution"),
    ({"min": 1, "max": 2}, "no distribution"),
    ({"distribution": "uniform", "min": 1}, "max is missing"),
    ({"distribution": "uniform", "min": "x", "max": 2}, "not a number"),
    ({"distribution": "uniform", "min": 0, "max": float("nan")}, "crossed"),
    ({"distribution": "uniform_pow2", "min": 3, "max": 8}, "powers of two"),
    ({"distribution": "int_uniform", "min": 0.5, "max": 8}, "whole numbers"),
    ({"distribution": "uniform", "min": 0, "max": 1, "mid": 1}, "unknown key"),
    ({"distribution": "choice", "choices": ("a", "a")}, "each once"),
])
def test_what_cannot_be_read_is_named(row, said):
    with pytest.raises(UsageError, match=said) as caught:
        Space({"train.key": row})
    assert "train.key" in str(caught.value)


def test_an_empty_space_and_missing_or_unknown_values_are_refused():
    with pytest.raises(UsageError, match="empty"):
        Space({})
    space = Space({"kind": ROWS["kind"], "log": ROWS["log"]})
    with pytest.raises(UsageError, match="no value for log"):
        space.point({"kind": "lstm"})
    with pytest.raises(UsageError, match="no choice"):
        space.point({"kind": "gru", "log": 0.01})
    with pytest.raises(UsageError, match="not a number"):
        space.point({"kind": "lstm", "log": "much"})
