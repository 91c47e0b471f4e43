"""Environments that many tests need, made once a session. Copy before you change one."""
from __future__ import annotations

import signal
from pathlib import Path

import pytest

from puffer_sdk import scaffold

# Behind nohup or a shell's `&` a process starts with these ignored, and so do its children:
# tests that send them would test the shell
for number, usual in ((signal.SIGINT, signal.default_int_handler), (signal.SIGHUP, signal.SIG_DFL)):
    if signal.getsignal(number) is signal.SIG_IGN:
        signal.signal(number, usual)


@pytest.fixture(scope="session")
def templates(tmp_path_factory) -> dict[str, Path]:
    """Both templates, scaffolded: {"squared": folder, "target": folder}."""
    root = tmp_path_factory.mktemp("templates")
    return {name: scaffold.new(name, template=name, output_dir=root).folder
            for name in ("squared", "target")}


@pytest.fixture(scope="session")
def squared(templates) -> Path:
    return templates["squared"]


@pytest.fixture(scope="session")
def target(templates) -> Path:
    return templates["target"]


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
