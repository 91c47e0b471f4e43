"""programs.py: programs that are opened, played, closed, broken, and made again by hand."""
from __future__ import annotations

import itertools
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from conftest import GAMES
from helpers.places import ROOT, SPECIMENS
from helpers.short_or_long import long_only, short_or_long

from puffer_sdk.base import paths
from puffer_sdk.base.errors import BuildError, UsageError
from puffer_sdk.cli import main
from puffer_sdk.env import binding, header, obs_spec
from puffer_sdk.programs import targets
from puffer_sdk.projects import scaffold
from puffer_sdk.raylib import drawing
from puffer_sdk.settings import config
from puffer_sdk.toolchain import compilers

CHILD = {**os.environ, "PYTHONPATH": str(ROOT)}
NIGHT, TEAL, RED = (16, 24, 32), (0, 205, 190), (235, 70, 80)


def cli(*words, cwd: Path, **env: str) -> subprocess.CompletedProcess:
    return subprocess.run([sys.executable, "-m", "puffer_sdk", *map(str, words)], cwd=cwd,
                          env={**CHILD, **env}, capture_output=True, text=True, timeout=300)


def build(folder: Path, target: str, **options) -> targets.Program:
    return targets.build_program(folder, target, env_settings=config.resolve(folder).env,
                                  **options)


@pytest.fixture
def game(tmp_path) -> Path:
    """A fresh Squared that may be changed."""
    (tmp_path / "pyproject.toml").touch()
    return scaffold.new("squared", template="squared", output_dir=tmp_path).folder


@pytest.fixture
def one_raylib(monkeypatch):
    """The usual compiler's raylib whatever CC names: it takes 15 s to make another."""
    served = drawing.static("desktop")
    monkeypatch.setattr(drawing, "static", lambda *_, **__: served)


def edit(file: Path, old: str, new: str) -> int:
    """Replaces a text that is there once; the line it begins in."""
    text = file.read_text()
    assert text.count(old) == 1, old
    file.write_text(text.replace(old, new))
    return text[:text.index(old)].count("\n") + 1


# -- they open, they are played, they close --------------------------------------------------


def middle(pixels: np.ndarray, color, below: int = 0) -> tuple[float, float]:
    """(x, y) of the centre of what has this colour, as shares of the picture; NaN without any."""
    found = np.argwhere((pixels[below:] == color).all(-1)) + (below, 0)
    if not len(found):
        return float("nan"), float("nan")
    y, x = found.mean(0) / pixels.shape[:2]
    return float(x), float(y)


# Game -> (keys beside shift, what they bring about in the end) of a few things to try in turn
PLAY = {
    "squared": [(["Right", "Down"], None), ([], None)],
    "target": [(["Up"], lambda p: np.isnan(m := middle(p, RED)[0]) or not .03 < m < .97)],
    "breakout": [(["Left"], lambda p: middle(p, TEAL)[0] < .1),
                 (["Right"], lambda p: middle(p, TEAL)[0] > .9)],
    "pong": [(["Up"], lambda p: middle(p[:, -20:], TEAL)[1] < .2),
             (["s"], lambda p: middle(p[:, -20:], TEAL)[1] > .8)],
    "cartpole": [(["Right"], lambda p: middle(p[200:360], TEAL)[0] > .51),
                 (["a"], lambda p: middle(p[200:360], TEAL)[0] < .49)],
    "pendulum": [(["Left"], lambda p: middle(p[200:360, 200:360], RED)[0] < .45),
                 (["d"], lambda p: middle(p[200:360, 200:360], RED)[0] > .55)],
    "snake": [(["Left"], None)],
}
SIZES = {"squared": (638, 682), "target": (952, 592), "breakout": (576, 370),
         "cartpole": (800, 400), "pendulum": (560, 560), "pong": (540, 640),
         "snake": (1280, 764)}


@pytest.mark.parametrize("name, target", short_or_long(
    [("squared", "local"), ("target", "fast"), ("pong", "fast")],
    itertools.product(GAMES, ("local", "fast"))))
def test_a_program_shows_obeys_and_closes(name, target, make_program, display):
    program = make_program(name, target)
    assert program.warnings == "" and program.path.name == f"{name}-{target}"
    with display.running(program.path, cwd=program.path.parents[1]) as window:
        window.appear().wait_for(       # for the games' common background
            lambda pixels: (pixels == NIGHT).all(-1).mean() > .05)
        first = window.pixels()
        assert first.shape[:2] == SIZES[name][::-1]
        window.wait_for(lambda pixels: (pixels != first).any())         # dice play
        for keys, effect in PLAY[name]:
            window.hold("Shift_L", *keys)
            if effect:
                window.wait_for(effect)
            window.release(*keys, "Shift_L")
        assert window.quit() == 0, window.output()
        assert "ERROR" not in window.output() and "WARNING" not in window.output()


