"""Environments as programs for a GPU: all of ours compile, and emulated play the CPU's bits."""
from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import numpy as np
import pytest
from conftest import GAMES
from helpers.device_program import ABORT, AGENTS, MEMORY, MISSING_KEY, NO_FAULT, SIZES, Program
from helpers.places import SPECIMENS
from helpers.short_or_long import long_only, short_or_long, some_or_all

import puffer_sdk
from puffer_sdk import cli
from puffer_sdk.base import paths
from puffer_sdk.base.errors import BuildError, RunError, UsageError
from puffer_sdk.env import header
from puffer_sdk.env.gpu import programs, translate
from puffer_sdk.settings import config
from puffer_sdk.toolchain import nvrtc

pytest_plugins = ["helpers.cuda_places"]

OCEAN, OWN = SPECIMENS / "ocean", SPECIMENS / "device_envs"
TOGETHER = ("ants", "rain", "warren")           # MY_VEC_*: all envs at once
REFUSED = ("halves", "perms")
FIXTURES = sorted(path.parent.name for path in OCEAN.glob("*/binding.c")
                  if path.parent.name not in (*TOGETHER, *REFUSED))
ENVS = short_or_long(
    ["dialect", "inn", "slang", "ocean/upstream/ocean/gopher", "game/pong"],
    ["dialect", "inn", "mover", "slang", *(f"ocean/{name}" for name in FIXTURES),
     "ocean/upstream/ocean/gopher", *(f"game/{name}" for name in GAMES)])
TICKS, COPIES = 500, 16


@pytest.fixture(scope="session")
def ocean(tmp_path_factory) -> Path:
    """A copy of specimens/ocean that may be built in."""
    top = tmp_path_factory.mktemp("sea")
    shutil.copytree(OWN, top, ignore=shutil.ignore_patterns("build"), dirs_exist_ok=True)
    return shutil.copytree(OCEAN, top / "ocean", ignore=shutil.ignore_patterns("build"))


@pytest.fixture(params=ENVS)
def env(request, ocean, games) -> Path:
    kind, _, name = request.param.partition("/")
    return games[name] if kind == "game" else ocean.parent / request.param


def compile_program(env: Path, arch: str | None) -> Path:
    return programs.build_program(env, arch).path


def play(vec, program: Program, ticks: int = TICKS) -> int:
    """Both, with the same random actions, compared after every tick. The final observations."""
    draw = np.random.default_rng(3)
    vec.reset()
    program.call("start")
    compare(vec, program, "reset")
    logged = finals = 0
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
        finals += 0 if vec.has_final is None else int(vec.has_final.sum())
        if tick % 100 == 99:
            logged += compare_logs(vec, program)
    assert logged > 0
    program.call("close")
    assert program.failed is None
    return finals


def compare(vec, program: Program, when) -> None:
    assert program.failed is None, when
    names = ["observations", "rewards", "terminals"]
    names += ["truncations"] if program.facts.has_truncations else []
    names += ["action_mask"] if vec.action_mask is not None else []
    names += ["final_observations", "has_final"] if program.facts.has_final_obs else []
    names += ["alive"] if program.facts.has_alive else []
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


@pytest.mark.long
def test_it_plays_the_cpus_bits(env):
    settings = config.resolve(env).env
    with puffer_sdk.make(env, num_envs=COPIES, seed=11, env_settings=settings) as vec:
        program = Program(compile_program(env, None), vec)
        assert program.facts.env_bytes == vec.library.api.env_struct_size()
        assert program.facts.obs_bytes == vec.observations.itemsize
        assert program.facts.num_atns == vec.num_atns
        assert program.facts.mask_size == vec.description.mask_size
        assert program.facts.has_truncations == vec.description.has_truncations
        assert program.facts.has_final_obs == vec.description.has_final_obs
        assert program.facts.has_alive == vec.description.has_alive
        play(vec, program)


@pytest.mark.long
def test_nvrtc_compiles_it(env):
    cubin = compile_program(env, "90").read_bytes()
    assert cubin.startswith(b"\x7fELF")
    for name in ("facts", "start", "step", "log", "close"):
        assert f"puffer_envs_{name}\0".encode() in cubin
    assert b"c_render" not in cubin


