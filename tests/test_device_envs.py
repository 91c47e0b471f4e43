"""Environments as programs for a GPU: all of ours compile, and play the CPU's bits when emulated."""
from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest
from conftest import GAMES
from device_program import Program

import puffer_sdk
from puffer_sdk import config
from puffer_sdk.native import device_envs

HERE = Path(__file__).resolve().parent
OCEAN, DIALECT = HERE / "ocean", HERE / "device_envs" / "dialect"
TOGETHER = ("ants", "rain", "warren")           # MY_VEC_*: all envs at once
REFUSED = ("ints", "perms")
FIXTURES = sorted(path.parent.name for path in OCEAN.glob("*/binding.c")
                  if path.parent.name not in (*TOGETHER, *REFUSED))
ENVS = ["dialect", *(f"ocean/{name}" for name in FIXTURES), "ocean/upstream/ocean/gopher",
        *(f"game/{name}" for name in GAMES)]
TICKS, COPIES = 500, 16


@pytest.fixture(scope="session")
def ocean(tmp_path_factory) -> Path:
    """A copy of tests/ocean that may be built in."""
    top = tmp_path_factory.mktemp("sea")
    shutil.copytree(DIALECT, top / "dialect")
    return shutil.copytree(OCEAN, top / "ocean", ignore=shutil.ignore_patterns("build"))


@pytest.fixture(params=ENVS)
def env(request, ocean, games) -> Path:
    kind, _, name = request.param.partition("/")
    return games[name] if kind == "game" else ocean.parent / request.param


def play(vec, program: Program, ticks: int = TICKS) -> None:
    """Both, with the same random actions, compared after every tick."""
    draw = np.random.default_rng(3)
    vec.reset()
    program.call("start")
    compare(vec, program, "reset")
    logged = 0
    for tick in range(ticks):
        for k, width in enumerate(vec.act_sizes):
            vec.actions[:, k] = draw.uniform(-1, 1, vec.num_agents) if width == 1 else \
                draw.integers(0, width, vec.num_agents)
        program.buffers["actions"][:] = vec.actions
        vec.step()
        if tick % 2:                                # by halves: a launch is any range of envs
            program.call("step", 0, 5)
            program.call("step", 5, program.count - 5)
        else:
            program.call("step")
        compare(vec, program, tick)
        if tick % 100 == 99:
            logged += compare_logs(vec, program)
    assert logged > 0
    program.call("close")
    assert program.failed is None


def compare(vec, program: Program, when) -> None:
    assert program.failed is None, when
    names = ["observations", "rewards", "terminals"]
    names += ["truncations"] if program.facts.has_truncations else []
    names += ["action_mask"] if vec.action_mask is not None else []
    for name in names:
        assert getattr(vec, name).tobytes() == program.buffers[name].tobytes(), (name, when)


def compare_logs(vec, program: Program) -> float:
    program.call("log")
    sums = program.logs.sum(axis=0)
    log = vec.log()
    n = log.pop("n", 0.0)
    assert sums[-1] == n
    if n:                               # all that is reported is a mean of some field
        means = {float(np.float32(value / n)) for value in sums}
        assert set(log.values()) <= means
    program.call("log")
    assert not program.logs.any()
    return n


def test_it_plays_the_cpus_bits(env):
    settings = config.resolve(env).env
    with puffer_sdk.make(env, num_envs=COPIES, seed=11, env_settings=settings) as vec:
        program = Program(device_envs.emulated_program(env), vec)
        assert program.facts.env_bytes == vec.library.api.env_struct_size()
        assert program.facts.obs_bytes == vec.observations.itemsize
        assert program.facts.num_atns == vec.num_atns
        assert program.facts.mask_size == vec.description.mask_size
        assert program.facts.has_truncations == vec.description.has_truncations
        play(vec, program)


def test_nvrtc_compiles_it(env):
    cubin = device_envs.compile_program(env, "90").read_bytes()
    assert cubin.startswith(b"\x7fELF")
    for name in ("facts", "start", "step", "log", "close"):
        assert f"puffer_envs_{name}\0".encode() in cubin
    assert b"c_render" not in cubin
