"""Every command of every page runs as it is written, in an empty folder or where the page says."""
from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from helpers import docs_pages
from helpers.display import Display
from helpers.docs_shell import Shell, follow
from helpers.forms import forms
from helpers.places import ROOT

# Nothing of these needs what is not here: a newcomer reads them
SEVEN = ("README.md", "docs/tutorials/ten-minutes.md", "docs/tutorials/first.md",
         "docs/tutorials/many-agents.md", "docs/tutorials/ocean.md", "docs/guides/python.md",
         "docs/guides/export.md")
# The folder in which a reader saves a page's listings
SAVED = {"docs/tutorials/first.md": "drips", "docs/tutorials/ocean.md": "drum",
         "docs/tutorials/porting.md": "hilo"}


def puffer(folder: Path, *words: str) -> None:
    subprocess.run([sys.executable, "-m", "puffer_sdk", *words], cwd=folder, check=True,
                   capture_output=True)


def checkout(place: Path) -> None:
    """The repository, as a clone has it."""
    for name in docs_pages.tracked():
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, place / name)


def pufferlib(place: Path) -> None:
    """PufferLib's layout, with one environment."""
    puffer(place, "export", "breakout", "--ocean", "--output", "PufferLib")


def my_env(place: Path) -> None:
    """What `puffer-sdk new my_env` makes, with a policy."""
    puffer(place, "new", "my_env")
    puffer(place, "train", "my_env", "--train.total-timesteps", "200000")


def drum(place: Path) -> None:
    shutil.copytree(ROOT / "tests" / "specimens" / "ocean" / "drum", place / "drum")
    puffer(place, "train", "drum", "--train.total-timesteps", "100000")


def exported(place: Path) -> None:
    my_env(place)
    drum(place)


PREPARED = {"README.md": checkout, "docs/tutorials/ten-minutes.md": checkout,
            "docs/tutorials/ocean.md": pufferlib, "docs/guides/export.md": exported}


@pytest.fixture(scope="module")
def display():
    shown = Display()
    yield shown.env
    shown.close()


def run(page: str, tmp_path: Path, env: dict[str, str]) -> list[str]:
    place, tools = tmp_path / "place", tmp_path / "tools"
    place.mkdir()
    tools.mkdir()
    PREPARED.get(page, lambda place: None)(place)
    shell = Shell(place, tools, env)
    try:
        return follow(page, place, shell, SAVED.get(page, ""))
    finally:
        shell.close()


@pytest.mark.proof
@pytest.mark.parametrize("page", forms(["docs/tutorials/first.md"], SEVEN))
def test_commands_run_as_written(page, tmp_path, display):
    wrong = run(page, tmp_path, display)
    assert not wrong, "\n".join(wrong)