def test_order_of_threads_changes_nothing(games, monkeypatch):
    monkeypatch.setenv("PUFFER_CUDA_EMULATED", "shuffled")
    env = games["cartpole"]
    with puffer_sdk.make(env, num_envs=COPIES, seed=4) as vec:
        play(vec, Program(compile_program(env, None), vec), ticks=100)


@pytest.mark.parametrize("order", ["early", "shuffled"])
@pytest.mark.parametrize("name", ["cartpole", "pendulum"])
def test_final_observations_are_the_cpus(games, name, order, monkeypatch):
    monkeypatch.setenv("PUFFER_CUDA_EMULATED", order)
    settings = {**config.resolve(games[name]).env, "max_steps": 7}
    with puffer_sdk.make(games[name], num_envs=COPIES, seed=5, env_settings=settings) as vec:
        program = Program(compile_program(games[name], None), vec)
        assert program.facts.has_final_obs and program.facts.spare_bytes == program.facts.env_bytes
        assert play(vec, program, ticks=100) == COPIES * 14     # no pole falls in seven ticks


CUT = ("        env->terminals[a] += env->tick == env->limit;\n",
       "        env->terminals[a] = env->tick == env->limit;\n"
       "        env->truncations[a] = env->tick == env->limit && env->rng % 3;\n")
LOOKED_AT = [                           # what looking changes is to be put back
    ("#include <stdbool.h>", "#include <stdlib.h>"),
    ("    int tick;\n} Probe;\n", """    int tick, looks;
    float* truncations;
    unsigned char* action_mask;
} Probe;

static void look(Probe* env) {
    env->looks++;
    if (env->tick) env->action_mask[0] = env->tick != 2;
    for (int a = 0; a < env->num_agents; a++) {
        env->observations[2 * a] = env->tick + 100 * env->looks;
        env->observations[2 * a + 1] = rand() % 100;
    }
}
"""),
    ("    for (int i = 0; i < 2 * env->num_agents; i++) env->observations[i] = 0;\n",
     "    env->rng = rand();\n    look(env);\n"),
    ("        env->observations[2 * a] = env->tick;\n"
     "        env->observations[2 * a + 1] = env->actions[a];\n", ""),
    CUT, ("        c_reset(env);\n    }\n}", "        c_reset(env);\n    } else look(env);\n}")]
WRITTEN = [                             # by the env itself
    ("    int tick;\n} Probe;", "    int tick;\n    float* truncations;\n"
                              "    float* final_observations;\n} Probe;"),
    CUT, ("        env->log.n += 1;\n", "        env->log.n += 1;\n        env->rng += 1;\n"
          "        for (int i = 0; i < 2 * env->num_agents; i++)\n"
          "            env->final_observations[i] = 7 + env->observations[i];\n")]


@long_only
@pytest.mark.parametrize("changes, function", some_or_all(
    [(LOOKED_AT, "look"), (WRITTEN, None)], 0),
                         ids=some_or_all(["looked at", "written"], 0))
def test_final_observations_of_several_agents(probe, changes, function):
    env = probe(*changes, ini="[env]\nlimit = 3\nnum_agents = 2\n")
    assert header.read(env).final_obs.function == function
    with puffer_sdk.make(env, num_envs=COPIES, seed=5) as vec:
        program = Program(compile_program(env, None), vec)
        assert program.facts.has_final_obs and bool(program.facts.spare_bytes) == bool(function)
        finals = play(vec, program, ticks=100)
        assert finals % 2 == 0 and 300 < finals < 2 * 33 * COPIES      # others were terminals
    assert compile_program(env, "90").is_file()


# ---- variable number of agents ------------------------------------------------------------------

ROOM = ("    int tick;\n} Probe;", "    int tick;\n    int max_agents;\n} Probe;")
SAID = ("    int tick;\n} Probe;", "    int tick;\n    unsigned char* alive;\n} Probe;")
COUNTED = ("    env->tick++;\n", "    env->tick++;\n"
           "    env->num_agents = (env->tick + env->rng) % (env->max_agents + 3) - 1;\n")
WRITES = ("    env->tick++;\n", "    env->tick++;\n"
          "    env->alive[env->tick % 2] = env->tick + env->rng & 2;\n")


@long_only
@pytest.mark.parametrize("changes, most", some_or_all([
    ([ROOM, COUNTED], "max_agents = 2"), ([SAID, WRITES], "num_agents = 2")], 0),
    ids=some_or_all(["counted", "written"], 0))
