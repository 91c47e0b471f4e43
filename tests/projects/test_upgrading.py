"""`bind --upgrade`: environments of PufferLib 3 and of an early 4.0 play as they did."""
import json
import subprocess

import numpy as np
import pytest
from helpers.playground import COMMAND

import puffer_sdk
from puffer_sdk.base.errors import UsageError
from puffer_sdk.env import header
from puffer_sdk.projects import c_sizes, python_env
from puffer_sdk.projects.upgrading import upgrade
from puffer_sdk.settings import config

HEADER = """\
#include <stdlib.h>
#include <string.h>
typedef struct {
    float perf;
    float score;
    float episode_return;
    float episode_length;
    float n;
} Log;

typedef struct {
    Log log;
    float* observations;            // where each bead is
    int* actions;
    float* rewards;
    unsigned char* terminals;
    unsigned char* truncations;
    int length;
    int beads;
    int* at;
    int tick;
} Beads;

static const int MOVES[3] = {0, -1, 1};

void init(Beads* env) {
    env->at = calloc(env->beads, sizeof(int));
}

void c_reset(Beads* env) {
    env->tick = 0;
    for (int i = 0; i < env->beads; i++) {
        env->at[i] = env->length / 2;
        env->observations[i] = env->at[i];
    }
}

void c_step(Beads* env) {
    memset(env->terminals, 0, env->beads * sizeof(unsigned char));
    memset(env->rewards, 0, env->beads * sizeof(float));
    int* chosen = env->actions;
    env->tick++;
    for (int i = 0; i < env->beads; i++) {
        int move = MOVES[env->actions[i]];
        switch (env->actions[i]) {
            case 0: break;
            default: env->at[i] += move;
        }
        env->rewards[i] = chosen[i] % 2;
        env->observations[i] = env->at[i];
    }
    if (env->tick == env->length) {
        memset(env->terminals, 1, env->beads * sizeof(unsigned char));
        env->log.n += 1;
        env->log.episode_length += env->tick;
        c_reset(env);
    }
}

void c_render(Beads* env) { (void)env; }

void c_close(Beads* env) { free(env->at); }
"""
BINDING = """\
#include <Python.h>
#include "beads.h"

#define Env Beads
#include "../env_binding.h"

static int my_init(Env* env, PyObject* args, PyObject* kwargs) {
    env->length = unpack(kwargs, "length");
    env->beads = unpack(kwargs, "beads");
    if (env->length < 1) {
        return 1;
    }
    init(env);
    return 0;
}

static int my_log(PyObject* dict, Log* log) {
    assign_to_dict(dict, "score", log->score);
    assign_to_dict(dict, "episode_length", log->episode_length);
    return 0;
}
"""
PYTHON = """\
import gymnasium, numpy as np, pufferlib
class Beads(pufferlib.PufferEnv):
    def __init__(self, num_envs=1, length=9, beads=3, half=2, buf=None, seed=0):
        self.size = half * 2 - 3
        self.single_observation_space = gymnasium.spaces.Box(
            low=0, high=1, shape=(self.size, 1), dtype=np.float32)
        self.single_action_space = gymnasium.spaces.Discrete(len([5, 5, 5]))
        self.num_agents = num_envs * beads
"""
EARLY = """\
#include "beads.h"
#define OBS_SIZE 1
#define NUM_ATNS 1
#define ACT_SIZES {3}
#define OBS_TYPE FLOAT
#define ACT_TYPE DOUBLE

#define Env Beads
#include "../env_binding.h"

void my_init(Env* env, Dict* kwargs) {
    env->length = dict_get(kwargs, "length")->value;
    env->beads = env->num_agents = dict_get(kwargs, "beads")->value;
    init(env);
}

void my_log(Log* log, Dict* out) {
    dict_set(out, "score", log->score);
    dict_set(out, "episode_length", log->episode_length);
}
"""


def game(folder, files):
    folder.mkdir()
    for name, text in files.items():
        (folder / name).write_text(text)
    return folder


