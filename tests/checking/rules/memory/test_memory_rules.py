"""The finer points of rules about memory, settings, seeds, threads and builds."""
from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from helpers.check_fixtures import changed, line_of, short_check
from helpers.places import environment
from helpers.short_or_long import LONG, long_only, some_or_all

import puffer_sdk
from puffer_sdk.checking.collect.c.sizes import Sizes
from puffer_sdk.checking.report.terminal import lines
from puffer_sdk.checking.rules.memory import allocations, memory

ALL_BUILDS = pytest.mark.usefixtures("all_builds")    # for what the others show


@pytest.fixture
def copy(tmp_path):
    """Copies an env under tmp_path, changes its header (or another file), and returns it."""
    def make(name: str, *changes: tuple[str, str], ini: str = "", file: str = "") -> Path:
        target = changed(environment(name), tmp_path, *changes, file=file)
        if ini:
            (target / f"{target.name}.ini").write_text(ini)
        return target
    return make


def found(folder: Path, code: str):
    return [finding for finding in short_check(folder).findings if finding.code == code]


def test_a_write_into_actions_has_a_line_and_both_values(copy):
    kart = copy("puf205_kart")
    (finding,) = found(kart, "PUF205")
    assert finding.line == line_of(kart, "*gas = clamp")
    assert finding.expected != finding.actual and finding.step == 1


def test_actions_are_counted_before_the_env_can_change_them(copy):
    bandit = copy("correct/bandit", ("    c_reset(env);\n}", "    env->actions[0] = 0;\n"
                                     "    c_reset(env);\n}"))
    result = short_check(bandit)
    assert result.coverage["actions"] == [{"head": 0, "width": 4, "seen": 4}]
    assert "PUF205" in {finding.code for finding in result.findings}


@long_only
def test_a_table_made_once_for_all_envs_is_no_leak(copy):
    table = ('#include <stdlib.h>\nstatic float* table;\nvoid init(Bandit* env) {\n'
             '    (void)env;\n    if (!table) table = (float*)calloc(64, sizeof(float));\n}\n'
             'void c_reset(Bandit* env) {')
    assert not found(copy("correct/bandit", ("void c_reset(Bandit* env) {", table)), "PUF206")


@pytest.mark.parametrize("close, leaks", some_or_all(
    [("free(envs[0].burrows);", 0), ("(void)envs;", 1)], 1))
def test_memory_that_my_vec_close_frees_is_no_leak(copy, close, leaks):
    warren = copy("ocean/warren", ("free(envs[0].burrows);", close), file="binding.c")
    assert len(found(warren, "PUF206")) == leaks


def test_a_leak_says_who_allocates_and_how_much(copy):
    cave = copy("puf206_cave")
    (finding,) = found(cave, "PUF206")
    assert finding.line == line_of(cave, "malloc(") and "c_reset" in finding.message
    assert finding.actual == "4 blocks (168 bytes) of one env left behind"


@pytest.mark.parametrize("how, groups", [("close", [[7, 8], [9]]), ("resets", [[7], [8], [9]])])
def test_what_c_close_forgets_of_one_function_is_one_finding(how, groups):
    leaks = [SimpleNamespace(how=how, frame=SimpleNamespace(file="g.h", function=name, line=line))
             for name, line in (("init", 7), ("init", 7), ("init", 8), ("make", 9))]
    assert [[one.frame.line for one in each]
            for each in allocations._by_function(leaks, [])] == groups


@pytest.mark.parametrize("text, told", [
    ("16 bytes before 512-byte region", "16 bytes before a block of 512"),
    ("0 bytes to the right of 8-byte region", "0 bytes after a block of 8"),
    ("4 bytes inside of 8-byte region", "4 bytes within a block of 8"),
    ("509 bytes after 3-byte region", "")])     # of something else
def test_where_a_bad_access_lay(text, told):
    found = memory._REGION.search(f"0x60 is located {text} [0x50,0x58)")
    assert memory._beside(found) == told


@long_only
def test_an_env_that_takes_all_memory_is_ended(copy):
    """The bound holds for all experiments together, and the rest of the check goes on."""
    cave = copy("puf206_cave", ("malloc((size_t)tiles)", "malloc(9u << 20)"),
                ("memset(cave->map, ROCK, (size_t)tiles)", "memset(cave->map, ROCK, 9u << 20)"))
    result = short_check(cave, memory=0.5)
    (finding,) = [f for f in result.findings if f.code == "PUF206"][:1]
    assert finding.message == "the environment takes more than 0.5 GiB of memory"
    assert finding.line == line_of(cave, "void c_reset")
    assert {f.code for f in result.findings} == {"PUF110", "PUF206"}
    assert "because of their memory" in result.not_tested["PUF405"]
    assert result.exit_status == 1


