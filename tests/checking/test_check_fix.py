"""check --fix: faults that are fixed in the author's own style, files all or none."""
from __future__ import annotations

import json
import stat
import sys

import pytest
from helpers.check_fixtures import QUICK, made, specimen
from helpers.short_or_long import long_only

from puffer_sdk.base import files
from puffer_sdk.base.errors import RunError
from puffer_sdk.checking.check import check
from puffer_sdk.checking.core.finding import Finding, span
from puffer_sdk.checking.core.result import CheckResult
from puffer_sdk.checking.fix import fixing, remedies
from puffer_sdk.checking.fix.edits import Edit
from puffer_sdk.cli import main
from puffer_sdk.env import watch


def stale(array: str, line: int, file: str = "dock.h") -> Finding:
    code = "PUF311" if array == "rewards" else "PUF321"
    return Finding(code, f"c_step never writes {array}", file, line, remedy=array)


def fixed(text: str, arrays=("rewards", "terminals"), line: int = 1, **others: str) -> str:
    files = {"dock.h": text.encode(), **{n.replace("_ini", ".ini"): t.encode()
                                         for n, t in others.items()}}
    result = made([stale(array, line) for array in arrays], files=files)
    fixes = fixing.propose(result)
    assert len(fixes) <= 1
    return fixing.edited(result, fixes)["dock.h"] if fixes else ""


def test_fix_clears_rows_at_the_top_of_c_step():
    text = ("typedef struct Dock { int num_agents; } Dock;\n"
            "void c_reset(Dock* env) { c_step(env); }\n"
            "void c_step(Dock* env) {    // one step\n    env->tick++;\n}\n")
    assert fixed(text) == text.replace("    env->tick++", (
        "    env->rewards[0] = 0.0f;\n    env->terminals[0] = 0.0f;\n    env->tick++"))
    many = text.replace("env->tick++", "for (int k = 0; k < env->num_agents; k++) move(env, k)")
    assert ("    for (int i = 0; i < env->num_agents; i++) {\n        env->rewards[i] = 0.0f;\n"
            "        env->terminals[i] = 0.0f;\n    }\n    for (int k") in fixed(many)
    # settable from the ini, or by the binding: more than one agent is possible
    assert "for (int i" in fixed(text, dock_ini="[env]\nnum_agents = 4\n")
    assert "for (int i" not in fixed(text.replace("env->tick++;", "env->num_agents = 1;"))


@pytest.mark.parametrize("before, after", [
    # tabs, the brace on its own line, CRLF
    ("void c_step(Dock *e)\r\n{\r\n\te->tick++;\r\n}\r\n",
     "void c_step(Dock *e)\r\n{\r\n\te->rewards[0] = 0.0f;\r\n\te->tick++;\r\n}\r\n"),
    # on one line
    ("\tint x;\nvoid c_step(Dock* d) { d->tick++; move(d); }\n",
     "\tint x;\nvoid c_step(Dock* d) {\n\td->rewards[0] = 0.0f;\n\td->tick++; move(d);\n}\n"),
    # code behind the brace
    ("void c_step(struct Dock* const d) { d->tick++;\n  move(d);\n}\n",
     "void c_step(struct Dock* const d) {\n  d->rewards[0] = 0.0f;\n  d->tick++;\n  move(d);\n}\n"),
    # a declaration, a comment and a string that look like it; an empty body
    ('void c_step(Dock* env);\n// void c_step(Dock* env) {\nchar* s = "c_step(Dock* x) {";\n'
     "void c_step(Dock* i) {}\n",
     'void c_step(Dock* env);\n// void c_step(Dock* env) {\nchar* s = "c_step(Dock* x) {";\n'
     "void c_step(Dock* i) {\n    i->rewards[0] = 0.0f;\n}\n"),
    # two spaces, a directive first, braces in strings
    ('void c_step(Dock* d) {\n#ifdef X\n  puts("}");\n#endif\n}\n',
     'void c_step(Dock* d) {\n  d->rewards[0] = 0.0f;\n#ifdef X\n  puts("}");\n#endif\n}\n'),
])
def test_fix_keeps_the_authors_hand(before, after):
    assert fixed(before, ["rewards"]) == after


@pytest.mark.parametrize("text", [
    "STEP(Dock) { env->tick++; }\n",                                        # a macro's
    "#ifdef A\nvoid c_step(A* a) {\n}\n#else\nvoid c_step(B* b) {\n}\n#endif\n",     # which one?
    "void c_step(Dock* env) {\n    env->tick++;\n",                         # no end
])
def test_fix_leaves_what_it_does_not_recognise(text):
    assert fixed(text, ["rewards"]) == ""


def test_fix_names_its_loop_apart_from_the_parameter():
    text = "void c_step(Dock* i) {\n    i->num_agents++;\n}\n"
    assert "for (int agent = 0; agent < i->num_agents; agent++) {" in fixed(text)


ONE_HOT = """\
enum { OBS_X, OBS_Y, OBS_KIND, OBS_GOAL = OBS_KIND + 3, OBS_SIZE = OBS_GOAL + 1 };
static void observe(Dock* d) {
    d->observations[OBS_X] = d->x;
    d->observations[OBS_Y] = d->y;
    d->observations[OBS_KIND + d->kind] = 1.0f;
    d->observations[OBS_GOAL] = d->goal;
}
"""