@pytest.fixture
def old(tmp_path):
    return game(tmp_path / "beads", {"beads.h": HEADER, "binding.c": BINDING, "beads.py": PYTHON})


@pytest.fixture
def early(tmp_path):
    text = HEADER.replace("int* actions", "double* actions") \
        .replace("unsigned char* t", "float* t").replace("int* chosen", "double* chosen") \
        .replace("chosen[i] %", "(int)chosen[i] %") \
        .replace("env->actions[i]]", "(int)env->actions[i]]") \
        .replace("(env->actions[i])", "((int)env->actions[i])") \
        .replace("memset(env->terminals, 1, env->beads * sizeof(unsigned char));",
                 "for (int i = 0; i < env->beads; i++) env->terminals[i] = 1;") \
        .replace("sizeof(unsigned char)", "sizeof(float)") \
        .replace("    int length;", "    int num_agents;\n    unsigned int rng;\n    int length;")
    return game(tmp_path / "beads", {"beads.h": text, "binding.c": EARLY,
                                     "beads.ini": "[env]\nlength = 9\nbeads = 3\n"})


def plays(folder):
    """Three beads, as the rules above say, through an ending."""
    with puffer_sdk.make(folder, total_agents=3) as vec:
        at = np.full(3, 4)
        assert vec.reset().tolist() == [[4], [4], [4]]
        for tick in range(1, 20):
            chosen = np.array([tick % 3, 2, (tick * 7) % 3])
            vec.actions[:] = chosen[:, None]
            vec.step()
            at = at + np.array([0, -1, 1])[chosen]
            assert vec.rewards.tolist() == (chosen % 2).tolist()
            assert vec.terminals.tolist() == [tick % 9 == 0] * 3
            at = np.full(3, 4) if tick % 9 == 0 else at
            assert vec.observations[:, 0].tolist() == at.tolist()


def test_an_environment_of_pufferlib_3_plays_as_it_did(old):
    done = upgrade(old)
    assert (done.changed, done.notes, done.problems) == (
        ["beads.h", "beads.ini", "binding.c"], [], [])
    plays(old)
    assert (old / "beads.ini").read_text() == "[env]\nbeads = 3\nlength = 9\n"
    assert (old / "beads.h.orig").read_text() == HEADER
    assert (old / "binding.c.orig").read_text() == BINDING


def test_terminals_that_a_memset_sets_are_ones_in_either_order(old):
    header = old / "beads.h"
    header.write_text(header.read_text().replace("env->beads * sizeof(unsigned char)",
                                                 "sizeof(unsigned char) * env->beads"))
    upgrade(old)
    plays(old)


def test_rows_of_actions_are_rows_of_floats(old):
    header = old / "beads.h"
    text = header.read_text().replace("int* chosen = env->actions;",
                                      "int (*rows)[1] = (int(*)[1])env->actions;")
    text = text.replace("int move = MOVES[env->actions[i]];",
                        "int* own = rows[i];\n        int move = MOVES[own[0]];")
    header.write_text(text.replace("chosen[i] % 2", "rows[i][0] % 2"))
    assert upgrade(old).notes == []
    plays(old)


def test_what_still_takes_actions_for_integers_is_named(old):
    header = old / "beads.h"
    header.write_text(header.read_text().replace("int* chosen = env->actions;",
                                                 "int* chosen;\n    chosen = (int*)env->actions;"))
    assert upgrade(old).notes == ["beads.h:42: casts actions to int*, but they are floats now"]


def test_an_environment_of_an_early_4_plays_as_it_did(early):
    done = upgrade(early)
    assert (done.changed, done.notes, done.problems) == (["beads.h", "binding.c"], [], [])
    assert "OBS_TENSOR_T FloatTensor" in (early / "binding.c").read_text()
    plays(early)


