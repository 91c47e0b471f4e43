"""Faults of PufferLib's environments: data that hold together, and a tool that changes no more."""
from __future__ import annotations

import importlib.util
import itertools
import json

import pytest
from helpers.places import ROOT

from puffer_sdk.checking.core import registry

DATA = json.loads((ROOT / "docs/data/upstream-faults.json").read_text())
PONG = b"one\ntwo\nthree\nfour\n"
FAULT = {"environment": "pong", "codes": ["PUF422"], "file": "pong.h", "line": 2,
         "what": "It is lost.", "column": "perf", "edits": [
             {"file": "ocean/pong/pong.h", "lines": [2, 3], "text": ["2 + 3"]},
             {"file": "ocean/pong/pong.h", "lines": [4, 3], "text": ["3.5"]},
             {"file": "ocean/pong/pong.h", "lines": [1, 1], "text": []}],
         "verified": {"date": "2026-11-28", "before": {"PUF422": ["pong.h:2"]},
                      "after": {"PUF422": []}, "repro": {"PUF422": True}}}


@pytest.fixture(scope="module")
def tool():
    spec = importlib.util.spec_from_file_location("upstream_faults",
                                                  ROOT / "tools/upstream_faults.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_fault_is_of_a_rule_and_no_two_replacements_meet():
    for fault in DATA["faults"]:
        assert set(fault["codes"]) <= set(registry.load()) and fault["edits"]
    edits = sorted((edit["file"], edit["lines"]) for fault in DATA["faults"]
                   for edit in fault["edits"])
    assert {file for file, _ in edits} == set(DATA["files"])
    for (file, one), (other, next_one) in itertools.pairwise(edits):
        assert file != other or max(one) < next_one[0] or one[1] < one[0] <= next_one[0]


def test_the_page_shows_what_was_verified_and_nothing_else(tool):
    still = {**FAULT, "environment": "snake", "verified": {
        **FAULT["verified"], "after": {"PUF422": ["pong.h:2"]}}}
    text = tool.table({"faults": [FAULT, still, {**FAULT, "verified": None}]})
    assert "**1 faults in 1 environments.**" in text and "snake" not in text
    assert "Instead of lines 2-3 of `pong.h`:" in text and "Before line 4 of `pong.h`:" in text
    assert "Delete line 1 of `pong.h`." in text and "repro_PUF422.c" in text


def test_lines_are_replaced_in_the_version_of_the_data_alone(tool, tmp_path):
    path = tmp_path / "pong.h"
    path.write_bytes(PONG)
    assert tool.mend(path, tool.git_hash(PONG), FAULT["edits"]) == "2 + 3\n3.5\nfour\n"
    with pytest.raises(SystemExit, match="not the version of the data"):
        tool.mend(path, tool.git_hash(b""), FAULT["edits"])


@pytest.mark.parametrize("element, told", [("perf", ["pong.h:9"]), ("score", [])])
def test_a_column_of_the_log_is_told_from_another(tool, element, told):
    finding = {"code": "PUF422", "file": "pong.h", "line": 9, "element": element}
    assert tool.found([finding], FAULT, "PUF422") == told
