"""The gallery of Ocean environments says what its data says."""
import importlib.util
import json

import pytest
from helpers.places import ROOT

ROW = {"name": "pong", "version": "3.0", "date": "2026-01-02", "obs": "8 f32",
       "actions": "3", "agents": 1, "files": {"pong.h": "0" * 40},
       "programs": {"local": "", "fast": "", "web": "no emcc", "cuda": ""}, "check": "pass",
       "findings": [{"severity": "warning", "code": "PUF302", "message": "stale <obs>",
                     "place": "pong.h:7"}],
       "problems": {"web program": "no emcc"}, "verdict": "web program failed",
       "training": [{"settings": "its ini", "learnt": True, "measure": "score", "steps": 10,
                     "trained": [3.0, 0.1], "random": [1.0, 0.1]}],
       "agreement": [{"name": "perf", "agrees": False}], "passed": False}


@pytest.fixture(scope="module")
def gallery():
    spec = importlib.util.spec_from_file_location("gallery", ROOT / "tools/gallery.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_row_says_what_was_tried_and_every_note_is_of_a_row():
    data = json.loads((ROOT / "docs/data/ocean.json").read_text())
    notes = json.loads((ROOT / "docs/data/ocean-notes.json").read_text())
    for row in data["rows"].values():
        assert row["version"] and row["date"] and row["files"]
        assert all(len(said) == 40 for said in row["files"].values())
    assert set(notes) <= set(data["rows"])
    for name, judged in notes.items():
        row = data["rows"][name]
        assert set(judged) <= {each["code"] for each in row["findings"]} | set(row["problems"])


def test_the_readme_counts_the_newest_version(gallery):
    rows = {"pong 3.0": ROW, "pong 4.0": {**ROW, "version": "4.0"},
            "boids 4.0": {**ROW, "version": "4.0", "problems": {"stepping": "dies"}}}
    assert "2 were tried, and 1 of them build and run: " in gallery.sentence({"rows": rows})


def test_a_whole_tree_is_counted_from_its_rows(gallery):
    tree = json.loads((ROOT / "docs/data/ocean-tree.json").read_text())
    assert all(row["trains"] or row["why"] for row in tree["folders"].values())
    few = {"pong": {"builds": "as it is", "trains": True, "weights": {"perf": 0.9, "random": 0.0}},
           "drive": {"builds": "as it is", "trains": False, "why": "no maps",
                     "weights": {"why": "no maps"}},
           "boids": {"builds": "no", "trains": False, "why": "no ini"}}
    assert "2 of 3 folders build as they are, and 1 of them train" in gallery.tree_sentence(
        {**tree, "folders": few})
    table = gallery.tree_table({**tree, "folders": few})
    assert "| 1 | as it is | yes | pong |" in table and "| boids | no | no | no ini |" in table
    assert "pong 0.9 (0)" in table and "drive (no maps)" in table


def test_a_row_replaces_that_of_the_same_name_and_version(gallery):
    data = {"rows": {}}
    for version, verdict in (("3.0", "old"), ("4.0", "x"), ("3.0", "new")):
        gallery.merge(data, {"commit": None, "rows": [{**ROW, "verdict": verdict}]}, version, "abc")
    assert {name: row["verdict"] for name, row in data["rows"].items()} == {
        "pong 3.0": "new", "pong 4.0": "x"}
    assert data["rows"]["pong 3.0"]["commit"] == "abc"
    problems = {"build": "no (/a/x/ocean/pong/a.h:1)", "training": "kept b/runs/pong/1/x",
                "stepping": "no (/a/x/config/pong.ini:5)", "check": "../../config/pong.ini:5"}
    gallery.merge(data, {"rows": [{**ROW, "problems": problems}]}, "3.0", None)
    assert data["rows"]["pong 3.0"]["problems"] == {
        "build": "no (ocean/pong/a.h:1)", "training": "kept runs/pong/1/x",
        "stepping": "no (config/pong.ini:5)", "check": "../../config/pong.ini:5"}


def test_a_row_names_the_commit_of_each_file_where_there_are_several(gallery):
    data = {"rows": {}}
    commits = {"pong": {"pong.h": "a" * 40, "binding.c": "b" * 40}, "snake": {"snake.h": "c" * 40}}
    gallery.merge(data, {"rows": [ROW]}, "4.0", "d" * 40, commits)
    row = data["rows"]["pong 4.0"]
    assert row["commit"] == "a" * 40 and row["commits"] == commits["pong"]
    gallery.merge(data, {"rows": [ROW]}, "3.0", "d" * 40, {"snake": commits["snake"]})
    assert data["rows"]["pong 3.0"]["commit"] == "d" * 40
    assert "commits" not in data["rows"]["pong 3.0"]


def test_the_summary_counts_each_version_by_itself(gallery):
    rows = {"pong 4.0": {**ROW, "version": "4.0", "passed": True}, "pong 3.0": ROW,
            "snake 3.0": {**ROW, "name": "snake", "check": "fail", "training": []}}
    of_4, of_3 = gallery.count({"rows": rows}).splitlines()
    assert of_4 == ("- Of PufferLib 4.0, **1** were tried and **1** passed. In 1 of them `check` "
                    "found no error, and 1 learned to beat random play.")
    assert "3.0, **2** were tried and **0** passed. In 1 of them `check` found no error" in of_3


def test_an_ini_that_was_not_tried_is_said(gallery):
    tried = [{"settings": "its ini", "skipped": "a policy of 512 x 4"},
             {**ROW["training"][0], "settings": "our defaults"}]
    row = {**ROW, "training": tried}
    assert ("score 3, random 1 (our defaults; its ini asks for a policy of 512 x 4)"
            in gallery.render({"rows": {"pong 3.0": row}}, {}))
    tried[-1]["steps"] = 19_996_672
    assert ("(our defaults, 20 million steps; its ini asks for a policy of 512 x 4)"
            in gallery.render({"rows": {"pong 3.0": row}}, {}))
    tried[-1] |= {"learnt": False, "steps": 4_980_736}
    assert ("no: score 3, random 1 (its ini asks for a policy of 512 x 4)"
            in gallery.render({"rows": {"pong 3.0": row}}, {}))


def test_a_newer_check_renews_its_own_part_of_a_row(gallery):
    old = {**ROW, "problems": {**ROW["problems"], "recording": "no", "learning": "not"}}
    data = {"rows": {"pong 3.0": old}}
    error = {"severity": "error", "code": "PUF208", "message": "x", "place": "pong.h:1"}
    new = {**ROW, "training": [], "agreement": [], "programs": {}, "check": "fail",
           "findings": [error], "problems": {"stepping": "dies"},
           "files": {**ROW["files"], "resources/cat.png": "1" * 40}}
    gallery.renew_checks(data, {"rows": [new]}, "3.0")
    row = data["rows"]["pong 3.0"]
    assert (row["check"], row["findings"]) == ("fail", [error])
    assert row["problems"] == {"stepping": "dies", "web program": "no emcc", "learning": "not"}
    assert row["training"] == ROW["training"] and row["programs"] == ROW["programs"]
    assert row["files"] == ROW["files"]         # what was drawn and trained
    assert row["date"] == "2026-01-02" < row["checked"] and row["verdict"] == "stepping failed"
    row["checked"] = "2026-02-03"
    assert "| 2026-01-02, check 02-03 |" in gallery.render(data, {})
    row["checked"] = "2027-01-01"
    assert "| 2026-01-02, check 2027-01-01 |" in gallery.render(data, {})
    gallery.renew_checks(data, {"rows": [{**new, "check": "pass", "findings": [],
                                          "problems": {}}]}, "3.0")
    assert row["verdict"] == "web program failed" and not row["passed"]


@pytest.mark.parametrize(("changed", "said"), [
    ({"name": "snake"}, "no row snake 3.0"), ({"files": {"pong.h": "1" * 40}}, "pong.h")])
def test_a_newer_check_of_another_row_or_of_other_files_is_refused(gallery, changed, said):
    data = {"rows": {"pong 3.0": dict(ROW)}}
    with pytest.raises(SystemExit, match=said):
        gallery.renew_checks(data, {"rows": [{**ROW, **changed}]}, "3.0")
    assert data == {"rows": {"pong 3.0": ROW}}


def test_many_findings_of_a_code_are_one_line(gallery):
    found = [{**ROW["findings"][0], "message": f"element {at}", "place": ""} for at in range(9)]
    text = gallery.render({"rows": {"pong 3.0": {**ROW, "findings": found}}}, {})
    assert "PUF302: element 0; element 1; element 2; and 6 more. *Not" in text


def test_a_finding_stands_beside_its_judgement_and_signs_are_no_markup(gallery):
    text = gallery.render({"rows": {"pong 3.0": ROW}},
                          {"pong 3.0": {"PUF302": "True: pong.h:9 returns early."}})
    assert ("| pong 3.0 | 1 | local, fast, cuda | pass PUF302 | not perf | score 3, random 1 "
            "(its ini) | web program failed | 2026-01-02 |") in text
    assert r"stale \<obs\> (`pong.h:7`). *True: pong.h:9 returns early.*" in text
    text = gallery.render({"rows": {"pong 3.0": ROW}}, {"pong 3.0": {"web program": "None here."}})
    assert text.endswith("- **pong 3.0** web program: no emcc. *None here.*\n")
    assert "Not judged yet" in gallery.render({"rows": {"pong 3.0": ROW}}, {})
