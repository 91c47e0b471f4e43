"""What check reads in the source alone: calls, shared state, layout, and the rules over them."""
from __future__ import annotations

import shutil
import struct
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from helpers.short_or_long import long_only, some_or_all

from puffer_sdk.checking.collect.c.source import (
    actions,
    beginnings,
    conditional,
    counters,
    demo,
    effects,
    read,
    sums,
)
from puffer_sdk.checking.collect.c.source.logging import may_fill
from puffer_sdk.checking.core import registry
from puffer_sdk.checking.core.facts import Facts
from puffer_sdk.checking.core.finding import Finding
from puffer_sdk.checking.rules.contract import contract_rules
from puffer_sdk.checking.rules.determinism import determinism
from puffer_sdk.checking.rules.determinism.seeds import seed_ignored
from puffer_sdk.checking.rules.logs.mismatch import drawn_otherwise
from puffer_sdk.mutate import mutations
from puffer_sdk.settings.config import resolve

GAME = """\
#pragma once
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "raylib.h"
#define OBS_SIZE 4
#define ACT_SIZES {WIDTHS}
typedef struct Log { float score; float hits[2]; float n; } Log;
TYPES
typedef struct Game {
    Log log;
    float* observations;
    float* actions;
    float* rewards;
    float* terminals;
    int num_agents;
    unsigned int rng;
    int size, tick;
    float speed;
    bool wide;
    int* map;
    FIELDS
} Game;
HELPERS
void init(Game* env) { INIT }
void c_reset(Game* env) { RESET }
void c_step(Game* env) { STEP }
void c_render(Game* env) { RENDER }
void c_close(Game* env) { CLOSE }
"""


@pytest.fixture
def game(tmp_path):
    """Writes an env with these parts in place of the words in GAME, and reads it."""
    def make(*, ini: str = "[env]\n", program: str | None = None, binding: str | None = None,
             widths: str = "5", files: dict[str, str] | None = None, **parts: str) -> Facts:
        folder = tmp_path / "game"
        folder.mkdir(exist_ok=True)
        text = GAME.replace("WIDTHS", widths)
        for name in ("TYPES", "FIELDS", "HELPERS", "INIT", "RESET", "STEP", "RENDER", "CLOSE"):
            text = text.replace(name, parts.get(name.lower(), ""), 1)
        (folder / "game.h").write_text(text)
        (folder / "game.ini").write_text(ini)
        extra = {"game.c": program, "binding.c": binding, **(files or {})}
        for name, content in extra.items():
            if content is not None:
                (folder / name).write_text(content)
        return facts_of(folder)
    return make


def facts_of(folder: Path) -> Facts:
    spec, problems, source = read.examine(folder)
    config = resolve(folder, None, spec, warn_unread=False)
    return Facts(folder.resolve(), spec, config, problems, source, 42)


def found(facts: Facts, code: str) -> list[Finding]:
    return list(registry.load()[code].look(facts))


def line_of(facts: Facts, text: str, file: str = "game.h") -> int:
    lines = (facts.folder / file).read_text(errors="replace").splitlines()
    return next(n for n, line in enumerate(lines, 1) if text in line)


def names(functions) -> set[str]:
    return {function.name for function in functions}


# -- the log ---------------------------------------------------------------------------------


@pytest.mark.parametrize("step, filled", some_or_all([
    ("env->log.score += 1;", ["score"]), ("env->log.hits[1]++;", ["hits[1]"]),
    ("env->log.hits[env->tick] = 1;", ["hits[0]", "hits[1]"]),
    ("float* hits = env->log.hits; hits[0]++;", ["hits[0]", "hits[1]"]),
    ("add(&env->log.score);", ["score"]), ("Log* log = &env->log; log->n++;", ["n"]),
    ("other.score++;", []), ("env->speed = env->log.score;", []), ("add(&env->speed);", []),
    ("Log one = {1}; env->log.n += one.n;", ["hits[0]", "hits[1]", "n", "score"]),
    ("float* all = (float*)&env->log; all[env->tick]++;", ["hits[0]", "hits[1]", "n", "score"]),
    ("memcpy(&env->log, env->map, sizeof(Log));", ["hits[0]", "hits[1]", "n", "score"]),
    ("memset(&env->log, 0, sizeof(Log)); Log none = {0}; env->log = none;", [])], *range(0, 13, 3)))
def test_what_may_fill_a_field_of_log(step, filled, game):
    """By its name in a Log, not in any struct; by its address; or with the Log as a whole."""
    facts = game(types="typedef struct Other { float score; } Other;\nstatic Other other;",
                 helpers="static void add(float* x) { *x += 1; }",
                 step=f"float n = env->log.n; (void)n; {step}")
    fields = {"score": ("score", None), "n": ("n", None),
              "hits[0]": ("hits", 0), "hits[1]": ("hits", 1)}
    assert sorted(text for text, field in fields.items()
                  if may_fill(facts.source, *field)) == filled


@pytest.mark.parametrize("step, cleared", some_or_all([
    ("env->log = (Log){0};", ["log"]), ("Log none = {0}; env->log = none;", ["log"]),
    ("Log kept = env->log; kept.n++; env->log = kept;", []),
    ("Log next = {0}; next.n += 1; env->log = next;", []), ("env->log = (Log){1};", []),
    ("env->log.n = 0;", ["n"]), ("memset(&env->log, 0, sizeof(Log));", ["log"])], 0, 3, 6))
def test_a_log_that_is_changed_and_stored_back_is_not_cleared(step, cleared, game):
    facts = game(step=step)
    assert [name for name, _, _ in facts.source.cleared_logs()] == cleared


@pytest.mark.parametrize("step, computed", [
    ("env->log.score = env->log.hits[0] / 4.0f;", {"score"}),
    ("Log* log = &env->log; log->score = 0.5f * log->hits[1];", {"score"}),
    ("env->log.score = env->log.hits[0] / env->log.n;", set()),         # the mean of a mean
    ("env->log.score = env->log.score + 1;", set()), ("env->log.score = env->tick;", set())])
def test_columns_that_are_computed_from_others(step, computed, game):
    assert game(step=step).source.computed_logs() == computed


# -- calls -----------------------------------------------------------------------------------


def test_functions_have_places_and_bodies(game):
    facts = game(helpers="// void ghost(void) {}\n/* int no(void) { return 1; } */\n"
                         'static int\nhelp(const char* text)\n{ return *text == \'{\'; /* } */ }',
                 step='help("}{"); // help\n')
    assert set(facts.source.functions) == {"help", "init", "c_reset", "c_step", "c_render",
                                           "c_close"}
    helper = facts.source.functions["help"]
    assert (helper.file, helper.line) == ("game.h", line_of(facts, "help(const char"))
    assert helper.body_line == helper.line + 1 and "'" not in helper.body
    assert facts.source.functions["c_step"].calls == {"help"}


