"""Recordings: what an env drew is what the files hold, and what was measured is what they show."""
import json
import math
import os
import re
import shutil
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from helpers.films import decoded, ffmpeg
from helpers.places import ROOT, SPECIMENS
from helpers.playground import leftovers, wait_until
from helpers.short_or_long import long_only, some_or_all
from PIL import Image, ImageFont

from puffer_sdk.base.errors import RunError, UsageError
from puffer_sdk.cli import cmd_eval as eval_command
from puffer_sdk.cli import main
from puffer_sdk.env import build, child_process, open_env, vec
from puffer_sdk.pictures import film as filming
from puffer_sdk.pictures import montage, record
from puffer_sdk.policy import evaluate
from puffer_sdk.settings import config
from puffer_sdk.training import train

pytest_plugins = ["helpers.playground_fixtures"]

SCENES = {name: int(number) for name, number in re.findall(
    r"^    ([A-Z_0-9]+) = (\d+),", (SPECIMENS / "drawing" / "drawing.h").read_text(), re.M)}
DARK, TEAL, RED = (6, 24, 24), (0, 187, 187), (241, 20, 20)


@pytest.fixture(scope="session")
def drawing(tmp_path_factory):
    """The specimen `drawing`, copied and built once, with a picture and a font to load."""
    folder = tmp_path_factory.mktemp("envs") / "drawing"
    shutil.copytree(SPECIMENS / "drawing", folder)
    shelf = folder / "resources" / "drawing"
    shelf.mkdir(parents=True)
    flag = np.zeros((30, 60, 4), np.uint8)
    flag[:10], flag[10:] = (*TEAL, 255), (*RED, 255)            # teal on top
    Image.fromarray(flag).save(shelf / "flag.png")
    font = ImageFont.load_default(40)
    (shelf / "font.ttf").write_bytes(font.path.getvalue())
    build.build(folder)
    return folder


@pytest.fixture(scope="module")
def trained(drawing, tmp_path_factory):
    """A run of the env that has learned to do a lot."""
    return train.train(drawing, {}, runs_dir=tmp_path_factory.mktemp("trained")).folder


@pytest.fixture
def shoot(drawing, tmp_path):
    """shoot(scene, **options) -> the frames, and the Recording as an attribute of shoot"""
    def go(scene="BARS", settings=None, **options):
        folder = tmp_path / "frames"
        shutil.rmtree(folder, ignore_errors=True)
        settings = {"env.scene": SCENES[scene], **(settings or {})}
        go.film = record.record(drawing, settings, frames=folder, **{"model": None, **options})
        return read(folder)

    return go


def read(folder):
    return [np.asarray(Image.open(path)) for path in sorted(folder.iterdir())]


def colour(frame, x, y):
    return tuple(int(value) for value in frame[y, x])


# -- the picture -------------------------------------------------------------------


SCREENSHOT = """\
import sys, numpy as np
from pathlib import Path
from puffer_sdk.env import build as building
from puffer_sdk.raylib import drawing as raylib_source
from puffer_sdk.settings import config
from puffer_sdk.pictures.screen.canvas import Screen
from puffer_sdk.env.library import Library
from puffer_sdk.env.vec import VecEnv
folder = Path(sys.argv[1])
served = raylib_source.shared("headless")
screen = Screen.open(served, visible=False)
built = building.build(folder, raylib_headers=served.headers)
resolved = config.resolve(folder, {}, spec=built.spec)
envs = VecEnv(Library(built.library, folder), total_agents=3, seed=resolved.eval.seed,
              env_settings=resolved.env)
envs.reset()
np.save(sys.argv[2], screen.render(envs, 2))
"""


