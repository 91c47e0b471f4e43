"""`bind` and `export --ocean`: what is written is an Ocean environment, and plays the same."""
from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from helpers.herd import KINDS, write_herd
from helpers.ladder import IN_SIGHT, copy_ladder
from helpers.places import ROOT, SPECIMENS
from helpers.policies import make_policy
from helpers.short_or_long import long_only, short_or_long, some_or_all

import puffer_sdk
from puffer_sdk.base import paths
from puffer_sdk.base.errors import BuildError, UsageError
from puffer_sdk.cli import main
from puffer_sdk.env import header
from puffer_sdk.policy import export
from puffer_sdk.projects import ocean, scaffold
from puffer_sdk.raylib import headers
from puffer_sdk.settings import config, inifile, upstream
from puffer_sdk.toolchain import compilers
from puffer_sdk.training import checkpoint

# Bytes, many agents, floats, continuous
NAMES = short_or_long(["squared", "target"], ["squared", "target", "breakout", "pendulum"])
STRICT = ["-Wall", "-Wextra", "-Werror", "-Wno-unused-parameter", "-fsanitize=address,undefined",
          "-fno-sanitize-recover=all"]


@pytest.fixture(scope="module")
def exports(games, tmp_path_factory) -> dict[str, ocean.OceanExport]:
    """Each of them exported, without a policy."""
    root = tmp_path_factory.mktemp("exports")
    return {name: ocean.export_ocean(games[name], root / name, runs_dir=root / "runs")
            for name in NAMES}


def play(env: Path) -> str:
    """A hash of random play through the public API: not ocean.py's own comparison."""
    draw, digest = np.random.default_rng(7), hashlib.sha256()
    with puffer_sdk.make(env, total_agents=48, seed=3) as vec:
        digest.update(vec.reset())
        for _ in range(300):
            for head, width in enumerate(vec.act_sizes):
                vec.actions[:, head] = draw.integers(width, size=48) if width > 1 \
                    else draw.uniform(-1, 1, 48)
            for array in vec.step()[:3]:
                digest.update(array)
        digest.update(json.dumps(vec.log(), default=float).encode())
    return digest.hexdigest()


@pytest.mark.parametrize("name", NAMES)
def test_an_export_plays_what_the_original_plays(exports, games, name):
    done = exports[name]
    env = done.folder / "ocean" / name
    assert {f"ocean/{name}/{name}.h", f"ocean/{name}/{name}.c", f"ocean/{name}/binding.c",
            f"config/{name}.ini", "CHECKLIST.md"} <= set(done.files)
    assert header.read(env).binding == env / "binding.c"
    assert play(env) == play(games[name])
    first, second = config.resolve(env), config.resolve(games[name])
    assert first.env == second.env and first.vec == second.vec
    assert first.policy == replace(second.policy, encoder="flat")
    as_theirs = {full: value for full, (value, _) in upstream.ALWAYS.items()}
    assert {full: first[full] for full in as_theirs} == as_theirs
    for full, value in first.items():
        if full.startswith("train.") and full not in as_theirs:
            assert value == second[full], full


@pytest.mark.parametrize("name", NAMES)
def test_its_binding_says_what_pufferlib_wants_to_know(exports, name):
    text = (exports[name].folder / "ocean" / name / "binding.c").read_text()
    for line in ("#define NUM_ATNS ", "#define OBS_TENSOR_T ", "#define Env ",
                 '#include "vecenv.h"', "void my_init(Env* env, Dict* kwargs) {",
                 "void my_log(Log* log, Dict* out) {"):
        assert line in text, line
    assert "PUFFER_ASSERT" not in text and "puffer_apply" not in text and len(text) < 3000
    for section in ("[eval]", "[check]"):
        assert section not in (exports[name].folder / "config" / f"{name}.ini").read_text()
    checklist = (exports[name].folder / "CHECKLIST.md").read_text()
    for item in exports[name].todo:
        assert item in checklist


@pytest.mark.parametrize("name", NAMES)
def test_its_demo_is_a_program(exports, name, tmp_path):
    """Compiled as build.sh --local does, against headers alone; 100 frames under sanitizers."""
    run_demo(exports[name].folder, name, tmp_path)