def test_calls_go_through_macros_tables_and_pointers(game):
    facts = game(
        types="struct Game; typedef void (*Move)(struct Game*);",
        fields="Move move;",
        helpers="""\
#define EACH(i, n, what) for (int i = 0; i < (n); i++) { what(env); }
void walk(Game* env) { env->tick++; }
void swim(Game* env) { env->tick--; }
void fly(Game* env) { env->tick = 0; }
void draw_it(Game* env) { env->tick = 9; }
static const Move moves[] = {walk, swim};
int old_style(env, n) Game* env; int n; { return env->tick + n; }
void lonely(Game* env) { walk(env); }
""",
        init="env->move = &fly;", reset="EACH(k, 3, walk)",
        step="moves[(int)env->actions[0] % 2](env); old_style(env, 1); env->move(env);",
        render="draw_it(env);")
    code = facts.source
    assert facts.problems == []
    assert names(code.reach("c_reset")) == {"c_reset", "walk"}
    assert names(code.reach("c_step")) == {"c_step", "walk", "swim", "fly", "old_style"}
    assert names(code.reach("c_step", without=("fly",))) == {"c_step", "walk", "swim", "old_style"}
    assert "lonely" not in names(code.reach("init", "c_reset", "c_step", "c_render"))
    assert set(code.named) == {"walk", "swim", "fly"}


def test_stepping_leaves_c_reset_out_and_recursion_ends(game):
    facts = game(helpers="void b(Game*); void a(Game* e) { b(e); } void b(Game* e) { a(e); }"
                         "void c_reset(Game*); void begin(Game* e) { (void)e; }",
                 reset="begin(env);", step="a(env); c_reset(env);")
    assert names(facts.source.stepping()) == {"c_step", "a", "b"}
    assert "begin" in names(facts.source.reach("c_step"))


def test_library_calls_have_lines(game):
    facts = game(helpers="#define NOISE() rand()\nint roll(void) {\n    return NOISE();\n}\n"
                         "#ifdef NEVER\nvoid ghost(void) { puts(\"\"); }\n#endif",
                 step="roll();\n    memset(env->rewards, 0, 4);")
    calls = {call.name: call for call in facts.source.calls("c_step")}
    assert set(calls) == {"puffer_rand", "memset"}
    assert calls["puffer_rand"].at == {"file": "game.h", "line": line_of(facts, "return NOISE")}
    assert calls["puffer_rand"].function.name == "roll"


def test_a_header_of_two_files(game):
    facts = game(helpers='#include "rules.h"', step="advance(env);",
                 files={"rules.h": "#pragma once\nstatic int ticks;\n\n"
                                   "void advance(Game* env) { ticks++; env->tick = ticks; }\n"})
    assert facts.source.functions["advance"].file == "rules.h"
    (finding,) = found(facts, "PUF108")
    assert (finding.file, finding.line) == ("rules.h", 2)
    assert finding.actual == "written at rules.h:4 (advance)"


@pytest.mark.parametrize("step", some_or_all(
    ["env->nothing = 1;", "if (", "undeclared(env);", "}}}",
                                  "int int;", '#include "nowhere.h"\n', "@", "/* open"], 0, 3, 6))
def test_what_does_not_compile_is_read_as_far_as_it_goes(game, step):
    facts = game(helpers="static int count; void fine(Game* env) { count++; env->tick++; }",
                 step=step)
    assert facts.problems
    code = facts.source
    assert "fine" in code.functions
    assert code.reach("c_step") is not None and code.clears_observations() in (True, False)
    assert code.reset_only_stores() == []
    effects.accesses(code, list(code.functions.values()))
    if facts.spec:
        assert code.layout is not None
        for rule in ("PUF107", "PUF108", "PUF109", "PUF110", "PUF111"):
            found(facts, rule)


def test_a_folder_without_a_header(tmp_path):
    (tmp_path / "notes.h").write_text("int a;\n")
    code = read.read(tmp_path)
    assert code.functions == {} and code.reach("c_step") == []
    assert list(code.files) == ["notes.h"]


def test_bytes_that_are_not_utf8_and_windows_lines(game):
    facts = game(helpers="// gr\xfc\xdfe\n")
    path = facts.folder / "game.h"
    text = path.read_text().replace("\n", "\r\n").replace("{  }", "{ env->observations[ 3 ] = 0; }")
    path.write_bytes(text.encode("latin-1"))
    code = facts_of(facts.folder).source
    (store,) = code.stores(code.functions["c_step"])
    assert code.functions["c_step"].body == "{ env->observations[ 3 ] = 0; }"
    assert store[0].line == line_of(facts, "void c_step")


def test_what_is_cast_to_floats_is_no_division_of_integers(game):
    step = ("env->observations[0] = (float)env->tick / (float)env->size; "
            "env->observations[1] = (float)(env->tick / env->size);")
    found = game(step=step).source.integer_divisions()
    assert [element for element, *_ in found] == [1]


def test_no_c_is_read_in_the_process_of_the_caller(game, monkeypatch):
    """Neither the header nor NAME.c, nor what --mutate looks for: children read them."""
    monkeypatch.setitem(sys.modules, "clang", None)
    facts = game(ini="[env]\nsize = 5\n", step="env->size = env->tick + 1;",
                 program=MAIN.format(above="", body="Game env; env.size = 9;"))
    assert facts.source.reach("c_step")[0].nodes and facts.source.layout.find("size")
    assert [given.value for given in demo.settings(facts.spec)] == [9]
    assert any(mutant.operator == "drop-update" for mutant in mutations.find(facts.folder))


def test_a_table_of_texts_is_read(game):
    """libclang crashes where it is asked for the value of such a list."""
    facts = game(types="enum { A, B };\ntypedef struct { const char* names[4]; int n; } Task;\n"
                 "static const Task HOVER = {.names = {[A] = \"a\", [B] = \"b\"}, .n = 7};\n"
                 "static const char* const TEXTS[] = {[B] = \"b\"};\n")
    (hover,) = [each for each in facts.source.globals.values() if each.name == "HOVER"]
    assert [node.more for node in hover.tree.walk() if node.kind == "string"] == ['"a"', '"b"']
    assert any(node.value == 7 for node in hover.tree.walk())


def test_what_nests_without_end_is_cut_off(game):
    """By recursion nobody comes too deep; a chain of else-ifs is whole."""
    facts = game(helpers="int sum(int a) { return " + "a+" * 2000 + "a; }\n"
                 "int pick(int a) { " + "if (a) return 1; else " * 300 + "return 2; }\n")
    source = facts.source
    depths = [sum(1 for _ in node.up()) for node in source.functions["sum"].nodes]
    assert 100 < max(depths) < 220
    assert sum(node.kind == "if" for node in source.functions["pick"].nodes) == 300
    assert source.functions["sum"].pointers.results[0].op == "+"


# -- observations ----------------------------------------------------------------------------


@pytest.mark.parametrize("step, clears", some_or_all([
    ("env->observations[env->tick] = 0.0f;", True),
    ("float* view = env->observations + 2; view[1] = EMPTY;", True),
    ("float* o = &env->observations[1]; *o++ = 0;", True),
    ("memset(env->observations, 0, 16);", True),
    ("float* row = env->observations; memset(row, 0, 16);", True),
    ("env->observations[0] = 1.0f; env->rewards[0] = 0; /* observations[0] = 0 */", False),
    ("wipe(env->rewards);", False),                             # whatever it is called
    ("wipe(env->observations);", True),
    ("float obs[4]; obs[0] = 0; env->rewards[0] = obs[0];", False),
    ("float row[4]; row[0] = 0; memcpy(env->observations, row, 16);", True),
], *range(0, 10, 3)))
def test_clears_observations(game, step, clears):
    facts = game(helpers="enum { EMPTY };\nvoid wipe(float* obs) { obs[0] = 0; }", step=step)
    assert facts.problems == []
    assert facts.source.clears_observations() is clears


