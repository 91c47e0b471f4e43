"""What users install: the wheel and the sdist, outside the checkout, in an empty environment."""
import os
import subprocess
import sys
import tarfile
import zipfile

import pytest
from helpers.places import ROOT
from helpers.short_or_long import long_only

from puffer_sdk.base import extras
from puffer_sdk.cli.commands import COMMANDS

JOURNEY = """
import numpy as np, puffer_sdk
from pathlib import Path
assert Path(puffer_sdk.__file__).is_relative_to({venv!r}), puffer_sdk.__file__
with puffer_sdk.make("crowd", total_agents=16, seed=1) as vec:
    vec.reset()
    for _ in range(50):
        vec.actions[:] = [4, 4]
        obs, rewards, terminals, truncations = vec.step()
    assert obs.shape == (16, 28) and np.isfinite(obs).all() and obs.any()
print("walked")
"""


def run(*command, **options):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True,
                          timeout=600, **options)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    folder = tmp_path_factory.mktemp("dist")
    # the wheel is that of the sdist, which leaves out what git ignores
    run(sys.executable, "-m", "build", "--outdir", folder, ROOT)
    return next(folder.glob("*.whl")), next(folder.glob("*.tar.gz"))


def test_the_wheel_carries_its_data(built):
    names = zipfile.ZipFile(built[0]).namelist()
    for needed in ("puffer_sdk/include/puffer_abi.h", "puffer_sdk/include/vecenv.h",
                   "puffer_sdk/include/raymath.h", "puffer_sdk/env/binding.c.jinja",
                   "puffer_sdk/checking/play/main.c", "puffer_sdk/programs/runtime/web.c",
                   "puffer_sdk/programs/runtime/page.html.jinja", "puffer_sdk/include/puffernet.h",
                   "puffer_sdk/data/templates/squared/cookiecutter.json",
                   "puffer_sdk/data/templates/squared/{{cookiecutter.name}}/.gitignore",
                   "puffer_sdk/data/templates/target/{{cookiecutter.name}}/"
                   "{{cookiecutter.name}}.h",
                   "puffer_sdk/data/examples/step_by_hand.py",
                   "puffer_sdk/data/docs/tutorials/ten-minutes.md",
                   "puffer_sdk/data/kernels/kernels.h",
                   "puffer_sdk/data/trainer/puffer_trainer.h"):
        assert needed in names, needed
    pages = {name.rpartition("/")[2] for name in names if "/share/man/man1/" in name}
    assert pages == {"puffer-sdk.1", *(f"puffer-sdk-{name}.1" for name in COMMANDS)}
    assert not [name for name in names if name.startswith("tests/") or ".so" in name]


@long_only
def test_the_sdist_builds_the_same_wheel(built, tmp_path):
    with tarfile.open(built[1]) as archive:
        archive.extractall(tmp_path)
    source = next(tmp_path.iterdir())
    assert (source / "tests").is_dir() and (source / "Makefile").is_file()
    run(sys.executable, "-m", "build", "--wheel", "--outdir", tmp_path / "again", source)
    again = next((tmp_path / "again").glob("*.whl"))
    assert sorted(zipfile.ZipFile(again).namelist()) == sorted(
        zipfile.ZipFile(built[0]).namelist())


@long_only
def test_the_wheel_works_outside_the_checkout(built, tmp_path):
    venv = tmp_path / "venv"
    run(sys.executable, "-m", "venv", venv)
    python = venv / "bin" / "python"
    run(python, "-m", "pip", "install", "-q", "--disable-pip-version-check",
        "--no-compile", built[0])
    env = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    env["PUFFER_CACHE"] = str(tmp_path / "cache")
    place = tmp_path / "place"
    place.mkdir()
    for words in ("new crowd --template target", "check crowd", "build crowd", "list",
                  "config crowd", "eval crowd --baselines --eval.steps 50",
                  "train crowd --train.total-timesteps 20_000", "eval crowd --eval.steps 50"):
        run(venv / "bin" / "puffer-sdk", *words.split(), cwd=place, env=env)
    assert "walked" in run(python, "-c", JOURNEY.format(venv=str(venv.resolve())), cwd=place,
                           env=env)
    # PyTorch is an extra: what needs it says what to install
    done = subprocess.run([venv / "bin" / "puffer-sdk", "train", "crowd", "--train.backend",
                           "torch"], cwd=place, env=env, capture_output=True, text=True,
                          timeout=60)
    assert done.returncode == 2
    assert "train.backend torch requires PyTorch, which is not installed" in done.stderr
    assert extras.install_torch() in " ".join(done.stderr.split())