@long_only
def test_its_demo_waits_for_a_key(tmp_path):
    """While SHIFT is held alone: an id of -1 is no move."""
    duel = scaffold.new("duel", template="duel", output_dir=tmp_path).folder
    run_demo(ocean.export_ocean(duel, tmp_path / "out").folder, "duel", tmp_path,
             "-DIsKeyDown=held")


def run_demo(tree: Path, name: str, tmp_path: Path, *options: str) -> None:
    stop = tmp_path / "stop.c"
    stop.write_text("#include <stdbool.h>\n#include <stdio.h>\nbool stop(void) { static int n; "
                    'if (++n > 100) puts("100 frames"); return n > 100; }\n'
                    "bool held(int key) { return key == 340; }      // KEY_LEFT_SHIFT\n")
    compiler = [*compilers.find_compiler().command, "-std=gnu11", "-g", "-O1",
                f"-I{headers.headers()}", f"-I{paths.include_dir()}"]
    source = tree / "ocean" / name / f"{name}.c"
    for command in (["-c", *STRICT, "-DWindowShouldClose=stop", *options, source,
                     "-o", tmp_path / "demo.o"],
                    ["-fsanitize=address,undefined", tmp_path / "demo.o", stop,
                     headers.null_source(), "-lm", "-o", tmp_path / "demo"]):
        done = subprocess.run([*compiler, *command], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
    done = subprocess.run([tmp_path / "demo"], capture_output=True, text=True, timeout=60,
                          cwd=tree)
    assert (done.returncode, done.stdout) == (0, "100 frames\n"), done.stderr


@long_only
def test_the_policy_goes_along_as_pufferlib_reads_it(squared, tmp_path):
    folder = shutil.copytree(squared, tmp_path / "squared",
                             ignore=shutil.ignore_patterns("build", "runs"))
    puffer_sdk.train(folder, {"train.total_timesteps": 200_000}, runs_dir=tmp_path / "runs")
    done = ocean.export_ocean(folder, tmp_path / "pr", runs_dir=tmp_path / "runs")
    weights = done.folder / "resources" / "squared" / "squared_weights.bin"
    assert weights.read_bytes() == export.export(
        folder, output=tmp_path / "policy.bin", runs_dir=tmp_path / "runs").read_bytes()
    assert not any("plays at random" in item for item in done.todo)
    run_demo(done.folder, "squared", tmp_path)

    # A factor of observations is in the weights: PufferLib's puffernet plays it as any other
    run = puffer_sdk.train(folder, {"train.total_timesteps": 100_000, "train.obs_scale": 0.25},
                           runs_dir=tmp_path / "runs")
    second = ocean.export_ocean(folder, tmp_path / "pr2", model=run.checkpoint,
                                runs_dir=tmp_path / "runs")
    packed = (second.folder / "resources" / "squared" / "squared_weights.bin").read_bytes()
    encoder = checkpoint.load(run.checkpoint).tensors["encoder"]
    assert packed[:encoder.nbytes] == encoder.tobytes()
    assert export.TRAILER.unpack_from(packed, len(packed) - 124)[6:8] == (1, 0)
    run_demo(second.folder, "squared", tmp_path)


# Each aborts at an action that is illegal, or of a row without an agent
STRICT_LADDER = [("#include <string.h>", "#include <stdlib.h>"),
                 ("    env->rewards[0] = 0;", "    if (!LEGAL[action]) abort();\n"
                  "    env->rewards[0] = 0;")]
# The second head, which is continuous, has its byte in the mask; so has the third
HEADS = [("#define ACT_SIZES {ACT_COUNT}", "#define ACT_SIZES {ACT_COUNT, 1, 2}"),
         ("env->rung == env->bell;", "env->rung == env->bell;\n"
          "    env->action_mask[4] = 1;\n    env->action_mask[5] = 0;"),
         ("if (!LEGAL[action]) abort();",
          "if (!LEGAL[action] || env->actions[2] != 0) abort();")]
KINDS_OF_GAMES = {
    "mask": lambda home: strict_ladder(home), "heads": lambda home: strict_ladder(home, *HEADS),
    "in sight": lambda home: strict_ladder(home, *IN_SIGHT, legal="env->observations + OBS_LEGAL"),
    "rows": lambda home: write_herd(home, KINDS["both"])}


def strict_ladder(home: Path, *changes: tuple[str, str], legal: str = "env->action_mask") -> Path:
    legal = ("#pragma once", f"#pragma once\n#define LEGAL ({legal})")
    return copy_ladder(home / "ladder", legal, *STRICT_LADDER, *changes)


@long_only
@pytest.mark.parametrize(("kind", "trained"), some_or_all([
    ("mask", True), ("heads", False), ("in sight", False), ("in sight", True), ("rows", False),
    ("rows", True)], 0))
def test_a_demo_obeys_the_mask_and_leaves_rows_alone(kind, trained, tmp_path):
    """PufferLib's binding makes the rows, and here the demo does."""
    folder, runs = KINDS_OF_GAMES[kind](tmp_path), tmp_path / "runs"
    if trained:
        puffer_sdk.train(folder, {"train.total_timesteps": 7_680, "vec.total_agents": 48,
                                  "train.horizon": 8, "train.minibatch_size": 96,
                                  "policy.hidden_size": 16, "policy.num_layers": 1},
                         runs_dir=runs)
    done = ocean.export_ocean(folder, tmp_path / "pr", runs_dir=runs)
    assert trained != any("plays at random" in item for item in done.todo)
    run_demo(done.folder, folder.name, tmp_path)


# -- bind ---------------------------------------------------------------------------


def test_bind_writes_a_binding_to_edit(squared, tmp_path):
    folder = shutil.copytree(squared, tmp_path / "squared",
                             ignore=shutil.ignore_patterns("build"))
    before = play(folder)
    done = ocean.bind(folder)
    assert done.path == folder / "binding.c" and play(folder) == before
    assert any("OBS_SIZE is 121" in note and "env->size * env->size" in note
               for note in done.notes)
    # What changes the size is refused, where a plain build would have followed
    done = subprocess.run([sys.executable, "-m", "puffer_sdk", "train", folder, "--env.size", "9",
                           "--train.total-timesteps", "10000"], capture_output=True, text=True,
                          cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(ROOT)})
    assert done.returncode == 4 and "squared" in done.stderr, done.stderr
    logs = list(tmp_path.rglob("env.log"))
    assert any("observations of 81 elements" in log.read_text() for log in logs), logs