def test_who_lives_is_what_the_cpu_says(probe, changes, most, monkeypatch):
    """By a number that may be out of bounds, or by a row: what c_reset leaves stays, once it is."""
    monkeypatch.setenv("PUFFER_CUDA_EMULATED", "shuffled")
    env = probe(*changes, ("2 * env->num_agents", "4"), ("a < env->num_agents", "a < 2"),
                ini=f"[env]\nlimit = 5\n{most}\n")
    with puffer_sdk.make(env, num_envs=COPIES, seed=5) as vec:
        program = Program(compile_program(env, None), vec)
        assert program.facts.has_alive and vec.alive.shape == (2 * COPIES,)
        play(vec, program, ticks=100)
        assert 0 < vec.alive.mean() < 1
        program = Program(compile_program(env, None), vec,
                          settings={**vec.env_settings, most.split()[0]: 3})
        program.call("start")
        assert program.failed == (0, AGENTS)
    assert compile_program(env, "90").is_file()


# ---- programs in files ------------------------------------------------------------------------

def test_a_renamed_c_reset_keeps_its_place(probe):
    """In what compilers say, and for what a GPU has not."""
    line = "    if (env->limit < 0) time(NULL);"
    env = probe(*LOOKED_AT, ("#include <stdlib.h>", "#include <stdlib.h>\n#include <time.h>"),
                ("    env->rng = rand();", f"    env->rng = rand();\n{line}"))
    number = (env / "probe.h").read_text().splitlines().index(line) + 1
    with pytest.raises(BuildError, match="time cannot be used on a GPU") as caught:
        compile_program(env, "90")
    assert caught.value.where == f"{env / 'probe.h'}:{number}"


@long_only
def test_what_is_unchanged_is_not_compiled_again(probe):
    env = probe(("tick == env->limit", "tick >= env->limit"))
    first = programs.build_program(env, "90")
    again = programs.build_program(header.read(env), "90")
    assert (first.cached, again.cached, first.path) == (False, True, again.path)
    file = env / "probe.h"
    file.write_text(file.read_text().replace("env->tick++;", "env->tick += 2;"))
    changed = programs.build_program(env, "90")
    assert not changed.cached and changed.path != first.path and first.path.is_file()
    assert programs.build_program(env, "80").path != changed.path
    again.path.write_bytes(b"half a file")
    file.write_text(file.read_text().replace("env->tick += 2;", "env->tick++;"))
    repaired = programs.build_program(env, "90")
    assert not repaired.cached and repaired.path == first.path
    assert repaired.path.read_bytes().startswith(b"\x7fELF")


# ---- what goes wrong while it runs -----------------------------------------------------------

def start(env, vec, **options) -> Program:
    program = Program(compile_program(env, None), vec, **options)
    vec.reset()
    program.call("start")
    return program


def test_a_missing_key_is_a_fault(ocean):
    env = ocean / "mole"
    with puffer_sdk.make(env, num_envs=4) as vec:
        program = start(env, vec, settings={"patience_": 3})
        assert program.failed == (0, MISSING_KEY)


def test_an_env_of_other_sizes_than_the_hosts_is_a_fault(probe):
    env = probe(("env->limit;", "env->limit;"), ("OBS_SIZE 2", "OBS_SIZE (env->width)"),
                ("int limit;", "int limit; int width;"), ini="[env]\nlimit = 4\nwidth = 2\n")
    with puffer_sdk.make(env, num_envs=4) as vec:
        settings = dict(vec.env_settings)
        assert start(env, vec).failed is None
        assert start(env, vec, settings={**settings, "num_agents": 2}).failed == (0, AGENTS)
        assert start(env, vec, settings={**settings, "width": 3}).failed == (0, SIZES)


def test_memory_that_runs_out_is_a_fault(ocean):
    env = ocean / "kiln"
    with puffer_sdk.make(env, num_envs=8) as vec:
        block = 4 * int(vec.env_settings["bricks"]) + 16
        program = start(env, vec, heap=8 * block)
        assert program.failed is None
        program.call("close")
        program = start(env, vec, heap=5 * block)
        assert program.failed == (5, MEMORY)
        program.call("close")                       # of the five that have some
        program.fault.value = NO_FAULT
        program.call("start", 0, 5)
        assert program.failed is None


