"""Each Python, with the oldest and newest of every dependency: from an empty folder to a policy.

uv resolves and installs; what it finds no interpreter for is reported as not run.
"""
from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from helpers.places import ROOT
from helpers.short_or_long import long_only

import puffer_sdk

PYTHONS = ("3.10", "3.11", "3.12", "3.13", "3.14")
EXTRAS = "gymnasium,pettingzoo,plot,sweep,template,video"      # all that are pure or small
# What depends on other packages: numpy, cffi, click, msgspec, Jinja, safetensors, Pillow, optuna
PARTS = ("tests/base", "tests/settings", "tests/cli/test_cli.py", "tests/env/test_obs_spec.py",
         "tests/pictures/test_images.py", "tests/policy/test_puffernet.py",
         "tests/projects/test_scaffold.py", "tests/sweeping/test_store.py",
         "tests/training/test_checkpoint.py")
JOURNEY = ("doctor", "new walk", "new crowd --template target", "check walk", "check crowd",
           "build walk", "train walk", "eval walk",
           "eval walk --gif walk.gif --ticks 30", "runs list walk", "runs plot --env walk")
SHORT = "sweep walk --runs 2 --workers 1 --seeds 0 --train.total-timesteps 20_000"


def find_python(version: str) -> Path:
    """pyenv's, or the one on PATH; skips where there is neither."""
    home = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    for path in (*sorted(home.glob(f"{version}.*/bin/python")), shutil.which(f"python{version}")):
        if path and not subprocess.run([path, "--version"], capture_output=True).returncode:
            return Path(path)
    pytest.skip(f"no Python {version} here")


@long_only
@pytest.mark.parametrize("resolution", ["lowest-direct", "highest"])
@pytest.mark.parametrize("version", PYTHONS)
def test_each_python_from_an_empty_folder_to_a_policy(version, resolution, tmp_path):
    uv = [sys.executable, "-m", "uv"]
    interpreter = find_python(version)
    env = {**os.environ, "PUFFER_CACHE": str(tmp_path / "cache"), "TERM": "dumb"}
    for name in ("PYTHONPATH", "VIRTUAL_ENV"):
        env.pop(name, None)
    place, venv = tmp_path / "place", tmp_path / "venv"
    place.mkdir()

    def run(*command, cwd=place):
        done = subprocess.run([str(word) for word in command], cwd=cwd, env=env, text=True,
                              capture_output=True, timeout=1200)
        assert done.returncode == 0, (command, (done.stdout + done.stderr)[-5000:])
        return done.stdout

    def install(*what):
        run(*uv, "pip", "install", "-q", "--python", venv / "bin/python",
            "--resolution", resolution, *what)

    run(*uv, "venv", "-q", "--python", interpreter, venv)
    install(ROOT)
    command = venv / "bin/puffer-sdk"
    assert puffer_sdk.__version__ in run(command, "--version")
    for words in JOURNEY:
        run(command, *words.split())
    install(f"{ROOT}[{EXTRAS}]")
    run(command, *SHORT.split())
    if resolution == "lowest-direct" or version == PYTHONS[-1]:
        run(*uv, "pip", "install", "-q", "--python", venv / "bin/python", "pytest>=8")
        run(venv / "bin/python", "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *PARTS,
            cwd=ROOT)