@pytest.mark.parametrize("step, fields", [
    ("env->tick++; if (env->tick >= env->size) c_reset(env);", {"size"}),
    ("if (++env->tick == env->size * 2) c_reset(env);", {"size"}),
    ("env->tick++; env->tick--; if (env->tick >= env->size) c_reset(env);", set()),     # moves
    ("env->tick = env->map[0]; if (env->tick++ >= env->size) c_reset(env);", set())])
def test_limits_are_what_a_count_is_compared_with(game, step, fields):
    facts = game(step=step, reset="env->tick = 0;", helpers="void c_reset(Game*);")
    assert counters.limits(facts.source) == fields


@pytest.mark.parametrize("step, ends", [
    ("for (int i = 0; i < env->size; i++) env->tick++;", ["size"]),
    ("for (int i = 0; i < 4; i++) count(env);", [4]),
    ("int i; for (i = 0; i < env->size && !env->wide; i++) env->tick++;", ["size"]),
    ("for (int i = 0; i < env->size; i++) { env->map[i] = 0; env->tick++; }", []),  # over things
    ("for (int i = 0; i < env->size; i++) env->wide = 1;\nenv->tick++;", [])])
def test_loops_that_count_what_the_log_takes(game, step, ends):
    facts = game(helpers="static void count(Game* env) { env->tick++; }",
                 step=step + " env->log.score += env->tick;")
    assert [end.value or end.name for end in counters.ends(facts.source, "score")] == ends


@pytest.mark.parametrize("step, field", [
    ("float* row = env->observations + 2; row[0] = 1;", "observations"),
    ("show(env->observations);", "observations"), ("show(env->rewards);", "rewards"),
    ("env->seat.row = &env->observations[1]; env->seat.row[0] = 1;", "observations"),
    ("float observations[4]; observations[0] = 1; env->rewards[0] = observations[0];", "rewards")])
def test_where_stores_lead_to(game, step, field):
    facts = game(types="typedef struct Seat { float* row; } Seat;", fields="Seat seat;", step=step,
                 helpers="static void show(float* obs) { obs[0] = 1; }")
    assert facts.problems == []
    known = ("observations", "rewards", "terminals")
    assert {name for name in known for function in facts.source.stepping()
            for _ in facts.source.stores(function, name)} == {field}


def test_reset_only_stores(game):
    facts = game(
        helpers="#define AT_SPEED 2\nvoid look(Game* env) { env->observations[0] = env->tick; }",
        reset="look(env); env->observations[ AT_SPEED ] = env->speed;\n"
              "    env->observations[1] = env->size;",
        step="env->speed += 1; env->tick++; look(env);")
    assert facts.source.reset_only_stores() == [
        ("game.h", line_of(facts, "[ AT_SPEED ]"), "AT_SPEED", "speed", True)]


# -- layout ----------------------------------------------------------------------------------


def test_layout_of_all_that_c_has(game):
    facts = game(
        types="typedef struct V { float x, y; } V;\n"
              "typedef struct Unit { V at; char name[3]; struct { int hp; } body; } Unit;",
        fields="""\
    union { int as_int; float as_float; };
    struct { short a; V deep[2]; } nested[3];
    unsigned int flag : 3, level : 5;
    double grid[2][3];
    Unit* units;
    struct Secret* secret;
    unsigned char board[5000];
    V* corners[2];
    Rectangle box;
""", helpers="void f(void);")
    lay = facts.source.layout
    by_path = {scalar.path: scalar for scalar in lay.scalars}
    assert by_path["log.score"].offset == 0 and by_path["observations"].type == "float *"
    assert by_path["observations"].pointee_size == 4
    assert by_path["as_int"].offset == by_path["as_float"].offset
    deep = by_path["nested[2].deep[1].y"]
    assert [(s.path, s.stride, s.count) for s in deep.arrays] == [
        ("nested", 20, 3), ("nested[2].deep", 8, 2)]
    assert deep.offset == by_path["nested[0].a"].offset + 2 * 20 + 4 + 8 + 4
    assert by_path["flag"].bits == (0, 3) and by_path["level"].bits == (3, 5)
    assert by_path["grid[1][2]"].offset == by_path["grid[0][0]"].offset + 5 * 8
    assert by_path["corners[1]"].pointee_size == 8 and by_path["wide"].size == 1
    assert lay.truncated and len([p for p in by_path if p.startswith("board")]) == 1024
    board = by_path["board[0]"].offset
    assert lay.path_at(board + 4999) == "board[4999]" and "board[4999]" not in by_path
    assert lay.path_at(deep.offset + 3) == "nested[2].deep[1].y"
    assert lay.path_at(by_path["nested[0].a"].offset + 2) is None       # padding
    assert lay.path_at(lay.size) is None and lay.path_at(-1) is None
    units = lay.pointees["units"]
    assert units.size == 16 and [s.path for s in units.scalars][:3] == [
        "units[].at.x", "units[].at.y", "units[].name[0]"]
    assert units.path_at(2 * 16 + 12) == "units[2].body.hp"
    assert lay.pointees["corners[]"].scalars[1].path == "corners[][].y"
    assert set(lay.pointees) == {"units", "corners[]"}
    for scalar in lay.scalars:
        if not scalar.bits and not scalar.path.startswith("as_"):
            assert lay.path_at(scalar.offset) == scalar.path


def test_layout_of_structs_that_point_to_themselves(game):
    facts = game(types="typedef struct Node { struct Node* next; int v; struct Leaf* leaf; } Node;"
                       " struct Leaf { Node* up; float w; };",
                 fields="Node* first; struct Game* self;", helpers="void f(void);")
    lay = facts.source.layout
    assert set(lay.pointees) == {"first"}
    assert lay.pointees["first"].find("first[].v").offset == 8
    assert lay.pointees["first"].pointees["first[].leaf"].find("first[].leaf[].w").size == 4


def test_what_differs_between_two_structs_is_named(game):
    """Of numbers alone: the caller clears the log, and pointers differ between any two copies."""
    facts = game(helpers="void f(void);")
    lay = facts.source.layout
    one, other = bytes(lay.size), bytearray(lay.size)
    assert lay.differences(one, other) == []
    for path, value in (("tick", struct.pack("i", -3)), ("speed", struct.pack("f", 0.25)),
                        ("wide", b"\1"), ("map", b"\1"), ("log.n", struct.pack("f", 1))):
        begin = lay.find(path).offset
        other[begin:begin + len(value)] = value
    assert lay.differences(one, other) == [("tick", 0, -3), ("speed", 0.0, 0.25), ("wide", 0, 1)]


@long_only
def test_layout_of_templates(squared, target):
    facts = facts_of(squared)
    lay = facts.source.layout
    assert [s.path for s in lay.scalars][-5:] == ["row", "col", "target_row", "target_col", "tick"]
    facts = facts_of(target)
    lay = facts.source.layout
    assert lay.pointees["agents"].path_at(24 + 8) == "agents[1].heading"
    for code in ("PUF107", "PUF108", "PUF109", "PUF110", "PUF111"):
        assert found(facts, code) == found(facts_of(squared), code) == []


