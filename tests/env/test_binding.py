"""binding.py: the generated C, and what it promises to an environment."""
from __future__ import annotations

import os
import shutil
import subprocess

import numpy as np
import pytest
from helpers.short_or_long import long_only

import puffer_sdk
from puffer_sdk.base import paths
from puffer_sdk.base.errors import BuildError, UsageError
from puffer_sdk.checking.check import check
from puffer_sdk.env import binding, build, header

INCLUDES = "#include <stdbool.h>"
TRACE = r"""
#include <stdio.h>
#include <stdlib.h>
static void trace(const char* what, long a, long b, long c) {
    FILE* file = fopen(getenv("PUFFER_TRACE"), "a");
    fprintf(file, "%s %ld %ld %ld\n", what, a, b, c);
    fclose(file);
}
"""
TRACING = [
    (INCLUDES, TRACE + INCLUDES),
    ("void c_reset(Probe* env) {",
     "void init(Probe* env) {\n"
     "    trace(\"init\", env->rng, env->num_agents, env->limit);\n"
     "    if (env->observations || env->rewards || env->tick) trace(\"unclean\", 0, 0, 0);\n"
     "}\n\n"
     "void c_reset(Probe* env) {\n"
     "    trace(\"reset\", (long)env->rewards[0], (long)env->observations[1], env->tick);\n"
     "    env->rewards[0] = 7;\n"
     "    env->terminals[0] = 1;"),
    ("    env->tick++;", "    trace(\"step\", (long)env->rewards[0], (long)env->terminals[0], "
                         "env->tick);\n    env->tick++;"),
    ("void c_close(Probe* env) { (void)env; }",
     "void c_close(Probe* env) { trace(\"close\", env->num_agents, env->rewards != 0, 0); }"),
]


@pytest.fixture
def traced(probe, tmp_path, monkeypatch):
    """An environment that writes down its calls, and a function that reads them."""
    file = tmp_path / "trace"
    monkeypatch.setenv("PUFFER_TRACE", str(file))
    folder = probe(*TRACING, ini="[env]\nlimit = 3\n")
    return folder, lambda: file.read_text().splitlines()


# -- the text --------------------------------------------------------------------------------


def test_the_same_inputs_give_the_same_bytes(squared, target, tmp_path):
    for folder in (squared, target):
        spec = header.read(folder)
        text = binding.render(spec)
        assert text == binding.render(header.read(folder))
        assert text.splitlines()[0].startswith(f"// Generated from {folder.name}.h by puffer-sdk. "
                                               "Do not edit")
        elsewhere = shutil.copytree(folder, tmp_path / "elsewhere" / folder.name,
                                    ignore=shutil.ignore_patterns("build"))
        assert binding.render(header.read(elsewhere)) == text       # no paths in it


@long_only
def test_an_unchanged_binding_is_not_touched(probe):
    folder = probe()
    file = build.build(folder).library.parent / "binding.c"
    os.utime(file, ns=(1, 1))
    build.build(folder)
    assert file.stat().st_mtime_ns == 1
    probe(("    int limit;", "    int limit;\n    int more;"))
    build.build(folder)
    assert file.stat().st_mtime_ns != 1 and "more" in file.read_text()


def test_a_binding_by_hand_is_left_alone(probe):
    text = ('#include "probe.h"\n#define OBS_TENSOR_T FloatTensor\n#define Env Probe\n'
            '#include "vecenv.h"\n'
            'void my_init(Env* env, Dict* kwargs) { env->limit = '
            'dict_get(kwargs, "limit")->value; }\n'
            'void my_log(Log* log, Dict* out) { dict_set(out, "points", log->score); }\n')
    folder = probe(binding_c=text)
    with puffer_sdk.make(folder) as vec:
        assert vec.description.log_names == ("points",)
    assert (folder / "binding.c").read_text() == text
    assert not (folder / "build" / "binding.c").exists()


def test_what_was_assumed_is_asserted(probe):
    """A header that changed behind the generated text is refused by the compiler."""
    folder = probe()
    spec = header.read(folder)
    built = build.build(folder)
    for change in (("float score;", "float score;\n    float more;"), ("{3}", "{3, 2}"),
                   ("    float* rewards;", "    double* rewards;")):
        probe(change)
        source = built.library.parent / "binding.c"
        command = [*built.command[:-2], "-fsyntax-only"]
        assert str(source) in command
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode and "static assertion failed" in done.stderr
    assert spec.act_widths == (3,)


