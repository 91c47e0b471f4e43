"""[build] of an ini: headers and libraries of others reach the compiler, flags never do."""
import subprocess

import numpy as np
import pytest
from helpers.check_fixtures import changed
from helpers.places import SPECIMENS
from helpers.short_or_long import some_or_all

import puffer_sdk
from puffer_sdk.base.errors import UsageError
from puffer_sdk.checking.collect.c import driver
from puffer_sdk.env import build
from puffer_sdk.reviewing import review
from puffer_sdk.settings import config, outside_libraries


@pytest.fixture
def lucky(tmp_path):
    """TREE/ocean/bandit, which calls luck() of TREE/vendor/luck."""
    home = tmp_path / "vendor/luck"
    (home / "include").mkdir(parents=True)
    (home / "include/luck.h").write_text("int luck(void);\n")
    (home / "luck.c").write_text("int luck(void) { return 1; }\n")
    subprocess.run(["cc", "-shared", "-fPIC", "-o", home / "libluck.so", home / "luck.c"],
                   check=True)
    subprocess.run(["cc", "-c", "-fPIC", "-o", home / "luck.o", home / "luck.c"], check=True)
    subprocess.run(["ar", "rcs", home / "libfixed.a", home / "luck.o"], check=True)
    (tmp_path / "ocean").mkdir()
    return changed(SPECIMENS / "correct/bandit", tmp_path / "ocean",
                   ("#pragma once", "#pragma once\n#include <luck.h>"),
                   ("int win = ", "int win = luck() || "))


def write(folder, text: str):
    (folder / "bandit.ini").write_text(f"[build]\n{text}\n")
    return folder


@pytest.mark.parametrize("library", some_or_all(
    ["vendor/luck, luck  # as -l", "vendor/luck/libluck.so",
                                     "../../vendor/luck/libfixed.a"], 0))
def test_an_environment_is_built_and_checked_with_a_library(lucky, library, tmp_path):
    write(lucky, f"include = vendor/luck/include\nlibrary = {library}")
    with puffer_sdk.make(lucky, num_envs=50) as vec:
        vec.reset()
        vec.step()
        assert np.all(vec.rewards == 1)
    assert config.resolve(lucky).skipped == {}
    made = driver.build_library(build.build(lucky).spec, driver.FAST, tmp_path)
    assert made.is_file()


def test_an_environment_is_trained_with_a_stand_in_of_its_library(lucky, tmp_path):
    write(lucky, "include = vendor/luck/include\nlibrary = vendor/luck, luck")
    made = puffer_sdk.train(lucky, {
        "vec.total_agents": 16, "train.horizon": 8, "train.minibatch_size": 64,
        "train.total_timesteps": 256, "policy.hidden_size": 8, "policy.num_layers": 1},
        runs_dir=tmp_path / "runs")
    assert made.steps == 256 and made.reached["perf"] == 1


def test_a_library_that_changed_is_linked_anew(lucky):
    write(lucky, "include = vendor/luck/include\nlibrary = vendor/luck/libfixed.a")
    first = build.build(lucky)
    assert build.build(lucky).cached
    library = lucky.parents[1] / "vendor/luck/libfixed.a"
    library.write_bytes(library.read_bytes() + b"\n")
    assert build.build(lucky).library != first.library


@pytest.mark.parametrize("kind", [driver.FAST, driver.DEBUG])
def test_check_links_the_library_of_openmp(tmp_path, kind):
    """Also where it compiles and links in two steps."""
    folder = changed(SPECIMENS / "correct/bandit", tmp_path,
                     ("#pragma once", "#pragma once\n#include <omp.h>"),
                     ("int win = ", "int win = omp_get_max_threads() < 0 || "))
    made = driver.build_library(build.build(folder).spec, kind, tmp_path)
    assert b"libgomp" in made.read_bytes() or b"libomp" in made.read_bytes()


@pytest.mark.parametrize("text, message, actual", [
    ("include = -O0", "include does not accept flags", "-O0"),
    ("library = -Wl,-z", "library does not accept flags", "-Wl"),
    ("library = @more.txt", "library does not accept flags", "@more.txt"),
    ("library = m, nowhere/libx.a", "library names a path that does not exist", "nowhere/libx.a"),
    ("include = bandit.h", "include names a path that does not exist", "bandit.h"),
    ("library = bandit.h", "library names a path that does not exist", "bandit.h"),
    ("library = m -O0", "library names a path that does not exist", "m -O0"),
    ("flags = -O0", "has no setting 'flags'", "flags")])
def test_nothing_else_reaches_the_compiler(lucky, text, message, actual):
    write(lucky, text)
    with pytest.raises(UsageError, match=message) as caught:
        build.build(lucky)
    assert caught.value.actual == actual and caught.value.where.endswith("bandit.ini:2")


def test_the_flags_are_paths_and_names(lucky):
    home = lucky.parents[1] / "vendor/luck"
    made = outside_libraries.read(
        write(lucky, "include = vendor/luck\nlibrary = vendor/luck, luck, m"))
    assert made.compile_flags == [f"-I{home}"]
    assert made.link_flags == [f"-L{home}", "-lluck", "-lm", "-Xlinker", "-rpath", "-Xlinker",
                               str(home)]


def test_review_shows_them(lucky):
    write(lucky, "library = m")
    assert review._linked(lucky) == [
        "[build] library = m: given to the compiler, and opened with the environment"]