@long_only
def test_who_holds_shift_alone_decides(make_program, display):
    """Squared without a key stays put, and goes where the arrow says."""
    program = make_program("squared", "fast")
    column = [None]

    def moved_to_the_right(pixels):
        now = middle(pixels, TEAL, below=44)[0]
        before, column[0] = column[0], now
        return before is not None and now > before + .05

    with display.running(program.path, cwd=program.path.parents[1]) as window:
        window.appear()
        window.hold("Shift_L")
        window.wait_for(lambda p: abs(middle(p, TEAL, below=44)[0] - .5) < .01)     # a new game
        for _ in range(5):
            assert abs(middle(window.pixels(), TEAL, below=44)[0] - .5) < .01
        window.hold("Right")
        window.wait_for(moved_to_the_right)
        window.release("Right", "Shift_L")
        assert window.quit() == 0


def test_without_a_display_a_program_says_so(make_program):
    environment = {key: value for key, value in os.environ.items() if key != "DISPLAY"}
    for target in ("local", "fast"):
        program = make_program("squared", target)
        done = subprocess.run([program.path], env=environment, capture_output=True, text=True,
                              timeout=60)
        assert done.returncode == 1 and "there is no display" in done.stderr
        assert "SEGV" not in done.stderr


def test_nor_does_one_that_the_wheel_draws_go_on(make_program, monkeypatch):
    why = BuildError("windows cannot be compiled here")
    wheel = drawing._serve_wheel("a", why, False)
    monkeypatch.setattr(drawing, "static", lambda *_, **__: wheel)
    test_without_a_display_a_program_says_so(make_program)


# -- what --local is for ---------------------------------------------------------------------

FAULTS = {
    "overflow in the header": ("squared.h", "    env->tick += 1;\n\n",
                               "    env->tick += 1; env->rewards[1] = 0.0f;\n\n",
                               "heap-buffer-overflow"),
    "overflow in the program": ("squared.c", "        c_step(env);",
                                "        env->observations[121] = 1; c_step(env);",
                                "heap-buffer-overflow"),
    "array bounds": ("squared.c", "        c_step(env);",
                     "        int four[4] = {0}; four[env->tick + 4] = 1;"
                     " env->tick += four[0]; c_step(env);", "out of bounds"),
    "signed overflow": ("squared.h", "    env->tick += 1;\n\n",
                        "    env->tick += 1; env->row += 2147483647;\n\n",
                        "signed integer overflow"),
    "use after free": ("squared.c", "    CloseWindow();\n    squared_free(env);",
                       "    CloseWindow();\n    squared_free(env); env->rewards[0] = 1.0f;",
                       "heap-use-after-free"),
    "leak": ("squared.c", "    CloseWindow();",
             "    env->log.n += *(float*)calloc(1, 333);\n    CloseWindow();",
             "333 byte(s)"),
}


@pytest.mark.parametrize("fault, compiler", short_or_long(
    [("use after free", "gcc"), ("array bounds", "clang")],
    itertools.product(FAULTS, ("gcc", "clang"))))
def test_local_reports_a_planted_fault_by_file_and_line(fault, compiler, game, display,
                                                        one_raylib, monkeypatch):
    monkeypatch.setenv("CC", compiler)
    file, old, new, said = FAULTS[fault]
    line = edit(game / file, old, new) + new[:new.index(";")].count("\n")
    line += fault == "use after free"
    program = build(game, "local")
    with display.running(program.path, cwd=game) as window:
        if fault in ("use after free", "leak"):
            window.appear()
            status = window.quit()
        else:
            status = window.child.wait(30)
        report = window.output()
    assert status not in (0, None) and said in report, report
    assert re.search(rf"{file}:{line}\b", report), report
    assert report.count("ERROR: ") + report.count("runtime error: ") == 1       # stops at the first


@long_only
def test_local_with_clang_is_clean(game, display, one_raylib, monkeypatch):
    monkeypatch.setenv("CC", "clang")
    program = build(game, "local")
    with display.running(program.path, cwd=game) as window:
        window.appear()
        assert window.quit() == 0, window.output()


# -- one command, made again only when something changed -------------------------------------