# -- PUF107 ----------------------------------------------------------------------------------

INI = "[env]\nsize = 11\nspeed = 0.5\nwide = true\n"
MAIN = '#include "game.h"\n{above}\nint main(int argc, char** argv) {{\n{body}\n}}\n'


@pytest.mark.parametrize("body, drifts", some_or_all([
    ("Game env = {.size = 9};", [("size", 9)]),
    ("Game env = {.size = 11, .speed = .5, .wide = 1};", []),
    ("Game env = {0}; env.size = 9;", [("size", 9)]),
    ("Game e; Game* env = &e; env->size = (int)(2 * 4.6);", [("size", 9)]),
    ("Game env; env.size = BOARD;", [("size", 7)]),
    ("Game env; env.size = SMALL;", [("size", 5)]),
    ("Game env; env.speed = -0.5f;", [("speed", -0.5)]),
    ("Game env; env.speed = 1 / 2.0;", []),
    ("const int n = 12; Game env; env.size = n;", [("size", 12)]),
    ("int n = 12; Game env; env.size = n;", [("size", 12)]),
    ("int n = 12; n--; Game env; env.size = n;", []),
    ("Game env; env.size = LIMIT;", [("size", 3)]),
    ("Game env; env.wide = false;", [("wide", 0)]),
    ("Game env = {.size = 9}; env.size = 11;", []),
    ("Game env = {.size = 9}; game_configure(&env);", []),
    ("Game env = {0}; game_configure(&env); env.size = 9;", [("size", 9)]),
    ("Game env = {0}; env.size = argc > 1 ? atoi(argv[1]) : 9;", []),
    ("Game env = {.size = 11}; if (argc > 1) env.size = 30;", []),
    ("Game env = (Game){.size = 9};", [("size", 9)]),
    ("Game envs[2]; for (int i = 0; i < 2; i++) envs[i].size = 9;", [("size", 9)]),
    ("Other other = {.size = 4}; other.size = 9; Game env; env.tick = 5;", []),
    ("setup(&shared);", [("size", 6)]),
    ("init(&shared);", []),
], 0, 1, 4, 7, 10, 13, 16))
def test_demo_drift(game, body, drifts):
    above = ("#include \"build/game_config.h\"\n#define BOARD 7\nenum { SMALL = 5 };\n"
             "static const int LIMIT = 3;\ntypedef struct { int size; } Other;\nGame shared;\n"
             "static void setup(Game* env) { env->size = 6; }\n"
             "static void unused(Game* env) { env->size = 99; }")
    facts = game(ini=INI, init="env->size = 77;",
                 program=MAIN.format(above=above, body=body))
    assert [(g.field, g.value) for g in demo.settings(facts.spec)
            if (g.field, g.value) in drifts] == drifts
    findings = found(facts, "PUF107")
    assert [f.actual for f in findings] == [f"{value:g}" for _, value in drifts]
    for finding, (name, _) in zip(findings, drifts, strict=True):
        text = "env->size = 6" if body.startswith("setup") else body[:20]
        assert (finding.file, finding.line) == ("game.c", line_of(facts, text, "game.c"))
        assert name in finding.message and finding.expected.startswith(f"{name} = ")


def test_no_comment_of_the_demo_decides(game):
    """What is meant is said by a mark, which check() reads: `// puffer: allow(PUF107) reason`."""
    for comment in ("// on purpose: fits the window", "// Apply size outside the env", ""):
        facts = game(ini=INI, program=MAIN.format(
            above="#include <stdio.h>", body=f"Game env = {{.size = 9}};   {comment}"))
        assert len(found(facts, "PUF107")) == 1


@pytest.mark.parametrize("step, turns, is_said", [
    ("for (int i = 0; i < env->size; i++) env->tick++;", 11, False),
    ("for (int i = 0; i < env->size; i++) env->tick++;", 4, True),
    ("for (int i = 0; i < env->size; i++) env->map[i] = 0;", 11, True),      # of a board
    ("env->tick++;", 11, True)])
def test_a_frame_skip_that_the_demo_does_itself(game, step, turns, is_said):
    body = "Game env = {.size = 1};\n" \
           f"for (int frame = 0; frame < 90; frame = (frame + 1) % {turns}) c_step(&env);"
    facts = game(ini=INI, step=step, program=MAIN.format(above="", body=body))
    assert bool(found(facts, "PUF107")) == is_said


def test_demo_drift_of_a_global_and_with_headers_that_are_not_there(game):
    facts = game(ini=INI, program='#include "not_installed.h"\n#include "game.h"\n'
                                  "Game env = {.size = 9, .speed = 0.5};\n"
                                  "int main(void) { Thing t = make(); c_step(&env); }\n")
    assert [f.line for f in found(facts, "PUF107")] == [3]


def test_demo_drift_reads_the_ini_not_the_overrides(game):
    facts = game(ini=INI, program=MAIN.format(above="", body="Game env = {.size = 11};"))
    facts.config = resolve(facts.folder, {"env.size": "5"}, facts.spec, warn_unread=False)
    assert found(facts, "PUF107") == []


BINDING = """\
#include "game.h"
#define OBS_TENSOR_T FloatTensor
#define Env Game
#include "vecenv.h"
{above}
void my_init(Env* env, Dict* kwargs) {{ env->num_agents = 1; {init} }}
void my_log(Log* log, Dict* out) {{ dict_set(out, "score", log->score); }}
"""


def test_demo_drift_of_an_ocean_env_follows_plain_keys_alone(game):
    program = MAIN.format(above="", body="Game env = {.size = 9, .tick = 600};")
    plain = BINDING.format(above="", init='env->size = (int)dict_get(kwargs, "size")->value;'
                                          'env->tick = dict_get(kwargs, "tick")->value * 60;')
    facts = game(ini="[env]\nsize = 11\ntick = 10\n", program=program, binding=plain)
    assert facts.problems == [] and [f.actual for f in found(facts, "PUF107")] == ["9"]


NUMBER = """static double number(Dict* table, const char* name, double other) {
    DictItem* item = dict_get_unsafe(table, name);
    return item ? item->value : other;
}
"""


@pytest.mark.parametrize("above, init, read, needed", some_or_all([
    ("", 'env->size = dict_get(kwargs, "size")->value;', {"size"}, {"size"}),
    (NUMBER, 'env->size = number(kwargs, "size", 9); // "tick"', {"size"}, set()),
    ("#define READ(key) env->key = dict_get(kwargs, #key)->value", "READ(size);", {"size"},
     {"size"}),
    ("Env* my_vec_init(int* n, int* a, int* b, Dict* one, Dict* other) { dict_get(one, \"tick\");"
     " dict_get(other, \"size\"); return 0; }", "", {"size"}, {"size"})], 0, 2))
def test_keys_that_a_binding_reads(game, above, init, read, needed):
    """Whatever its parameters are called; what dict_set writes is no key, nor what [vec] gives."""
    facts = game(ini="[env]\nsize = 3\ntick = 4\n", binding=BINDING.format(
        above=above, init=init))
    assert set(contract_rules._binding_keys(facts)) & {"size", "tick", "score"} == read
    assert set(contract_rules._binding_keys(facts, needed=True)) == needed


@pytest.mark.parametrize("step, read", [
    ("env->tick += env->pay.late;", True),
    ("env->pay.late = 2; env->tick += env->pay.late;", False),
    ("env->tick += env->pay.soon;", False)])
