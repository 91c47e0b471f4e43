"""Environments in PufferLib 4.0's dialect, as they stand: specimens/ocean holds one per idiom."""
from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from helpers.places import ROOT, SPECIMENS
from helpers.short_or_long import long_only, short_or_long

import puffer_sdk
from puffer_sdk.base.errors import BuildError, NoEnvs, UsageError
from puffer_sdk.cli import main
from puffer_sdk.env import contract, header
from puffer_sdk.settings import config

OCEAN = SPECIMENS / "ocean"
ENVS = sorted(path.parent.relative_to(OCEAN).as_posix() for path in OCEAN.glob("*/*.ini")
              if path.parent.name == path.stem) + ["upstream/ocean/gopher"]
TICKS = 2000


@pytest.fixture(scope="session")
def ocean(tmp_path_factory) -> Path:
    """A copy of specimens/ocean that may be built in."""
    return shutil.copytree(OCEAN, tmp_path_factory.mktemp("sea") / "ocean")


@pytest.fixture(params=short_or_long([*ENVS[::4], ENVS[-1]], ENVS))
def env(request, ocean) -> Path:
    return ocean / request.param


def edited(env: Path, tmp_path: Path, **replacements: tuple[str, str]) -> Path:
    """A copy with a text of some files replaced: binding_c=("old", "new")."""
    copy = shutil.copytree(env, tmp_path / env.name, ignore=shutil.ignore_patterns("build"))
    for name, (old, new) in replacements.items():
        file = copy / name.replace("NAME", env.name).replace("_c", ".c").replace("_h", ".h")
        text = file.read_text()
        assert old in text
        file.write_text(text.replace(old, new))
    return copy


def play(env: Path, *, seed: int, threads: int = 1, ticks: int = TICKS, agents: int = 48,
         actions: int = 0, **options) -> tuple[str, dict]:
    """(hash of all that was seen, log) of random play."""
    draw = np.random.default_rng(actions)
    digest = hashlib.sha256()
    with puffer_sdk.make(env, total_agents=agents, seed=seed, threads=threads, **options) as vec:
        table = np.stack([draw.uniform(-1, 1, (ticks, agents)) if width == 1 else
                          draw.integers(0, width, (ticks, agents)) for width in vec.act_sizes],
                         axis=2).astype(np.float32)
        digest.update(vec.reset())
        assert not vec.rewards.any() and not vec.terminals.any()
        for tick in range(ticks):
            vec.actions[:] = table[tick]
            observations, rewards, terminals, _ = vec.step()
            for array in (observations, rewards, terminals):
                digest.update(array)
            if vec.action_mask is not None:
                digest.update(vec.action_mask)
        assert np.isfinite(vec.observations).all() and np.isfinite(vec.rewards).all()
        assert set(np.unique(vec.terminals)) <= {0, 1}
        log = vec.log()
        assert vec.log() == {}              # collected once
        vec.reset()
    return digest.hexdigest(), log


def test_there_is_one_for_each_idiom():
    sources = "\n".join(path.read_text() for path in OCEAN.rglob("*.[ch]"))
    for idiom in (*contract.BINDING_MACROS, "rand()", "random()", "GetRandomValue", "exit(0)",
                  "IsWindowReady()", "struct Client", "char* observations",
                  "uint8_t* observations", "} Env;", "raymath.h", "dict_get_unsafe",
                  "rlgl.h", "IntTensor", "PrecisionTensor", "float hits["):
        assert idiom in sources, idiom
    assert len(ENVS) == 15


@pytest.mark.long
def test_plays_the_same_game_whenever_it_should(env):
    once, log = play(env, seed=1)
    assert log["n"] > 0 and log.keys() >= {"n"} and len(log) > 1
    if "perf" in log:
        assert 0 <= log["perf"] <= 1
    assert play(env, seed=1) == (once, log)
    assert play(env, seed=1, threads=2) == (once, log)
    assert play(env, seed=1, threads=3) == (once, log)


@pytest.mark.long
def test_seeds_reach_the_envs(env):
    seen = {play(env, seed=seed, ticks=60)[0] for seed in (0, 1, 2)}
    assert len(seen) == 3
    assert play(env, seed=1, ticks=60, actions=1)[0] not in seen


@pytest.mark.long
def test_neighbours_play_different_episodes(env):
    with puffer_sdk.make(env, total_agents=48) as vec:
        seeds = {vec.env_seed(i) for i in range(vec.num_envs)}
        assert len(seeds) == vec.num_envs
        vec.reset()
        for _ in range(40):
            vec.step()
        rows = {vec.observations[first].tobytes() for first in vec.first_row[:-1]}
    assert len(rows) > 1