@pytest.mark.parametrize("end, order", some_or_all([("abort()", "early"), ("exit(3)", "shuffled"),
                                        ("assert(env->tick < 0)", "early")], 0))
def test_of_envs_that_abort_the_least_is_kept(probe, monkeypatch, order, end):
    monkeypatch.setenv("PUFFER_CUDA_EMULATED", order)
    env = probe(("#include <stdbool.h>", "#include <assert.h>\n#include <stdlib.h>"),
                ("    env->tick++;", f"    env->tick++;\n    if (env->actions[0] > 1) {end};"))
    with puffer_sdk.make(env, num_envs=12) as vec:
        program = start(env, vec)
        program.call("step")
        program.buffers["actions"][[9, 3, 7]] = 2
        program.call("step")
        assert program.failed == (3, ABORT)
        program.call("step")
        seen = program.buffers["observations"][:, 0]
        assert (seen[:3] == 3).all() and (seen[[3, 7, 9]] == 1).all()


# ---- what cannot be compiled -----------------------------------------------------------------

CALLS = {
    "fopen": ('FILE* file = fopen("map", "r"); (void)file;', "fopen cannot be used on a GPU: there "
              "are no files on a GPU"),
    "time": ("env->rng = time(NULL);", "time cannot be used on a GPU: a GPU has no clock, and "
             "chance comes from env->rng"),
    "snprintf": ('char text[9]; snprintf(text, 9, "x");', "snprintf cannot be used on a GPU: a GPU "
                 "formats no text"),
    "size": ("int wide[env->limit]; wide[0] = 1;", "the size of the array wide is known only when "
             "it runs: that cannot be compiled for a GPU"),
    "rows": ("int sum(int w, int (*rows)[w]); sum(1, NULL);", "the size of rows's rows is known "
             "only when it runs: that cannot be compiled for a GPU"),
    "member": ("struct { union { int i; struct { short x, y; }; }; } v = {.y = 3}; "
               "env->tick = v.y - 3;", "this list gives a value to a struct without a name that is "
               "not its union's first member: that cannot be compiled for a GPU"),
    "cases": ("switch (env->tick) { case 0 ... 999: break; }", "a range of cases as long as this "
              "cannot be compiled for a GPU"),
    "statement": ("env->tick = ({ 0; });", "an expression in ({ }) cannot be compiled for a GPU"),
    "generic": ("env->tick = _Generic(env->tick, int: 0, float: 1);",
                "_Generic cannot be compiled for a GPU"),
    "nowhere": ("void elsewhere(void); elsewhere();", "elsewhere is called, and defined nowhere "
                "that a GPU could see"),
}


@pytest.mark.parametrize("line, says", some_or_all(
    CALLS.values(), 0, 3, 7), ids=some_or_all(CALLS, 0, 3, 7))
def test_what_a_gpu_has_not_is_refused_where_it_stands(probe, line, says):
    includes = "".join(f"#include <{name}.h>\n" for name in ("stdio", "stdlib", "stdarg", "time"))
    env = probe(("#include <stdbool.h>\n", includes),
                ("void c_reset(Probe* env) {", "static void begin(Probe* env) {\n    " + line +
                 "\n}\n\nvoid c_reset(Probe* env) {\n    begin(env);"))
    number = (env / "probe.h").read_text().splitlines().index(f"    {line}") + 1
    with pytest.raises(BuildError) as caught:
        compile_program(env, "90")
    assert caught.value.message == says
    assert caught.value.where == f"{env / 'probe.h'}:{number}"
    assert "--vec.device cpu" in caught.value.hint


@long_only
def test_folders_may_be_called_anything(tmp_path, probe):
    env = shutil.copytree(probe(("env->tick = 0;", 'env->tick = fopen("ü", "r") != 0;'),
                                ("#include <stdbool.h>", "#include <stdio.h>")),
                          tmp_path / 'ü "ñ" \\ {x}' / "probe")
    with pytest.raises(BuildError, match="fopen cannot be used") as caught:
        compile_program(env, "90")
    assert caught.value.where == f"{env / 'probe.h'}:26"
    file = env / "probe.h"
    file.write_text(file.read_text().replace('fopen("ü", "r") != 0', '"ü"[0] == 0'))
    assert compile_program(env, "90").is_file()
    assert compile_program(env, None).is_file()