def test_squared_is_the_right_way_up_in_its_own_colours(squared, tmp_path):
    """The first frame is the screenshot of the same state, pixel for pixel; the GIF is exact."""
    film = record.record(squared, model=None, gif=tmp_path / "a.gif", frames=tmp_path / "frames",
                  env_index=2, episodes=1)
    frames = read(tmp_path / "frames")
    subprocess.run([sys.executable, "-c", SCREENSHOT, squared, tmp_path / "shot.npy"], check=True)
    assert np.array_equal(frames[0], np.load(tmp_path / "shot.npy"))
    assert (film.height, film.width, 3) == frames[0].shape
    assert colour(frames[0], 319, 44 + 319) == (0, 205, 190)            # the agent in the centre
    gold = (frames[0][44:] == (255, 190, 60)).all(2).sum()
    teal = (frames[0][44:] == (0, 205, 190)).all(2).sum()
    assert gold == teal > 2000
    letters = (frames[0] == (245, 245, 245)).all(2).any(1)
    assert letters[:36].any() and not letters[44:].any()                # text on top
    assert all((a != b).any() for a, b in zip(frames, frames[1:]))
    found, delays, info = decoded(tmp_path / "a.gif")
    assert all(np.array_equal(a, b) for a, b in zip(found, frames, strict=True))
    assert info["loop"] == 0 and len(frames) == film.frames == film.episodes[0]["episode_length"]
    assert sum(delays) == pytest.approx(100 * film.seconds, abs=1) and film.fps == 8
    assert (tmp_path / "a.gif").stat().st_size < 12_000 + 2_000 * len(frames)


@long_only
def test_target_moves_and_its_film_is_like_its_frames(target, tmp_path):
    film = record.record(target, model=None, mp4=tmp_path / "a.mp4", frames=tmp_path / "frames",
                  gif=tmp_path / "a.gif", ticks=20)
    frames = read(tmp_path / "frames")
    raw = ffmpeg("-i", tmp_path / "a.mp4", "-f", "rawvideo", "-pix_fmt", "rgb24", "-").stdout
    found = np.frombuffer(raw, np.uint8).reshape(20, film.height, film.width, 3)
    for got, frame in zip(found.astype(int), frames, strict=True):
        assert abs(got - frame).mean() < 2
    assert film.fps == 60 and film.unfinished == []
    shown, delays, _ = decoded(tmp_path / "a.gif")
    assert len(shown) == 10 and 33 <= sum(delays) <= 34         # 60 a second: every second one


@long_only
def test_3d_cameras_and_textures(shoot):
    cube = shoot("CUBE", ticks=1)[0]
    assert colour(cube, 100, 50) == RED and colour(cube, 10, 50) == DARK
    camera = shoot("CAMERA", ticks=1)[0]
    assert (camera[50:70, 100:120] == TEAL).all()
    assert (camera == TEAL).all(2).sum() == 400
    canvas = shoot("CANVAS", ticks=1)[0]
    assert (canvas[50:60, 50:90] == TEAL).all() and (canvas[60:70, 50:90] == RED).all()