def test_the_log_holds_means_under_the_bindings_names(ocean):
    names = {"drum": {"kick", "snare", "tom", "hat", "perf", "episode_length", "n"},
             "rain": {"score", "episode_length", "n"},
             "lights": {"perf", "score", "episode_return", "episode_length", "n"}}
    for name, expected in names.items():
        _, log = play(ocean / name, seed=3, ticks=400)
        assert set(log) == expected
    _, log = play(ocean / "drum", seed=3, ticks=400)
    assert log["n"] == 48 * 400 / 8 and log["episode_length"] == 8
    hits = sum(log[drum] for drum in ("kick", "snare", "tom", "hat"))
    assert hits == pytest.approx(8 * log["perf"], rel=1e-5)
    assert 0.2 < log["perf"] < 0.3          # one drum of four
    _, log = play(ocean / "couriers", seed=3, ticks=400)
    assert log["score"] == 1                # an entry is one goal


@long_only
def test_no_raylib_but_the_null_library(ocean):
    program = """
import json, sys
import puffer_sdk
for env in json.loads(sys.argv[1]):
    with puffer_sdk.make(env, total_agents=4) as vec:
        vec.reset()
        vec.step()
maps = open("/proc/self/maps").read()
print(json.dumps(sorted({line.split("/")[-1] for line in maps.splitlines()
                         if "raylib" in line.split("/")[-1] or "libGL" in line})))
"""
    envs = [str(ocean / name) for name in ENVS]
    done = subprocess.run([sys.executable, "-c", program, json.dumps(envs)], text=True,
                          capture_output=True, check=False, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    libraries = json.loads(done.stdout)
    assert len(libraries) == 1 and libraries[0].startswith("libraylib_null-")


def test_the_observations_may_be_the_board(ocean):
    """Nothing but c_step writes them between steps."""
    with puffer_sdk.make(ocean / "lights", total_agents=1, seed=5) as vec:
        board = vec.reset().reshape(5, 5).copy()
        vec.actions[:] = 12                 # the middle
        vec.step()
        changed = vec.observations.reshape(5, 5) != board
        assert changed.tolist() == [[0, 0, 0, 0, 0], [0, 0, 1, 0, 0], [0, 1, 1, 1, 0],
                                    [0, 0, 1, 0, 0], [0, 0, 0, 0, 0]]


def test_action_masks(ocean):
    with puffer_sdk.make(ocean / "nim", total_agents=16, seed=1) as vec:
        assert vec.description.mask_size == 5 and vec.action_mask.shape == (16, 5)
        vec.reset()
        for _ in range(200):
            heaps = np.rint(vec.observations * 9).astype(int)
            assert ((vec.action_mask[:, :2] != 0) == (heaps > 0)).all()
            vec.actions[:, 0] = vec.action_mask[:, :2].argmax(1)        # always legal
            vec.actions[:, 1] = 0
            vec.step()


def test_my_vec_init_makes_the_envs(ocean):
    with puffer_sdk.make(ocean / "warren", total_agents=12, num_buffers=2) as vec:
        assert np.diff(vec.first_row).tolist() == [1, 2, 1, 2, 1, 2, 1, 2]
        assert vec.num_envs == 8
        vec.reset()
        assert len(set(vec.observations[:, 1])) <= 4


@long_only
def test_copies_are_whole_ones_where_my_vec_init_makes_pairs(ocean, tmp_path, capsys):
    """25 agents are no whole pairs, and a default of eval; 64 copies are 128 agents."""
    pairs = edited(ocean / "warren", tmp_path, binding_c=("while (left > 0)", "while (left >= 2)"))
    binding = pairs / "binding.c"
    binding.write_text(binding.read_text().replace(
        "if (num_envs % 2 == 0 || left == 1) env->num_agents = 1;", ""))
    for copies in (64, 1):
        with puffer_sdk.make(pairs, num_envs=copies) as vec:
            assert (vec.num_envs, vec.num_agents) == (copies, 2 * copies)
    with pytest.raises(UsageError, match="made envs with 24 agents in all") as caught:
        puffer_sdk.make(pairs, total_agents=25)
    assert caught.value.hint == "set vec.total_agents to 24"
    small = {"train.horizon": 8, "train.total_timesteps": 192, "train.minibatch_size": 48,
             "policy.hidden_size": 8, "policy.num_layers": 1, "vec.num_buffers": 1}
    more = tmp_path / "more.ini"
    more.write_text("[vec]\ntotal_agents = 25\n")
    made = puffer_sdk.train(pairs, small, ini=more, runs_dir=tmp_path / "runs")
    assert made.steps == 192 and "24 are made, which is whole" in capsys.readouterr().err
    with pytest.raises(UsageError, match="made envs with 24 agents in all"):
        puffer_sdk.train(pairs, {**small, "vec.total_agents": 25}, runs_dir=tmp_path / "runs")
    scores = puffer_sdk.evaluate(pairs, {"eval.episodes": 25, "eval.steps": 60}, model=None).scores
    assert scores["random"].count >= 25


def test_copies_of_unequal_sizes_are_whole_ones(ocean, tmp_path):
    """One agent, then two, and none alone at the end: of 20, 19 are made, of 19, 18."""
    uneven = edited(ocean / "warren", tmp_path, binding_c=("while (left > 0)", "while (left > 1)"))
    with puffer_sdk.make(uneven, num_envs=20) as vec:
        assert set(np.diff(vec.first_row)) == {1, 2} and vec.num_agents == 18


def test_the_seed_reaches_envs_that_seed_themselves(ocean):
    """my_vec_init says rng = 0, 1, 2...: the run's seed is mixed in."""
    def begin(seed: int) -> list[bytes]:
        with puffer_sdk.make(ocean / "warren", total_agents=12, seed=seed) as vec:
            vec.reset()
            seen = [vec.observations.copy()]
            for _ in range(20):
                vec.step()
                seen.append(vec.observations.copy())
        rows = np.stack(seen, axis=1)
        return [row.tobytes() for row in rows]

    one, two = begin(1), begin(2)
    assert one == begin(1)
    assert sum(a == b for a, b in zip(one, two)) < len(one) / 2


@long_only
def test_my_vec_init_that_makes_nothing_has_said_why(ocean, tmp_path, capsys):
    """Its data are missing, perhaps: its own line is shown, and no advice about multiples."""
    copy = edited(ocean / "warren", tmp_path, binding_c=(
        "*num_envs_out = num_envs;", 'printf("no map in data/\\n");\n    *num_envs_out = 0;'))
    with pytest.raises(NoEnvs, match="my_vec_init created no environment"):
        puffer_sdk.make(copy, total_agents=4)
    for command in ("train", "check"):
        assert main([command, str(copy)]) == 2
        said = capsys.readouterr().err
        assert "my_vec_init created no environment" in said and "  | no map in data/\n" in said
        assert "multiple" not in said and said.count("no map") == 1
        assert "total_agents" not in said


def test_my_vec_init_with_wrong_slices(ocean, tmp_path):
    copy = edited(ocean / "warren", tmp_path, binding_c=(
        "buffer_env_counts[buffer] = num_envs - buffer_env_starts[buffer];",
        "buffer_env_counts[buffer] = 1;"))
    with pytest.raises(UsageError, match="gives buffer 0 the envs 0 to 0"):
        puffer_sdk.make(copy, total_agents=12)


def test_my_vec_close_comes_once_and_last(ocean, tmp_path):
    copy = edited(ocean / "warren", tmp_path,
                  binding_c=("    free(envs[0].burrows);",
                             '    printf("vec_close %d\\n", envs[0].tick);\n'
                             "    free(envs[0].burrows);"),
                  NAME_h=("void c_close(Warren* env) {",
                          "#include <stdio.h>\n"
                          'void c_close(Warren* env) {\n    printf("close\\n");'))
    program = ("import sys, puffer_sdk\n"
               "vec = puffer_sdk.make(sys.argv[1], total_agents=12)\n"
               "vec.reset(); vec.close(); vec.close()")
    done = subprocess.run([sys.executable, "-c", program, copy], text=True, capture_output=True,
                          check=True, cwd=ROOT)
    lines = done.stdout.splitlines()
    assert lines == ["close"] * 8 + ["vec_close 0"]


def test_my_vec_step_sees_all_envs_at_once(ocean):
    with puffer_sdk.make(ocean / "ants", total_agents=2, seed=1, threads=2) as vec:
        assert vec.description.whole_steps
        vec.reset()
        for _ in range(100):
            vec.actions[:] = 1
            before = vec.observations[0, 2]
            vec.step()
            same = vec.observations[0, 0] == vec.observations[1, 0]
            reset = vec.terminals[0]
            assert vec.observations[0, 2] == pytest.approx((0 if reset else before * 0.9) + same)


def test_upstreams_layout_and_a_sweeps_leftovers(ocean, capsys):
    gopher = ocean / "upstream" / "ocean" / "gopher"
    settings = config.resolve(gopher, spec=header.read(gopher))
    assert settings.env == {"holes": 7} and settings.policy.num_layers == 3
    assert settings.vec.total_agents == 2048 and settings.vec.num_buffers == 2
    assert settings.origin["policy.num_layers"] == "gopher.ini:16"


def test_names_reach_envs_in_upstreams_layout(ocean, monkeypatch):
    monkeypatch.chdir(ocean / "upstream")
    with puffer_sdk.make("gopher", total_agents=2) as vec:
        assert vec.obs_size == 2


def test_what_is_refused_is_named(ocean, tmp_path):
    longs = edited(ocean / "ints", tmp_path, binding_c=("IntTensor", "LongTensor"))
    with pytest.raises(BuildError, match="LongTensor") as caught:
        puffer_sdk.make(longs)
    assert caught.value.where == "binding.c:5"
    assert caught.value.expected == "one of ByteTensor, FloatTensor, IntTensor, PrecisionTensor"


def test_a_binding_says_which_header_it_is(ocean, tmp_path):
    """Where none has the folder's name, in every command."""
    folder = shutil.copytree(ocean / "relics", tmp_path / "sea", dirs_exist_ok=True)
    (folder / "relics.h").rename(folder / "digging.h")
    (folder / "relics.ini").rename(folder / "sea.ini")
    binding = folder / "binding.c"
    binding.write_text(binding.read_text().replace('"relics.h"', '"digging.h"'))
    spec = header.read(folder)
    assert (spec.name, spec.header.name) == ("sea", "digging.h")
    assert play(folder, seed=1, ticks=50) == play(ocean / "relics", seed=1, ticks=50)
    assert main(["config", str(folder)]) == 0
    binding.unlink()
    with pytest.raises(UsageError, match="not an environment"):
        puffer_sdk.make(folder)


def test_pointers_of_agents_follow_their_rows(ocean):
    """my_setup_perm is called where an env is bound, and where one is made anew."""
    with puffer_sdk.make(ocean / "perms", num_envs=3, seed=4) as vec:
        vec.reset()
        vec.actions[:] = np.linspace(-1, 1, 6, dtype=np.float32)[:, None]
        vec.step()
        assert (vec.rewards < 0).all() and len(set(vec.rewards)) == 6
        vec.reset(seed=9)
        vec.step()
        assert (vec.rewards < 0).all()


def test_the_header_of_the_system_is_there(ocean, tmp_path):
    """puffer_os.h: aligned memory, threads, how much memory is used."""
    copy = edited(ocean / "kiln", tmp_path, NAME_h=("raylib.h", "puffer_os.h"))
    source = copy / "kiln.h"
    source.write_text(source.read_text().replace(
        "(float*)calloc(env->bricks, sizeof(float))",
        "(float*)puffer_aligned_alloc(64, env->bricks * sizeof(float));\n"
        "    env->rng += (size_t)env->heat % 64 + (puffer_resident_kb() < 100)").replace(
        "free(env->heat)", "puffer_aligned_free(env->heat)"))
    assert play(copy, seed=1, ticks=100) == play(ocean / "kiln", seed=1, ticks=100)


def test_a_macro_in_the_header_is_refused_as_well(ocean, tmp_path):
    copy = edited(ocean / "relics", tmp_path, NAME_h=('#include "raylib.h"',
                                                      "#define MY_TRICK"))
    with pytest.raises(BuildError, match="MY_TRICK") as caught:
        puffer_sdk.make(copy)
    assert caught.value.where == "relics.h:3"


def test_a_missing_key_is_named_with_file_line_and_neighbour(ocean, tmp_path):
    copy = edited(ocean / "couriers", tmp_path)
    ini = copy / "couriers.ini"
    ini.write_text(ini.read_text().replace("street", "streets"))
    with pytest.raises(UsageError) as caught:
        puffer_sdk.make(copy)
    error = caught.value
    assert error.code == "PUF106" and error.exit_status == 2
    assert error.message == "the binding reads [env] street, which couriers.ini does not give"
    assert error.where.endswith("couriers.ini:6") and error.hint == "rename streets to street"

    header = copy / "couriers.h"        # a key that something reads is no other one misspelt
    header.write_text(header.read_text() + 'static const char* const also = "streets";\n')
    with pytest.raises(UsageError) as caught:
        puffer_sdk.make(copy)
    assert caught.value.hint == "add to [env]: street = ..."

    ini.write_text("[env]\nnum_agents = 4\n")
    with pytest.raises(UsageError) as caught:
        puffer_sdk.make(copy)
    assert caught.value.hint == "add to [env]: street = ..."
    assert caught.value.where.endswith("couriers.ini:1")


def test_a_missing_key_of_vec_is_named(ocean, tmp_path):
    copy = edited(ocean / "warren", tmp_path, binding_c=('"num_buffers"', '"num_bufers"'))
    with pytest.raises(UsageError, match=r"\[vec\] num_bufers") as caught:
        puffer_sdk.make(copy, total_agents=4)
    assert caught.value.hint == "rename num_buffers to num_bufers"


def test_a_missing_key_does_not_harm_the_process(ocean, tmp_path):
    """The escape from my_init leaves nothing behind that a later env trips over."""
    copy = edited(ocean / "kiln", tmp_path, binding_c=('"bricks"', '"briks"'))
    for _ in range(3):
        with pytest.raises(UsageError):
            puffer_sdk.make(copy, total_agents=4)
    with puffer_sdk.make(ocean / "kiln", total_agents=4) as vec:
        vec.reset()
        vec.step()