def test_config_header(squared, tmp_path):
    spec = header.read(squared)
    file = binding.write_config_header(spec, {"size": 9.0, "unheard_of": 1.0}, tmp_path)
    text = file.read_text()
    assert file.name == "squared_config.h" and "env->size = 9;" in text
    assert "unheard_of" not in text and "static inline void squared_configure(Squared* env)" in text
    assert "squared_allocate" in text and "truncations" not in text     # the struct has none
    shipped = paths.include_dir() / "puffernet.h"
    assert (tmp_path / "puffernet.h").read_bytes() == shipped.read_bytes()


@pytest.mark.parametrize("value, c_type, literal", [
    (3.0, "int", "3"), (-3.0, "int", "-3"), (4e9, "unsigned int", "4000000000u"),
    (0.1, "float", "0.1f"), (2.0, "float", "2.0f"), (1e30, "float", "1e+30f"),
    (0.1, "double", "0.1"), (1.0, "_Bool", "1"), (0.0, "bool", "0"), (200.0, "unsigned char",
                                                                     "200u")])
def test_c_literals(value, c_type, literal):
    assert binding.c_literal(value, c_type) == literal


# -- what the library does -------------------------------------------------------------------


def test_the_order_of_calls(traced):
    folder, calls = traced
    with puffer_sdk.make(folder, total_agents=2, seed=9) as vec:
        seeds = [vec.env_seed(0), vec.env_seed(1)]
        made = [call for call in calls() if "init" in call][-2:]
        # rng, num_agents = 1 and [env] were there before init; buffers were not
        assert made == [f"init {seed} 1 3" for seed in seeds]
        assert len(set(seeds)) == 2 and not any("unclean" in call for call in calls())
        before = len(calls())
        vec.observations[:] = 5
        vec.reset()
        assert calls()[before:] == ["reset 0 5 0"] * 2          # observations are left alone
        assert not vec.rewards.any() and not vec.terminals.any()    # what c_reset left is cleared
        vec.actions[:] = 2
        for _ in range(3):
            vec.step()
        steps = [call for call in calls()[before:] if call.startswith("step")]
        assert steps == [f"step 0 0 {tick}" for tick in (0, 0, 1, 1, 2, 2)]     # cleared each time
        assert (vec.terminals == 1).all()
    assert calls()[-2:] == ["close 1 1 0"] * 2
    assert sum(call.startswith("close") for call in calls()) == 2


def test_close_comes_once(traced):
    folder, calls = traced
    vec = puffer_sdk.make(folder, total_agents=3)
    vec.reset()
    vec.close()
    vec.close()
    del vec
    assert sum(call.startswith("close") for call in calls()) == 3


def test_buffers_begin_as_zeros(probe):
    with puffer_sdk.make(probe(), total_agents=100) as vec:
        for array in (vec.observations, vec.actions, vec.rewards, vec.terminals, vec.truncations):
            assert not array.any() and array.ctypes.data % 64 == 0


def test_num_agents_comes_from_the_settings(probe):
    folder = probe(ini="[env]\nlimit = 3\nnum_agents = 4\n")
    with puffer_sdk.make(folder, num_envs=3) as vec:
        assert vec.num_agents == 12 and np.diff(vec.first_row).tolist() == [4, 4, 4]
        vec.reset()
        vec.actions[:, 0] = np.arange(12)
        vec.step()
        assert vec.rewards.tolist() == list(range(12))


def test_fields_of_every_numeric_type(probe):
    kinds = {"bool": 1, "unsigned char": 200, "signed char": -100, "char": 100, "short": -3000,
             "unsigned short": 60000, "int": -2000000, "unsigned int": 4000000000,
             "long": -2**40, "unsigned long": 2**40, "long long": 2**50, "float": 0.1,
             "double": 0.1}
    fields = "".join(f"    {kind} k{i};\n" for i, kind in enumerate(kinds))
    shows = "".join(f"    env->seen[{i}] = (double)env->k{i};\n" for i in range(len(kinds)))
    ini = "[env]\nlimit = 3\n" + "".join(f"k{i} = {v}\n" for i, v in enumerate(kinds.values()))
    fields += f"    double seen[{len(kinds)}];\n"
    folder = probe(("    int limit;\n", f"{fields}    int limit;\n"),
                   ("OBS_SIZE 2", f"OBS_SIZE {2 * len(kinds)}"),
                   ("    env->tick = 0;\n", f"    env->tick = 0;\n{shows}"
                    "    __builtin_memcpy(env->observations, env->seen, sizeof(env->seen));\n"),
                   ("    for (int i = 0; i < 2 * env->num_agents; i++) env->observations[i] = 0;\n",
                    ""), ini=ini)
    with puffer_sdk.make(folder) as vec:
        seen = dict(zip(kinds, vec.reset().view(np.float64)[0], strict=True))
    expected = {**kinds, "float": float(np.float32(0.1))}
    assert seen == expected