def test_resources_are_found_by_each_env_of_a_grid(shoot, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    frames = shoot("TEXTURE", grid="1x2", ticks=3)
    for tick, frame in enumerate(frames):
        for left in (montage.GAP, 200 + 2 * montage.GAP):
            tile = frame[montage.GAP:, left:left + 200]
            assert (tile[10:20, 10 + tick:70 + tick] == TEAL).all()
            assert (tile[20:40, 10 + tick:70 + tick] == RED).all()
            assert colour(tile, 9 + tick, 15) == DARK
            letter = (tile[:, 110:] == 255).all(2)
            assert 100 < letter.sum() < 700         # an H in 40 pixels, antialiased


def test_a_window_that_grows_is_fitted_in(shoot):
    frames = shoot("GROWING", {"env.length": 5}, episodes=1)
    assert {frame.shape for frame in frames} == {(100, 200, 3)}
    assert (frames[1][:80] == TEAL).all() and (frames[1][80:] == RED).all()
    later = frames[3]                                           # 200 x 200, halved
    assert (later[:89, 51:149] == TEAL).all() and (later[91:, 51:149] == RED).all()
    assert (later[:, :49] == montage.PAPER).all()


def test_envs_with_windows_of_different_sizes(shoot, drawing):
    frames = shoot("SIZES", grid=(1, 4), ticks=2)
    widths = [40 + seed % 3 * 20 for seed in seeds(drawing)[:4]]
    assert len(set(widths)) > 1
    tile = widths[0]
    for i, width in enumerate(widths):
        left = montage.GAP + i * (tile + montage.GAP)
        seed = seeds(drawing)[i]
        middle = colour(frames[1], left + tile // 2, montage.GAP + 20)
        assert middle == (seed & 255, seed >> 8 & 255, 60)
        bar = (frames[1][montage.GAP + 20, left:left + tile] == middle).all(1).sum()
        assert bar == pytest.approx(min(width, tile), abs=1)


def seeds(folder):
    with open_env.make(folder, num_envs=16, seed=0) as envs:
        resolved = config.resolve(folder)
        return [vec.mix_seed(resolved.eval.seed, env) for env in range(envs.num_envs)]


@pytest.mark.parametrize("scene", ["LATE", "CLIENT", "CLOSE_DESCRIPTORS"])
def test_habits_that_do_no_harm(scene, shoot):
    frames = shoot(scene, episodes=1, grid=(1, 2))
    assert len(frames) == 6
    if scene == "CLIENT":
        gap = montage.GAP
        assert (frames[5][gap:-gap, gap:gap + 100] != frames[5][gap, gap + 150]).any()
    else:
        assert any((a != b).any() for a, b in zip(frames, frames[1:]))


def test_many_colours_fit_into_a_gif(drawing, tmp_path):
    record.record(drawing, {"env.scene": SCENES["GRADIENT"]}, model=None, gif=tmp_path / "a.gif",
           frames=tmp_path / "frames", episodes=1)
    found, _, _ = decoded(tmp_path / "a.gif")
    for tick, (got, frame) in enumerate(zip(found, read(tmp_path / "frames"), strict=True)):
        assert (got[12:28, 10 * tick:10 * tick + 20] == TEAL).all()
        assert abs(got.astype(int) - frame).mean() < 5


# -- time --------------------------------------------------------------------------


@long_only
def test_the_pace_that_the_env_asks_for_is_the_gifs_and_nobody_waits(drawing, cli, tmp_path):
    """120 ticks at 1 a second: two minutes to play, and this ends before a quarter of that."""
    done = cli("eval", drawing, "--baselines", "--gif", "a.gif", "--episodes", 20,
               "--ticks", 120, "--env.fps", 1, timeout=28)
    assert done.returncode == 0, done.stderr
    assert "recorded  a.gif: 200 x 100, 120 frames, 120.0 s at 1 fps" in done.stdout
    _, delays, _ = decoded(tmp_path / "a.gif")
    assert sum(delays) == 12000


def test_the_users_pace_goes_first_and_30_without_one(shoot):
    assert shoot("BARS", {"env.fps": 7}, ticks=2) and shoot.film.fps == 7
    assert shoot("BARS", {"env.fps": 7}, ticks=2, fps=20) and shoot.film.fps == 20
    assert shoot("BARS", ticks=2) and shoot.film.fps == filming.USUAL_FPS == 30


@long_only
def test_how_long_a_film_is(shoot):
    for settings, options, ticks, unfinished in (
            ({"env.length": 6}, {"episodes": 1}, 6, []),
            ({"env.length": 6}, {"episodes": 3}, 18, []),
            ({"env.length": 6}, {"episodes": 3, "ticks": 10}, 10, ["random"]),
            ({"env.length": 6, "env.fps": 4}, {}, 24, []),          # 5 seconds, and to the end
            ({"env.length": 90, "env.fps": 4}, {}, 90, []),         # one episode at least
            ({"env.length": 90, "env.fps": 2}, {}, 60, ["random"]),     # 30 seconds at most
            ({"env.length": -1, "env.fps": 4}, {}, 40, []),         # 10 seconds of what never ends
            ({"env.length": -1, "env.fps": 4}, {"ticks": 50}, 50, [])):
        frames = shoot("BARS", settings, **options)
        assert (len(frames), shoot.film.unfinished) == (ticks, unfinished), settings
        assert shoot.film.frames == shoot.film.ticks["random"] == ticks


# -- what was measured is what is shown --------------------------------------------


@long_only
def test_the_episodes_are_those_of_the_evaluation(drawing, trained, tmp_path):
    """The same env, seed and drawn actions: the bar says what was earned, the table too."""
    settings = {"env.length": 12, "eval.episodes": 16}
    scores = evaluate.evaluate(drawing, settings, model=trained,
                                 output=tmp_path / "e.json").scores
    film = record.record(drawing, settings, model=trained, frames=tmp_path / "frames",
                         beside="random",
                  env_index=3, episodes=1)
    assert film.policies == ["trained", "random"]
    panes = [[], []]
    for frame in read(tmp_path / "frames"):
        for pane, left in enumerate((0, 200 + montage.GAP)):
            panes[pane].append(frame[montage.LABEL:, left:left + 200])
    for name, pane, shown in zip(film.policies, panes, film.episodes):
        measured = next(e for e in scores[name].episodes if e["env"] == 3)
        assert shown["policy"] == name
        assert {key: shown[key] for key in ("env", "seed", "episode_return", "episode_length")} \
            == {key: measured[key] for key in ("env", "seed", "episode_return", "episode_length")}
        bars = [int((frame[50] == TEAL).all(1).sum()) // 4 for frame in pane]
        steps = np.diff([*bars, measured["episode_return"]])
        assert bars[0] == 0 and len(bars) == 12 and set(steps) <= {0, 1, 2}
        assert [int((frame[90] == RED).all(1).sum()) for frame in pane] == list(range(0, 120, 10))
    assert scores["trained"].mean["episode_return"] > 1.3 * scores["random"].mean["episode_return"]
    assert film.episodes[0]["episode_return"] > film.episodes[1]["episode_return"]


def test_a_notebook_shows_the_recording(drawing, tmp_path):
    for name, tag in (("gif", '<img src="data:image/gif;base64,R0lGOD'),
                      ("mp4", '<video src="data:video/mp4;base64,')):
        made = record.record(drawing, model=None, ticks=3, **{name: tmp_path / f"a.{name}"})
        assert made._repr_html_().startswith(tag) and "played by random" in made._repr_html_()
    made = record.record(drawing, model=None, ticks=3, frames=tmp_path / "frames")
    assert made._repr_html_().endswith("frames")


@long_only
def test_beside_shows_each_as_it_is_alone(drawing, trained, tmp_path):
    shots = {}
    for name, options in (("both", {"beside": "random"}), ("trained", {}),
                          ("random", {"model": None})):
        record.record(drawing, frames=tmp_path / name, **{"model": trained, "ticks": 9, **options})
        shots[name] = read(tmp_path / name)
    for both, left, right in zip(*shots.values(), strict=True):
        assert both.shape == (100 + montage.LABEL, 400 + montage.GAP, 3)
        assert np.array_equal(both[montage.LABEL:, :200], left)
        assert np.array_equal(both[montage.LABEL:, -200:], right)
    labels = both[:montage.LABEL]
    assert (labels[:, :200] == montage.INK).all(2).any()
    assert (labels[:, :200] != labels[:, -200:]).any()


def test_the_side_that_ends_first_is_dimmed(drawing, trained, tmp_path):
    """Episodes of one length end together; so the right one is cut short by hand."""
    compositor = record.Compositor(record.Options(frames=tmp_path / "f"), ["trained", "random"],
                              tmp_path / "ring", None)
    ring = filming.Ring(tmp_path / "ring", 4, (20, 40, 3), make=True)
    with compositor:
        compositor.on_event("opening", {"slots": 4, "shape": [20, 40, 3], "fps": 5})
        for policy, ticks in (("trained", 3), ("random", 2)):
            for tick in range(ticks):
                ring.pictures[tick] = 50 * (tick + 1)
                compositor.on_event("frame", {"slot": tick, "done": 0.5, "policy": policy})
            compositor.on_event("pane", {"policy": policy, "ticks": ticks, "episodes": [],
                                     "ended": True})
        assert compositor.finish("x").frames == 3
    frames = read(tmp_path / "f")
    assert [int(frame[-1, 0, 0]) for frame in frames] == [50, 100, 150]
    assert [int(frame[-1, -1, 0]) for frame in frames[:2]] == [50, 100]
    assert frames[2][-1, -1, 0] == montage.dim(np.full((1, 1, 3), 100, np.uint8))[0, 0, 0] < 60


def test_a_grid_shows_its_envs_in_reading_order(shoot, drawing):
    frame = shoot("SEEDS", grid="2x3", env_index=4, ticks=1)[0]
    gap = montage.GAP
    assert frame.shape == (2 * 20 + 3 * gap, 3 * 40 + 4 * gap, 3)
    for place, seed in enumerate(seeds(drawing)[4:10]):
        top, left = (gap + at * (side + gap) for at, side in zip(divmod(place, 3), (20, 40)))
        assert (frame[top:top + 20, left:left + 40] == (seed & 255, seed >> 8 & 255, 60)).all()
    assert (frame[:gap] == montage.FRAME).all() and (frame[:, -gap:] == montage.FRAME).all()


def test_envs_of_a_grid_that_are_done_are_dimmed(shoot, drawing):
    frames = shoot("SEEDS", {"env.length": 0}, grid=(1, 16), episodes=1)
    lengths = [2 + seed % 5 for seed in seeds(drawing)]
    assert len(frames) == max(lengths) and len(set(lengths)) > 2
    for env, (seed, length) in enumerate(zip(seeds(drawing), lengths)):
        bright = np.array([[[seed & 255, seed >> 8 & 255, 60]]], np.uint8)
        for tick, frame in enumerate(frames):
            expected = bright if tick < length else montage.dim(bright)
            place = frame[montage.GAP, montage.GAP + env * (40 + montage.GAP)]
            assert (place == expected[0, 0]).all(), (env, tick)
    shown = sorted((e["env"], e["episode_length"]) for e in shoot.film.episodes)
    assert shown == list(enumerate(lengths))


@long_only
def test_pictures_larger_than_a_screen_shrink_by_whole_factors(shoot):
    frame = shoot("BARS", grid=(2, 16), ticks=1, settings={"eval.episodes": 32})[0]
    assert frame.shape[1] == 16 * 67 + 17 * montage.GAP         # 200 / 3
    wide = shoot("BARS", ticks=1, width=400)[0]
    assert np.array_equal(wide[::2, ::2], shoot("BARS", ticks=1)[0]) and wide.shape[1] == 400
    assert shoot("BARS", ticks=1, width=120)[0].shape == (60, 120, 3)
    assert shoot("BARS", ticks=1, width=301, grid=(1, 2))[0].shape[1] <= 301


@long_only
def test_a_parent_that_is_slow_loses_no_picture(drawing, tmp_path, monkeypatch):
    """The ring has 64 places at most: the child has to wait."""
    shots = []
    for name, each in (("slow", 0.004), ("quick", 0)):
        monkeypatch.setattr(record.Compositor, "write",
                            lambda compositor, picture, each=each, write=record.Compositor.write:
                            (time.sleep(each), write(compositor, picture)))
        film = record.record(drawing, {"env.length": 100}, model=None, frames=tmp_path / name,
                      ticks=200, episodes=2)
        shots.append(read(tmp_path / name))
        monkeypatch.undo()
    assert film.frames == 200
    assert all(np.array_equal(a, b) for a, b in zip(*shots, strict=True))
    bars = [int((frame[90] == RED).all(1).sum()) for frame in shots[0]]
    assert bars[:21] == list(range(0, 210, 10)) and bars[100:103] == [0, 10, 20]


# -- what goes wrong ---------------------------------------------------------------


@pytest.mark.parametrize(("scene", "cause"), some_or_all([
    ("SEGFAULT", "SIGSEGV"), ("LOOP", "no return for 1 seconds"), ("EXIT_0", "exit(0)")], 0))
def test_an_env_that_dies_while_it_draws(scene, cause, drawing, tmp_path):
    victim = seeds(drawing)[1]
    settings = {"env.scene": SCENES[scene], "vec.step_timeout": 1, "env.victim": victim}
    with pytest.raises(RunError) as caught:
        record.record(drawing, settings, model=None, gif=tmp_path / "a.gif", mp4=tmp_path / "a.mp4",
               frames=tmp_path / "frames", grid=(1, 3), episodes=1)
    text = caught.value.message
    assert "failed in c_render" in text and cause in text
    assert f"env 1, seed {victim}, step 2" in text
    assert not list(tmp_path.iterdir())


def test_an_env_that_draws_nothing(drawing, tmp_path):
    with pytest.raises(RunError, match="c_render draws nothing"):
        record.record(drawing, {"env.scene": SCENES["NOTHING"]}, model=None, gif=tmp_path / "a.gif")
    assert not list(tmp_path.iterdir())


def test_ctrl_c_leaves_nothing(drawing, start, tmp_path):
    (tmp_path / "tmp").mkdir()
    process = start("eval", drawing, "--baselines", "--gif", "a.gif", "--frames", "frames",
                    "--ticks", 10**6, "--episodes", 10**6,
                    env={**os.environ, "TMPDIR": str(tmp_path / "tmp")})
    wait_until(lambda: list(tmp_path.glob("frames/.frame_000020*")))
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=20)
    assert process.returncode == 130 and "Traceback" not in err
    assert [item.name for item in tmp_path.iterdir()] == ["tmp"]
    assert not list((tmp_path / "tmp").iterdir())


@pytest.mark.parametrize(("options", "text"), [
    ({"env_index": 32}, "the evaluation has no env 32"),
    ({"grid": (4, 9)}, "the evaluation has no envs 0 to 35"),
    ({"grid": (0, 5)}, "--grid is out of range"), ({"grid": "4 by 4"}, "--grid is invalid"),
    ({"episodes": 0}, "--record-episodes is too small"), ({"ticks": 0}, "--ticks is too small"),
    ({"fps": 0.0}, "--fps is out of range"), ({"fps": math.nan}, "--fps is out of range"),
    ({"env_index": -1}, "--env-index is too small"), ({"width": 2}, "--width is too small"),
    ({"width": 99999}, "--width is too large"),
    ({"beside": "random"}, "already shows random play"), ({"gif": None}, "needs a file"),
    ({"gif": "no/such/a.gif"}, "output folder does not exist"),
    ({"frames": "full"}, "contains other files"),
    ({"mp4": "full"}, "must be a file name"), ({"mp4": "a.gif"}, "are the same file"),
    ({"gif": "a.png"}, "the GIF has the suffix of another format"),
    ({"mp4": "b.gif"}, "the film has the suffix of another format")])
def test_what_is_refused(options, text, drawing, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "thesis.txt").write_text("x")
    with pytest.raises(UsageError, match=text):
        record.record(drawing, **{"gif": "a.gif", "model": None, **options})
    assert not leftovers(tmp_path) and not (tmp_path / "a.gif").exists()


def test_a_file_that_cannot_be_is_refused_before_anything_is_played(drawing, capsys, monkeypatch):
    monkeypatch.setattr(child_process, "run", lambda *_, **__: pytest.fail("it was played"))
    status = main(["eval", str(drawing), "--baselines", "--gif", "/no/such/folder/a.gif"])
    assert status == 2 and "output folder does not exist" in capsys.readouterr().err


@pytest.mark.parametrize(("options", "words"), [
    (["--episodes", "300"], ["--episodes, now --record-episodes, sets the number of recorded",
                             "--gif out.gif", "--eval.episodes 300 sets"]),
    (["--record-episodes", "7"], ["--eval.episodes 7 sets"]),
    (["--ticks", "50"], ["--ticks sets the number of recorded ticks", "--eval.steps 50 sets"]),
    (["--gif", "a.gif", "--episodes", "2", "--record-episodes", "2"], ["expected one of them"])])
def test_what_an_option_is_for_is_said_before_anything_is_played(options, words, drawing, capsys,
                                                                 monkeypatch):
    monkeypatch.setattr(child_process, "run", lambda *_, **__: pytest.fail("it was played"))
    assert main(["eval", str(drawing), "--baselines", *options]) == 2
    said = capsys.readouterr().err
    assert all(text in said for text in words), said


@pytest.mark.parametrize("option", ["--episodes", "--record-episodes"])
def test_both_names_reach_the_recording(option):
    given = eval_command.command.make_context("eval", ["x", "--gif", "a.gif", option, "3"]).params
    names = [option.name for option in eval_command.command.params]
    recording = {name: given[name] for name in names[names.index("gif"):names.index("force") + 1]}
    assert eval_command.read_shot(recording).episodes == 3


# -- the command -------------------------------------------------------------------


def test_the_command(drawing, trained, cli, tmp_path):
    """Table and recording in one go, without a display and from anywhere."""
    bare = {key: value for key, value in os.environ.items() if key != "DISPLAY"}
    done = cli("eval", drawing, "--load-model-path", trained, "--gif", "a.gif", "--mp4", "b.mp4",
               "--frames", "c", "--grid", "2x2", "--ticks", 10, env=bare)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0].strip() == "drawing, per episode"
    said = [line for line in lines if line.startswith("recorded")]
    assert re.fullmatch(r"recorded  a\.gif: 412 x 212, 10 frames, 0\.3 s at 30 fps, \d+ KB",
                        said[0])
    assert said[1].startswith("recorded  b.mp4: 412 x 212") and \
        said[2] == "recorded  c: 412 x 212, 10 frames, PNG"
    assert sorted(item.name for item in tmp_path.iterdir()) == ["a.gif", "b.mp4", "c"]


@long_only
def test_a_film_that_ends_in_an_episode_says_so(drawing, cli):
    long = ["eval", drawing, "--baselines", "--gif", "a.gif", "--env.length", 50, "--env.fps", 1]
    assert "ends after 30 ticks, within an episode of random play" in cli(*long).stderr
    assert "middle" not in cli(*long, "--ticks", 20).stderr


def test_json_holds_the_recording(drawing, cli, tmp_path):
    done = cli("eval", drawing, "--baselines", "--gif", "a.gif", "--format", "json")
    result = json.loads(done.stdout)
    assert set(result["policies"]) == {"random", "idle"}
    assert result["recording"]["paths"] == [str(tmp_path / "a.gif")]
    assert result["recording"]["frames"] == 150 and result["recording"]["seconds"] == 5


@long_only
def test_what_is_missing_is_said_once(squared, cli, tmp_path):
    """A pattern of pink and black stands where a texture would; a shader is left out. Each of four
    envs misses them."""
    folder = shutil.copytree(squared, tmp_path / "squared",
                             ignore=shutil.ignore_patterns("build", ".git"))
    header = folder / "squared.h"
    text = header.read_text()
    assert text.count("    EndDrawing();") == 1
    header.write_text(text.replace("    EndDrawing();", """\
    Texture2D face = LoadTexture("resources/face.png");
    DrawTexture(face, 20, 80, WHITE);
    BeginShaderMode(LoadShaderFromMemory(0, "void main() { }"));
    EndShaderMode();
    EndDrawing();"""))
    done = cli("eval", folder, "--baselines", "--frames", "frames", "--grid", "2x2", "--ticks", 3)
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("missing texture: resources/face.png, looked for in ") == 1
    assert str(folder) in done.stderr and done.stderr.count("recordings have no shaders") == 1
    assert "draws is drawn plain (squared.h:" in done.stderr
    colors = {tuple(pixel) for pixel in read(tmp_path / "frames")[1].reshape(-1, 3)}
    assert (255, 0, 255) in colors


def test_options_of_a_recording_need_one(drawing, cli):
    done = cli("eval", drawing, "--baselines", "--grid", "4x4")
    assert done.returncode == 2 and "--grid requires a recording" in done.stderr


@long_only
def test_what_ocean_envs_do(tmp_path):
    """A hand-written binding, a Client made in c_render, a texture, exit on ESC."""
    folder = tmp_path / "mole"
    shutil.copytree(SPECIMENS / "ocean" / "mole", folder)
    film = record.record(folder, model=None, frames=tmp_path / "frames", grid=(1, 2), ticks=12)
    frames = read(tmp_path / "frames")
    assert film.fps == 10 and any((a != b).any() for a, b in zip(frames, frames[1:]))


@long_only
def test_the_page_as_written(squared, cli, tmp_path):
    """Every command and the Python of docs/guides/recording.md; the line that it shows."""
    page = (ROOT / "docs" / "guides" / "recording.md").read_text()
    shutil.copytree(squared, tmp_path / "my_env", ignore=shutil.ignore_patterns("build", ".git"))
    for old in list((tmp_path / "my_env").glob("squared.*")):
        text = old.read_text().replace("squared", "my_env")
        old.with_name(old.name.replace("squared", "my_env")).write_text(text)
        old.unlink()
    train.train(tmp_path / "my_env", {"train.total_timesteps": 100_000})
    commands = re.findall(r"^\$ puffer-sdk (.*)$", page, re.M)
    assert len(commands) == 6
    shown = []
    for command in commands:
        done = cli(*command.split())
        assert done.returncode in (0, 1), done.stderr           # 1: the goal is not met yet
        shown += [line for line in done.stdout.splitlines() if line.startswith("recorded")]
    numbers = re.compile(r"\d[\d.]*")
    (line,) = re.findall(r"^recorded .*$", page, re.M)
    assert numbers.sub("#", shown[0]) == numbers.sub("#", line)
    for name in ("my_env.gif", "four.gif", "both.gif", "dice.gif", "my_env.mp4", "pictures"):
        assert (tmp_path / name).exists()
    assert len(list((tmp_path / "pictures").iterdir())) == 20
    (python,) = re.findall(r"^```python\n(.*?)^```", page, re.M | re.S)
    subprocess.run([sys.executable, "-c", python], cwd=tmp_path, check=True)