def test_a_my_vec_init_of_three_arguments_deals_envs_out(early):
    """As an early 4.0 has it: who makes all environments leaves the buffers to vecenv.h."""
    binding = early / "binding.c"
    binding.write_text("#define MY_VEC_INIT\n" + binding.read_text())
    with binding.open("a") as file:
        file.write("Env* my_vec_init(int* num_envs_out, Dict* vec_kwargs, Dict* env_kwargs) {\n"
                   '    *num_envs_out = (int)dict_get(vec_kwargs, "total_agents")->value / 3;\n'
                   "    Env* envs = (Env*)calloc(*num_envs_out, sizeof(Env));\n"
                   "    for (int i = 0; i < *num_envs_out; i++) my_init(&envs[i], env_kwargs);\n"
                   "    return envs;\n}\n")
    assert upgrade(early).problems == []
    plays(early)


def test_an_ini_that_is_there_gets_what_it_lacks(old):
    (old / "beads.ini").write_text("[base]\nenv_name = beads\n\n[env]\nnum_envs = 8\nlength = 5\n"
                                   "half = 4\n\n[train]\ngamma = 0.9\n")
    upgrade(old)
    assert (old / "beads.ini").read_text() == (
        "[base]\nenv_name = beads\n\n[env]\nbeads = 3\nlength = 5\nhalf = 4\n\n"
        "[train]\ngamma = 0.9\n")
    assert "#define OBS_SIZE 5\n" in (old / "binding.c").read_text()     # of half = 4, not 2


def test_a_copy_of_pufferlibs_ini_means_what_it_meant_there(old, tmp_path):
    folder, there = tmp_path / "ocean/beads", tmp_path / "config/ocean/beads.ini"
    folder.parent.mkdir()
    old.rename(folder)
    there.parent.mkdir(parents=True)
    there.write_text("[vec]\nnum_buffers = 4.8\n\n[env]\nlength = 9\nbeads = 3\n\n[train]\n"
                     "gamma = 0.9\n")
    upgrade(folder)
    assert (folder / "beads.ini").read_text() == (
        "[vec]\nnum_buffers = auto\n\n[env]\nlength = 9\nbeads = 3\n\n[train]\nreward_clip = 1\n"
        "minibatch_carry = off\ntarget_kl = 0\nnorm_returns = off\ngamma = 0.9\n")
    assert not config.resolve(folder).train.minibatch_carry


LISTS = PYTHON.replace("length=9, beads=3", "length=[9], beads=3").replace(
    "        self.num_agents = num_envs * beads\n", """\
        if not isinstance(length, list):
            length = num_envs * [length]
        if len(length) > num_envs:
            length = length[:num_envs]
        beads = num_envs * [beads]
        self.num_agents = sum(beads)
        self.wide = self.single_observation_space.shape[0]
        for i in range(num_envs):
            binding.env_init(length=length[i], beads=beads[i], wide=self.wide)
""")


def test_settings_that_python_holds_as_lists_are_those_of_one_env(old):
    (old / "beads.py").write_text(LISTS)
    (old / "beads.ini").write_text("[env]\nbeads = [3]\n")
    assert upgrade(old).notes == []
    plays(old)
    assert (old / "beads.ini").read_text() == "[env]\nlength = 9\nbeads = 3\n"
    read = python_env.read(old / "beads.py")
    assert (read.agents, read.defaults["wide"]) == ("beads", 1)


def test_what_python_hands_to_c_otherwise_than_it_was_given_is_named(old):
    (old / "beads.py").write_text(PYTHON + "        binding.env_init(length=length, "
                                  "beads=beads * 2)\n")
    assert upgrade(old).notes == ["binding.c: beads.py passes another beads to C than [env] has: "
                                  "beads * 2 = 6; write that into my_init"]


def test_arithmetic_on_actions_is_named(old):
    step = """    def step(self, actions):
        small = (actions.astype(np.float32) - 2.0) / 4.0
        self.actions[:] = small
"""
    (old / "beads.py").write_text(PYTHON + step)
    assert upgrade(old).notes == ["beads.h: beads.py passes (actions.astype(np.float32) - 2.0) / "
                                  "4.0 to C as actions: compute that in c_step"]
    assert python_env.read(old / "beads.py").actions
    (old / "beads.py").write_text(PYTHON + step.replace("= small", "= actions"))
    assert python_env.read(old / "beads.py").actions is None