def test_a_setting_of_another_name_that_steps_read(game, step, read):
    facts = game(fields="struct { float late, soon; } pay;", step=step, binding=BINDING.format(
        above="", init='env->pay.late = dict_get(kwargs, "late_pay")->value;'))
    assert facts.source.is_only_read("late_pay") == read and not facts.source.is_only_read("late")


@pytest.mark.parametrize("init, step, render, drawn", [
    ("env->at[1] = 2 * env->card;", "", "env->tick = env->at[0];", True),
    ("env->at[1] = 2 * env->card; env->top = env->at[1];", "", "env->tick = env->top;", True),
    ("env->at[1] = 2 * env->card;", "env->observations[0] = env->at[1];",
     "env->tick = env->at[0];", False),
    ("env->at[1] = 2 * env->card;", "if (env->at[1]) env->tick++;", "env->tick = env->at[0];",
     False),
    ("env->at[env->card] = 2;", "", "env->tick = env->at[0];", False),
    ("env->card = 9;", "", "", False)])
def test_a_setting_that_only_drawing_needs(game, init, step, render, drawn):
    facts = game(fields="int card, top, at[4];", init=init, step=step, render=render)
    assert facts.source.is_only_drawn("card") == drawn


@pytest.mark.parametrize("helpers, step, asked", some_or_all([
    ("", "if (action == 3 && env->size > 2) env->tick++;", {(0, 3)}),
    ("", "if (action == 3) { if (env->size > 2) env->tick++; }", {(0, 3)}),
    ("", "int lift = action == 3, big = env->size > 2; if (lift && big) env->tick++;", {(0, 3)}),
    ("", "if (action == 3) env->tick++; if (env->size == 3 && env->tick) env->tick = 0;", set()),
    ("void lift(Game* env) { if (env->size > 2) env->tick++; }",
     "switch (action) { case 2: env->tick--; break; case 3: lift(env); }", {(0, 3)}),
    ("void act(Game* env, int what) { if (what == 4 && env->size) env->tick++; }",
     "int used = env->tick ? 0 : action; act(env, used);", {(0, 4)}),
    # what only the action itself brings about is never met
    ("", "if (env->lit > 0) env->lit--; if (action == 3 && env->lit != 0) env->lit = 9;", set()),
    ("", "if (action == 3) { if (env->lit && env->size > 2) env->lit = 9; }", set()),
    ("", "switch (action) { case 3: if (env->lit != 0) { env->lit = 9; } break; }", set()),
    ("", "if (action == 3 && env->lit == 0) env->lit = 9;", {(0, 3)}),
    ("", "if (action == 2) env->lit = 4; if (action == 3 && env->lit) env->lit = 9;", {(0, 3)}),
    ("", "env->lit = env->tick; if (action == 3 && env->lit > 2) env->lit = 9;", {(0, 3)})],
    *range(0, 11, 3)))
def test_actions_that_have_conditions_of_their_own(game, helpers, step, asked):
    facts = game(fields="int lit;", helpers=helpers,
                 step="int action = (int)env->actions[0]; " + step)
    assert conditional.ids(facts.source, facts.spec) == asked


BEGIN = "static void begin(Game* env) { env->tick = 0; env->speed = 1; }"


def test_the_authors_files_in_a_checkout_of_pufferlib(probe, tmp_path):
    """Its root and its src/ are included from: what lies in the env's folder stays the author's."""
    folder, src = tmp_path / "ocean" / "probe", tmp_path / "src"
    src.mkdir()
    (src / "lent.h").write_text("static int lent(void) { return 1; }\n")
    shutil.copytree(probe(("void c_reset", '#include "lent.h"\nvoid c_reset')), folder)
    functions = read.read(folder).functions
    assert functions["c_step"].file == "probe.h" and "lent" not in functions


@pytest.mark.parametrize("helpers, reset, found", [
    (BEGIN, "begin(env);", ["begin"]), (BEGIN, "begin(env); env->size = 3;", []),
    (BEGIN, "for (int i = 0; i < 3; i++) begin(env);", []),         # once for each agent
    (BEGIN + "static void all(Game* env) { for (int i = 0; i < 3; i++) begin(env); }", "all(env);",
     ["all"]),
    (BEGIN, "begin(env); begin(env);", [])])
def test_what_does_all_the_work_of_c_reset(game, helpers, reset, found):
    source = game(helpers=helpers, reset=reset).source
    assert beginnings.beginnings(source) == found


# -- PUF108 ----------------------------------------------------------------------------------


def shared(facts: Facts) -> list[str]:
    return [finding.message.split("'")[1] for finding in found(facts, "PUF108")]


ATOMIC = ("static int ready; static float count[9];"
          " static void put(float* at, int i) { at[i] = i; }"
          " static void fill(%s) { if (__atomic_load_n(&ready, __ATOMIC_ACQUIRE) == 2) return;"
          " int none = 0; if (__atomic_compare_exchange_n(&ready, &none, 1, 0, 4, 2)) {"
          " for (int i = 0; i < 9; i++) { count[i] = 0.5f * i; put(count, i); %s }"
          " __atomic_store_n(&ready, 2, __ATOMIC_RELEASE); } }")


LOCKED = ("#include <pthread.h>\nstatic pthread_mutex_t lock;"
          " static float count[9]; static void fill(void) { %s"
          " if (!count[1]) { count[1] = 0.5f; } %s }")
ONCE = ("#include <pthread.h>\nstatic pthread_once_t once;"
        " static float count[9]; static void fill(void) { count[1] = 0.5f; }")


@pytest.mark.parametrize("parts", some_or_all([
    dict(helpers=ATOMIC % ("Game* g", "count[i] = g->tick;"), reset="fill(env);"),
    dict(helpers=ATOMIC % ("Game* g", "put(count, g->tick);"), reset="fill(env);"),
    dict(helpers="int count;", step="count++;"),
    dict(helpers="static float count;", step="count = env->speed;"),
    dict(helpers="extern int count;", reset="count = 0;"),
    dict(helpers="static _Thread_local int count;", step="--count;"),
    dict(step="static int count = 3; env->tick = count++;"),
    dict(helpers="struct S { int a[3]; } count;", step="count.a[env->tick] += 1;"),
    dict(helpers="static int count[4]; void set(int* p) { p[1] = 2; }", step="set(count);"),
    dict(helpers="static int count[4]; void set(int* p) { int* q = p; *q = 2; }"
                 "void twice(int* p) { set(p); }", step="twice(&count[2]);"),
    dict(helpers="static char count[9];", step="strcpy(count, \"x\");"),
    dict(helpers="static int count[4];", step="int* p = count + 1; *p++ = 4;"),
    dict(helpers="static int* count;", reset="count[0] = 1;"),
    dict(helpers="static int count; int* it(void) { return &count; }", step="*it() = 4;"),
    dict(helpers="static int count; void bump(void) { count++; }\n#define BUMP bump()",
         step="BUMP;"),
    dict(helpers="static int count;", init="env->tick = count++;"),
    dict(helpers="static int count;", init="count = env->size;", step="env->tick = count;"),
    dict(helpers="static int count;", init="int s = 2 * env->size; count = s + 1;"),
    dict(helpers="static int count;", init="int s; s = 2 * env->size; count = s + 1;"),
    dict(helpers="static int count[3];", init="count[0] = rand();"),
    dict(helpers="static float count[3]; static void fill(void) { count[1] = 2; }",
         reset="if (!count[1]) fill();"),
    dict(helpers=LOCKED % ("", "pthread_mutex_unlock(&lock);"), reset="fill();"),
    dict(helpers=LOCKED % ("pthread_mutex_unlock(&lock);", "pthread_mutex_lock(&lock);"),
         reset="fill();"),
    dict(helpers=ONCE, reset="pthread_once(&once, fill); fill();"),
    dict(helpers=ONCE, reset="fill();"),
], *range(0, 25, 4)))
def test_mutable_global(game, parts):
    facts = game(**parts)
    assert facts.problems == [] and shared(facts) == ["count"]
    finding = found(facts, "PUF108")[0]
    assert finding.line == line_of(facts, "count")
    assert finding.actual.startswith("written at game.h")