def one_hot(text: str, element: tuple[int, int] = (3, 4)) -> str:
    found = Finding("PUF302", "m", "dock.h", 1, element=span(*element), remedy=element)
    result = made([found], files={"dock.h": text.encode()})
    fixes = fixing.propose(result)
    return fixing.edited(result, fixes)["dock.h"] if fixes else ""


def test_fix_clears_a_one_hot_where_that_is_safe():
    line = "    for (int i = OBS_KIND; i < OBS_GOAL; i++) d->observations[i] = 0.0f;\n"
    store = "    d->observations[OBS_KIND + d->kind] = 1.0f;\n"
    assert one_hot(ONE_HOT) == ONE_HOT.replace(store, line + store)
    byte = ONE_HOT.replace("1.0f", "1").replace("OBS_KIND + d->kind", "2 + d->kind")
    assert "for (int i = 2; i < OBS_GOAL; i++) d->observations[i] = 0;\n" in one_hot(byte)
    looped = ONE_HOT.replace("d->observations", "obs").replace(
        "    obs[OBS_X]", "    for (int a = 0; a < 4; a++) {\n"
        "    float* obs = d->observations + a * OBS_SIZE;\n    obs[OBS_X]").replace(
        "d->goal;\n", "d->goal;\n    }\n")
    assert "i < OBS_GOAL; i++) obs[i] = 0.0f;" in one_hot(looped)


@pytest.mark.parametrize("change", [
    ("    d->observations[OBS_KIND", "    if (d->kind) d->observations[OBS_KIND"),  # conditional
    ("    d->observations[OBS_KIND", "    if (d->kind)\n        d->observations[OBS_KIND"),
    ("    d->observations[OBS_KIND + d->kind] = 1.0f;",
     "    for (int k = 0; k < 2; k++) {\n        d->observations[OBS_KIND + d->k] = 1.0f;\n    }"),
    ("d->observations[OBS_GOAL]", "d->observations[d->place]"),     # who knows where
    ("d->observations[OBS_GOAL]", "d->observations[OBS_KIND + 1]"),
    ("OBS_KIND + d->kind", "first(d) + d->kind"),
    ("OBS_KIND + d->kind] = 1.0f", "OBS_KIND + d->kind] = d->strength"),
    ("enum {", "enum { A = sizeof(int),"),
])
def test_fix_leaves_other_stores_alone(change):
    assert change[0] in ONE_HOT
    assert one_hot(ONE_HOT.replace(*change)) == ""


def test_fix_does_not_reach_beyond_a_one_hot():
    assert one_hot(ONE_HOT, (3, 5)) == ""        # element 5 is OBS_GOAL
    assert one_hot(ONE_HOT, (1, 4)) == ""


def test_constants_are_read_from_enums_and_macros():
    text = ("#define A 3\n#define B (A + 2) // five\nenum { C = B, D, E = D * 2 - 1 };\n"
            "enum Kind { X };\n#define F sizeof(int)\n#define OBS_SIZE OBS_SIZE\n")
    assert remedies.constants(text) == {"A": 3, "B": 5, "C": 5, "D": 6, "E": 11, "X": 0}
    assert remedies.evaluate("__import__('os')", {}) is None
    assert remedies.evaluate("9**9**9", {}) is None


def test_fix_renames_a_key_and_drops_num_atns():
    ini = b"[env]\r\nmax_tick = 3\r\n[vec]\r\nmax_ticks = 4\r\n"
    found = Finding("PUF105", "m", "dock.ini", 2, actual="'max_tick'",
                    remedy=("max_tick", "max_ticks"))
    result = made([found], files={"dock.ini": ini})
    (fix,) = fixing.propose(result)
    assert fixing.edited(result, [fix])["dock.ini"].startswith("[env]\r\nmax_ticks = 3\r\n")
    result = made([found], files={"dock.ini": ini.replace(b"[vec]\r\n", b"")})
    assert fixing.propose(result) == []         # it is there already

    def atns(text, **files):
        found = Finding("PUF112", "m", next(iter(files), "dock.h").replace("_", "."), 2, remedy=2)
        result = made([found], files={found.file: text.encode()})
        return fixing.edited(result, fixing.propose(result))[found.file]
    assert atns("#pragma once\n#define NUM_ATNS 1\nx\n") == "#pragma once\nx\n"
    assert atns("a\n#define NUM_ATNS 1 // heads\nf(NUM_ATNS);\n") == \
        "a\n#define NUM_ATNS 2 // heads\nf(NUM_ATNS);\n"
    assert atns("a\n#define NUM_ATNS 1\n", binding_c="") == "a\n#define NUM_ATNS 2\n"


