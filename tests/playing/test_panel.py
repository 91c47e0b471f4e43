"""playing.panel: names with their values, a board only where one is meant, pages that fit."""
import re

import numpy as np
import pytest
from helpers.places import ROOT

from puffer_sdk.env.obs_spec import ObsField, ObsSpec
from puffer_sdk.playing import panel

TOP, KEYS = ["hgame", "sseed 1", "-", "ktick\t1\tepisode\t1"], ["sSHIFT drive", "sP pause"]


def field(name, first, count=1, low=None, high=None):
    return ObsField(name, first, count, low, high, "game.h", 1)


def test_elements_with_names_are_lines_with_values():
    fields = [field("OBS_X", 0), field("OBS_SPEED", 1), field("OBS_WIND", 2, 3),
              field("OBS_BRICKS", 6, 40)]
    observed = np.arange(47, dtype=np.float32) / 8
    assert panel.observation(observed, False, ObsSpec(47, tuple(fields)), 1000) == [
        "kx\t0.000\tspeed\t0.125", "kwind\t0.250  0.375  0.500", "k5\t0.625", "sbricks, 40",
        "o6 40 34 8", "k46\t5.750"]


def test_a_board_is_drawn_of_bytes_without_names_only():
    four = np.array([0.5, -2, np.nan, 1e6], np.float32)
    assert panel.observation(four, False, ObsSpec(0), 1000) == [
        "k0\t0.500\t1\t-2.000", "k2\tnan\t3\t1e+06"]
    assert panel.observation(np.zeros(4, np.uint8), True, ObsSpec(0), 1000) == ["o0 4 2 16"]
    assert panel.observation(np.zeros(121, np.uint8), True, ObsSpec(0), 1000) == ["o0 121 11 16"]
    assert panel.observation(np.zeros(121, np.float32), False, ObsSpec(0), 1000) == ["o0 121 16 16"]
    named = [field(f"OBS_{letter}", at) for at, letter in enumerate("ABCD")]
    assert panel.observation(np.arange(4, dtype=np.uint8), True, ObsSpec(4, tuple(named)),
                             1000) == [
        "ka\t0\tb\t1", "kc\t2\td\t3"]


@pytest.mark.parametrize("is_bytes", [False, True])
@pytest.mark.parametrize("named", [False, True])
def test_pages_fit_and_show_as_much_as_there_is_room_for(named, is_bytes):
    for size in (1, 2, 12, 13, 100, 121, 484, 4096, 20_000):
        fields = [field(f"OBS_FIELD_{at}", at) for at in range(min(size, 300))] if named else []
        about = ObsSpec(size, tuple(fields))
        for window in (0, 300, 420, 500, 1000):
            pages = panel.pages(TOP, np.zeros(size), is_bytes, about, KEYS, window)
            room = max(window, panel.LEAST) - 2 * panel.MARGIN
            assert all(panel.height(page) <= room for page in pages)
            assert len(pages) == 1 or pages[1] == [TOP[0], "-", *KEYS]
            assert (pages[0][-1] == "sF1 keys") == (len(pages) == 2)
            assert pages[0][:len(TOP)] == TOP and pages[0][len(TOP)][0] in "ok"


def test_actions_by_name():
    one = ObsSpec(1, ids=("ACT_STAY", "ACT_UP_LEFT"))
    assert panel.actions([1.0], one, (2,)) == [("action", "up left")]
    assert panel.actions([7.0], one, (2,)) == [("action", "7")]
    assert panel.actions([1.0], ObsSpec(1), (2,)) == [("action", "1")]
    assert panel.actions([0.25], ObsSpec(1, heads=("HEAD_TORQUE",)), (1,)) == [("torque", "0.250")]
    assert panel.actions([1.0, 2.0], ObsSpec(1, heads=("HEAD_TURN", "HEAD_THRUST")), (9, 5)) == [
        ("turn", "1"), ("thrust", "2")]
    assert panel.actions([1.0, -0.5], ObsSpec(1), (9, 1)) == [("head 0", "1"), ("head 1", "-0.500")]


def test_promised_bounds_come_before_those_that_were_seen():
    fields = [field("OBS_X", 0, 2, -1.0, 1.0), field("OBS_FAR", 2, 1, 0.0, float("inf"))]
    low, high = panel.bounds(ObsSpec(4, tuple(fields)), np.full(4, 0.25), np.full(4, 0.5))
    assert low.tolist() == [-1, -1, 0.25, 0.25] and high.tolist() == [1, 1, 0.5, 0.5]


def test_a_declared_grid_is_drawn_as_one():
    board = ObsField("", 0, 12, None, None, "game.h", 1, "grid", (3, 4))
    assert panel.observation(np.zeros(12), False, ObsSpec(12, whole=board), 1000) == ["o0 12 4 16"]
    part = ObsField("OBS_MAP", 1, 12, None, None, "game.h", 1, "grid", (3, 4), 5)
    assert panel.observation(np.zeros(13), False, ObsSpec(13, (part,)), 1000) == [
        "k0\t0.000", "smap, grid 3 x 4 of 5 ids", "o1 12 4 8"]


def test_heights_are_those_that_are_drawn():
    """The panel is laid out here and drawn in C."""
    header = (ROOT / "puffer_sdk/pictures/screen/screen.h").read_text()
    stated = dict(re.findall(r"'(\w|-)' [^'\[]*\[(\d+)\]", header.partition("'o'")[0]))
    assert {style: int(pixels) for style, pixels in stated.items()} == panel.HEIGHTS
    source = (ROOT / "puffer_sdk/pictures/screen/screen.c").read_text()
    width, least, margin = (int(re.search(rf"#define {name} +(\d+)", source)[1])
                            for name in ("PANEL_WIDTH", "PANEL_HEIGHT", "MARGIN"))
    assert (width - 2 * margin, least, margin) == (panel.INSIDE, panel.LEAST, panel.MARGIN)