@long_only
@pytest.mark.parametrize("target", targets.TARGETS)
def test_the_shown_command_works_in_a_shell(target, make_program, games, tmp_path):
    program = make_program("squared", target)
    copy = shutil.copytree(games["squared"], tmp_path / "squared")
    product = copy / program.path.relative_to(games["squared"])
    for made in product.parent.glob("*" if target == "web" else product.name):
        made.unlink()
    done = subprocess.run(["sh", "-c", shlex.join(program.command)], cwd=copy,
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    if target == "fast":
        assert product.read_bytes() == program.path.read_bytes()
    assert product.is_file() and str(games["squared"]) not in shlex.join(program.command)


def test_an_installed_raylib_and_no_flag_will_do(games, make_program, tmp_path):
    """The command in NAME.c's first comment, with our library in the place of an installed one."""
    make_program("squared", "fast")
    source = (games["squared"] / "squared.c").read_text()
    line = next(line for line in source.splitlines() if "cc -O2" in line)
    words = shlex.split(line.strip(" *").partition("&&")[0])
    served = drawing.static("desktop")
    words[words.index("-lraylib"):] = served.link_flags
    words[words.index("-o") + 1] = str(tmp_path / "squared")
    done = subprocess.run([*words, f"-I{served.headers}"], cwd=games["squared"],
                          capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


@long_only
def test_unchanged_is_not_compiled_again(game):
    first = build(game, "fast")
    assert not first.cached
    again = build(game, "fast")
    assert again.cached and again.command == first.command and again.bytes == first.bytes
    edit(game / "squared.h", "// Begin an episode.", "// An episode begins.")
    assert build(game, "fast").cached                   # a comment is in no program,
    local = build(game, "local")
    edit(game / "squared.h", "// An episode begins.", "//\n// An episode begins.")
    assert not build(game, "local").cached              # but a report's lines must be right
    assert local.path == game / "build" / "squared-local"
    edit(game / "squared.h", "#define PATIENCE     3", "#define PATIENCE     4")
    assert not build(game, "fast").cached
    (game / "build" / "squared-fast").write_bytes(b"damaged")
    assert not build(game, "fast").cached


def test_settings_of_the_command_line_are_compiled_in(game):
    done = cli("build", "--fast", "--env.size", "5", "--format", "json", cwd=game)
    assert done.returncode == 0, done.stderr
    assert "env->size = 5;" in (game / "build" / "squared_config.h").read_text()
    made = json.loads(done.stdout)["programs"]
    assert [(item["target"], item["path"], item["cached"], item["policy"]) for item in made] == \
        [("fast", str(game / "build" / "squared-fast"), False, None)]
    assert made[0]["bytes"] == (game / "build" / "squared-fast").stat().st_size


@long_only
def test_the_command_line_tells_of_each(game):
    done = cli("build", "--local", "--fast", "--verbose", cwd=game)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert re.fullmatch(r"built  build/squared-local \(compiled in \d+\.\d\d s\)", lines[0])
    assert lines[1].startswith("built  build/squared-fast (compiled in") and len(lines) == 2
    commands = [line for line in done.stderr.splitlines() if " squared.c " in line]
    assert len(commands) == 2 and "-fsanitize=address,undefined" in commands[0]
    assert not (game / "build" / "web").exists() and not list(game.glob("build/*.so"))


def test_a_packaged_example_builds_into_the_cache(tmp_path, monkeypatch):
    monkeypatch.setattr(paths, "is_packaged", lambda folder: True)
    monkeypatch.setenv("PUFFER_RAYLIB", str(drawing.find_source()))
    monkeypatch.setenv("PUFFER_CACHE", str(tmp_path / "cache"))
    folder = shutil.copytree(ROOT / "examples" / "pendulum", tmp_path / "pendulum",
                             ignore=shutil.ignore_patterns("build"))
    plan = header.read(folder)
    build_dir = paths.build_dir(folder)
    binding.write_config_header(plan, config.resolve(folder).env, build_dir)
    done = subprocess.run(
        [*compilers.find_compiler().command, *targets._flags(
            plan, build_dir, targets.Served("desktop", "", "", drawing.headers_of(
                drawing.find_source()), tmp_path, ())),
         "-fsyntax-only", folder / "pendulum.c"], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "") and not (folder / "build").exists()


# -- whose policy ----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def trained(tmp_path_factory) -> Path:
    """A Squared with a run of a few seconds."""
    root = tmp_path_factory.mktemp("trained")
    (root / "pyproject.toml").touch()
    folder = scaffold.new("squared", template="squared", output_dir=root).folder
    done = cli("train", "--train.total-timesteps", "1_500_000", cwd=folder)
    assert done.returncode == 0, done.stderr
    return folder


@long_only
def test_the_newest_policy_plays(trained, display):
    program = build(trained, "fast")
    assert program.policy == trained / "build" / "squared_policy.bin"
    with display.running(program.path, cwd=trained.parent) as window:       # from anywhere
        window.appear()
        assert window.quit() == 0
    mistaken = subprocess.run([program.path, "nosuchfile"], capture_output=True, text=True)
    assert mistaken.returncode == 2 and "nosuchfile holds no policy" in mistaken.stderr
    again = build(trained, "fast", model=None)
    assert again.cached and again.policy is None        # another policy is no other program
    assert not (trained / "build" / "squared_policy.bin").exists()


def test_an_export_that_the_author_put_there_stays(trained, tmp_path):
    target = trained / "build" / "squared_policy.bin"
    done = cli("export", "--output", target, cwd=trained)
    assert done.returncode == 0, done.stderr
    kept = target.read_bytes()
    program = build(trained, "fast", runs_dir=tmp_path)     # where no run is
    assert program.policy == target and target.read_bytes() == kept


@long_only
def test_a_policy_of_another_size_is_left_out(trained):
    done = cli("build", "--fast", "--env.size", "9", cwd=trained)
    assert done.returncode == 0, done.stderr
    assert "trained with another observation size: squared plays at random" in done.stderr
    assert not (trained / "build" / "squared_policy.bin").exists()
    named = cli("build", "--fast", "--env.size", "9", "--load-model-path", "1", cwd=trained)
    assert named.returncode == 2 and "expected 81" in named.stderr


@pytest.mark.parametrize("text, size", [("121", 121), ("(env->size * env->size)", 49),
                                        ("(2 * env->size + (4))", 18), ("WIDTH * 2", None),
                                        ("env->other", None), ("(", None)])
def test_obs_size_without_a_compiler(text, size):
    class Spec:
        obs_count, obs_size = None, text

    assert obs_spec.size_of(Spec, {"size": 7.0}) == size


# -- what is missing or wrong ----------------------------------------------------------------


def test_no_program(game):
    (game / "squared.c").unlink()
    with pytest.raises(BuildError, match=r"no squared\.c") as caught:
        build(game, "fast")
    assert caught.value.hint


def test_no_main(game):
    edit(game / "squared.c", "int main(int argc, char** argv)",
         "int principal(int argc, char** argv)")
    for target in targets.TARGETS:
        with pytest.raises(BuildError, match=r"squared\.c has no main"):
            build(game, target)


@long_only
@pytest.mark.parametrize("target", targets.TARGETS)
def test_a_mistake_is_named_by_its_line_and_the_last_program_stays(target, make_program, game,
                                                                   monkeypatch):
    monkeypatch.chdir(game)
    line = edit(game / "squared.c", "    init(env);\n", "    innit(environment);\n")
    (game / "build" / "web").mkdir(parents=True)
    last = game / "build" / ("web/index.html" if target == "web" else f"squared-{target}")
    last.write_text("the last one")
    with pytest.raises(BuildError, match="refused squared.c") as caught:
        build(game, target)
    assert caught.value.where == f"squared.c:{line}" and "environment" in caught.value.detail
    assert last.read_text() == "the last one"
    assert not list((game / "build").glob(".web-*"))


def test_no_emscripten(game, monkeypatch, tmp_path):
    for name in ("cc", "gcc", "as", "ld"):
        (tmp_path / name).symlink_to(shutil.which(name))
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(BuildError, match="emscripten, which builds web pages") as caught:
        build(game, "web")
    assert "emscripten" in caught.value.hint


def test_no_sanitizers(game, one_raylib, monkeypatch, tmp_path):
    compiler = tmp_path / "gcc"
    compiler.write_text('#!/bin/sh\ncase "$*" in *" -E "*) ;; *-fsanitize*) echo "/usr/bin/ld: '
                        'cannot find -lasan: No such file or directory" >&2; exit 1;; esac\n'
                        f'exec {shutil.which("gcc")} "$@"\n')
    compiler.chmod(0o755)
    monkeypatch.setenv("CC", str(compiler))
    with pytest.raises(BuildError, match="gcc has no sanitizers here") as caught:
        build(game, "local")
    assert "CC=gcc" in caught.value.hint and "lasan" in caught.value.detail


def test_an_unknown_target(game):
    with pytest.raises(UsageError, match="no program 'desktop'"):
        build(game, "desktop")


# -- PufferLib's own dialect -----------------------------------------------------------------


def test_an_ocean_program_builds_and_runs(tmp_path):
    """Hand-written binding, own includes, puffernet.h, resources from a folder above."""
    folder = shutil.copytree(SPECIMENS / "ocean" / "drum", tmp_path / "drum")
    program = build(folder, "fast")
    done = subprocess.run([program.path], cwd=folder, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert "drum_weights.bin" in done.stderr            # asked for, and not there: it says so
    assert 0 <= float(done.stdout.splitlines()[-1]) <= 1


def test_the_line_that_shows_the_page_can_be_pasted(monkeypatch, capsys):
    page = targets.Program("web", Path("/my games/build/web/index.html"), [], 0.0, True)
    monkeypatch.setattr(targets, "build_programs", lambda *_, **__: [page])
    assert main(["build", "squared", "--web"]) == 0
    assert "python3 -m http.server -d '/my games/build/web'" in capsys.readouterr().err