@pytest.mark.parametrize("parts", some_or_all([
    dict(helpers="static const int table[] = {1, 2}; static int dx[] = {1, -1};",
         step="env->tick += table[0] + dx[1];"),
    dict(helpers='const char* const names[] = {"a"}; static char* other[] = {"b"};',
         step="env->tick += names[0][0] + other[0][0];"),
    dict(helpers="static int open; static Texture2D t;",
         render='static int frames; if (!open) open = 1; frames++; t = LoadTexture("x");',
         step="env->tick++;"),
    dict(helpers="static int open;", close="open = 0;"),
    dict(helpers="static int view; void c_render(Game*);", render="view = env->tick;",
         step="c_render(env);"),
    dict(helpers="static float table[9]; static void fill(void) {"
                 " for (int i = 0; i < 9; i++) table[i] = i * 0.5f; }",
         init="fill();", step="env->speed = table[1];"),
    dict(helpers="static int ready, *table;",
         init="if (!ready) { table = calloc(9, 4); table[1] = 3; for (int i = 2; i < 9; i++)"
              " table[i] += table[i - 1]; ready = 1; }", step="env->tick = table[2];"),
    dict(helpers="static int users; static int* table;",
         init="if (users++ == 0) table = calloc(9, 4);", close="if (--users == 0) free(table);"),
    dict(helpers="static int count;", step="env->tick = sizeof(count); int count = 3; count++;"),
    dict(helpers="static int table[3]; int sum(const int* p) { return p[0]; }",
         step='env->tick = sum(table); printf("%d", table[1]);'),
    dict(helpers="static int unused; void lonely(void) { unused++; }"),
    dict(helpers=ATOMIC % ("void", ""), reset="fill();", step="env->speed = count[env->tick % 9];"),
    dict(helpers=LOCKED % ("pthread_mutex_lock(&lock);", "pthread_mutex_unlock(&lock);"),
         reset="fill();"),
    dict(helpers=ONCE + " static void make(void) { pthread_once(&once, fill); }", reset="make();"),
], 0, 5, 7, 11, 12))
def test_state_that_may_be_shared(game, parts):
    facts = game(**parts)
    assert facts.problems == [] and shared(facts) == []


@pytest.mark.parametrize("init, reset, severity", [
    ("count = env->size;", "", "warning"), ("env->tick = 2; count = env->tick;", "", "warning"),
    ("env->tick = 2; count = env->tick;", "env->tick = 0;", ""),
    ("count = env->rng;", "", ""), ("count = env->size + count;", "", ""),
    ("", "count = env->size;", "")])
def test_a_global_that_is_the_same_under_the_same_settings(game, init, reset, severity):
    facts = game(helpers="static int count;", init=init, reset=reset, step="env->speed = count;")
    (finding,) = found(facts, "PUF108")
    assert finding.severity == severity
    assert ("from an env's settings" in finding.message) == (severity == "warning")


def test_mutable_global_of_a_binding(game):
    facts = game(ini="[env]\nsize = 3\n", binding=BINDING.format(
        above="static int next_id, made, *plan;\n"
              "Env* my_vec_init(int* n, int* a, int* b, Dict* v, Dict* e)"
              " { made++; plan = calloc(1, 4); return 0; }",
        init='env->tick = next_id++; env->size = dict_get(kwargs, "size")->value;'))
    assert shared(facts) == ["next_id"]
    assert found(facts, "PUF108")[0].file == "binding.c"


# -- PUF109 ----------------------------------------------------------------------------------


@pytest.mark.parametrize("call, name", [
    ("env->tick = rand() % 4;", "rand()"), ("srand(3);", "srand()"),
    ("env->tick = (int)random();", "rand()"), ("env->speed = drand48();", "drand48()"),
    ("env->rng = (unsigned)time(NULL);", "time()"), ("env->tick = (int)clock();", "clock()"),
    ("struct timespec t; clock_gettime(CLOCK_REALTIME, &t);", "clock_gettime()"),
    ("env->tick = GetRandomValue(0, 4);", "GetRandomValue()"),
    ("env->speed += GetFrameTime();", "GetFrameTime()"),
    ('FILE* f = fopen("/dev/urandom", "r"); fclose(f);', "fopen()"),
    ("static unsigned s; env->tick = rand_r(&s);", "rand_r on a static seed"),
])
@pytest.mark.parametrize("part", some_or_all(["init", "reset", "step"], 2))
def test_shared_rng(game, part, call, name):
    facts = game(**{part: call})
    (finding,) = found(facts, "PUF109")
    assert finding.message.startswith(name) and finding.severity == ""
    assert finding.line == line_of(facts, call)
    assert shared(facts) == []


def test_shared_rng_leaves_drawing_main_and_own_seeds_alone(game):
    facts = game(step="env->tick = rand_r(&env->rng);", render="env->tick = rand() + GetTime();",
                 close="srand(time(NULL));",
                 program=MAIN.format(above="", body="srand(time(NULL)); return rand();"))
    assert found(facts, "PUF109") == []


def test_shared_rng_of_a_binding_is_a_warning(game):
    facts = game(step="env->tick = rand();\n env->size = rand() + time(NULL);",
                 binding=BINDING.format(above="", init="srand(4);"))
    dice, clock = found(facts, "PUF109")
    assert (dice.severity, clock.severity) == ("warning", "")
    assert dice.message.startswith("rand() and srand() are") and dice.file == "binding.c"
    assert clock.message.startswith("time() is")


@pytest.mark.parametrize("moved, reached, severities", [
    (0, 1, []), (0, 0, ["warning"]), (1, 1, [""]), (None, 0, [""])])
def test_a_clock_drives_the_simulation_where_plays_differ_by_it(game, moved, reached, severities):
    """However its time is handed on; what only drawing reads changes nothing of a play."""
    facts = game(helpers="static double now(void) { return GetTime(); }",
                 step="env->speed = now();")
    if moved is not None:
        facts.traces |= {"trace-base": np.zeros(3), "trace-moved": np.full(3, moved)}
    facts.lines["game.h"] = {line_of(facts, "return GetTime()"): reached}
    assert [finding.severity for finding in found(facts, "PUF109")] == severities


@pytest.mark.parametrize("later, told", [
    ("memset(env->lit, 0, sizeof(env->lit)); env->lit[0] = 0;", []),
    ("env->tick = env->lit[0] > 0;", ["warning"]), ("env->lit[0] += 1;", ["warning"])])