@pytest.fixture
def two_files(tmp_path) -> CheckResult:
    """A folder with a fix in its header and one in its ini."""
    folder = tmp_path / "dock"
    folder.mkdir()
    (folder / "dock.h").write_bytes(b"// \xe9\nvoid c_step(Dock* d) {\r\n}\r\n")
    (folder / "dock.ini").write_bytes(b"[env]\nsped = 3\n")
    (folder / "dock.h").chmod(0o640)
    files = {path.name: path.read_bytes() for path in folder.iterdir()}
    misspelt = Finding("PUF105", "m", "dock.ini", 2, actual="'sped'", remedy=("sped", "speed"))
    return made([stale("rewards", 2), misspelt], folder=folder, files=files)


def test_fixes_are_written_whole_and_undone_whole(two_files):
    fixes = fixing.propose(two_files)
    fixing.apply(two_files, fixes)
    header = two_files.folder / "dock.h"
    assert header.read_bytes() == (
        b"// \xe9\nvoid c_step(Dock* d) {\r\n    d->rewards[0] = 0.0f;\r\n}\r\n")
    assert stat.S_IMODE(header.stat().st_mode) == 0o640
    assert (two_files.folder / "dock.ini").read_text() == "[env]\nspeed = 3\n"
    assert len(list(two_files.folder.iterdir())) == 2
    fixing.restore(two_files, fixes)
    for name, data in two_files.files.items():
        assert (two_files.folder / name).read_bytes() == data


def test_fixes_touch_nothing_once_a_file_has_changed(two_files):
    fixes = fixing.propose(two_files)
    ini = two_files.folder / "dock.ini"
    ini.write_text(ini.read_text() + "# a word\n")
    with pytest.raises(RunError, match="dock.ini has changed"):
        fixing.apply(two_files, fixes)
    assert (two_files.folder / "dock.h").read_bytes() == two_files.files["dock.h"]


def test_fixes_undo_what_was_written_when_the_disk_refuses(two_files, monkeypatch):
    fixes = fixing.propose(two_files)
    rename, calls = files.rename, []

    def failing(source, target):
        calls.append(target)
        if len(calls) == 2:
            raise OSError(28, "No space left on device")
        rename(source, target)
    monkeypatch.setattr(files, "rename", failing)
    with pytest.raises(RunError, match="nothing was changed"):
        fixing.apply(two_files, fixes)
    for name, data in two_files.files.items():
        assert (two_files.folder / name).read_bytes() == data
    assert len(list(two_files.folder.iterdir())) == 2


def test_fix_from_the_command_line(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(sys, "stdin", None)
    hurdles = specimen("puf321_hurdles", tmp_path / "hurdles")
    header = hurdles / "hurdles.h"
    before = header.read_text()
    assert main(["check", str(hurdles), *QUICK, "--fix"]) == 1
    said = capsys.readouterr()
    assert "+    h->terminals[0] = 0.0f;" in said.out and "add --yes" in said.err
    assert header.read_text() == before
    assert main(["check", str(hurdles), *QUICK, "--fix", "--yes", "--format", "json"]) == 0
    said = capsys.readouterr()
    assert json.loads(said.out)["verdict"] == "pass" and "--fix: fixed PUF321" in said.err
    assert header.read_text() == before.replace(
        "void c_step(Hurdles* h) {\n", "void c_step(Hurdles* h) {\n    h->terminals[0] = 0.0f;\n")
    assert main(["check", str(hurdles), *QUICK, "--fix"]) == 0
    assert "nothing to fix" in capsys.readouterr().out


def test_fix_reaches_an_ini_in_upstreams_layout(tmp_path):
    (tmp_path / "ocean").mkdir()
    (tmp_path / "config").mkdir()
    lamp = specimen("puf105_lamp", tmp_path / "ocean" / "lamp")
    ini = tmp_path / "config" / "lamp.ini"
    ini.write_text("[env]\nmax_tick = 90\n")
    (lamp / "lamp.ini").unlink()
    before = watch.stamps(lamp)
    result = check(lamp, budget=0.01)
    found = next(f for f in result.findings if f.code == "PUF105")
    assert (found.file, found.line) == ("../../config/lamp.ini", 2)
    fixing.apply(result, fixing.propose(result))
    assert ini.read_text() == "[env]\nmax_ticks = 90\n"
    assert watch.stamps(lamp) != before


@long_only
def test_a_fix_that_does_not_compile_is_undone(tmp_path, monkeypatch):
    hurdles = specimen("puf321_hurdles", tmp_path / "hurdles")
    before = (hurdles / "hurdles.h").read_bytes()
    monkeypatch.setattr(remedies, "clear_arrays", lambda texts, file, line, arrays: [
        Edit(file, 0, 0, "this is no C;\n")])
    assert main(["check", str(hurdles), *QUICK, "--fix", "--yes"]) == 4
    assert (hurdles / "hurdles.h").read_bytes() == before


@pytest.mark.parametrize("words", [["--watch", "--fix"], ["--watch", "--format", "json"],
                                   ["--watch", "-o", "x"], ["--yes"], ["--format", "xml"]])
def test_options_that_do_not_go_together(words, tmp_path, capsys):
    lamp = specimen("puf105_lamp", tmp_path / "lamp")
    assert main(["check", str(lamp), *words]) == 2
    assert "hint:" in capsys.readouterr().err
    assert not (lamp / "build").exists()