def test_obs_size_follows_the_settings(squared, probe):
    for size in (5, 11, 20):
        with puffer_sdk.make(squared, env_settings={"size": size}) as vec:
            assert vec.obs_size == size * size and vec.reset().sum() == 3
    folder = probe(("OBS_SIZE 2", "OBS_SIZE (env->limit * 2)"))
    with puffer_sdk.make(folder) as vec:
        assert vec.obs_size == 8


def test_an_init_that_changes_obs_size_is_refused(probe):
    """The buffers are made before init: nothing may be written past their end."""
    folder = probe(("OBS_SIZE 2", "OBS_SIZE (env->limit)"),
                   ("void c_reset", "void init(Probe* env) { env->limit = 6; }\nvoid c_reset"))
    with pytest.raises(UsageError, match="OBS_SIZE is 4 by the settings alone and 6 in env 0"):
        puffer_sdk.make(folder)


def test_truncations(probe):
    folder = probe(("    float* terminals;", "    float* terminals;\n    float* truncations;"),
                   ("        env->terminals[a] += env->tick == env->limit;",
                    "        env->terminals[a] += env->tick == env->limit;\n"
                    "        env->truncations[a] += env->tick == env->limit;"))
    with puffer_sdk.make(folder, total_agents=3) as vec:
        assert vec.description.has_truncations
        vec.truncations[:] = 9
        vec.reset()
        assert not vec.truncations.any()
        for tick in range(1, 9):
            *_, terminals, truncations = vec.step()
            assert truncations.tolist() == [float(tick % 4 == 0)] * 3 == terminals.tolist()


def test_an_env_without_truncations_reports_zeros(probe):
    with puffer_sdk.make(probe(), total_agents=3) as vec:
        vec.reset()
        for _ in range(8):
            vec.step()
            assert not vec.truncations.any()


VARYING = ("void c_reset", "static int made;\n"
                           "void init(Probe* env) { env->num_agents = 1 + made++ % 3; }\n"
                           "void c_reset")


def test_agents_may_vary(probe):
    folder = probe(VARYING)
    library = puffer_sdk.load(folder)
    with puffer_sdk.VecEnv(library, total_agents=12, env_settings={"limit": 4}) as vec:
        assert np.diff(vec.first_row).tolist() == [1, 2, 3, 1, 2, 3]
        vec.reset()
        vec.actions[:, 0] = np.arange(12)
        vec.step()
        assert vec.rewards.tolist() == list(range(12))
        assert (vec.observations[:, 1] == np.arange(12)).all()
        vec.step()
        assert vec.rewards.tolist() == list(range(12))          # cleared in between


def test_agents_that_do_not_tile(target, probe):
    with pytest.raises(UsageError) as caught:
        puffer_sdk.make(target, total_agents=20)
    assert caught.value.hint == "set vec.total_agents to 16 or 24"
    assert "whole envs (the last has 8 agents) fill 24" in caught.value.detail
    with pytest.raises(UsageError) as caught:
        puffer_sdk.make(target, total_agents=24, num_buffers=2)
    assert caught.value.hint == "set vec.total_agents to 16 or 32"
    with pytest.raises(UsageError) as caught:
        puffer_sdk.make(target, total_agents=7, num_buffers=2)
    assert caught.value.hint == "set vec.total_agents to 16"
    for total, buffers in ((16, 1), (24, 1), (16, 2), (32, 2)):
        with puffer_sdk.make(target, total_agents=total, num_buffers=buffers) as vec:
            assert vec.num_envs == total // 8
    library = puffer_sdk.load(probe(VARYING))
    with pytest.raises(UsageError) as caught:
        puffer_sdk.VecEnv(library, total_agents=5, env_settings={"limit": 4})
    assert caught.value.hint == "set vec.total_agents to 6"