@long_only
def test_the_same_in_drawing_code_does_no_harm(probe):
    lines = " ".join(line for line, _ in CALLS.values())
    env = probe(("#include <stdbool.h>\n", "#include <stdio.h>\n#include <stdlib.h>\n"
                 "#include <stdarg.h>\n#include <time.h>\n"),
                ("void c_render(Probe* env) { (void)env; }",
                 f"void c_render(Probe* env) {{ {lines} }}"))
    assert compile_program(env, "90").stat().st_size > 0
    assert compile_program(env, None).stat().st_size > 0


@long_only
def test_what_only_a_table_leads_to_stops_the_env_that_gets_there(probe, capfd):
    env = probe(("#include <stdbool.h>", "#include <stdio.h>"),
                ("void c_reset(Probe* env) {", """static void save(Probe* env) {
    FILE* file = fopen("save", "w");
    fprintf(file, "%d", env->tick);
    fclose(file);
}

static void rest(Probe* env) { env->tick += 0; }

static const struct { const char* name; void (*run)(Probe*); } moves[] = {
    {"rest", rest}, {"save", .run = save},
};

void c_reset(Probe* env) {"""), ("    env->tick++;", "    env->tick++;\n"
                                 "    moves[env->actions[0] > 1].run(env);"))
    assert compile_program(env, "90").is_file()
    with puffer_sdk.make(env, num_envs=4) as vec:
        program = start(env, vec)
        program.call("step")
        assert program.failed is None
        program.buffers["actions"][2] = 2
        program.call("step")
        assert program.failed == (2, ABORT)
        program.library.fflush(None)
    assert capfd.readouterr().out == \
        "fopen cannot be used on a GPU: there are no files on a GPU\n"


# What stands before c_reset, and what c_step does
STACKS = {
    "no call": (0, "", ""),
    "a call": (0, "static int f(int n) { return n + 1; }", "f(1);"),
    "itself": (1, "static int f(int n) { return n < 2 ? n : f(n - 1) + f(n - 2); }", "f(9);"),
    "by another": (1, "static int g(int n);\nstatic int f(int n) { return n ? g(n - 1) : 0; }\n"
                      "static int g(int n) { return f(n) + 1; }", "f(9);"),
    "by a table": (1, "static int f(int n);\nstatic int (*const all[])(int) = {f};\n"
                      "static int f(int n) { return n ? all[0](n - 1) + 1 : 0; }", "f(9);"),
    "by a field": (1, "typedef struct Node { int (*run)(struct Node*); int n; } Node;\n"
                      "static int f(Node* a) { return a->n-- ? a->run(a) + 1 : 0; }",
                   "Node a = {f, 9}; a.run(&a);"),
    "by *pointer": (1, "static int f(int n) { int (*g)(int) = &f; return n ? (*g)(n - 1) : 0; }",
                    "f(9);"),
    "a table": (0, "static int f(int n) { return n + 1; }\n"
                   "static int (*const all[])(int) = {f};", "all[0](1);"),
    "the next one": (0, "typedef struct Node { void (*run)(struct Node*); } Node;\n"
                        "static void f(Node* a) { a->run = f; }", "Node a = {f}; a.run(&a);"),
    "sorted": (0, "static int f(const void* a, const void* b) { return *(int*)a - *(int*)b; }",
               "int a[] = {2, 1}; qsort(a, 2, sizeof *a, f);"),
    "data": (0, "typedef struct Node { struct Node* next; } Node;\nstatic Node all = {&all};",
             "all.next->next = 0;"),
    "not played": (0, "static int f(int n) { return n ? f(n - 1) + 1 : 0; }", "")}


@pytest.mark.parametrize("case", STACKS)
def test_who_calls_himself_needs_a_stack_of_unknown_size(probe, case):
    recurses, above, inside = STACKS[case]
    env = probe(("#include <stdbool.h>", "#include <stdlib.h>"),
                ("void c_reset(Probe* env) {", f"{above}\nvoid c_reset(Probe* env) {{"),
                ("    env->tick++;", f"    env->tick++;\n    {inside}"))
    spec = header.read(env)
    text = programs.preprocess(spec, paths.writable(paths.build_dir(env), purpose="a test"))
    assert translate.answer({"text": text.decode("latin-1")}).endswith(
        f"\n#define PUFFER_RECURSES {recurses}\n")


