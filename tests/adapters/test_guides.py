"""The pages on other libraries: every program runs, every command does what it says."""
import importlib.util
import json
import os
import re
import shlex
import shutil
import subprocess
import sys

import pytest
from helpers.forms import forms
from helpers.places import ROOT
from helpers.sessions import blocks

GUIDES = ROOT / "docs" / "guides"
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


def programs(name):
    return [pytest.param(text, id=f"{name}-{number}")
            for number, text in enumerate(blocks(GUIDES / name, "python"))]


@pytest.mark.parametrize("program", programs("outward.md") + programs("coming-from.md"))
def test_a_program_runs(program, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    exec(program, {})


COMMANDS = re.findall(r"^\|.*\| `puffer-sdk (.*)` \|$", (GUIDES / "coming-from.md").read_text(),
                      re.M)
SMALLER = {"train": "--train.total-timesteps 100000", "sweep": "--runs 2 --workers 1",
           "eval": "--eval.episodes 4"}


@pytest.mark.proof
def test_what_pufferlibs_users_type_works(tmp_path):
    """The right column of the page's first table, but for the window, in its order."""
    assert len(COMMANDS) == 10
    shutil.copytree(ROOT / "examples" / "breakout", tmp_path / "breakout",
                    ignore=shutil.ignore_patterns("build", "runs"))
    (tmp_path / "pyproject.toml").touch()           # where runs/ is looked for
    chosen = [line for line in COMMANDS if not line.startswith("play")]
    for line in forms([chosen[0], chosen[5], chosen[-1]], chosen):
        words = shlex.split(line)
        words += SMALLER.get(words[0], "").split()
        done = subprocess.run([sys.executable, "-m", "puffer_sdk", *words], cwd=tmp_path,
                              capture_output=True, text=True, check=False,
                              env={**os.environ, "WANDB_MODE": "offline",
                                   "PYTHONPATH": str(ROOT)})
        short = done.returncode == 1 and "goal" in done.stdout      # of its training
        assert done.returncode == 0 or short, (line, done.stdout, done.stderr)


def test_the_suites_page_shows_what_was_measured():
    spec = importlib.util.spec_from_file_location("suites", ROOT / "tools" / "suites.py")
    suites = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(suites)
    found = json.loads(suites.DATA.read_text())
    assert suites.table(found) in (GUIDES / "outward.md").read_text()
    assert found["passed"] > 1000 and not found["failed"]