def test_an_env_without_agents(probe):
    folder = probe(("void c_reset", "void init(Probe* env) { env->num_agents = 0; }\nvoid c_reset"))
    with pytest.raises(UsageError, match="num_agents") as caught:
        puffer_sdk.make(folder, total_agents=4)
    assert caught.value.hint == "init must set num_agents to at least 1"


def test_tags_without_typedefs_build(probe):
    folder = probe(
        ("typedef struct Log {", "struct Log {"), ("} Log;", "};"),
        ("    Log log", "    struct Log log"), ("typedef struct Probe {", "struct Probe {"),
        ("} Probe;", "};"), ("(Probe*", "(struct Probe*"))
    with puffer_sdk.make(folder) as vec:
        vec.reset()
        for _ in range(8):
            vec.step()
        assert vec.log() == {"score": 4, "n": 2}


@pytest.mark.parametrize(("changed", "says"), [
    ("ACT_SIZES {3}\n#define NUM_ATNS 2", "NUM_ATNS is not the number of entries"),
    ("ACT_SIZES {}", "ACT_SIZES is an empty list")])
def test_a_static_assertion_speaks_for_itself(probe, monkeypatch, changed, says):
    """What only the compiler sees still comes as a rule with its code."""
    spec = header.read(probe())
    probe(("ACT_SIZES {3}", changed))
    monkeypatch.setattr(build.header, "read", lambda folder: spec)
    with pytest.raises(BuildError, match=says) as caught:
        build.build(spec.folder)
    assert caught.value.code == "PUF112"


HAND = ('#include "probe.h"\n#define OBS_TENSOR_T FloatTensor\n#define Env Probe\n'
        '#include "vecenv.h"\n'
        'void my_init(Env* env, Dict* kwargs) { env->num_agents = 1; env->limit = '
        'dict_get(kwargs, "limit")->value; }\n'
        'void my_log(Log* log, Dict* out) { dict_set(out, "points", log->score); }\n')
LOOSE = [("    float score;\n    float n;", "    float n;\n    float score;"),
         ("    int num_agents;", "    unsigned num_agents;\n    unsigned char* truncations;")]


def test_a_binding_by_hand_decides_what_is_bound(probe):
    """What upstream takes as it is: warnings of check, and the env runs with the right figures."""
    folder = probe(*LOOSE, binding_c=HAND)
    spec = header.read(folder)
    assert [(remark.code, remark.message) for remark in spec.remarks] == [
        ("PUF102", "Probe.num_agents has the wrong type"),
        ("PUF102", "Probe.truncations has the wrong type"),
        ("PUF104", "Log.n is not the last field")]
    assert not spec.has_truncations
    with puffer_sdk.make(folder, num_envs=3) as vec:
        assert not vec.description.has_truncations
        vec.reset()
        for _ in range(4):
            vec.step()
        log = vec.log()
    strict = probe(name="strict")
    with puffer_sdk.make(strict, num_envs=3) as vec:
        vec.reset()
        for _ in range(4):
            vec.step()
        assert log == {"points": vec.log()["score"], "n": 3.0}
    found = {(one.code, one.severity) for one in check(folder, budget=0.25, prove=False).findings}
    assert {("PUF102", "warning"), ("PUF104", "warning")} <= found
    assert not {code for code, severity in found if severity == "error"}


def test_our_own_dialect_takes_none_of_it(probe):
    for change, message in zip(LOOSE, ("Log.n is not the last field",
                                       "Probe.num_agents has the wrong type"), strict=True):
        with pytest.raises(BuildError, match=message):
            build.build(probe(change))


def test_my_log_may_follow_a_pointer_that_my_init_sets(probe):
    folder = probe(binding_c="""\
#include "probe.h"
#define OBS_TENSOR_T FloatTensor
#define Env Probe
#include "vecenv.h"
static const char* const WORDS[] = {"ticks"};
static const char* const* words = NULL;
void my_init(Env* env, Dict* kwargs) {
    env->limit = (int)dict_get(kwargs, "limit")->value;
    env->num_agents = 1;
    words = WORDS;
}
void my_log(Log* log, Dict* out) { dict_set(out, words[0], log->score); }
""")
    spec = header.read(folder)
    assert spec.log_reads_state and "-DPUFFER_LOG_READS_STATE" in spec.field_flags
    with puffer_sdk.make(folder, num_envs=2) as vec:
        assert vec.description.log_names == ("ticks",)
