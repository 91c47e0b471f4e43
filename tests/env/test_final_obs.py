"""Final observations: what an episode ended with, before its env began the next one."""
from __future__ import annotations

import re
import subprocess
from types import SimpleNamespace

import numpy as np
import pytest
from helpers.places import ROOT, SPECIMENS
from helpers.short_or_long import some_or_all

from puffer_sdk.base.errors import BuildError
from puffer_sdk.base.spec import FinalObs
from puffer_sdk.env import abi, build, final_obs, header
from puffer_sdk.env.job import EnvJob
from puffer_sdk.env.vec import VecEnv
from puffer_sdk.projects import ocean
from puffer_sdk.projects.scaffold import new
from puffer_sdk.settings import config

HEADER = """#pragma once
#include <stdlib.h>
#define OBS_SIZE 3
#define ACT_SIZES {2}
typedef struct Log { float score; float n; } Log;
typedef struct Ball { float x; } Ball;
static int looked;
typedef struct Game {
    Log log;
    float *observations, *actions, *rewards, *terminals, *truncations;
    unsigned int rng;
    int num_agents, tick, limit, looks;
    float x, half;
    Ball ball;
    Ball* balls;
} Game;
void init(Game* env) { env->balls = calloc(2, sizeof(Ball)); }
void c_close(Game* env) { free(env->balls); }
static void fill(float* out, float value) { out[0] = value; }
@OBSERVE@
@RESET@ {
    env->x = (float)(env->rng++ % 7);
    env->tick = 0;
    @LOOK@
}
void c_step(Game* env) {
    env->x += env->actions[0] + 1.0f;
    env->tick++;
    env->rewards[0] = 0.0f;
    int late = env->tick >= env->limit;
    env->terminals[0] = env->truncations[0] = (float)late;
    if (late) {
        env->log.n += 1.0f;
        c_reset(env);
        return;
    }
    @LOOK@
}
void c_render(Game* env) { (void)env; }
"""
OBSERVE = """static void observe(Game* env) {
    float* out = env->observations;
    env->half = 0.5f * env->x;
    fill(out++, env->x);
    out[0] = env->half;
    out[1] = (float)env->tick;
    %s
}"""


def write_game(folder, extra="", reset="void c_reset(Game* env)", look="observe(env);", text=None):
    folder = folder / "game"
    folder.mkdir(exist_ok=True)
    text = (text or HEADER).replace("@OBSERVE@", OBSERVE % extra)
    (folder / "game.h").write_text(text.replace("@RESET@", reset).replace("@LOOK@", look))
    (folder / "game.ini").write_text("[base]\nenv_name = game\n[env]\nlimit = 5\n"
                                     "[vec]\ntotal_agents = 8\n")
    return folder


def open_vec(folder, settings=None, **options):
    built = build.build(folder)
    resolved = config.resolve(folder, settings or {}, spec=built.spec)
    return VecEnv(EnvJob.of(built, resolved).open(), env_settings=resolved.env, seed=3,
                  **{"total_agents": 8, **options})


def play(vec, ticks: int, seed: int = 0):
    """All that every tick left behind, and the final observations of each."""
    random, seen, ends = np.random.default_rng(seed), [], []
    vec.reset()
    for _ in range(ticks):
        for head, width in enumerate(vec.act_sizes):
            draw = random.uniform(-1, 1, vec.num_agents)
            vec.actions[:, head] = draw if width == 1 else (draw + 1) * width / 2 // 1
        vec.step()
        seen.append(np.concatenate([vec.observations.astype(float).ravel(), vec.rewards,
                                    vec.terminals, vec.truncations]))
        if vec.has_final is not None:
            ends.append((vec.has_final.copy(), vec.final_observations.copy()))
    return np.array(seen), ends


# -- found in the source ---------------------------------------------------------------------------


def test_examples_with_truncations_have_final_observations():
    found = {path.parent.name: header.read(path.parent) for path in
             sorted((ROOT / "examples").glob("*/*.ini"))}
    assert {name for name, spec in found.items() if spec.has_truncations} == \
        {"breakout", "cartpole", "pendulum", "pong"}
    for spec in found.values():
        assert bool(spec.final_obs) != bool(spec.no_final_obs)
        assert bool(spec.final_obs) >= spec.has_truncations
        assert not spec.final_obs or str(spec.final_obs) == "observe(), called before c_reset"