def test_a_clock_that_no_play_reached_and_no_step_reads(game, later, told):
    """As in a celebration that only a window shows."""
    facts = game(fields="float lit[4];", render="env->tick = env->lit[1] > 0;",
                 step=f"if (env->wide) env->lit[env->tick] = (float)GetTime(); {later}")
    facts.traces |= {"trace-base": np.zeros(3), "trace-moved": np.zeros(3)}
    facts.lines["game.h"] = {line_of(facts, "GetTime()"): 0}
    assert [finding.severity for finding in found(facts, "PUF109")] == told


@pytest.mark.parametrize("then, words", [
    ("if (env->tick > 4) best = 2;", "'best' is given its own value"), ("", "variable 'best'")])
def test_a_local_that_is_given_its_own_value_explains_plays_that_differ(game, then, words):
    facts = game(step=f"int best = best; {then} env->tick = best;")
    (finding,) = found(facts, "PUF117")
    assert finding.line == line_of(facts, "best = best") and finding.message.startswith(words)
    assert determinism._cause(facts) == \
        f"game.h:{finding.line} may explain it: {finding.message} (PUF117)"


# -- PUF302 ----------------------------------------------------------------------------------


PUT = "static void put(Game* env, int at) { env->board[at] = 1; env->observations[at + 2] = 1; }"


@pytest.mark.parametrize("helpers, step, stays", [
    (PUT, "put(env, env->tick);", True),                                    # a stone
    (PUT, "put(env, env->tick); env->board[env->tick - 1] = 0;", False),    # that moves on
    (PUT, "put(env, env->tick); env->observations[0] = 1;", False),         # and something else
    (PUT, "put(env, env->tick); memset(env->board, 0, sizeof(env->board));", False),
    (PUT.replace("env->board[at] = 1;", ""), "put(env, env->tick);", False)])   # a one-hot
def test_stones_that_stay_on_a_board_are_told_from_a_one_hot(game, helpers, step, stays):
    facts = game(fields="int board[4];", helpers=helpers, step=step,
                 reset="memset(env->board, 0, sizeof(env->board));")
    assert facts.source.shows_what_stays() is stays


# -- PUF110, PUF111 --------------------------------------------------------------------------


@pytest.mark.parametrize("parts, lines", some_or_all([
    (dict(step="int* q = malloc(9); free(q);"), 1),
    (dict(helpers="char* copy(void) { return strdup(\"x\"); }", step="free(copy());"), 2),
    (dict(reset="free(env->map); env->map = MemAlloc(4);", step="c_reset(env);"), 1),
    (dict(reset="free(env->map); env->map = MemAlloc(4);", step="env->tick++;"), 0),
    (dict(reset="if (env->tick > 3) { env->map = malloc(9); }", step="c_reset(env);"), 1),
    (dict(reset="if (env->map == NULL) env->map = malloc(9);", step="c_reset(env);"), 0),
    (dict(types="typedef struct Kind { void (*make)(int**); void (*go)(int**); } Kind;",
          fields="const Kind* kind;",
          helpers="static void make(int** m) { *m = malloc(4); }"
                  " static void go(int** m) { (*m)++; }"
                  " static const Kind KIND = {.make = make, .go = go};",
          init="env->kind = &KIND; env->kind->make(&env->map);", step="env->kind->go(&env->map);"),
     0),
    (dict(fields="void (*go)(int**);",
          helpers="static void go(int** m) { free(*m); *m = malloc(4); }",
          init="env->go = go;", step="env->go(&env->map);"), 1),
    (dict(step="if (!env->map) { int* m = malloc(9); env->map = m; }"), 0),
    (dict(helpers="void load(Game* env) { if (env->map) return; env->map = malloc(9); }",
          step="load(env);"), 0),
    (dict(step="if (env->tick == env->size) { env->size *= 2;"
               " env->map = realloc(env->map, env->size); }"), 0),
    (dict(init="env->map = malloc(4);", render="free(malloc(3));", close="free(env->map);"), 0),
    (dict(step='int local[9]; local[0] = 1; char t[9]; snprintf(t, 9, "%d", local[0]);'), 0),
], *range(0, 12, 3)))
def test_alloc_in_step(game, parts, lines):
    assert len(found(game(**parts), "PUF110")) == lines


@pytest.mark.parametrize("parts, lines", some_or_all([
    (dict(step='printf("%d", env->tick);'), 1),
    (dict(step='fprintf(stderr, "here\\n");'), 1),
    (dict(helpers="#define SAY(x) puts(x)", reset='SAY("new");', step="c_reset(env);"), 1),
    (dict(reset='puts("new");'), 0),
    (dict(step='TraceLog(LOG_INFO, "x"); system("ls");'), 1),
    (dict(step='if (!env->map) { fprintf(stderr, "no map"); abort(); }'), 0),
    (dict(step='if (!env->map) { fprintf(stderr, "no"); fflush(stderr); exit(1); }'), 0),
    (dict(step='if (env->tick++) { printf("over"); c_reset(env); return; }',
          helpers="void c_reset(Game*);"), 1),
    (dict(fields="int verbose;", step='if (env->verbose) printf("over");'), 0),
    (dict(fields="int loud;", step='if (env->loud > 1 && env->tick) printf("over");'), 0),
    (dict(fields="int verbose;", step='if (env->verbose) printf("x");',
          ini="[env]\nverbose = 1\n"), 1),
    (dict(fields="int verbose;", reset="env->verbose = 1;",
          step='if (env->verbose) printf("x"); c_reset(env);'), 1),
    (dict(helpers="#define DEBUG 0", step='if (DEBUG) printf("over");'), 0),
    (dict(step='\n#ifdef LOUD\nprintf("x");\n#endif\n'), 0),
    (dict(helpers="#include <assert.h>", step="assert(env->tick >= 0);"), 0),
    (dict(reset='if (!env->map) { FILE* f = fopen("m", "r"); env->map = malloc(4); fclose(f); }',
          step="c_reset(env);"), 0),
    (dict(init='fopen("m", "r");', render='printf("x");', close='puts("bye");'), 0),
], *range(0, 17, 3)))
def test_io_in_step(game, parts, lines):
    assert len(found(game(**parts), "PUF111")) == lines


def test_findings_of_steps_name_the_helper_and_its_lines(game):
    facts = game(helpers="void tell(Game* env) {\n    puts(\"a\");\n    puts(\"b\");\n}",
                 step="tell(env);")
    (finding,) = found(facts, "PUF111")
    assert finding.message == "tell, which steps run, calls puts()"
    assert finding.line == line_of(facts, 'puts("a")')
    assert finding.actual == f"game.h:{finding.line}, {finding.line + 1}"


# -- PUF204 ----------------------------------------------------------------------------------


def ids(facts: Facts) -> list[tuple[int, int]]:
    """(head, id) of each comparison that cannot be."""
    return [(one.head, one.id) for one in actions.impossible(facts.source, facts.spec)]


