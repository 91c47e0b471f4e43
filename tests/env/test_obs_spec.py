"""obs_spec.py: what the comments of a header say of an observation, in one type."""
import json
import re
import shutil

import pytest
from helpers.check_fixtures import short_check
from helpers.places import ROOT, SPECIMENS
from helpers.short_or_long import some_or_all

from puffer_sdk import cli
from puffer_sdk.env import header, obs_comments, obs_spec
from puffer_sdk.settings import config

HEADER = """
#define TOOLS 5
#define SIDE (2 * REACH + 1)
#define REACH 2
enum {
    OBS_X,                              // [0, 1]
    OBS_RAYS,                           // [-1, 1] eight numbers
    OBS_TOOL = OBS_RAYS + 8,            // TOOLS ids
    OBS_SHIPS,                          // list env->ships x 4, mask 3
    OBS_MAP = OBS_SHIPS + 12,           // grid SIDE x SIDE of 3 ids
    OBS_EYE = OBS_MAP + 25,             // image 2 x 3 x 3
    OBS_COUNT = OBS_EYE + 18
};
"""


@pytest.fixture
def bandit(tmp_path):
    """bandit(old=new, ...) -> the Spec of a copy of a correct environment, changed."""
    def make(*changes):
        folder = tmp_path / "bandit"
        folder.mkdir(exist_ok=True)
        text = (SPECIMENS / "correct/bandit/bandit.h").read_text()
        for old, new in changes:
            assert old in text, old
            text = text.replace(old, new)
        (folder / "bandit.h").write_text(text)
        (folder / "bandit.ini").write_text(
            (SPECIMENS / "correct/bandit/bandit.ini").read_text())
        return header.read(folder)

    return make


SIZE = "#define OBS_SIZE"


def test_parts_have_kinds_shapes_ids_and_masks(bandit):
    spec = bandit((SIZE, HEADER + SIZE))
    found = obs_spec.read(spec, 65, (3,), {"ships": 3.0})
    assert [(p.name, p.first, p.count, p.kind, p.shape, p.ids, p.mask) for p in found.parts] == [
        ("OBS_X", 0, 1, "numbers", (), 0, None), ("OBS_RAYS", 1, 8, "numbers", (), 0, None),
        ("OBS_TOOL", 9, 1, "numbers", (), 5, None), ("OBS_SHIPS", 10, 12, "list", (3, 4), 0, 3),
        ("OBS_MAP", 22, 25, "grid", (5, 5), 3, None),
        ("OBS_EYE", 47, 18, "image", (2, 3, 3), 0, None)]
    assert [p.limits for p in found.parts] == [(0, 1), (-1, 1), (0, 4), None, (0, 2), None]
    assert [p.described for p in found.parts] == [
        "[0, 1]", "[-1, 1]", "5 ids", "list 3 x 4, mask 3", "grid 5 x 5 of 3 ids",
        "image 2 x 3 x 3"]
    assert all(part.fits for part in found.parts) and found.whole is None
    assert not any(part.fits for part in obs_spec.read(spec, 65, (3,), {"ships": 4.0}).parts
                   if part.name == "OBS_SHIPS")
    unknown = obs_spec.read(spec, 65).parts[3]
    assert unknown.unclear == "env->ships" and unknown.shape == ()


@pytest.mark.parametrize("comment, shape", [
    ("// grid 11 x 11 of 3 ids", {"kind": "grid", "shape": (11, 11), "ids": 3}),
    ("// the grid (W + 1) x H, row by row", {"kind": "grid", "shape": (5, 7)}),
    ("// image 84 x 84 x 3", {"kind": "image", "shape": (84, 84, 3)}),
    ("// list 6 x 4, mask 0", {"kind": "list", "shape": (6, 4), "mask": 0}),
    ("// list 6 x 4", {"kind": "list", "shape": (6, 4)}), ("// 12 ids", {"ids": 12}),
    ("// grid W x oops", {"unclear": "oops"}), ("// TOOLS ids", {"unclear": "TOOLS"}),
    ("// nine ids", {}),
    ("// the grid around the head", {}), ("// a list of ids", {}),
    ("// 3 x 4 cells", {}), ("", {})])