READS = "env->stones[env->depth + 1]"
MOVED = "(env->depth > FLOOR - 2 ? move(env) : env->stones)[0]"
MOVE = """static int* move(Diver* env) {
    int* old = env->stones;
    env->stones = realloc(old, 2 * FLOOR * sizeof(int));
    return old;
}
"""


@ALL_BUILDS
@pytest.mark.parametrize("changes, says, more", some_or_all([
    ((), "reads beyond a block of the heap", "a read 0 bytes after a block of 96 bytes"),
    (((READS, "env->stones[env->depth > FLOOR - 2 ? -3 : 0]"),),
     "reads beyond a block of the heap", "a read 12 bytes before a block of 96 bytes"),
    (((READS, MOVED), ("void c_step", MOVE + "void c_step")),
     "uses memory that was freed", "a read in a block of 96 bytes that was freed")], 0, 2))
def test_what_only_rare_play_reaches_is_found_between_fences(changes, says, more, copy):
    """The sanitizers play too little to see it."""
    diver = copy("puf201_diver", *changes)
    (finding,) = found(diver, "PUF201")
    assert finding.message.endswith(says) and finding.actual == more
    assert (finding.line, finding.seen_in) == (line_of(diver, "reward = (float)"), "fences")


@ALL_BUILDS
def test_a_struct_that_malloc_does_not_align_is_told_from_a_null_pointer(copy):
    """Blocks of 64 bytes: every second one is not at a multiple of 32."""
    bandit = copy(
        "correct/bandit",
        ("typedef struct Bandit {", "#include <stdlib.h>\n"
         "typedef struct __attribute__((aligned(32))) { float of[8]; } Won;\n"
         "typedef struct Bandit {"),
        ("    unsigned int rng;\n", "    unsigned int rng;\n    Won* won[2];\n"),
        ("void c_reset(Bandit", "void init(Bandit* env) {\n"
         "    for (int i = 0; i < 2; i++) env->won[i] = calloc(2, sizeof(Won));\n}\n"
         "void c_reset(Bandit"),
        ("    c_reset(env);\n", "    env->won[0][win] = env->won[1][1 - win];\n"
         "    env->won[1][win] = env->won[0][1 - win];\n    c_reset(env);\n"))
    findings = found(bandit, "PUF201")
    assert findings or "avx" not in Path("/proc/cpuinfo").read_text()
    for finding in findings:
        assert finding.message == "c_step uses memory that is not aligned as its type asks for"
        assert finding.expected == "a multiple of 32" and "aligned_alloc(32" in finding.hint
    with puffer_sdk.make(bandit, num_envs=50) as vec:       # libraries align it
        vec.reset()
        vec.step()


@ALL_BUILDS
@pytest.mark.parametrize("compiler", some_or_all(["gcc", "clang"], 0))
def test_the_last_array_of_a_struct_has_an_end(copy, compiler, monkeypatch):
    """One element too far is a field of the env's own, so that no memory is left."""
    monkeypatch.setenv("CC", compiler)
    bandit = copy(
        "correct/bandit",
        ("typedef struct Bandit {", "typedef struct Won { int all, arms[4]; } Won;\n"
         "typedef struct Bandit {"),
        ("    unsigned int rng;\n", "    unsigned int rng;\n    Won won;\n    int spare;\n"),
        ("    c_reset(env);\n", "    env->won.arms[(int)env->actions[0] + win] += win;\n"
         "    c_reset(env);\n"))
    result = short_check(bandit, prove=LONG and compiler == "gcc")
    (finding,) = [f for f in result.findings if f.severity == "error"]
    assert finding.code == "PUF202" and finding.line == line_of(bandit, "won.arms[")
    assert compiler == "clang" or finding.repro or not LONG


@ALL_BUILDS
def test_a_nan_is_named_where_zero_was_divided_by_zero(copy):
    """With the element's name, in observations and rewards; and in any field of the log."""
    pole = copy("../../examples/cartpole", (
        "env->observations[OBS_THETA] = env->theta;",
        "env->observations[OBS_THETA] =\n        (env->theta - env->theta)\n"
        "        / (env->theta - env->theta);"))
    finding = found(pole, "PUF303")[0]
    assert finding.message == "OBS_THETA of the observation became nan"
    assert finding.line == line_of(pole, "/ (env->theta - env->theta)")
    assert finding.hint == "the divisor was 0 here: treat that case on its own"


@long_only
def test_a_division_of_nothing_by_nothing_in_the_log(copy):
    bandit = copy("correct/bandit",
                  ("    unsigned int rng;\n", "    unsigned int rng;\n    int hits, tries;\n"),
                  ("    env->log.score += (float)win;\n",
                   "    env->tries = (int)env->actions[0] == 2;\n"
                   "    env->hits = win && env->tries;\n"
                   "    env->log.score += (float)env->hits / (float)env->tries;\n"))
    (finding,) = [f for f in short_check(bandit).findings if f.severity == "error"]
    assert (finding.code, finding.message, finding.element) == (
        "PUF423", "Log.score became nan in an entry", "score")
    assert finding.line == line_of(bandit, "(float)env->hits /")


