"""Where a reader of a page stands before its first command.  a page -> a folder with what is there

    PREPARED["docs/guides/play.md"](place)      place/my_env, with a policy

Each gets an empty folder. What it returns, if anything, is where the reader types.
"""
from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

from helpers import docs_pages
from helpers.check_fixtures import specimen
from helpers.docs_shell import make_python
from helpers.faults import FAULTS, plant
from helpers.places import ROOT, SPECIMENS

from puffer_sdk.projects.env_names import TEMPLATES

# The folder in which a reader saves a page's listings
SAVED = {"docs/tutorials/first.md": "drips", "docs/tutorials/ocean.md": "drum",
         "docs/tutorials/porting.md": "hilo"}
TEMPLATE = "templates/{0}/{{{{cookiecutter.name}}}}/README.md"
LITTLE = ("--train.total-timesteps", "20000")


def puffer(folder: Path, *words: str) -> None:
    subprocess.run([sys.executable, "-m", "puffer_sdk", *words], cwd=folder, check=True,
                   capture_output=True)


def git(folder: Path, *words: str) -> None:
    subprocess.run(["git", "-c", "user.name=t", "-c", "user.email=t@t", *words], cwd=folder,
                   check=True, capture_output=True)


def checkout(place: Path) -> None:
    """The repository, as a clone has it."""
    for name in docs_pages.tracked():
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, place / name)


def repository(place: Path) -> None:
    """The same under git."""
    checkout(place)
    for words in (("init", "-q"), ("add", "-A"), ("commit", "-qm", "begin")):
        git(place, *words)


def fork(place: Path) -> None:
    """A repository that can be cloned."""
    repository(place / "YOUR-FORK")


def nothing(place: Path) -> None:
    """An empty folder."""


def examples(place: Path) -> None:
    """The programs of examples/, as a checkout has them."""
    for folder in ("examples", "examples/ideas"):
        (place / folder).mkdir()
        for path in (ROOT / folder).glob("*.py"):
            shutil.copy(path, place / folder)


def pufferlib(place: Path, *names: str) -> None:
    """PufferLib's layout, with these environments."""
    for name in names or ("breakout",):
        puffer(place, "export", name, "--ocean", "--output", f"of-{name}")
        shutil.copytree(place / f"of-{name}", place / "PufferLib", dirs_exist_ok=True)
        shutil.rmtree(place / f"of-{name}")


def tried(place: Path) -> Path:
    """A checkout whose .venv is ready, beside one of PufferLib."""
    repository(place / "puffer-sdk")
    make_python(place / "puffer-sdk" / ".venv")
    for stamp in (".base", ".dev", ".torch"):
        (place / "puffer-sdk" / ".venv" / stamp).touch()
    pufferlib(place, "pong", "snake")
    return place / "puffer-sdk"


def fresh(place: Path) -> None:
    """What `puffer-sdk new my_env` makes."""
    puffer(place, "new", "my_env")


def template(name: str):
    """The folder that `new` made of a template, in which its README is read."""
    def prepare(place: Path) -> Path:
        puffer(place, "new", "my_env", "--template", name)
        return place / "my_env"
    return prepare


def built(place: Path) -> None:
    """my_env with its program for a debugger."""
    fresh(place)
    puffer(place, "build", "my_env", "--local")


def my_env(place: Path) -> None:
    """my_env with a policy."""
    fresh(place)
    puffer(place, "train", "my_env", "--train.total-timesteps", "200000")


def solved(place: Path) -> None:
    """my_env with a policy that reaches the goal: eval says so with its status."""
    fresh(place)
    puffer(place, "train", "my_env")


def tug(place: Path) -> None:
    shutil.copytree(SPECIMENS / "form5" / "tug", place / "tug")


def drum(place: Path) -> None:
    shutil.copytree(SPECIMENS / "ocean" / "drum", place / "drum")
    puffer(place, "train", "drum", "--train.total-timesteps", "100000")


def exported(place: Path) -> None:
    my_env(place)
    drum(place)


def reported(place: Path) -> None:
    """my_env, and how it was before."""
    my_env(place)
    shutil.copytree(place / "my_env", place / "before" / "my_env")


def faulty(place: Path) -> None:
    """Two environments with faults, in C and in Python."""
    specimen("puf302_traffic", place / "traffic")
    text = (SPECIMENS / "python_envs" / "faulty.py").read_text()
    (place / "my_game.py").write_text(text.replace("class SameArray(", "class MyGame("))


