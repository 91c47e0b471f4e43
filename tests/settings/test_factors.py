"""train.obs_scale: factors as text, and the keys of earlier versions that it takes the place of."""
import pytest

from puffer_sdk.base.errors import UsageError
from puffer_sdk.settings import config, factors, table
from puffer_sdk.settings.values import Config


@pytest.mark.parametrize(("text", "canonical", "size", "expanded"), [
    ("1", "1", 3, [1, 1, 1]), ("0.50", "0.5", 2, [0.5, 0.5]), ("1e-3", "0.001", 1, [0.001]),
    ("0.5x2,1x1", "0.5 x 2, 1 x 1", 3, [0.5, 0.5, 1]), ("2 x 3", "2 x 3", 3, [2, 2, 2]),
    ("1 * 1, 0.25 * 2", "1 x 1, 0.25 x 2", 3, [1, 0.25, 0.25])])
def test_factors_are_text_and_back(text, canonical, size, expanded):
    assert factors.canonical(text) == canonical
    assert factors.expand(text, size) == expanded
    assert factors.expand(factors.join(expanded), size) == expanded
    assert config.defaults({"train.obs_scale": text}).train.obs_scale == canonical


@pytest.mark.parametrize("text", ["", "0", "-1", "2e6", "inf", "nan", "half", "1 x", "1 x 0.5",
                                  "1, 2 x 3", "1 x 2, 3", "1 x 2 x 3", "1;2", "x 3", "1 x -2"])
def test_what_is_no_factor_is_refused(text):
    with pytest.raises(ValueError):
        factors.canonical(text)
    with pytest.raises(UsageError, match="obs.scale") as caught:
        config.defaults({"train.obs_scale": text})
    assert "a factor above 0" in caught.value.expected and "auto" in caught.value.expected


def test_factors_of_another_row_are_refused():
    with pytest.raises(UsageError, match="does not fit the observation") as caught:
        factors.expand("1 x 2, 0.5 x 3", 6)
    assert (caught.value.expected, caught.value.actual) == (
        "factors for 6 numbers", "factors for 5")


@pytest.mark.parametrize(("given", "obs_scale"), [
    ({}, "auto"), ({"encoder_scale": 0}, "auto"), ({"encoder_scale": 0.5}, "0.5"),
    ({"scale_obs": 0}, "1"), ({"scale_obs": "true"}, str(1 / 255)),
    ({"scale_obs": 1, "encoder_scale": 0.5}, str(0.5 / 255)),
    ({"scale_obs": "false", "encoder_scale": 0}, "1"),
    ({"obs_scale": "0.25", "encoder_scale": 0.5}, "0.5"),
    ({"encoder_scale": 0.5, "obs_scale": "0.25"}, "0.25")])
def test_keys_of_earlier_versions_become_obs_scale(given, obs_scale, tmp_path):
    """On the command line and in an ini; of two the last one counts."""
    (tmp_path / "game").mkdir()
    ini = tmp_path / "game" / "game.ini"
    ini.write_text("[train]\n" + "".join(f"{key} = {value}\n" for key, value in given.items()))
    for found in (config.defaults({f"train.{key}": value for key, value in given.items()}),
                  config.resolve(tmp_path / "game")):
        assert found.train.obs_scale == obs_scale
        assert "encoder_scale" not in found.to_ini() and "scale_obs" not in found.to_ini()
        assert Config.from_dict(found.to_dict()).train == found.train
    over = config.resolve(tmp_path / "game", {"train.obs_scale": "2"})
    assert over.train.obs_scale == "2"


def test_floats_were_never_divided_by_255():
    own = {"policy.torch_class": "net.py:Net", "train.encoder_scale": 0.5}
    assert config.defaults(own).train.obs_scale == "1"
    resolved = config.resolve_python("games.py:Count", {"train.scale_obs": 1}, in_bytes=False)
    assert resolved.train.obs_scale == "1"


def test_a_misspelt_name_leads_to_the_key_of_today():
    assert table.KEYS["train.scale_obs"].status == table.FORMER
    with pytest.raises(UsageError) as caught:
        config.defaults({"train.obs_scales": 1})
    assert "--train.obs-scale" in caught.value.hint