def test_what_does_not_follow_from_the_text_is_named(old):
    (old / "beads.py").unlink()
    with (old / "binding.c").open("a") as file:
        file.write("static PyObject* my_shared(PyObject* self) {\n    return NULL;\n}\n")
    done = upgrade(old)
    notes = "\n".join(done.notes)
    assert "OBS_SIZE does not follow from the C files (beads.py is not there)" in notes
    assert "length, beads: read by my_init" in notes and "sets num_agents to 1" in notes
    assert [(str(p.where), p.message) for p in done.problems] == [
        ("binding.c:20", "calls of Python remain in 1 line")]


DEMO = """\
#include "beads.h"
#define WIDTH 1
int main(void) {
    Beads env = {.length = 9, .beads = 3, .num_agents = 3};
    int seen = WIDTH * (2 + 1) - 2;         // int seen = 7;
    env.observations = (float*)calloc(env.num_agents * seen, sizeof(float));
    env.actions = malloc(env.num_agents * sizeof(int));
    env.actions[0] = rand() % 3;
}
"""


def test_sizes_and_settings_follow_from_the_demo_where_python_is_gone(old):
    (old / "beads.py").unlink()
    (old / "beads.c").write_text(DEMO)
    done = upgrade(old)
    assert done.problems == [] and "num_agents to 1" in done.notes.pop()
    assert done.notes == ["OBS_SIZE 1: beads.c allocates as many; change it if an observation "
                          "has another size",
                          "ACT_SIZES {3}: as beads.c uses actions; change it if there are others"]
    binding = old / "binding.c"
    binding.write_text(binding.read_text().replace("num_agents = 1", "num_agents = 3"))
    assert (old / "beads.ini").read_text() == "[env]\nlength = 9\nbeads = 3\n"
    plays(old)


@pytest.mark.parametrize("actions, text, heads", [
    ("float", "env.actions = calloc(2 * env.num_agents, sizeof(float));", (1, 1)),
    ("int", "env.actions = calloc(2, 4);\nint logit_sizes[] = {9, 5};", (9, 5)),
    ("int", "env.actions = calloc(1, 4);\n#define UP 3\nint act = env->actions[0];\n"
            "if (act == 0 || act == UP) go();", (4,)),
    ("int", "env.actions = calloc(1, 4);\ngo(env->actions[0]);", None),
    ("int", "env.actions = calloc(unknown(), 4);\nenv.actions[0] = rand() % 3;", None)])
def test_heads_follow_from_the_demo_or_not_at_all(actions, text, heads):
    texts = {"game.c": text, "game.h": f"    {actions}* actions;\n"}
    assert c_sizes.read(texts, {}).act_sizes == heads


def test_fields_may_share_a_line(old):
    header = old / "beads.h"
    header.write_text(header.read_text().replace("    int* actions", "    int spare; int* actions"))
    assert "; int* actions" in header.read_text() and upgrade(old).problems == []
    plays(old)


def test_a_header_that_binding_names_is_upgraded(old):
    (old / "beads.h").rename(old / "rules.h")
    (old / "binding.c").write_text(BINDING.replace("beads.h", "rules.h"))
    assert upgrade(old).changed == ["beads.ini", "binding.c", "rules.h"]
    plays(old)


def test_a_struct_in_the_binding_is_upgraded_there(old):
    (old / "binding.c").write_text((old / "beads.h").read_text() + BINDING)
    (old / "beads.h").write_text("#include <math.h>\n")
    assert upgrade(old).changed == ["beads.ini", "binding.c"]
    plays(old)


@pytest.mark.parametrize("line, said", [
    ("if (env->terminals[0]) { c_reset(env); return; }", True),
    ("if ((int)env->terminals[0] == 1) c_reset(env); // when it is over", True),
    ("env->terminals[0] = 0; if (env->terminals[0]) { c_reset(env); }", False),
    ("play(env, 1); if (env->terminals[0] == 1) { c_reset(env); }", False),
    ("if (env->terminals) env->terminals[0] = 0;", False),
    ("/* if (env->terminals[0]) */ env->terminals[0] = 0;", False)])