@long_only
def test_an_edited_binding_is_used_and_kept(probe):
    folder = probe()
    path = ocean.bind(folder).path
    text = path.read_text()
    assert "#undef OBS_SIZE" not in text and "exit(1)" not in text     # a constant needs no guard
    path.write_text(text.replace('dict_set(out, "score"', 'dict_set(out, "points"'))
    with puffer_sdk.make(folder, total_agents=4) as vec:
        vec.reset()
        for _ in range(8):
            vec.step()
        assert "points" in vec.log()
    with pytest.raises(UsageError, match="binding.c exists already"):
        ocean.bind(folder)
    assert "points" in path.read_text()
    ocean.bind(folder, force=True)
    assert path.read_text() == text


def test_truncations_are_no_crash_in_pufferlib(probe):
    folder = probe(("    float* terminals;\n", "    float* terminals;\n    float* truncations;\n"),
                   ("env->terminals[a] += env->tick == env->limit;",
                    "env->terminals[a] += env->tick == env->limit;\n"
                    "        env->truncations[a] = env->tick == env->limit;"))
    done = ocean.bind(folder)
    assert "#ifndef PUFFER_HAS_TRUNCATIONS" in done.path.read_text()
    assert any("no truncations" in note for note in done.notes)
    with puffer_sdk.make(folder, total_agents=2) as vec:        # here they are the trainer's
        vec.reset()
        for _ in range(4):
            truncations = vec.step()[3]
        assert truncations.tolist() == [1, 1]


@pytest.mark.parametrize("fault", [
    ("float* rewards;", "double* rewards;"), ("c_step(Probe* env) {", "c_step(Probe* env"),
    ("#define ACT_SIZES {3}", "")])
