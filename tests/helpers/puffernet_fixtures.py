"""Fixtures over puffernet.h, as a plugin: pytest_plugins = ["helpers.puffernet_fixtures"]"""
from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
import pytest
from helpers.places import SPECIMENS
from helpers.puffernet_programs import COMPILERS, KINDS, SANITIZE, compile_c


@pytest.fixture(scope="session")
def programs(tmp_path_factory):
    """programs("gcc") -> the command that runs driver.c as that compiler made it."""
    folder, made = tmp_path_factory.mktemp("drivers"), {}

    def get(name: str) -> list[str]:
        if name not in made:
            suffix = ".js" if name == "emcc" else ""
            target = compile_c(COMPILERS[name], SPECIMENS / "puffernet" / "driver.c",
                               folder / f"{name}{suffix}")
            made[name] = ["node", str(target)] if name == "emcc" else [str(target)]
        return made[name]

    return get


@pytest.fixture
def play(programs, tmp_path):
    """play(made, script) -> actions (T, n, K), logits (T, n, A), values (T, n) of puffernet.h."""
    def go(made, script, *, compiler="gcc", call="act", greedy=0, seed=1, file=None, kind=None):
        ticks, n, outputs, heads = len(script.ended), made.agents, sum(made.act_sizes), \
            len(made.act_sizes)
        file = file or made.export("c", tmp_path / "policy.bin")
        with (tmp_path / "script").open("wb") as out:
            out.write(np.int32([n, made.obs_size, KINDS[made.dtype.name] if kind is None else kind,
                                made.masked, heads,
                                made.config.policy.hidden_size, made.config.policy.num_layers,
                                ticks, greedy, seed, *made.act_sizes]).tobytes())
            for tick in range(ticks):
                out.write(script.observations[tick].tobytes())
                out.write(script.masks[tick].tobytes() if made.masked else b"")
                out.write(script.ended[tick].tobytes())
        subprocess.run([*programs(compiler), file, tmp_path / "script", call, tmp_path / "out"],
                       check=True)
        rows = np.fromfile(tmp_path / "out", np.float32).reshape(ticks, -1)
        actions, logits, values = np.split(rows, np.cumsum([n * heads, n * outputs]), axis=1)
        return (actions.reshape(ticks, n, heads), logits.reshape(ticks, n, outputs),
                values.reshape(ticks, n))

    return go


@pytest.fixture(scope="module")
def opener(tmp_path_factory) -> Path:
    return compile_c(SANITIZE, SPECIMENS / "puffernet" / "open.c",
                     tmp_path_factory.mktemp("open") / "open")