@pytest.mark.parametrize("step, wrong", some_or_all([
    ("switch ((int)env->actions[0]) { case 4: break; case 5: env->tick++; }", [5]),
    ("int a = (int)env->actions[0]; if (a == ACT_DIVE) env->tick++;", [5]),
    ("float a = env->actions[0]; if (a == 5.0f) env->tick++;", [5]),
    ("if (env->actions[env->tick] == NINE) env->tick++;", [9]),
    ("int a; a = env->actions[0]; env->tick += 5 == a;", [5]),
    ("const float* row = env->actions; if (row[1] == 6) env->tick++;", [6]),
    ("if (*env->actions == 7) env->tick++;", [7]),
    ("move(env, (int)env->actions[0]);", [5]),
    ("int a = env->actions[0]; while (a != 5) a;", [5]),
    ("int a = env->actions[0]; if (a >= 8) env->tick++;", [8]),
    ("int a = env->actions[0]; if (a > 5) env->tick++;", [5]),
    ("int a = env->actions[0]; env->tick += a == -1;", [-1]),
    ("int a = env->actions[0]; if (!a || a & 1) env->tick++; if (a == 5) env->tick--;", [5]),
    ("int a = env->actions[0]; switch (a) { case 3 ... 7: env->tick++; }", [7]),
    ("switch ((int)env->actions[0]) { case 1: switch (env->tick) { case 9: break; } }", []),
    ("int a = env->actions[0]; if (a >= 5) a = 4; if (a > 4) a = 4; if (a == 4) a++;", []),
    ("int a = env->actions[0]; if (a < 0 || a >= 5) return; env->tick++;", []),
    ("int a = env->actions[0]; if (a < 0 || a > 7) env->tick++;", []),
    ("int a = env->actions[0]; a = a > 6 ? 6 : a; if (a == 9) a = 0;", []),
    ("int a = env->actions[0]; if (a == -1) return; if (a != -1) env->tick++;", []),
    ("int a = env->actions[0]; assert(a < 5); assert(a < 9 && a >= 0); assert(!(a > 8));", []),
    ("int a = (int)env->actions[0] + 1; if (a == 5) env->tick++;", []),
    ("int a = env->actions[0]; a += 2; if (a == 6) env->tick++;", []),
    ("int a = env->actions[0]; change(&a); if (a == 6) env->tick++;", []),
    ("int a = env->actions[0]; if (env->tick > 3) a = env->size; if (a == 6) env->tick++;", []),
    ("if (env->tick == 9 || env->rewards[0] == 7) env->tick++;", []),
    ("both(env, (int)env->actions[0]); both(env, 12);", []),
    ("int a = env->actions[0]; if (a < 4.5f) env->tick++; if (a > 4.5f) env->tick++;", []),
], *range(0, 28, 3)))
def test_impossible_ids_of_one_head(game, step, wrong):
    facts = game(step=step, helpers="""\
#include <assert.h>
enum { ACT_STAY, ACT_DIVE = 5 };
#define NINE (4 + 5)
void move(Game* env, int way) { switch (way) { case 4: break; case 5: env->tick++; } }
void both(Game* env, int way) { if (way == 12) env->tick++; }
void change(int* a) { *a = 6; }
""")
    assert facts.problems == []
    assert [id for _, id in ids(facts)] == wrong


@pytest.mark.parametrize("step, wrong", some_or_all([
    ("if (env->actions[0] == 3 || env->actions[1] == 2) env->tick++;", [(0, 3), (1, 2)]),
    ("for (int i = 0; i < 4; i++) if (env->actions[2 * i + 1] == 2) env->tick++;", [(1, 2)]),
    ("for (int i = 0; i < 4; i++) if (env->actions[i * HEADS] == 3) env->tick++;", [(0, 3)]),
    ("for (int i = 0; i < 4; i++) { float* a = &env->actions[i * 2]; int b = a[1];"
     " if (b == 2) env->tick++; }", [(1, 2)]),
    ("for (int i = 0; i < 4; i++) { float* a = env->actions + 1 + i * 4; if (*a == 2) return; }",
     [(1, 2)]),
    ("for (int i = 0; i < 4; i++) if (env->actions[i] == 3) env->tick++;", []),
    ("int k = 0; if (env->actions[k++] == 3) env->tick++;", []),
    ("float* a = env->actions; a++; if (a[0] == 3) env->tick++;", []),
    ("if (env->actions[2] == 7) env->tick++;", []),
], 0, 2, 4, 5, 8))
def test_impossible_ids_of_several_heads(game, step, wrong):
    widths = "3, 2, 1" if "actions[2] == 7" in step else "3, 2"        # head 2 is continuous
    facts = game(widths=widths, step=step, helpers="#define HEADS 2")
    assert facts.problems == []
    assert sorted(ids(facts)) == wrong


def test_impossible_ids_are_not_asked_of_continuous_heads_or_drawing(game):
    facts = game(widths="1", step="if (env->actions[0] == 3) env->tick++;")
    assert ids(facts) == []
    facts = game(render="if (env->actions[0] == 30) env->tick++;")
    assert ids(facts) == []


LOOPS = """
    int birds_left = 0;
    for (int i = {first}; {until}; i++) birds_left += i & env->limit;
"""


@pytest.mark.parametrize("first, until, passes", some_or_all([
    ("1", "i < env->limit", "env->limit - 1 passes"),
    ("env->limit + 1", "i < env->limit + env->tick + env->limit", None),    # of another length
    ("0", "i <= env->limit", "env->limit + 1 passes"),
    ("1", "i <= env->limit", None), ("start", "i < start + env->limit", None),
    ("0", "i < turn", None), ("0", "i < many", None),       # set twice; made elsewhere
    ("0", "i < once", "env->limit - 1 passes")], 0, 1, 5))
def test_a_sum_that_is_drawn_over_another_range(probe, first, until, passes):
    """A constant apart: else it may be the same range, said in another way."""
    folder = probe(("    env->tick++;\n", "    env->tick++;\n    int start = 2 * env->tick;\n"
                    "    int once = env->limit - 1, turn = env->limit - 1;\n    turn += many;\n"
                    + LOOPS.format(first=first, until=until)
                    + "    env->log.score += birds_left + start + once + turn;\n"),
                   ("typedef struct Log", "static int many;\n\ntypedef struct Log"),
                   ("c_render(Probe* env) { (void)env; }", "c_render(Probe* env) {\n"
                    + LOOPS.format(first="0", until="i < env->limit")
                    + "    (void)birds_left;\n}"))
    source = read.read(folder)
    found = [(mine.count, drawn.count) for mine, drawn in sums.unlike(source)]
    assert found == ([(passes, "env->limit passes")] if passes else [])
    said = list(drawn_otherwise.drawn_otherwise(SimpleNamespace(source=source)))
    assert [(one.code, one.severity, one.actual) for one in said] == (
        [("PUF422", "warning", passes)] if passes else [])


def test_divisions_of_floats_have_all_their_lines(game):
    facts = game(step="env->speed /= 2.0f;\nenv->tick /= 2;\nenv->speed = 1.0f\n/ env->speed;")
    first = line_of(facts, "env->speed /=")
    assert facts.source.float_divisions == {("game.h", line)
                                            for line in (first, first + 2, first + 3)}


@pytest.mark.parametrize("reset, fields", [
    ("srand(env->size + env->tick);", ["size", "tick"]), ("srand(env->rng);", []),
    ("env->tick = rand();", [])])
def test_what_a_seed_is_made_of(game, reset, fields):
    assert seed_ignored.seeded_from(game(reset=reset).source) == fields
