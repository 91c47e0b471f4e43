"""Environments that many tests need, made once a session. Copy before you change one."""
from __future__ import annotations

import os
import shutil
import signal
from pathlib import Path

import pytest
from helpers.places import ROOT
from helpers.shared import once
from helpers.short_or_long import LONG

from puffer_sdk.base import limited, trust
from puffer_sdk.programs import targets
from puffer_sdk.projects import scaffold
from puffer_sdk.settings import config

pytest_plugins = ["helpers.budget"]

# Tests start thousands of processes, which else compile all their modules each time
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
if not LONG:
    os.environ.setdefault("EMCC_CFLAGS", "-O1")     # wasm-opt takes half of a web program's build

# Behind nohup or a shell's `&` a process starts with these ignored, and so do its children:
# tests that send them would test the shell
for number, usual in ((signal.SIGINT, signal.default_int_handler), (signal.SIGHUP, signal.SIG_DFL)):
    if signal.getsignal(number) is signal.SIG_IGN:
        signal.signal(number, usual)


@pytest.fixture(autouse=True)
def nothing_is_trusted():
    """What a test, or a command in it, lets run, the next one does not."""
    for name in (trust.NAMED, limited.VARIABLE):
        os.environ.pop(name, None)
    trust.asks = False


@pytest.fixture(scope="session")
def templates(tmp_path_factory) -> dict[str, Path]:
    """Both templates, scaffolded: {"squared": folder, "target": folder}."""
    names = ("squared", "target")
    root = once(tmp_path_factory, "templates", lambda folder: [
        scaffold.new(name, template=name, output_dir=folder) for name in names])
    return {name: root / name for name in names}


@pytest.fixture(scope="session")
def squared(templates) -> Path:
    return templates["squared"]


@pytest.fixture(scope="session")
def target(templates) -> Path:
    return templates["target"]


GAMES = ("squared", "target", "breakout", "cartpole", "pendulum", "pong", "snake")


@pytest.fixture(scope="session")
def games(templates, tmp_path_factory) -> dict[str, Path]:
    """A copy of both templates and of every example, to make programs of."""
    root = tmp_path_factory.mktemp("games")
    (root / "pyproject.toml").touch()           # where runs/ is looked for
    examples = ROOT / "examples"
    return {name: shutil.copytree(templates.get(name) or examples / name, root / name,
                                  ignore=shutil.ignore_patterns("build", "runs"))
            for name in GAMES}


@pytest.fixture(scope="session")
def make_program(games):
    """make_program("pong", "web") -> Program, built once a session."""
    made = {}

    def make(name: str, target: str) -> targets.Program:
        if (name, target) not in made:
            made[name, target] = targets.build_program(
                games[name], target, env_settings=config.resolve(games[name]).env)
        return made[name, target]

    return make


@pytest.fixture(scope="session")
def display():
    """A virtual screen."""
    from helpers.display import Display
    screen = Display()
    yield screen
    screen.close()


@pytest.fixture(scope="session")
def browser(tmp_path_factory):
    """A headless Chromium."""
    from helpers.browser import Browser
    chromium = Browser(tmp_path_factory.mktemp("chromium"))
    yield chromium
    chromium.close()


PROBE = """\
#pragma once
#include <stdbool.h>
#include "raylib.h"

#define OBS_SIZE 2
#define ACT_SIZES {3}

typedef struct Log {
    float score;
    float n;
} Log;

typedef struct Probe {
    Log log;
    float* observations;
    float* actions;
    float* rewards;
    float* terminals;
    int num_agents;
    unsigned int rng;
    int limit;
    int tick;
} Probe;

void c_reset(Probe* env) {
    env->tick = 0;
    for (int i = 0; i < 2 * env->num_agents; i++) env->observations[i] = 0;
}

void c_step(Probe* env) {
    env->tick++;
    for (int a = 0; a < env->num_agents; a++) {
        env->observations[2 * a] = env->tick;
        env->observations[2 * a + 1] = env->actions[a];
        env->rewards[a] += env->actions[a];
        env->terminals[a] += env->tick == env->limit;
    }
    if (env->tick >= env->limit) {
        env->log.score += env->tick;
        env->log.n += 1;
        c_reset(env);
    }
}

void c_render(Probe* env) { (void)env; }
void c_close(Probe* env) { (void)env; }
"""


@pytest.fixture
def probe(tmp_path):
    """A function that writes the smallest environment, with texts of its header replaced.

    probe(("float* rewards;", ""), ini="[env]\\nlimit = 5\\n") -> folder
    """
    def write(*replacements: tuple[str, str], ini: str = "[env]\nlimit = 4\n",
              name: str = "probe", **files: str) -> Path:
        folder = tmp_path / name
        folder.mkdir(exist_ok=True)
        text = PROBE
        for old, new in replacements:
            assert old in text, old
            text = text.replace(old, new)
        (folder / f"{name}.h").write_text(text)
        (folder / f"{name}.ini").write_text(ini)
        for file, content in files.items():
            (folder / file.replace("_c", ".c").replace("_h", ".h")).write_text(content)
        return folder

    return write


@pytest.fixture(scope="session")
def site(tmp_path_factory) -> Path:
    """The site of docs/, built strictly: one warning, one dead link or anchor, and it fails.

    Short: its games are hardly trained.
    """
    import subprocess
    import sys

    def build(folder: Path) -> None:
        done = subprocess.run([sys.executable, "-m", "mkdocs", "build", "--strict", "-d", folder],
                              cwd=ROOT, capture_output=True, text=True, timeout=1200,
                              env={**os.environ, "NO_MKDOCS_2_WARNING": "1",
                                   **({} if LONG else {"PUFFER_DOCS_STEPS": "131072"})})
        assert done.returncode == 0, done.stdout + done.stderr

    return once(tmp_path_factory, "site", build)


@pytest.fixture(scope="session")
def trained(templates, tmp_path_factory) -> Path:
    """The folder of a finished run on Squared, measured as well."""
    from puffer_sdk.policy import evaluate
    from puffer_sdk.training import train
    root = tmp_path_factory.mktemp("trained")
    folder = shutil.copytree(templates["squared"], root / "squared",
                             ignore=shutil.ignore_patterns("build", "runs"))
    result = train.train(folder, {"train.total_timesteps": 200_000})
    evaluate.evaluate(folder, {"eval.episodes": 100})
    return Path(result.folder)