def test_a_reset_that_waits_for_the_next_step_is_named(line, said, old):
    header = (old / "beads.h").read_text()
    head, brace, body = header.partition(header[header.index("void c_step("):].partition("{")[0])
    (old / "beads.h").write_text(head + brace + body.replace("{", "{ " + line, 1))
    notes = [note for note in upgrade(old).notes if "previous step's terminal" in note]
    assert len(notes) == said and all(note.startswith("beads.h:") for note in notes)


def test_the_command(old):
    def run(*flags):
        return subprocess.run([*COMMAND, "bind", old, *flags], capture_output=True, text=True)

    refused = run("--force", "--upgrade")
    assert refused.returncode == 2 and "cannot be combined" in refused.stderr
    first = run("--upgrade")
    assert first.returncode == 0 and "beads.h (original: beads.h.orig)" in first.stdout
    again = run("--upgrade")
    assert again.returncode == 2 and "nothing to upgrade" in again.stderr
    (old / "binding.c").write_text(BINDING)
    third = run("--upgrade", "--format", "json")
    assert third.returncode == 2 and "this file is left from an earlier upgrade" in third.stderr
    assert (old / "binding.c").read_text() == BINDING
    for name in ("binding.c.orig", "beads.h.orig"):
        (old / name).unlink()
    (old / "beads.h").write_text(HEADER.replace("void c_render", "void draw"))
    broken = run("--upgrade", "--format", "json")
    assert json.loads(broken.stdout)["changed"] == ["beads.h", "binding.c"]
    assert broken.returncode == 3 and "c_render is not defined" in broken.stderr


def test_it_is_what_a_refused_binding_points_to(old):
    assert "puffer-sdk bind beads --upgrade" in header.inspect(old)[1][0].hint


def test_a_tensor_type_that_was_never_stated_is_that_of_the_field(early):
    header, binding = early / "beads.h", early / "binding.c"
    header.write_text(header.read_text().replace("double* actions", "float* actions"))
    binding.write_text(EARLY.replace("#define OBS_TYPE FLOAT\n#define ACT_TYPE DOUBLE\n", "")
                       .replace("../env_binding.h", "vecenv.h"))
    done = upgrade(early)
    assert (done.changed, done.notes, done.problems) == (["binding.c"], [], [])
    assert '#define OBS_TENSOR_T FloatTensor\n#include "vecenv.h"' in binding.read_text()


def test_without_a_binding_there_is_nothing_to_upgrade(old):
    (old / "binding.c").unlink()
    with pytest.raises(UsageError, match="there is no binding.c to upgrade"):
        upgrade(old)


@pytest.mark.parametrize(("line", "size"), [
    ("shape=(2 * vision + 1, 2 * vision + 1)", 121), ("shape=(num_envs * 4,)", 4),
    ("shape=(10 ** 100000000,)", None), ("shape=tuple(sizes)", None), ("shape=[7] * 3", 343),
    ("shape=(__import__('os').getpid(),)", None)])
def test_sizes_follow_from_arithmetic_or_not_at_all(line, size, tmp_path):
    (tmp_path / "x.py").write_text("import gymnasium\nclass X:\n"
                                   "    def __init__(self, num_envs=8, vision=5):\n"
                                   f"        self.single_observation_space = Box(0, 1, {line})\n")
    assert python_env.read(tmp_path / "x.py").obs_size == size


@pytest.mark.parametrize(("line", "widths"), [
    ("Discrete(5)", (5,)), ("spaces.MultiDiscrete([3, 4])", (3, 4)),
    ("MultiDiscrete([2] * 3)", (2, 2, 2)), ("Box(-1, 1, shape=(2,))", (1, 1)),
    ("Dict({})", None)])
def test_heads(line, widths, tmp_path):
    (tmp_path / "x.py").write_text("class X:\n    def __init__(self):\n"
                                   f"        self.single_action_space = {line}\n")
    assert python_env.read(tmp_path / "x.py").act_sizes == widths