def test_a_faulty_environment_is_left_as_it_was(probe, fault):
    folder = probe(fault)
    (folder / "binding.c").write_text("// mine\n") if "ACT_SIZES" in fault[0] else None
    before = {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}
    with pytest.raises(BuildError):
        ocean.bind(folder, force=True)
    assert {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()} == before


def test_a_packaged_example_is_not_written_to(monkeypatch, probe):
    folder = probe()
    monkeypatch.setattr(paths, "is_packaged", lambda env: True)
    with pytest.raises(UsageError, match="examples of the package"):
        ocean.bind(folder)


# -- export -------------------------------------------------------------------------


@long_only
def test_a_hand_written_environment_is_exported_as_it_stands(tmp_path):
    folder = shutil.copytree(SPECIMENS / "ocean" / "drum", tmp_path / "drum")
    done = ocean.export_ocean(folder, tmp_path / "pr", runs_dir=tmp_path / "runs")
    for file in ("drum.h", "drum.c", "binding.c"):
        assert (done.folder / "ocean" / "drum" / file).read_bytes() == (folder / file).read_bytes()


@long_only
def test_what_it_opens_goes_along(probe, tmp_path):
    folder = probe()
    for file in ("resources/probe/map.txt", "resources/shared.png"):
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        (folder / file).write_text("x")
    done = ocean.export_ocean(folder, tmp_path / "one", runs_dir=tmp_path / "runs")
    assert "resources/probe/map.txt" in done.files
    shutil.rmtree(folder / "resources" / "probe")
    done = ocean.export_ocean(folder, tmp_path / "two", runs_dir=tmp_path / "runs")
    assert "resources/shared.png" in done.files
    assert any("move shared.png to resources/probe/" in item for item in done.todo)
    assert any("licence" in item for item in done.todo)


@long_only
def test_a_policy_that_sees_more_than_a_flat_row_is_refused(probe, tmp_path):
    folder = probe(ini="[policy]\nencoder = flat\nhidden_size = 8\n")
    done = ocean.export_ocean(folder, tmp_path / "pr", runs_dir=tmp_path / "runs")
    assert "encoder" not in (done.folder / "config" / "probe.ini").read_text()
    assert not any("encoder" in item for item in done.todo)
    seeing = make_policy(tmp_path, obs_size=4, encoder="image 0 2x2x1: 3x2")
    with pytest.raises(UsageError, match="PufferLib's network sees a flat row") as caught:
        ocean.export_ocean(folder, tmp_path / "second", model=seeing.path,
                           runs_dir=tmp_path / "runs")
    assert caught.value.expected == "policy.encoder = flat"
    assert caught.value.hint == "train with --policy.encoder flat, then export again"
    assert not (tmp_path / "second").exists()


def test_settings_that_pufferlib_has_not_are_named(probe, tmp_path):
    folder = probe(ini="; a game\n[base]\nenv_name = probe\n[env]\n# ticks\nlimit = 4\n"
                       "[train]\ngamma = 0.9\nreward_clip = 1\n# here\nbackend = native\n"
                       "[eval]\ngoal = score >= 1\n[sweep.train.gamma]\nmin = 0.5\nmax = 0.9\n")
    done = ocean.export_ocean(folder, tmp_path / "pr", runs_dir=tmp_path / "runs")
    assert (done.folder / "config" / "probe.ini").read_text() == (
        "; a game\n[base]\nenv_name = probe\n[env]\n# ticks\nlimit = 4\n[train]\ngamma = 0.9\n"
        "[sweep.train.gamma]\nmin = 0.5\nmax = 0.9\n")
    assert any("train.reward_clip, train.backend, eval.goal" in item for item in done.todo)
    assert any("train.reward_clip changed training here" in item for item in done.todo)


def test_comments_and_what_is_commented_out_stay():
    """But for those right above what goes."""
    text = ("# Who wrote it.\n\n# the basics\n[base]\nenv_name = probe\n\n# [env]\n# limit = 9\n\n"
            "# ours\n[eval]\n# met at once\ngoal = score >= 1\n\n# limit = 8: too easy\n\n"
            "# the game\n[env]\nlimit = 4\n# limit = 5\n# ours alone\nstep_timeout = 3\n\n; end\n")
    lines, dropped = inifile.keep(text, lambda section, key: section != "eval" and
                                  key != "step_timeout")
    assert "\n".join(lines) == (
        "# Who wrote it.\n\n# the basics\n[base]\nenv_name = probe\n\n# [env]\n# limit = 9\n\n\n"
        "# limit = 8: too easy\n\n# the game\n[env]\nlimit = 4\n# limit = 5\n\n; end")
    assert dropped == ["eval.goal", "env.step_timeout"]