@pytest.mark.parametrize("extra", [
    "", "env->looks++;", "env->ball.x = 1.0f;", "Ball* b = &env->ball; b->x += 1.0f;",
    "float row[3]; row[0] = env->x; out[1] = row[0];", "out[1] += (float)(rand() % 2);",
    "env->rng += 1;"])
def test_a_look_that_can_be_taken_back_is_found(tmp_path, extra):
    assert header.read(write_game(tmp_path, extra)).final_obs == FinalObs("observe", 28)


@pytest.mark.parametrize("extra, reason", some_or_all([
    ("looked++;", "observe also changes looked"),
    ("static int count; count++;", "observe also changes count"),
    ("env->balls[0].x = 1.0f;", "observe also changes what balls points to"),
    ("Ball* b = env->balls; b->x = 1.0f;", "observe also changes what balls points to"),
    ("fill(&env->balls[1].x, 1.0f);", "observe also changes what balls points to"),
    ("free(malloc(4));", "observe calls malloc"),
    ("void (*f)(float*, float) = fill; f(out, 1.0f);", "observe calls through a pointer")], 0, 3))
def test_a_look_that_would_last_is_not_taken(tmp_path, extra, reason):
    spec = header.read(write_game(tmp_path, extra))
    assert (spec.final_obs, spec.no_final_obs) == (None, reason)
    assert open_vec(spec.folder).final_observations is None


def test_masks_that_a_look_writes_are_put_back(tmp_path):
    """c_reset leaves them alone here: what a look left would be seen."""
    text = HEADER.replace("*terminals, *truncations;", "*terminals, *truncations;\n"
                          "    unsigned char* action_mask;")
    folder = write_game(tmp_path, "if (env->tick) env->action_mask[0] = env->tick == 5;", text=text)
    assert header.read(folder).final_obs == FinalObs("observe", 29)
    with open_vec(folder) as vec:
        vec.reset()
        assert (vec.action_mask == 1).all()
        for tick in range(1, 11):
            vec.step(np.ones(8))
            assert vec.has_final.all() == (tick % 5 == 0)
            assert (vec.action_mask == (0, 1)).all()
        assert (vec.final_observations[:, 2] == 5).all()


@pytest.mark.parametrize("parts, reason", [
    (dict(look="env->observations[0] = env->x;"),
     "no function that takes the env alone writes the observations for c_reset"),
    (dict(reset="void c_reset(Game* env\n    )"),
     "c_reset's definition is not written on one line"),
    (dict(text=HEADER.replace("        env->log.n += 1.0f;\n",
                              "        env->observations[1] = 0.5f;\n")),
     "observe does not write all observations: c_step writes some besides")])
def test_where_nothing_can_look_a_reason_is_given(tmp_path, parts, reason):
    spec = header.read(write_game(tmp_path, **parts))
    assert (spec.final_obs, spec.no_final_obs) == (None, reason)


def test_another_file_on_the_same_line_is_in_the_way(tmp_path):
    folder = write_game(tmp_path)
    (folder / "game.c").write_text("\n" * 27 + "// c_reset(\n")
    assert header.read(folder).no_final_obs == "game.c names c_reset on the same line"


def test_truncations_that_nobody_reads_are_no_reason_to_look(tmp_path):
    """PufferLib's cartpole has them as bytes, and its binding leaves them alone."""
    folder = write_game(tmp_path, text=HEADER.replace("*terminals, *truncations;", "*terminals;\n"
                                                      "    unsigned char* truncations;").replace(
        " = env->truncations[0]", ""))
    (folder / "binding.c").write_text(
        '#include "game.h"\n#define OBS_TENSOR_T FloatTensor\n#define Env Game\n'
        '#include "vecenv.h"\n'
        'void my_init(Env* env, Dict* kwargs) { env->num_agents = 1; init(env);\n'
        '    env->limit = dict_get(kwargs, "limit")->value; }\n'
        'void my_log(Log* log, Dict* out) { dict_set(out, "score", log->score); }\n')
    spec = header.read(folder)
    assert spec.final_obs and not spec.has_truncations
    with open_vec(folder) as vec:
        assert vec.final_observations is None and len(play(vec, 9)[0]) == 9