@long_only
def test_a_float_that_is_divided_by_zero_and_caught_is_no_fault(copy):
    """Infinity is a number to compare with; a division of integers is another matter."""
    whole = "    env->rewards[0] = win ? 1.0f : 0.0f;\n"
    nearest = ("    float near = 1.0f / env->actions[0];\n"
               "    env->rewards[0] = (win ? 1.0f : 0.0f) + (near < 0.0f);\n")
    assert short_check(copy("correct/bandit", (whole, nearest))).findings == []


@ALL_BUILDS
def test_integers_divided_by_zero_are(copy):
    bandit = copy("correct/bandit", (
        "    int win = ", "    volatile int chance = 3 / (int)env->actions[0];\n    int win = "))
    assert "PUF202" in {f.code for f in short_check(bandit).findings}


def test_resets_of_any_length_can_be_counted():
    """An env whose reset takes seconds has a size of each experiment, too."""
    sizes = Sizes(agents=1, cells=4, row_bytes=16, seconds=1e-6, reset_seconds=8.0,
                  init_seconds=1e-6, budget=1.0)
    assert sizes.resets == 16
    assert replace(sizes, reset_seconds=1e-6).resets == 256


@long_only
def test_what_is_lent_may_not_be_reallocated_nor_the_struct_freed(copy):
    pond = copy("puf207_pond", ("    free(pond->observations);\n", ""),
                ("    free(pond->actions);\n", ""), ("    free(pond->rewards);\n", ""),
                ("free(pond->terminals);", "free(pond);"),
                ("    pond->tick++;", "    pond->tick++;\n    if (pond->tick == 3) pond->rewards = "
                 "(float*)realloc(pond->rewards, 8);"))
    assert {finding.message for finding in found(pond, "PUF207")} == {
        "c_step reallocates the trainer's rewards", "c_close frees the env struct"}


@long_only
def test_a_size_that_is_bounded_in_init_is_no_fault(copy):
    hive = copy("puf114_hive", ("    h->num_agents = h->bees;",
                                       "    if (h->flowers > MOST) h->flowers = MOST;\n"
                                       "    h->num_agents = h->bees;"))
    assert short_check(hive).findings == []


@long_only
def test_an_array_of_a_fixed_size_on_the_heap(copy):
    organ = copy("correct/organ", ("calloc((size_t)env->pipes, sizeof(float))",
                                   "calloc(4, sizeof(float))"))
    (finding,) = short_check(organ).findings
    assert finding.code == "PUF114" and "pipes = 8" in finding.message
    assert "block of 16 bytes" in finding.message


@long_only
def test_a_field_that_init_overwrites_has_no_effect(copy):
    organ = copy("correct/organ", ("void init(Organ* env) {", "void init(Organ* env) {\n"
                                   "    env->choir_bonus = 1.0f;\n   "))
    (finding,) = short_check(organ).findings
    assert finding.code == "PUF113" and "choir_bonus" in finding.message
    assert finding.file == "organ.ini" and finding.line == 6


@long_only
def test_settings_of_a_hand_written_binding(copy):
    nim = copy("ocean/nim", ("env->most", "9"))
    assert [f.message for f in found(nim, "PUF113")] == ["[env] most changes nothing"]


@pytest.mark.parametrize("draw", some_or_all(["rand() % SLOTS", "(int)(w->rng_state % SLOTS)"], 0))
def test_seeds_are_ignored_by_constants_in_any_generator(copy, draw):
    own = "    w->rng_state = w->rng_state * 6364136223846793005ull + 1442695040888963407ull;\n"
    wheel = copy("puf502_wheel", ("#pragma once", "#pragma once\n#include <stdint.h>\n"
                                         "#include <stdlib.h>"),
                 ("int seen[SLOTS];", "int seen[SLOTS];\n    uint64_t rng_state;"),
                 ("w->rng = 20240229u;", "srand(7);" if "rand()" in draw else "w->rng_state = 7;"),
                 ("    w->rng ^= w->rng << 13;\n    w->rng ^= w->rng >> 17;\n"
                  "    w->rng ^= w->rng << 5;\n", "" if "rand()" in draw else own),
                 ("(int)(w->rng % SLOTS)", draw))
    (finding,) = found(wheel, "PUF502")
    assert finding.line == line_of(wheel, "srand(7)" if "rand()" in draw else "void c_reset")


