"""make quick and make mutants: the tests of a file, what fits a budget, what a mutant is."""
from __future__ import annotations

import ast

import mutants
import pytest
import quick
from helpers.budget import choose, longest_first
from helpers.places import ROOT
from helpers.short_or_long import long_only


@pytest.mark.parametrize("file, tests", [
    ("puffer_sdk/settings/goal.py", ["tests/settings"]),
    ("puffer_sdk/checking/play/main.c", ["tests/checking"]),
    ("kernels/cpu/heads.h", ["tests/kernels", "tests/trainer"]),
    ("trainer/cuda/envs.c", ["tests/trainer"]),
    ("docs/why/decisions.md", ["tests/docs"]),
    ("tests/env/test_vec.py", ["tests/env/test_vec.py"]),
    ("tests/checking/rules/rewards/puf311_bees/puf311_bees.h", ["tests/checking"]),
    ("tests/specimens/correct/poker/poker.h", ["tests/checking"]),
    ("tools/site/hooks.py", ["tests/docs"]), ("README.md", ["tests/project"])])
def test_a_file_has_its_tests(file, tests):
    assert quick.tests_of(file) == tests


def test_every_package_has_a_folder_of_tests():
    for path in (ROOT / "puffer_sdk").glob("*/__init__.py"):
        (folder,) = quick.tests_of(path.relative_to(ROOT).as_posix())
        assert list((ROOT / folder).rglob("test_*.py")), folder


def test_a_budget_holds_a_test_of_every_file_first():
    seconds = {"a.py::slow": 9.0, "a.py::quick": 1.0, "b.py::only": 4.0, "c.py::x": 1.0,
               "c.py::y": 2.0}
    assert choose(seconds, 8.0) == ["a.py::quick", "c.py::x", "b.py::only", "c.py::y"]
    assert choose(seconds, 1.5) == ["a.py::quick"]


def test_mutants_of_python_compile_and_differ():
    text = (ROOT / "puffer_sdk" / "settings" / "texts.py").read_text()
    places = mutants.python_places(text)
    assert len(places) > 20
    raw = text.encode()
    for at, length, new, _ in places:
        changed = raw[:at] + new.encode() + raw[at + length:]
        assert changed != raw and ast.parse(changed.decode())


def test_mutants_of_c_leave_comments_and_texts_alone():
    text = 'int f(int a) { // a < b\n    g("x < y", a < 3);\n    if (a == 2 && a) {\n    }\n}\n'
    done = [(text[at:at + length], new) for at, length, new, _ in mutants.c_places(text)]
    assert done == [("<", "<="), ("==", "!="), ("&&", "||"), ("3", "4"), ("2", "3"),
                    ('g("x < y", a < 3);', ";")]


@long_only
def test_the_same_seed_gives_the_same_mutants():
    first, again = (mutants.choose(ROOT, 3, 20) for _ in range(2))
    assert first == again and first != mutants.choose(ROOT, 4, 20)
    assert len({mutant["file"].split("/")[0] for mutant in first}) == 3
    for mutant in first:
        assert (ROOT / mutant["file"]).read_text().splitlines()[mutant["line"] - 1].strip() == \
            mutant["text"]


@pytest.mark.parametrize("file, line, tests", [
    ("puffer_sdk/checking/check.py", 3, ["a", "b"]),            # those that reached the line
    ("puffer_sdk/checking/check.py", 4, ["c", "a", "b"]),       # nobody did, or silently
    ("puffer_sdk/checking/play/main.c", 3, ["c", "a", "b"]),
    ("puffer_sdk/training/train.py", 3, [])])
def test_the_tests_of_a_mutant_are_the_quickest_first(file, line, tests):
    name = "tests/checking/test_check.py::{}".format
    cover = {("puffer_sdk/checking/check.py", 3): {name("b"), name("a"), "a project's own"}}
    seconds = {name("a"): 1.0, name("b"): 2.0, name("c"): 0.5, "tests/env/test_vec.py::d": 0.1}
    assert mutants.tests_for({"file": file, "line": line}, cover, seconds, ROOT) == [
        name(test) for test in tests]


def test_the_longest_files_are_first_and_keep_their_order():
    class Item:
        def __init__(self, nodeid):
            self.nodeid = nodeid

    items = [Item("a.py::x"), Item("b.py::y"), Item("b.py::z"), Item("c.py::w")]
    longest_first(items, {"a.py::x": 1.0, "b.py::y": 2.0, "b.py::z": 3.0, "c.py::w": 4.0})
    assert [item.nodeid for item in items] == ["b.py::y", "b.py::z", "c.py::w", "a.py::x"]