def test_shapes_are_read_from_comments(comment, shape):
    def numbers(text):
        return obs_comments.calculate(text, {"W": 4, "H": 7})

    assert obs_comments.parse_shape(comment, numbers) == shape


def test_a_row_without_names_is_described_at_its_size(bandit, squared):
    spec = header.read(squared)
    found = obs_spec.read(spec, None, spec.act_widths, config.resolve(squared).env)
    assert (found.size, found.parts, found.whole.shape, found.whole.ids) == (121, (), (11, 11), 3)
    assert found.ids == ("ACT_STAY", "ACT_DOWN", "ACT_UP", "ACT_LEFT", "ACT_RIGHT")
    assert obs_spec.read(spec, None, (), {"size": 7.0}).whole.shape == (7, 7)
    spec = header.read(ROOT / "examples/snake")
    assert obs_spec.read(spec, None, (), {"vision": 3.0}).whole.shape == (7, 7)


def test_the_size_follows_from_macros_enumerators_and_settings():
    breakout = header.read(ROOT / "examples/breakout")
    settings = config.resolve(ROOT / "examples/breakout").env
    assert obs_spec.read(breakout, None, (), settings).size == 118
    assert obs_spec.read(breakout, None, (), {}) is None


def test_names_of_the_examples_and_templates(target):
    pong = header.read(ROOT / "examples/pong")
    found = obs_spec.read(pong, 8, (3,))
    assert [part.name for part in found.parts[:2]] == ["OBS_OPPONENT_Y", "OBS_AGENT_Y"]
    assert found.ids == ("ACT_STAY", "ACT_UP", "ACT_DOWN") and found.heads == ()
    assert obs_spec.read(pong, 8, (4,)).ids == ()            # not its number of actions
    assert obs_spec.read(header.read(ROOT / "examples/snake"), 121).parts == ()  # TILE_: of values
    assert obs_spec.read(header.read(target), 28, (9, 5)).heads == ("HEAD_TURN", "HEAD_THRUST")


def test_config_shows_it(capsys):
    assert cli.main(["config", "pong"]) == 0
    shown = capsys.readouterr().out.partition("\nobservation\n")[2]
    shown = shown.partition("\n\nfinal")[0].splitlines()
    assert shown[0] == "  8 floats" and shown[5] == "  4  OBS_BALL_VX         [-1, 1]"
    assert shown[-1] == "  head 0  3 ids: ACT_STAY, ACT_UP, ACT_DOWN"
    assert cli.main(["config", "snake", "--format", "json", "--env.vision", "2"]) == 0
    document = json.loads(capsys.readouterr().out)["row"]
    assert document["size"] == 25 and document["parts"] == [
        {"name": None, "first": 0, "count": 25, "kind": "grid", "shape": [5, 5], "low": 0.0,
         "high": 4.0, "ids": 5, "cell": None, "mask": None}]


@pytest.mark.long
def test_check_holds_shapes_and_ids_against_what_is_there(tmp_path, squared):
    for size, ids, words in some_or_all([
            ("11 x 11", 2, r"leaves its declared ids \[0, 1\]"),
            ("11 x 12", 3, "is not what its comment says"),
            ("11 x WIDTH", 3, "a size of the observation is not known: WIDTH")], 0, 1):
        folder = tmp_path / "squared"
        shutil.copytree(squared, folder, dirs_exist_ok=True)
        text = (folder / "squared.h").read_text()
        old = "grid env->size x env->size of 3 ids"
        assert old in text
        (folder / "squared.h").write_text(text.replace(old, f"grid {size} of {ids} ids"))
        (finding,) = [f for f in short_check(folder).findings if f.code == "PUF306"]
        assert re.search(words, finding.message)
        assert finding.line == 27
