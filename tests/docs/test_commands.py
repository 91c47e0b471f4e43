"""Every command of every page runs as it is written, in an empty folder or where the page says."""
from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from helpers import docs_pages
from helpers.display import Display
from helpers.docs_shell import NEEDS, Shell, follow, steps
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


def nothing(place: Path) -> None:
    """An empty folder."""


def examples(place: Path) -> None:
    """The programs of examples/, as a checkout has them."""
    (place / "examples").mkdir()
    for path in (ROOT / "examples").glob("*.py"):
        shutil.copy(path, place / "examples")


def pufferlib(place: Path) -> None:
    """PufferLib's layout, with one environment."""
    puffer(place, "export", "breakout", "--ocean", "--output", "PufferLib")


def fresh(place: Path) -> None:
    """What `puffer-sdk new my_env` makes."""
    puffer(place, "new", "my_env")


def built(place: Path) -> None:
    """The same, with its program for a debugger."""
    fresh(place)
    puffer(place, "build", "my_env", "--local")


def my_env(place: Path) -> None:
    """The same, with a policy."""
    fresh(place)
    puffer(place, "train", "my_env", "--train.total-timesteps", "200000")


def drum(place: Path) -> None:
    shutil.copytree(ROOT / "tests" / "specimens" / "ocean" / "drum", place / "drum")
    puffer(place, "train", "drum", "--train.total-timesteps", "100000")


def exported(place: Path) -> None:
    my_env(place)
    drum(place)


def reported(place: Path) -> None:
    """my_env, and how it was before."""
    my_env(place)
    shutil.copytree(place / "my_env", place / "before" / "my_env")


PREPARED = {
    "README.md": checkout, "docs/tutorials/ten-minutes.md": checkout,
    "docs/tutorials/first.md": nothing, "docs/tutorials/many-agents.md": nothing,
    "docs/tutorials/ocean.md": pufferlib, "docs/guides/python.md": nothing,
    "docs/guides/export.md": exported,
    # elsewhere
    "docs/guides/clean.md": built, "docs/guides/coming-from.md": nothing,
    "docs/guides/completion.md": nothing, "docs/guides/play.md": my_env,
    "docs/guides/profile.md": my_env, "docs/guides/programs.md": my_env,
    "docs/guides/raylib.md": nothing, "docs/guides/recording.md": my_env,
    "docs/share/pull-requests.md": fresh, "docs/share/report.md": reported,
    "docs/share/others.md": fresh,
    "docs/trainer/gpu.md": nothing, "docs/trainer/gpu-envs.md": my_env,
    "docs/trainer/own-loop.md": examples, "docs/trainer/turning.md": my_env,
    "docs/tutorials/continuous.md": nothing, "docs/tutorials/debugging.md": my_env,
    "docs/tutorials/examples.md": nothing, "docs/tutorials/porting.md": nothing,
    "docs/why/checker.md": my_env,
}
# Pages whose commands another test runs, in what they need
ELSEWHERE = {
    "CONTRIBUTING.md": "project/test_adding.py",
    "docs/guides/check.md": "checking/test_check_cli.py",
    "docs/guides/debug.md": "debugging/test_debug.py",
    "docs/guides/outward.md": "adapters/test_guides.py",
    "docs/guides/scale.md": "scaling/test_scale_page.py",
    "docs/guides/sweep.md": "sweeping/test_guide.py",
    "docs/share/container.md": "project/test_container.py",
    "docs/share/review.md": "reviewing/test_review.py",
    "docs/why/ocean-gallery.md": "docs/test_gallery.py",
    "docs/guides/repro.md": "checking/test_proof.py",
}


@pytest.fixture(scope="module")
def display():
    shown = Display()
    yield shown.env
    shown.close()


def run(page: str, tmp_path: Path, env: dict[str, str]) -> list[str]:
    place, tools = tmp_path / "place", tmp_path / "tools"
    place.mkdir()
    tools.mkdir()
    PREPARED[page](place)
    shell = Shell(place, tools, env)
    try:
        return follow(page, place, shell, SAVED.get(page, ""))
    finally:
        shell.close()


@pytest.mark.proof
@pytest.mark.parametrize("page", forms(["docs/tutorials/many-agents.md"], PREPARED))
def test_commands_run_as_written(page, tmp_path, display):
    wrong = run(page, tmp_path, display)
    assert not wrong, "\n".join(wrong)


PAGE = """
    mkdir a
    mkdir a

```console
$ puffer-sdk explain PUF301
PUF301 obs-never-written (error)
...
PUF302 obs-stale (error)
$ puffer-sdk explain PUF999
```

<!-- needs: a GPU -->

    exit 7
"""


def test_what_goes_otherwise_is_noticed(tmp_path, monkeypatch):
    monkeypatch.setattr(docs_pages, "text_of", lambda page: PAGE)
    monkeypatch.setitem(PREPARED, "page.md", nothing)
    failed, shown, unknown = run("page.md", tmp_path, dict(os.environ))
    assert "page.md:2: mkdir a: status 1" in failed
    assert "status 0, not printed: ['PUF302 obs-stale (error)']" in shown
    assert "explain PUF999: status 2" in unknown


def test_every_page_with_commands_is_run_by_a_test():
    """Templates' READMEs are typed in the folders that `new` makes: projects/test_templates.py."""
    known = {*PREPARED, *ELSEWHERE}
    left = [page for page in docs_pages.pages() if page not in known
            and not page.startswith(("templates/", "docs/reference/", ".github/", "tests/"))
            and list(steps(page))]
    assert not left
    for test in ELSEWHERE.values():
        assert (ROOT / "tests" / test).is_file()


def test_few_commands_are_marked_and_none_of_those_that_newcomers_read():
    marked = {page: [step.needs for step in steps(page)] for page in docs_pages.pages()}
    assert not [page for page in SEVEN if any(marked[page])]
    others = [needs for page, found in marked.items() if page not in SEVEN for needs in found]
    assert set(others) <= {"", *NEEDS}
    assert 0 < len([needs for needs in others if needs]) <= len(others) / 10