def writes_beyond(place: Path) -> None:
    """my_env, which writes beyond its observations in step 9."""
    fresh(place)
    plant(place / "my_env", FAULTS["my_env"])


def becomes_nan(place: Path) -> None:
    """A my_env of floats, one of which becomes NaN in step 6."""
    puffer(place, "new", "my_env", "--template", "target")
    header = place / "my_env" / "my_env.h"
    text = header.read_text()
    for old, new in (("    observe(env);\n}\n\n//-- Draw", "    observe(env);\n    if (++env->steps"
                      " == 6) env->observations[0] = NAN;\n}\n\n//-- Draw"),
                     ("    int num_agents;", "    int steps, num_agents;")):
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    header.write_text(text)


def swept(place: Path) -> None:
    """Small sweeps of environments that share one folder for their runs."""
    (place / "pyproject.toml").touch()
    for name, sweeps in (("my_env", 2), ("squared", 2), ("breakout", 1), ("pong", 1)):
        if name in ("my_env", "squared"):
            puffer(place, "new", name)
            shutil.rmtree(place / name / ".git")
        for _ in range(sweeps):
            puffer(place, "sweep", name, "--runs", "2", "--seeds", "0", "--workers", "1", *LITTLE)


def sent(place: Path) -> None:
    """A checkout with one environment, another by somebody else, and a branch that adds one."""
    (place / ".gitignore").write_text("their_env\nbuild\nruns\n")
    git(place, "init", "-q", "-b", "main")          # in which `new` makes no other repository
    puffer(place, "new", "their_env")
    puffer(place, "new", "squared")
    for words in (("add", "-A"), ("commit", "-qm", "begin"), ("switch", "-qc", "new_env")):
        git(place, *words)
    puffer(place, "new", "new_env")
    for words in (("add", "-A"), ("commit", "-qm", "Add new_env"), ("switch", "-q", "main")):
        git(place, *words)


def duel(place: Path) -> None:
    """A game of two teams, with a policy."""
    shutil.copytree(SPECIMENS / "duel", place / "duel", ignore=shutil.ignore_patterns("build"))
    puffer(place, "train", "duel", *LITTLE)


PREPARED = {
    "README.md": checkout, "CONTRIBUTING.md": fork,
    "docs/guides/check.md": faulty, "docs/guides/clean.md": built,
    "docs/guides/coming-from.md": nothing, "docs/guides/completion.md": nothing,
    "docs/guides/curricula.md": examples,
    "docs/guides/debug.md": writes_beyond, "docs/guides/export.md": exported,
    "docs/guides/matches.md": duel,
    "docs/guides/outward.md": nothing, "docs/guides/play.md": my_env,
    "docs/guides/profile.md": my_env, "docs/guides/programs.md": my_env,
    "docs/guides/python.md": nothing, "docs/guides/raylib.md": nothing,
    "docs/guides/recording.md": solved, "docs/guides/repro.md": becomes_nan,
    "docs/guides/scale.md": nothing, "docs/guides/sweep.md": swept,
    "docs/reference/settings.md": fresh,
    "docs/share/container.md": nothing, "docs/share/others.md": fresh,
    "docs/share/pull-requests.md": fresh, "docs/share/report.md": reported,
    "docs/share/review.md": sent,
    "docs/trainer/gpu.md": nothing, "docs/trainer/gpu-envs.md": my_env,
    "docs/trainer/own-loop.md": examples, "docs/trainer/tuning.md": my_env,
    "docs/tutorials/continuous.md": nothing, "docs/tutorials/debugging.md": my_env,
    "docs/tutorials/examples.md": nothing, "docs/tutorials/first.md": nothing,
    "docs/tutorials/duel.md": nothing, "docs/tutorials/many-agents.md": nothing,
    "docs/tutorials/ocean.md": pufferlib,
    "docs/tutorials/porting.md": nothing,
    "docs/tutorials/picture.md": nothing, "docs/tutorials/world.md": nothing,
    "docs/tutorials/pufferlib5.md": tug, "docs/tutorials/ten-minutes.md": checkout,
    "docs/why/checker.md": my_env, "docs/why/ocean-gallery.md": tried,
    **{TEMPLATE.format(name): template(name) for name in TEMPLATES},
}
