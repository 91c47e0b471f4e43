"""Observations that are neither bytes nor floats: ints as they are, and bf16 as floats."""
from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest
from helpers.check_fixtures import changed, short_check
from helpers.places import SPECIMENS
from helpers.short_or_long import long_only, some_or_all

import puffer_sdk
from puffer_sdk.cli import main
from puffer_sdk.env import header, vec
from puffer_sdk.policy.evaluate import evaluate

OCEAN = SPECIMENS / "ocean"
STEP_RANGE = """\
#define MY_VEC_STEP_RANGE step_range
#include "vecenv.h"

void step_range(StaticVec* all, int first, int count, int workers) {
    Env* envs = (Env*)all->envs;
    (void)workers;
    for (int e = first; e < first + count; e++) {
        uint16_t* own = envs[e].observations;
        envs[e].observations = (uint16_t*)all->observations + (size_t)(e * 2 * all->obs_size);
        c_step(&envs[e]);
        envs[e].observations = own;
    }
}
"""


@pytest.fixture(scope="module")
def sea(tmp_path_factory) -> Path:
    """Copies of the two environments that may be built in."""
    top = tmp_path_factory.mktemp("sea")
    for name in ("ints", "halves"):
        shutil.copytree(OCEAN / name, top / name, ignore=shutil.ignore_patterns("build"))
    return top


def rows(envs: vec.VecEnv, ticks: int = 60) -> np.ndarray:
    """(ticks + 1, N, D) of random play."""
    draw, seen = np.random.default_rng(2), [envs.reset().copy()]
    for _ in range(ticks):
        envs.actions[:] = draw.integers(0, envs.act_sizes[0], envs.actions.shape)
        seen.append(envs.step()[0].copy())
    return np.stack(seen)


def as_floats(halves: Path, within: Path) -> Path:
    """The same game, with rows of floats that hold what bf16 holds."""
    folder = changed(
        halves, within, ("uint16_t* observations", "float* observations"),
        ("static uint16_t to_bf16", "static float to_bf16"),
        ("    return (uint16_t)(bits >> 16);",
         "    bits &= 0xFFFF0000u;\n    memcpy(&value, &bits, sizeof(bits));\n    return value;"))
    binding = folder / "binding.c"
    binding.write_text(binding.read_text().replace("PrecisionTensor", "FloatTensor"))
    return folder


# -- ints --------------------------------------------------------------------------------------


def test_ints_are_read_as_they_are(sea, tmp_path):
    far = changed(sea / "ints", tmp_path, ("[1] = env->beat;", "[1] = env->beat - 0x7000001;"))
    with puffer_sdk.make(far, num_envs=4) as envs:
        seen = rows(envs)
        assert envs.description.facts()["obs_dtype"] == "int32"
        assert "2 int32 observations" in repr(envs)
        for box in (envs.single_observation_space, envs.observation_space):
            assert box.dtype == np.int32 and envs.observations[0] in envs.single_observation_space
        assert (int(box.low.min()), int(box.high.max())) == (-2**31, 2**31 - 1)
    assert seen.dtype == np.int32
    beats = np.arange(1, 61) % 8
    np.testing.assert_array_equal(seen[1:, :, 1], np.where(
        beats, beats - 0x7000001, -0x7000001)[:, None] + np.zeros((1, 4), np.int32))
    assert set(np.unique(seen[..., 0])) == {0, 1, 2, 3}


def test_ints_need_no_binding_and_have_bounds(probe):
    folder = probe(("float* observations", "int* observations"),
                   ("#define OBS_SIZE 2", "#define OBS_SIZE OBS_SEEN\n"
                    "enum {\n    OBS_TICK,    // [0, 9]\n    OBS_ACTION,\n    OBS_SEEN\n};"))
    spec = header.read(folder)
    assert (spec.obs_dtype, spec.obs_tensor) == ("i32", "IntTensor")
    with puffer_sdk.make(folder, num_envs=2) as envs:
        box = envs.single_observation_space
        assert (box.low.tolist(), box.high.tolist()) == ([0, -2**31], [9, 2**31 - 1])
        assert box.dtype == np.int32
    assert "#define OBS_TENSOR_T IntTensor" in (folder / "build" / "binding.c").read_text()


# -- bf16 --------------------------------------------------------------------------------------


