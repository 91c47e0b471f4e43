"""to_form5.py: an environment of PufferLib 4.0 becomes one header of 5.0, or stays as it was."""
from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest
from helpers.check_fixtures import changed
from helpers.places import SPECIMENS
from helpers.short_or_long import some_or_all

import puffer_sdk
from puffer_sdk import cli
from puffer_sdk.base.errors import BuildError, UsageError
from puffer_sdk.env import header
from puffer_sdk.env.agent_slots import random_actions
from puffer_sdk.projects import to_form5

LADDER = SPECIMENS / "correct" / "ladder"       # it has a mask, and no binding.c
STRUCT = """typedef struct Ladder {
    Log log;
    float* observations;
    float* actions;
    int rung;
"""


def played(folder: Path) -> tuple[list[bytes], dict[str, float]]:
    draw, seen = np.random.default_rng(3), []
    with puffer_sdk.make(folder, num_envs=4, seed=5) as envs:
        seen.append(envs.reset().tobytes())
        for _ in range(300):
            envs.actions[:] = random_actions(envs, draw)
            seen += [array.tobytes() for array in envs.step()[:3]]
            seen.append(b"" if envs.action_mask is None else envs.action_mask.tobytes())
        return seen, envs.log()


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


@pytest.mark.parametrize("place", some_or_all(
    ["correct/ladder", "ocean/nim", "ocean/lights", "correct/quarry", "ocean/kiln",
     "correct/organ", "ocean/mole"], 1))
def test_it_plays_the_same_bytes(place, tmp_path, capsys):
    """A struct declared first or with its typedef, a binding or none, sizes of settings; with its
    ini in the config/ of a checkout."""
    source = SPECIMENS / place
    folder = shutil.copytree(source, tmp_path / "ocean" / source.name,
                             ignore=shutil.ignore_patterns("build"))
    if (ini := folder / f"{folder.name}.ini").is_file():
        (tmp_path / "config").mkdir()
        ini.rename(tmp_path / "config" / ini.name)
    before = contents(folder)
    assert cli.main(["bind", str(folder), "--upgrade", "--dialect", "5"]) == 0
    name = f"{folder.name}.h"
    said = capsys.readouterr().out
    assert f"(original: {name}.orig)" in said
    assert ("note   binding.c: what it said" in said) == ("binding.c" in before)
    spec = header.read(folder)
    assert spec.by_agent and spec.has_mask == header.read(source).has_mask
    after = contents(folder)
    gone = {file for file in ("binding.c", f"{folder.name}.c") if file in before}
    assert gone.isdisjoint(after) and b"c_step" not in after[name]
    assert all(after[f"{file}.orig"] == before[file] for file in (*gone, name))
    assert played(folder) == played(source)


def test_what_no_rule_rewrites_stays_as_it_was(tmp_path):
    """A second name in one declaration is not found, so the header would not compile."""
    twice = ("void c_step(Ladder* env) {\n", "void c_step(Ladder* env) {\n"
             "    Ladder *a = env, *b = env;\n    (void)a;\n    b->rewards[0] = 0.0f;\n")
    folder = changed(LADDER, tmp_path, twice)
    before = contents(folder)
    with pytest.raises(BuildError, match="no rule rewrites this environment") as caught:
        to_form5.to_form5(folder)
    assert "rewards" in caught.value.message and "nothing was written" in str(caught.value.hint)
    assert contents(folder) == before


@pytest.mark.parametrize("place, binding, says", [
    ("ocean/ints", "", "obs_t .* is another type"),
    ("correct/ladder", "#define MY_VEC_INIT\n", "MY_VEC_INIT is to be rewritten"),
    ("correct/drones", "", "has no truncations"),
])
def test_what_5_0_has_no_place_for_is_refused(place, binding, says):
    with pytest.raises(UsageError, match=says):
        to_form5._refuse(header.read(SPECIMENS / place), binding)


def test_a_form_that_is_there_already_is_refused():
    with pytest.raises(UsageError, match="5.0's form already"):
        to_form5.to_form5(SPECIMENS / "form5" / "tug")
    assert cli.main(["bind", str(LADDER), "--dialect", "5"]) == 2


def test_structs_bindings_and_rows():
    spec = header.read(LADDER)
    text = to_form5._struct("typedef struct { float n; } Log;\n" + STRUCT + "} Ladder;\n", spec,
                            1, [])
    assert "struct Log { float n; };" in text and "} ;" not in text
    assert "struct Env {\n    Log log;\n    Agent agents[1];\n" in text
    shared = STRUCT.replace("    int rung;", "    float *rewards, *spare, *terminals;  // both\n"
                                             "    int rung;")
    other = to_form5._struct("typedef struct { float n; } Log;\n" + shared + "} Ladder;\n", spec,
                             1, [])
    assert "    float *spare;\n    int rung;" in other and "rewards" not in other
    assert to_form5._named("static inline void c_step(Env* env)") == "void puf_step(Env* env)"
    assert "float*" not in text and text.endswith("    int rung;\n};\ntypedef Env Ladder;\n")
    with pytest.raises(UsageError, match="the struct Ladder is written in a way"):
        to_form5._struct("struct Log { float n; };\nclass Ladder { int x; };\n", spec, 1, [])
    assert to_form5._binding('#include "ladder.h"\n#define Env Ladder\n#include "../vecenv.h"\n'
                             'x = dict_get(kwargs, "a b")->value;\n', spec) == (
                                 'x = dict_get(kwargs, "a b");\n')
    rows = "void f(Ladder* env, Row* row) { env->rewards[0] = row->rewards[1]; } // env->rewards"
    assert to_form5._rows(rows, "Ladder") == rows.replace("{ env->", "{ env->agents[0].")
