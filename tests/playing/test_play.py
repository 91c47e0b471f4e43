"""`puffer-sdk play` on a real display: a window, keys, pictures, back in time, rebuilt on save."""
import re
import shutil
import subprocess
import sys
import time

import numpy as np
import pytest
from helpers.places import SPECIMENS
from helpers.playground import COMMAND, wait_until
from helpers.short_or_long import long_only
from PIL import Image, ImageSequence

from puffer_sdk.base.errors import UsageError
from puffer_sdk.pictures.record import record
from puffer_sdk.pictures.screen import canvas
from puffer_sdk.playing import play as player
from puffer_sdk.raylib import drawing

NIGHT, TEAL, GOLD = (16, 24, 32), (0, 205, 190), (255, 190, 60)
PANEL = (18, 22, 28)


@pytest.fixture
def folder(squared, tmp_path):
    shutil.copytree(squared, tmp_path / "squared", ignore=shutil.ignore_patterns("build", "runs"))
    return tmp_path / "squared"


@pytest.fixture(scope="module", autouse=True)
def desktop():
    """raylib is compiled before the first window is waited for."""
    canvas.build(drawing.shared("desktop"))


@pytest.fixture
def play(display, start, tmp_path):
    """play(*args) -> a running game whose window is there."""
    def go(*args):
        process = start("play", *args, env=display.env)
        display.wait_for(lambda picture: process.poll() is not None or
                        (panel_left(picture) and is_color(picture, GOLD).any()), 60)
        assert process.poll() is None, process.communicate()
        return process

    yield go
    # the next test's window must not be taken for this one's


pytest_plugins = ["helpers.playground_fixtures"]


def is_color(picture, color):
    return (np.abs(picture.astype(int) - color) <= 1).all(-1)


def panel_left(picture):
    """The column where the panel begins, or None."""
    columns = np.flatnonzero(is_color(picture, PANEL).mean(0) > 0.4)
    return int(columns[0]) if len(columns) > 100 else None


def board(picture):
    """The game's part of the window."""
    left = np.flatnonzero(is_color(picture, NIGHT).any(0))[0]
    rows = np.flatnonzero(is_color(picture, PANEL).any(1))
    return picture[rows[0]:rows[-1] + 1, left:panel_left(picture)]