def test_a_function_of_any_number_of_arguments_is_refused(probe):
    env = probe(("#include <stdbool.h>", "#include <stdarg.h>"),
                ("void c_reset(Probe* env) {", """static int first(int count, ...) {
    va_list list;
    va_start(list, count);
    int value = va_arg(list, int);
    va_end(list);
    return value;
}

void c_reset(Probe* env) {
    env->limit += first(1, 0);"""))
    number = (env / "probe.h").read_text().splitlines().index("    va_start(list, count);") + 1
    with pytest.raises(BuildError, match="va_start cannot be used on a GPU: a ") as caught:
        compile_program(env, "90")
    assert caught.value.where == f"{env / 'probe.h'}:{number}"


@pytest.mark.parametrize("arch", ["90", None], ids=["nvrtc", "g++"])
def test_what_cxx_does_not_take_is_named_with_its_line(probe, arch):
    line = "    int (*some)() = env->limit < 0 ? begin : 0; if (some) some(env, 3);"
    env = probe(("void c_reset(Probe* env) {", "static int begin() { return 3; }\n\n"
                 f"void c_reset(Probe* env) {{\n{line}"))
    with pytest.raises(BuildError) as caught:
        programs.build_program(env, arch)
    number = (env / "probe.h").read_text().splitlines().index(line) + 1
    assert caught.value.where == f"{env / 'probe.h'}:{number}"
    assert "--vec.device cpu" in caught.value.hint and "too many arg" in caught.value.detail


@pytest.mark.parametrize("name, macro", [("warren", "MY_VEC_INIT"), ("ants", "MY_VEC_STEP"),
                                         ("rain", "MY_VEC_STEP_RANGE")])
def test_all_envs_at_once_stay_on_the_cpu(ocean, name, macro):
    lines = (ocean / name / "binding.c").read_text().splitlines()
    number = next(i for i, line in enumerate(lines, 1) if f"#define {macro}" in line)
    with pytest.raises(BuildError, match=f"{macro} cannot be compiled for a GPU") as caught:
        compile_program(ocean / name, "90")
    assert caught.value.where == f"{ocean / name / 'binding.c'}:{number}"
    assert "--vec.device cpu" in caught.value.hint


def test_rows_of_16_bits_stay_on_the_cpu(ocean):
    with pytest.raises(BuildError, match="PrecisionTensor cannot be compiled for a GPU: its rows "
                                         "of 16 bits") as caught:
        compile_program(ocean / "halves", "90")
    assert caught.value.where == f"{ocean / 'halves' / 'binding.c'}:5"
    assert "--vec.device cpu" in caught.value.hint


def test_a_header_that_is_not_there(probe):
    env = probe(("#include <stdbool.h>", "#include <pthread.h>"))
    with pytest.raises(BuildError, match="pthread.h is not available on a GPU") as caught:
        compile_program(env, "90")
    assert caught.value.where == f"{env / 'probe.h'}:2"
    assert "#ifndef PUFFER_DEVICE" in caught.value.hint


@pytest.mark.parametrize("way", some_or_all(
    ["CPATH", "C_INCLUDE_PATH", "a compiler that is a script"], 0))
def test_headers_that_the_machine_puts_before_all_others_are_not_read(probe, monkeypatch, tmp_path,
                                                                      way):
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    (theirs / "stdarg.h").write_text(
        "typedef __builtin_va_list __gnuc_va_list;\ntypedef __gnuc_va_list va_list;\n")
    if way.isupper():
        monkeypatch.setenv(way, str(theirs))
    else:
        script = tmp_path / "cc"
        script.write_text(f'#!/bin/sh\nexec gcc -isystem "{theirs}" "$@"\n')
        script.chmod(0o755)
        monkeypatch.setenv("CC", str(script))
    assert compile_program(probe(("#include <stdbool.h>", "#include <stdarg.h>")), "90")


def test_a_gpu_that_nvrtc_does_not_know(probe):
    with pytest.raises(UsageError, match="no GPU of compute capability 42"):
        compile_program(probe(("tick;", "tick;")), "42")


