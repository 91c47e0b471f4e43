"""facts.def, the C that writes facts and the Python that reads them agree."""
from __future__ import annotations

import json
import subprocess
from dataclasses import FrozenInstanceError, fields

import pytest

from puffer_sdk.base import paths
from puffer_sdk.checking.collect.c import driver
from puffer_sdk.checking.core import kinds
from puffer_sdk.checking.core.fact_kinds import CostFact, HeadFact
from puffer_sdk.checking.core.facts import Outcome
from puffer_sdk.toolchain import compilers

CHECKING = driver.PLAY.parent
# Writes a fact of each kind, with a value in every field
EVERY_KIND = """
#include "harness.h"
#include <math.h>
Options options;
int main(int count, char** words) {
    options.facts = words[count - 1];
#define FACT(kind)         { struct fact_##kind f = {0}; (void)f;
#define INT(name)          f.name = -7;
#define REAL(name, format) f.name = 0.5;
#define VALUE(name)        f.name = NAN;
#define TEXT(name)         f.name = "a \\"text\\"\\n";
#define HEX(name)          f.name = 0xFFFFFFFFFFFFFFFF;
#define PLACE(name)        f.name = (StatePlace){-1, 8};
#define LIST(name, type)   f.name = "[1, 2], 3";
#define STACK(name)        f.name.depth = 2; f.name.frames[1] = (void*)0x1F;
#define IF(name)
#define FI
#define END(kind)          write_##kind(&f); }
#include "facts.def"
    return 0;
}
"""
IN_PYTHON = {"INT": -7, "VALUE": "nan", "TEXT": 'a "text"\n', "HEX": 2**64 - 1, "PLACE": [-1, 8],
             "LIST": [[1, 2], 3], "STACK": [0, 0x1F]}


def compile_c(folder, text: str) -> subprocess.CompletedProcess:
    (folder / "write.c").write_text(text)
    compiler = compilers.find_compiler()
    return subprocess.run([*compiler.command, "-std=gnu11", f"-I{paths.include_dir()}",
                           f"-I{driver.PLAY}", str(folder / "write.c"),
                           str(driver.PLAY / "facts.c"), "-o", str(folder / "write")],
                          capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def rows(tmp_path_factory) -> list[dict]:
    folder = tmp_path_factory.mktemp("facts")
    done = compile_c(folder, EVERY_KIND)
    assert done.returncode == 0, done.stderr
    subprocess.run([str(folder / "write"), str(folder / "facts.jsonl")], check=True)
    return [json.loads(line) for line in (folder / "facts.jsonl").read_text().splitlines()]


def test_python_reads_every_kind_that_c_writes(rows):
    assert [row["fact"] for row in rows] == list(kinds.all_fields())
    for row in rows:
        fact = kinds.parse(row)
        assert type(fact) is kinds.classes()[kinds.title(row["fact"])] and fact.kind == row["fact"]
        for one in kinds.all_fields()[fact.kind]:
            value = getattr(fact, one.name)
            if one.macro == "REAL":
                assert value in (0.5, 0)            # %.0f
            else:
                assert value == IN_PYTHON[one.macro], (fact, one)


def test_fields_that_only_some_facts_have_are_none(rows):
    crash = next(row for row in rows if row["fact"] == "crash")
    whole = kinds.parse(crash)
    assert whole.array == 'a "text"\n' and whole.past == -7
    for key in ("array", "past", "bytes", "write"):
        del crash[key]
    fact = kinds.parse(crash)
    assert fact.array is None and fact.past is None and fact.frames == () and fact.frame is None
    crash["past"] = 1
    assert kinds.parse(crash).past == 1


def test_a_fact_cannot_be_changed():
    fact = kinds.parse({"fact": "head", "head": 0, "width": 5})
    assert [one.name for one in fields(fact)] == ["kind", "head", "width"]
    with pytest.raises(FrozenInstanceError):
        fact.width = 6
    with pytest.raises(AttributeError):
        fact.widht          # noqa: B018


@pytest.mark.parametrize("row, message", [
    ({"fact": "haed", "head": 0, "width": 5}, "facts.def has no kind 'haed'"),
    ({"fact": "head", "head": 0, "widht": 5}, "a fact 'head' has no 'width'"),
    ({"fact": "head", "head": 0, "width": 5, "with": 5},
     "a fact 'head' has 'with', which facts.def does not have"),
    ({"fact": "head", "head": 0, "width": "5"}, "a fact 'head' has '5' for 'width' (int)"),
    ({"fact": "head", "head": 0, "width": True}, "a fact 'head' has True for 'width' (int)"),
])
def test_a_misspelt_key_is_an_error(row, message):
    with pytest.raises(kinds.FactError) as raised:
        kinds.parse(row)
    assert str(raised.value) == message


def test_a_misspelt_key_does_not_compile(tmp_path):
    right = ('#include "harness.h"\nOptions options;\n'
             'int main(void) { fact(head, .head = 0, .width = 5); }\n')
    assert compile_c(tmp_path, right).returncode == 0
    for wrong in (right.replace(".width", ".widht"), right.replace("fact(head", "fact(haed")):
        assert "error" in compile_c(tmp_path, wrong).stderr


def test_facts_of_one_kind():
    outcome = Outcome("probe", [kinds.parse({"fact": "head", "head": 0, "width": 5})], True)
    assert outcome.first(HeadFact).width == 5 and outcome.first(CostFact) is None
    assert outcome.all(kinds.Fact) == outcome.all(HeadFact) == outcome.facts


@pytest.mark.parametrize("text, message", [
    ("FACT(one) INT(a) END(two)", "facts.def ends 'two' within 'one'"),
    ("FACT(one) END(one) FACT(one) END(one)", "facts.def has the kind 'one' twice"),
    ("FACT(one) INTEGER(a) END(one)", "facts.def has no type 'INTEGER(a)' (in 'one')"),
])
def test_a_definition_that_is_wrong_is_an_error(text, message):
    with pytest.raises(kinds.FactError) as raised:
        kinds.definitions(text)
    assert str(raised.value) == message


def test_no_two_sources_of_the_harness_share_a_name():
    """An object file is named after its source alone."""
    names = [path.name for path in driver.sources()]
    assert sorted(names) == sorted(set(names)) and {"main.c", "fresh.c"} <= set(names)