def test_rows_of_bf16_are_floats(sea, tmp_path):
    twin = as_floats(sea / "halves", tmp_path)
    with puffer_sdk.make(sea / "halves", num_envs=5, threads=2) as envs:
        seen = rows(envs)
        assert header.read(sea / "halves").is_narrow and seen.dtype == np.float32
    with puffer_sdk.make(twin, num_envs=5) as envs:
        assert rows(envs).tobytes() == seen.tobytes()
    assert not (seen.view(np.uint32) & 0xFFFF).any() and np.unique(seen).size > 100


def test_what_a_caller_writes_into_a_row_is_there_in_the_next_step(sea):
    """The row remembers whether the stove is on."""
    with puffer_sdk.make(sea / "halves", num_envs=2) as envs:
        envs.reset()
        envs.actions[:] = 0
        envs.observations[0, 2] = 1.0
        envs.step()
        assert envs.observations[:, 2].tolist() == [1, 0, 0, 0]
        assert envs.observations[0, 0] > 0 > envs.observations[1, 0]


def test_all_rows_lie_in_one_piece_where_a_binding_steps_ranges(sea, tmp_path):
    folder = shutil.copytree(sea / "halves", tmp_path / "halves")
    binding = folder / "binding.c"
    binding.write_text(binding.read_text().replace('#include "vecenv.h"\n', STEP_RANGE))
    with puffer_sdk.make(folder, num_envs=5) as ranges, \
            puffer_sdk.make(sea / "halves", num_envs=5) as envs:
        assert rows(ranges).tobytes() == rows(envs).tobytes()


def test_an_env_made_anew_has_bare_rows(sea):
    with puffer_sdk.make(sea / "halves", num_envs=3) as envs:
        rows(envs, 5)
        envs.renew(1, 77)
        assert not envs.observations[2:4].any() and envs.observations[:2].any()
        envs.reset_range(1, 1)
        assert envs.observations[2:4, 1].all()


# -- check -------------------------------------------------------------------------------------


def found(folder: Path) -> dict[str, object]:
    """The first finding of each code."""
    result = short_check(folder)
    assert result.verdict
    return {one.code: one for one in reversed(result.findings)}


@long_only
def test_correct_rows_are_silent(sea):
    for name, codes in (("ints", {"PUF311", "PUF321"}), ("halves", {"PUF109", "PUF321"})):
        assert found(sea / name).keys() == codes, name      # what PufferLib does is said once


def test_faults_in_ints_are_found(sea, tmp_path):
    folder = changed(sea / "ints", tmp_path,
                     ("    env->observations[1] = 0;\n", ""),
                     ("    env->observations[1] = env->beat;",
                      "    if (env->beat > 3) env->observations[1] = 300 + env->beat;\n"
                      "    if (env->beat == 7) env->observations[2] = 1;"))
    told = found(folder)
    assert told["PUF304"].severity == "warning" and "reaches 307" in told["PUF304"].message
    assert told["PUF304"].expected == "within [-255, 255]"
    assert "2 ints (OBS_SIZE)" in told["PUF203"].expected
    assert {"PUF301", "PUF302"} & told.keys()


@long_only
def test_faults_in_bf16_are_found(sea, tmp_path):
    folder = changed(sea / "halves", tmp_path,
                     ("    env->observations[3 * a + 2] = to_bf16(0.0f);\n", ""),
                     ("= to_bf16(turn == 1 ? 1.0f : 0.0f)", "= turn == 1"),
                     ("    if (++env->hour == HOURS) {",
                      "    if (env->hour == 9) env->observations[3 * env->num_agents] = 0;\n"
                      "    if (++env->hour == HOURS) {"))
    told = found(folder)
    assert told["PUF304"].element == 2 and "bf16" in told["PUF304"].hint
    assert "write of 2 bytes" in told["PUF201"].actual
    assert {"PUF301", "PUF302"} & told.keys()


# -- train -------------------------------------------------------------------------------------


@pytest.mark.parametrize("name, dtype", some_or_all([("ints", "int32"), ("halves", "float32")], 0))
def test_they_train_and_play(sea, name, dtype, monkeypatch, tmp_path):
    monkeypatch.chdir(sea)
    assert main(["train", name, "--train.total-timesteps", "20000", "--vec.total-agents", "64",
                 "--runs-dir", str(tmp_path)]) == 0
    result = evaluate(name, {"eval.episodes": 16}, runs_dir=tmp_path)
    assert result.scores["trained"].count >= 16
    policy = puffer_sdk.Policy.load(next(tmp_path.rglob("best.safetensors")))
    assert policy.obs_dtype == dtype