@pytest.mark.parametrize("ending", some_or_all(["before", "behind", "twice", "form5"], 1, 3))
def test_every_ending_shows_what_it_saw_last(tmp_path, ending):
    """Whether the author says it before c_reset or behind it, and where c_reset calls itself."""
    text = HEADER.replace("*terminals, *truncations;", "*terminals;").replace(
        " = env->truncations[0]", "")
    if ending == "behind":
        line = "    env->terminals[0] = (float)late;\n"
        text = text.replace(line, "").replace("        c_reset(env);\n",
                                              f"        c_reset(env);\n    {line}")
    if ending == "twice":
        text = text.replace("    env->tick = 0;\n", "    int again = env->tick != 0;\n"
                            "    env->tick = 0;\n    if (again) c_reset(env);\n")
    if ending == "form5":
        new("game", dialect="5", output_dir=tmp_path)
    else:
        write_game(tmp_path, text=text)
    with open_vec(tmp_path / "game", total_agents=8, checked=True) as vec:
        assert vec.has_final is None and not vec.description.has_final_obs
        vec.all_finals = True
        vec.reset()
        endings = 0
        for tick in range(1, 16):
            before = vec.observations.astype(int)
            vec.step(np.ones(8))
            assert np.array_equal(vec.has_final, vec.terminals)
            for row in np.flatnonzero(vec.has_final):
                final, endings = vec.final_observations[row].astype(int), endings + 1
                if ending != "form5":
                    x = before[row, 0] + 2
                    assert final.tolist() == [x, x // 2, tick and 5]
                else:       # down: the agent is a row below, or over the edge, or on its target
                    grid = np.argwhere(before[row].reshape(11, 11) == 1)[0] + (1, 0)
                    at = np.argwhere(final.reshape(11, 11) == 1)
                    assert at.tolist() == ([grid.tolist()] if grid[0] < 11 else [])
        assert endings >= 16


def test_what_is_written_past_the_row_is_not_shown(tmp_path):
    """Nobody wrote observe() for an agent beyond the edge: its row has margins, and is dropped."""
    folder = write_game(tmp_path, "out[env->tick == 5 ? 2 : 1] = 0.0f;")
    with open_vec(folder) as vec:
        _, ends = play(vec, 5)
        assert not any(has.any() for has, _ in ends) and vec.truncations.all()


def test_without_a_reset_in_the_step_there_is_nothing_to_look_at():
    spec = header.read(SPECIMENS / "innings")
    assert (spec.final_obs, spec.no_final_obs) == (None, "c_step does not call c_reset")


# -- in the library --------------------------------------------------------------------------------


@pytest.mark.parametrize("name, limit", some_or_all([
    ("cartpole", {"env.max_steps": 9}), ("pendulum", {"env.max_steps": 9}), ("breakout", None),
    ("pong", None)], 0, 3))
def test_a_final_observation_is_what_would_have_been_seen(name, limit, tmp_path):
    """The same env with a later limit sees it on the same tick, and what follows is the same with
    and without a look."""
    folder = tmp_path / name
    folder.mkdir()
    text = (ROOT / "examples" / name / f"{name}.h").read_text()
    (folder / f"{name}.ini").write_text((ROOT / "examples" / name / f"{name}.ini").read_text())

    def vec_of(text, settings=None):
        (folder / f"{name}.h").write_text(text)
        return open_vec(folder, settings)

    def limited(ticks):
        changed = re.sub(r"(#define MAX_TICKS\s+)\d+", rf"\g<1>{ticks}", text)
        return vec_of(changed, {"env.max_steps": ticks} if limit else None)

    seen, ends = play(limited(9), 27)
    flags, rows = ends[8]
    assert flags.any()
    late = limited(500)
    longer, _ = play(late, 9)
    wide = late.observations.reshape(-1)
    expected = longer[8][:len(wide)].reshape(late.observations.shape)
    assert np.array_equal(rows[flags != 0], expected[flags != 0].astype(rows.dtype))
    for at, (has, _) in enumerate(ends):
        cut = seen[at][-late.num_agents:]
        assert np.array_equal(has, cut != 0)
    blind = text.replace("static inline void observe(", "static int blinks;\n"
                         "static inline void observe(").replace(
        "#pragma once", "#pragma once\n")
    blind = re.sub(r"(static inline void observe\([^)]*\) \{)", r"\1\n    blinks++;", blind)
    blind = re.sub(r"(#define MAX_TICKS\s+)\d+", r"\g<1>9", blind)
    without = vec_of(blind, limit)
    assert without.has_final is None
    assert np.array_equal(play(without, 27)[0], seen)


def test_what_a_look_changes_is_put_back(tmp_path):
    """A look draws from rng and rand() and counts: with it the env goes on as without."""
    extra = "out[1] += (float)(rand() % 9) + (float)(env->rng % 5); env->rng += 1; env->looks++;"
    looked, ends = play(open_vec(write_game(tmp_path, extra)), 40)
    blind, _ = play(open_vec(write_game(tmp_path, extra + " looked++;")), 40)
    assert sum(has.sum() for has, _ in ends) == 8 * 8
    assert np.array_equal(looked, blind)


WRITTEN = HEADER.replace("*truncations;", "*truncations, *final_observations;").replace(
    "        env->log.n += 1.0f;\n",
    "        for (int i = 0; i < 3; i++) env->final_observations[i] = (float)(10 + i);\n"
    "        env->log.n += 1.0f;\n")


def test_a_program_and_pufferlib_have_room_for_what_an_env_writes(tmp_path):
    folder = write_game(tmp_path, text=WRITTEN)
    spec = build.build(folder, env_settings=config.resolve(folder).env).spec
    (folder / "main.c").write_text('''
#include "game.h"
#include "build/game_config.h"
int main(int argc, char** argv) {
    Game env = {.rng = 3};
    game_configure(&env);
    init(&env);
    game_allocate(&env);
    c_reset(&env);
    for (int tick = 0; tick < 20; tick++) {
        game_act(&env, NULL);
        c_step(&env);
    }
    int last = (int)env.final_observations[2];
    game_free(&env);
    c_close(&env);
    return last + 0 * argc + (argv == NULL);
}
''')
    program = tmp_path / "program"
    subprocess.run(["cc", "-fsanitize=address", "-o", program, folder / "main.c", "-lm"],
                   check=True)
    assert subprocess.run([program], check=False).returncode == 12
    text = ocean.render(spec, {"limit": 5}, SimpleNamespace(obs_size=3, act_sizes=(2,)))
    assert "env->final_observations = calloc(" in text


def test_an_env_may_write_them_itself(tmp_path):
    folder = write_game(tmp_path, "looked++;", text=WRITTEN)
    assert str(header.read(folder).final_obs) == "written by the env"
    assert build.build(folder).warnings == ""
    vec = open_vec(folder)
    _, ends = play(vec, 10)
    assert [has.tolist() for has, _ in ends] == ([[0] * 8] * 4 + [[1] * 8]) * 2
    assert ends[4][1].tolist() == [[10, 11, 12]] * 8
    api, ffi = vec.library.api, abi.ffi()
    rows = ffi.new("PufferBuffers*", {            # who does not ask for them gets by without
        name: ffi.cast("float*", getattr(vec, name).ctypes.data)
        for name in ("observations", "actions", "rewards", "terminals", "truncations")})
    for env in range(8):
        api.bind(vec.handle, env, rows)
    for _ in range(6):
        vec.step()


@pytest.mark.parametrize("line, wrong", [
    ("unsigned char* final_observations;",
     "the field 'final_observations' has another type than observations"),
    (None, "the field 'final_observations' is for truncated episodes, and there is no field "
           "'truncations'")])
def test_a_wrong_field_is_named(tmp_path, line, wrong):
    if line:
        text = HEADER.replace("    unsigned int rng;", f"    {line}\n    unsigned int rng;")
    else:
        text = HEADER.replace("*truncations;", "*final_observations;").replace(
            "env->terminals[0] = env->truncations[0]", "env->terminals[0]")
    with pytest.raises(BuildError, match=re.escape(wrong)) as caught:
        header.read(write_game(tmp_path, text=text))
    assert caught.value.code == "PUF102"


def test_flags_are_what_the_compiler_is_told():
    assert FinalObs(None).flags == ["-DPUFFER_HAS_FINALS"]
    assert final_obs.find({}, "struct Game", {"truncations": "float *"}) == \
        "there is no c_reset"