def place(picture, color):
    """The middle of what has this colour below the head line, in tiles of 58 pixels."""
    rows, columns = np.nonzero(is_color(board(picture)[44:], color))
    return (int(rows.mean() // 58), int(columns.mean() // 58)) if len(rows) > 500 else None


def end(process, display):
    display.tap("Escape", seconds=0.2)
    out, err = process.communicate(timeout=20)
    assert process.returncode == 0 and "Traceback" not in err, err
    return out, err


def test_keys_pause_step_back_and_drive(play, display, folder, tmp_path):
    process = play(folder, "--paused", "--seed", 4, "--load-model-path", "none")
    first = display.steady()
    assert place(first, TEAL) == (5, 5)
    display.tap("shift", "period")       # a tick with nothing pressed: it stays
    assert place(display.steady(), TEAL) == (5, 5)
    for key, expected in (("Right", (5, 6)), ("s", (6, 6)), ("Left", (6, 5))):
        display.tap("shift", key, seconds=0.3)      # one tick, however long it is held
        moved = display.steady()
        assert place(moved, TEAL) == expected, key
    display.tap("comma")
    assert place(display.steady(), TEAL) == (6, 6)
    display.tap("comma")
    display.tap("comma")
    display.tap("comma")
    again = display.steady()
    assert (board(again) == board(first)).all()
    for _ in range(4):
        display.tap("period")            # what was done is done again, without SHIFT
    assert (board(display.steady()) == board(moved)).all()
    out, _ = end(process, display)
    assert re.fullmatch(r"played  \d+ ticks, 0 episodes\n", out)


@long_only
def test_a_game_in_turns_waits_for_a_key(play, display, tmp_path):
    """One tick a key and seat; between them nothing moves. The second seat is the player's."""
    shutil.copytree(SPECIMENS / "sticks", tmp_path / "sticks")
    process = play("sticks", "--seat", 1, "--seed", 5, "--paused", "--load-model-path", "none")

    def look(picture=None):
        """(whose turn it is, sticks): the window's ground, and bars of 10 pixels."""
        picture = display.steady() if picture is None else picture
        turn = int(is_color(picture, (0, 82, 172)).sum() > is_color(picture, (0, 117, 44)).sum())
        return turn, int(is_color(picture, GOLD).any(0).sum() // 10)

    begun = look()
    assert begun[0] == 0
    display.tap("period")                           # the other seat's move
    turn, heap = look()
    assert turn == 1 and begun[1] - heap in (1, 2, 3)
    display.tap("shift", seconds=0.4)
    assert look() == (1, heap)
    display.tap("shift", "2", seconds=0.4)          # paused, a key is one tick
    assert look() == (0, heap - 2)
    display.tool("keydown", "shift")
    display.tap("p")                                # the other seat moves, and the game waits
    turn, left = look()
    assert turn == 1 and heap - 2 - left in (1, 2, 3)
    time.sleep(0.5)
    assert look() == (1, left)
    display.tap("1", seconds=0.4)                   # however long it is held
    turn, last = look()
    assert turn == 1 and left - 1 - last in (1, 2, 3) and last > 0
    display.tool("keyup", "shift")                  # now both are played
    display.wait_for(lambda picture: look(picture) != (1, last))
    out, _ = end(process, display)
    assert int(re.match(r"played  (\d+) ticks", out)[1]) >= 6


@long_only
def test_without_pause_it_moves_and_ends_after_ticks(play, display, folder, tmp_path):
    process = play(folder, "--ticks", 30)
    before = board(display.pixels())
    display.wait_for(lambda picture: (board(picture) != before).any())
    out, err = process.communicate(timeout=30)
    assert process.returncode == 0 and out.startswith("played  30 ticks")
    assert "no trained policy yet: dice play" in err


@long_only
def test_pictures_and_gifs_show_the_game_alone(play, display, folder, tmp_path):
    process = play(folder, "--seed", 4)
    display.tap("p")
    display.tap("F12")
    wait_until(lambda: (tmp_path / "squared-001.png").exists())
    shown = board(display.steady())
    picture = np.asarray(Image.open(tmp_path / "squared-001.png").convert("RGB"))
    assert picture.shape == (682, 638, 3) == shown.shape
    assert (picture == shown).mean() > 0.99         # the panel is not in it
    display.tap("Control_L", "F12")
    display.tap("p")
    time.sleep(1.5)
    display.tap("Control_L", "F12", seconds=0.3)
    out, err = end(process, display)
    assert re.search(r"saved squared-001\.png\nsaved squared-001\.gif, \d+ frames", err)
    frames = [np.asarray(frame.convert("RGB")) for frame in
              ImageSequence.Iterator(Image.open(tmp_path / "squared-001.gif"))]
    assert len(frames) >= 5 and all(frame.shape == picture.shape for frame in frames)
    assert any((frame != frames[0]).any() for frame in frames)
    assert is_color(frames[0], GOLD).sum() > 1000


@long_only
def test_the_panel_can_be_hidden(play, display, folder):
    process = play(folder, "--paused")
    display.tap("F1")
    display.wait_for(lambda picture: panel_left(picture) is None)
    display.tap("F1")
    display.wait_for(panel_left)
    end(process, display)


@long_only
def test_a_saved_file_is_rebuilt_and_the_game_goes_on(play, display, folder):
    process = play(folder, "--paused", "--watch", "--seed", 4)
    for _ in range(3):
        display.tap("period")
    before = place(display.steady(), TEAL)
    header = folder / "squared.h"
    text = header.read_text()
    header.write_text(text.replace("teal = {0, 205, 190, 255}", "teal = {255, 60, 60, 255}"))
    red = display.wait_for(lambda picture: picture if place(picture, (255, 60, 60)) else None)
    assert place(red, (255, 60, 60)) == before      # the state is the one it had
    header.write_text(text.replace("env->tick += 1;", "env->tick += oops;"))
    assert "rebuilt, the game goes on" in process.stderr.readline() + process.stderr.readline()
    said = "".join(process.stderr.readline() for _ in range(2))
    assert "oops" in said and re.search(r"squared\.h:\d+", said)
    header.write_text(text)
    display.wait_for(lambda picture: place(picture, TEAL) == before)
    end(process, display)


def test_an_env_that_exits_on_escape_does_not_end_the_player(play, display, folder, tmp_path):
    header = folder / "squared.h"
    header.write_text(header.read_text().replace(
        "    BeginDrawing();", "    if (IsKeyDown(KEY_ESCAPE)) _Exit(7);\n    BeginDrawing();")
        .replace("#include <string.h>", "#include <stdlib.h>\n#include <string.h>"))
    end(play(folder), display)


def test_an_env_that_dies_while_drawing_is_named(display, start, folder):
    header = folder / "squared.h"
    header.write_text(header.read_text().replace(
        "    BeginDrawing();",
        "    if (env->tick == 3) *(volatile int*)8 = 1;\n    BeginDrawing();"))
    process = start("play", folder, "--seed", 9, env=display.env)
    out, err = process.communicate(timeout=40)
    assert process.returncode == 4 and "SIGSEGV" in err and "c_render" in err and "env 0" in err


@pytest.mark.parametrize(("env", "status", "said"), [
    ({}, 2, "there is no display"),
    ({"DISPLAY": ":98765"}, 4, "cannot open the display")])
def test_without_a_display_it_says_so(env, status, said, folder):
    import os

    surroundings = {key: value for key, value in os.environ.items()
                    if key not in ("DISPLAY", "WAYLAND_DISPLAY")}
    done = subprocess.run([*COMMAND, "play", str(folder)], env={**surroundings, **env}, text=True,
                          capture_output=True, check=False)
    assert done.returncode == status and said in done.stderr and "--gif" in done.stderr


@pytest.mark.parametrize("show", [
    player.play, lambda env, settings: record(env, settings, gif="a.gif", model=None)])
def test_settings_are_refused_before_raylib_is_compiled(show, folder, monkeypatch):
    monkeypatch.setenv("DISPLAY", ":98765")
    monkeypatch.setattr(drawing, "shared", lambda *args, **more: pytest.fail("it is compiled"))
    with pytest.raises(UsageError, match="learning-rate cannot be 'fast'"):
        show(folder, {"train.learning_rate": "fast"})


@long_only
def test_the_window_and_the_headless_picture_agree(play, display, folder, tmp_path):
    """A GPU's rasteriser (here Mesa's) beside the software renderer: text, bars, tiles."""
    process = play(folder, "--paused", "--seed", 4)
    shown = board(display.steady()).astype(int)
    end(process, display)
    script = (
        "import sys; from pathlib import Path; from PIL import Image\n"
        "from puffer_sdk.env import build\nfrom puffer_sdk.raylib import drawing\n"
        "from puffer_sdk.settings import config\n"
        "from puffer_sdk.pictures.screen.canvas import Screen\n"
        "from puffer_sdk.env.library import Library\nfrom puffer_sdk.env.vec import VecEnv\n"
        "folder = Path(sys.argv[1]); served = drawing.shared('headless')\n"
        "screen = Screen.open(served, visible=False)\n"
        "built = build.build(folder, raylib_headers=served.headers)\n"
        "vec = VecEnv(Library(built.library, folder), total_agents=1, seed=4,\n"
        "             env_settings=config.resolve(folder).env)\n"
        "vec.reset(); frame = screen.render(vec, 0); assert screen.asked_fps == 8\n"
        "assert (screen.render(vec, 0) == frame).all()\n"
        "Image.fromarray(frame).save(sys.argv[2]); vec.close(); screen.close()\n")
    done = subprocess.run([sys.executable, "-c", script, folder, tmp_path / "headless.png"],
                          text=True, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    drawn = np.asarray(Image.open(tmp_path / "headless.png").convert("RGB")).astype(int)
    assert drawn.shape == shown.shape
    assert (np.abs(drawn - shown).max(-1) <= 8).mean() > 0.98


@long_only
def test_pip_install_alone_plays(display, start, folder, tmp_path):
    """No network, nothing in the cache: the wheel's raylib, whose calls may come back to us."""
    process = start("play", folder, "--ticks", 40, "--load-model-path", "none",
                    env={**display.env, "PUFFER_OFFLINE": "1",
                         "PUFFER_CACHE": str(tmp_path / "cache")})
    def whole(picture):             # the screen may be read while a frame is on its way to it
        if not panel_left(picture) or not is_color(picture, GOLD).any():
            return None
        return board(picture) if board(picture).shape == (682, 638, 3) else None

    first = display.wait_for(whole, 60)
    display.wait_for(lambda picture: whole(picture) is not None and
                     bool((whole(picture) != first).any()))
    out, err = process.communicate(timeout=60)
    assert process.returncode == 0 and out.startswith("played  40 ticks"), err
    assert "the Python wheel, draws on the desktop" in err