@long_only
def test_an_export_that_plays_otherwise_is_refused(probe, tmp_path):
    """The comparison can fail."""
    folder = probe()
    done = ocean.export_ocean(folder, tmp_path / "pr", runs_dir=tmp_path / "runs")
    twin = done.folder / "ocean" / "probe"
    for file, old, new, said in (
            ("probe.h", "env->rewards[a] +=", "env->rewards[a] -=", "does not play like"),
            ("../../config/probe.ini", "limit = 4", "limit = 5", "changes the original's")):
        text = (twin / file).read_text()
        assert old in text
        (twin / file).write_text(text.replace(old, new))
        with pytest.raises(BuildError, match=said):
            ocean.compare(folder, header.read(folder), config.resolve(folder), twin,
                           tmp_path / file.replace("/", "_"))
        (twin / file).write_text(text)


def test_refusals_leave_nothing(probe, tmp_path, monkeypatch):
    folder = probe()
    full = tmp_path / "full"
    full.mkdir()
    (full / "mine").write_text("x")
    with pytest.raises(UsageError, match="not empty"):
        ocean.export_ocean(folder, full)
    with pytest.raises(UsageError, match="cannot be made"):
        ocean.export_ocean(folder, tmp_path / "no" / "where")
    with pytest.raises(UsageError, match="no trained policy"):
        ocean.export_ocean(folder, tmp_path / "pr", model="latest", runs_dir=tmp_path / "runs")
    assert sorted(path.name for path in full.iterdir()) == ["mine"]
    assert not (tmp_path / "pr").exists() and not (tmp_path / "no").exists()


def test_the_commands(probe, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    folder = probe()

    def run(*words, status=0):
        capsys.readouterr()
        assert main(list(map(str, words))) == status
        said = capsys.readouterr()
        return said.err if status else said.out

    out = run("export", folder, "--ocean")
    assert out.startswith("exported  probe to probe_ocean: it plays like the original\n")
    assert "ocean/probe/binding.c" in out and out.splitlines()[-1] == \
        "next      probe_ocean/CHECKLIST.md"
    document = json.loads(run("export", folder, "--ocean", "--output", "b", "--format", "json"))
    assert document["path"] == str(tmp_path / "b") and "CHECKLIST.md" in document["files"]
    assert "cannot be combined" in run("export", folder, "--ocean", "--to", "c", status=2)
    assert run("bind", folder) == "wrote  probe/binding.c; builds use it\n"
    assert json.loads(run("bind", folder, "--force", "--format", "json")) == {
        "path": str(folder / "binding.c"), "notes": []}


def test_a_function_is_cut_out_whole():
    text = ('// keys\nstatic void c_keys(Env* env) {\n    if (x) { y("}"); }  // }\n'
            "    char c = '{'; /* } */\n}\n\nint main(void) {}\n")
    found = ocean.function_text(text, "c_keys")
    assert found.startswith("static void c_keys") and found.endswith("/* } */\n}")
    assert ocean.function_text("void other(void) {}", "c_keys") is None
    assert ocean.function_text("void c_keys(Env* e) { {", "c_keys") is None


@long_only
def test_the_pages_sessions_print_what_they_show(tmp_path):
    page = (ROOT / "docs" / "share" / "pull-requests.md").read_text()
    puffer_sdk.new("my_env", output_dir=tmp_path)
    sessions = [part.split("```")[0] for part in page.split("```console\n")[1:]]
    for session in sessions[:2]:
        command, *shown = session.splitlines()
        done = subprocess.run([sys.executable, "-m", *command.replace("$ puffer-sdk", "puffer_sdk")
                               .split()], cwd=tmp_path, capture_output=True, text=True, check=True,
                              env={**os.environ, "PYTHONPATH": str(ROOT)})
        assert done.stdout.splitlines() == shown