@long_only
@pytest.mark.parametrize("draw, is_said", some_or_all([
    ("unsigned int state = 42; env->arms = rand_r(&state) % 4;", True),
    ("unsigned state = 0x2A;\n    for (int i = 0; i < 3; i++) state = state * 1664525u + 1u;\n"
     "    env->arms = state >> 30;", True),
    ("unsigned int state = env->rng; env->arms = rand_r(&state) % 4;", False),
    ("int count = 4; count = count * 2; env->arms = count;", False)], 0, 2))
def test_a_generator_that_begins_anew_is_no_chance(copy, draw, is_said):
    """Beside the env's own: other seeds do give other games."""
    bandit = copy("correct/bandit", ("#pragma once", "#pragma once\n#include <stdlib.h>"),
                  ("    unsigned int rng;\n", "    unsigned int rng;\n    int arms;\n"),
                  ("env->observations[0] = 1.0f;", f"env->observations[0] = 1.0f;\n    {draw}\n"))
    findings = [f for f in found(bandit, "PUF502")]
    assert bool(findings) == is_said
    if is_said:
        assert findings[0].message == "c_reset draws from 'state', which begins anew each time"
        assert findings[0].line == line_of(bandit, draw[:16])


@long_only
def test_a_game_without_chance_needs_no_seed(copy):
    bandit = copy("correct/bandit", ("roll(&env->rng) <", "0.5f <"))
    result = short_check(bandit)
    assert "PUF502" not in {f.code for f in result.findings}
    assert "without chance" in result.not_tested["PUF502"]


@ALL_BUILDS
@pytest.mark.parametrize("changes", some_or_all([
    [("static float scratch", "static __thread float scratch")],
    [("#pragma once", "#pragma once\nstatic int steps_of_all;     // counted, and never read\n"
      "#define scratch h->mine"),
     ("static float scratch[SHEEP];        // from the dog to each sheep", ""),
     ("    int home[SHEEP];", "    int home[SHEEP];\n    float mine[SHEEP];"),
     ("    h->tick++;", "    h->tick++;\n    steps_of_all++;")],
], 1))
def test_what_threads_do_not_share_or_do_not_read_is_no_fault(copy, changes):
    assert not found(copy("puf504_herd", *changes), "PUF504")


@long_only
def test_threads_are_tried_even_where_the_env_holds_a_lock(copy):
    """The lock serialises the steps: nothing differs, and nothing stands still."""
    herd = copy("puf504_herd", ("#pragma once", "#pragma once\n#include <pthread.h>\n"
                "static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;"),
                ("    h->rewards[0] = 0.0f;\n    h->terminals",
                 "    pthread_mutex_lock(&gate);\n    h->rewards[0] = 0.0f;\n    h->terminals"),
                ("        c_reset(h);\n        return;",
                 "        c_reset(h);\n        pthread_mutex_unlock(&gate);\n        return;"),
                ("    observe(h);\n}\n\nvoid c_render",
                 "    observe(h);\n    pthread_mutex_unlock(&gate);\n}\n\nvoid c_render"))
    result = short_check(herd)
    assert not {"PUF504", "PUF405"} & {finding.code for finding in result.findings}


@ALL_BUILDS
def test_lines_that_no_play_reaches_are_listed(copy):
    bandit = copy("correct/bandit", ("    c_reset(env);\n}", "    if (env->log.n < 0.0f) {\n"
                                     "        env->log.n = 0.0f;\n    }\n    c_reset(env);\n}"))
    result = short_check(bandit)
    at = line_of(bandit, "env->log.n = 0.0f;")
    seen = result.coverage["lines"]
    assert seen["missed"] == [f"bandit.h:{at}"] and seen["reached"] == seen["total"] - 1
    assert any(f"(not: bandit.h:{at})" in text for text, _ in lines(result))


@long_only
def test_a_hang_is_waited_for_once_and_told_the_same_way(copy):
    stacker = copy("correct/stacker", ("    s->tick++;", "    s->tick++;\n    if (s->log.n > 30) "
                                       "for (volatile int k = 1; k; ) k = 1;"),
                   ini="[env]\n[vec]\nstep_timeout = 3\n")
    documents = []
    for _ in range(2):
        result = short_check(stacker)
        (finding,) = result.findings
        assert finding.code == "PUF405"
        assert finding.line == line_of(stacker, "s->tick++;") + 1
        document = result.to_dict()
        document["coverage"].pop("seconds")
        documents.append(json.dumps(document, sort_keys=True))
    assert documents[0] == documents[1]


@long_only
def test_a_stack_names_each_place_once(copy):
    comet = copy("puf303_comet", ("        o[2] = distance", "        env->observations[6 + "
                 "env->tick] = 1.0f;\n        o[2] = distance"))
    stack = found(comet, "PUF203")[0].stack
    assert [frame.partition(" ")[0] for frame in stack] == ["observe", "c_reset"]
    assert stack[0] == f"observe (puf303_comet.h:{line_of(comet, 'env->observations[6')})"