def test_nvrtc_is_where_the_variable_says_and_nowhere_else(monkeypatch, tmp_path):
    path = nvrtc.find_file()
    monkeypatch.setenv("PUFFER_NVRTC", str(tmp_path))
    with pytest.raises(BuildError, match="PUFFER_NVRTC names a library") as caught:
        nvrtc.find()
    assert caught.value.hint == "correct it, or unset it"
    monkeypatch.setenv("PUFFER_NVRTC", str(path.parent))
    assert nvrtc.find_file() == path
    bad = tmp_path / "libnvrtc.so.13"
    bad.write_text("no library")
    monkeypatch.setenv("PUFFER_NVRTC", str(bad))
    with pytest.raises(RunError, match="cannot load NVRTC"):
        nvrtc.find()


def test_without_nvrtc_it_says_what_to_install(no_cuda):
    with pytest.raises(BuildError, match=r"no NVRTC \(libnvrtc.so.13\)") as caught:
        nvrtc.find()
    assert "pip install 'puffer-sdk[cuda]'" in caught.value.hint


# ---- the command -------------------------------------------------------------------------------

def test_build_cuda_needs_no_gpu(games, monkeypatch, capsys):
    monkeypatch.delenv("PUFFER_CUDA", raising=False)
    words = ["build", str(games["squared"]), "--cuda"]
    assert cli.main([*words, "--arch", "80"]) == 0
    assert re.fullmatch(r"built  \S+/squared_sm_80-\w{12}\.cubin \(.*, for sm_80\)\n",
                        capsys.readouterr().out)
    assert cli.main([*words, "--arch", "80", "--format", "json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["arch"] == "80" and said["cached"] and Path(said["program"]).is_file()
    monkeypatch.setenv("PUFFER_CUDA", "emulated")
    assert cli.main(words) == 0
    assert "/squared_emulated-" in capsys.readouterr().out


@pytest.mark.parametrize("words", [["--cuda", "--web"], ["--arch", "90"],
                                   ["--cuda", "--arch", "9.0"]], ids=" ".join)
def test_build_refuses_what_contradicts(games, words):
    assert cli.main(["build", str(games["squared"]), *words]) == 2


@long_only
def test_clean_takes_programs_away(probe):
    env = probe(("tick;", "tick;"))
    made = [compile_program(env, "90"), compile_program(env, None)]
    assert all(path.is_file() for path in made)
    assert cli.main(["clean", str(env)]) == 0
    assert not (env / "build").exists()


@long_only
def test_a_mask_in_the_observation_is_read_there_too(tmp_path):
    folder = tmp_path / "ladder"
    shutil.copytree(SPECIMENS / "correct" / "ladder", folder)
    text = (folder / "ladder.h").read_text()
    for old, new in [("OBS_BELL, OBS_COUNT }", "OBS_BELL, OBS_LEGAL, OBS_COUNT = 5 }"),
                     ("#define ACT_SIZES", "#define ACTION_MASK_AT OBS_LEGAL\n#define ACT_SIZES"),
                     ("    unsigned char* action_mask; ", "    //"),
                     ("env->action_mask[", "env->observations[OBS_LEGAL + ")]:
        assert old in text
        text = text.replace(old, new)
    (folder / "ladder.h").write_text(text)
    with puffer_sdk.make(folder, num_envs=COPIES, seed=5) as vec:
        assert vec.action_mask.shape == (COPIES, 3)
        play(vec, Program(compile_program(folder, None), vec), ticks=100)
        assert 0 < vec.action_mask.mean() < 1


@long_only
@pytest.mark.parametrize("compiler", some_or_all(["gcc", "clang"], 0))
def test_a_cast_that_a_gpu_may_not_forgive_is_named(probe, capsys, monkeypatch, compiler):
    """x86 reads a float at any address; on a GPU it ends the run."""
    monkeypatch.setenv("CC", compiler)
    env = probe(("    env->tick++;\n", "    env->tick++;\n"
                 "    unsigned char bytes[8] = {0};\n    *(float*)(bytes + env->tick % 3) = 1;\n"))
    programs.build_program(env, "90")
    said = capsys.readouterr().err
    line = (env / "probe.h").read_text().splitlines().index(
        "    *(float*)(bytes + env->tick % 3) = 1;") + 1
    assert f"probe.h:{line} casts a pointer to a type of stricter alignment: a GPU ends" in said
    programs.build_program(env, "90")
    assert capsys.readouterr().err == ""                # it was said when it was compiled
    programs.build_program(probe(), "90")
    assert capsys.readouterr().err == ""
