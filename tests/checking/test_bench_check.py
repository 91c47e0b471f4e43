"""benchmarks/bench_check.py: a field of one game, measured as the real one is."""
from __future__ import annotations

import importlib
import importlib.util
import json
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from helpers.check_fixtures import short_check
from helpers.places import ROOT, SPECIMENS
from helpers.short_or_long import long_only

from puffer_sdk.checking.collect.c.jobs import Jobs
from puffer_sdk.checking.collect.c.sizes import Sizes
from puffer_sdk.checking.core.facts import Facts

FAULTS = """
[[fault]]
id = "bandit-01"
description = "a win is paid, a loss is not written"
expect = ["PUF311"]
edits = [{file = "bandit.h", old = "env->rewards[0] = win ? 1.0f : 0.0f;", \
new = "if (win) env->rewards[0] = 1.0f;"}]

[[fault]]
id = "bandit-02"
description = "the same, under a wrong name"
expect = ["PUF999"]
edits = [{file = "bandit.h", old = "env->rewards[0] = win ? 1.0f : 0.0f;", \
new = "if (win) env->rewards[0] = 1.0f;"}]

[[fault]]
id = "bandit-03"
description = "other odds are another game"
expect = ["PUF411"]
edits = [{file = "bandit.h", old = "0.7f", new = "0.6f"}]
""".replace("\\\n", "")


@pytest.fixture
def field(tmp_path):
    game = tmp_path / "bandit"
    shutil.copytree(SPECIMENS / "correct" / "bandit", game,
                    ignore=shutil.ignore_patterns("build"))
    (game / "faults.toml").write_text(FAULTS)
    return tmp_path


def run(field: Path, *words: str) -> subprocess.CompletedProcess:
    return subprocess.run([sys.executable, str(ROOT / "benchmarks" / "bench_check.py"), "--field",
                           str(field), *words], capture_output=True, text=True, timeout=120,
                          check=False)


@long_only
def test_a_field_of_one_game(field):
    page = ROOT / "docs" / "why" / "checker.md"
    before = page.read_bytes()
    done = run(field)
    assert done.returncode == 0, done.stderr
    assert "1 games, 3 faults: 1 found (33%), 0 false alarms." in done.stdout
    assert "| bandit | 3 | 1 | 1 | 1 | 0 | " in done.stdout
    assert "- bandit-03: other odds are another game (expected PUF411)" in done.stdout
    assert "bandit-02: the same, under a wrong name (expected PUF999; reported " in done.stdout
    assert page.read_bytes() == before, "only the own field is written"


@long_only
def test_an_edit_that_does_not_fit_is_named(field):
    faults = field / "bandit" / "faults.toml"
    faults.write_text(faults.read_text().replace("0.7f", "0.77f"))
    done = run(field, "--only", "bandit")
    assert done.returncode == 1
    assert "bandit-03: this stands 0 times in bandit.h" in done.stderr
    assert run(field, "--only", "no_such").returncode == 2


def test_codes_that_a_game_raises_anyway_find_nothing():
    import bench_check
    assert bench_check.judge(["PUF302"], ["PUF302"], ["PUF302"]) == "missed"
    assert bench_check.judge(["PUF302"], ["PUF301", "PUF302"], ["PUF301"]) == "found"
    assert bench_check.judge(["PUF302"], ["PUF301"], []) == "other"
    assert bench_check.judge(["PUF302"], ["refused: no"], []) == "refused"
    assert bench_check.field_tables([], {}) == []


@pytest.fixture(scope="module")
def bench():
    spec = importlib.util.spec_from_file_location("bench_check", ROOT / "benchmarks/bench_check.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@long_only
@pytest.mark.parametrize("fault, codes, says", [
    ("couriers-08", "PUF302 PUF413", "alone ends its episode, its observation is not written"),
    ("dogs-07", "PUF422", "Log.episode_return is wrong in"),
    ("bistro-09", "PUF305", "is 0 until order->waited / env->patience is 1"),
    ("salvo", None, None)])
def test_games_of_the_field(fault, codes, says, bench, tmp_path):
    """An agent that begins anew unseen, a return that is right for the best agent alone, a share
    that is multiplied after its division; and elements that show a bullet only while it flies,
    which are right."""
    game = bench.FIELD / fault.partition("-")[0]
    folder = bench.copy(game, tmp_path)
    for each in bench.tomllib.loads((game / "faults.toml").read_text())["fault"]:
        if each["id"] == fault:
            bench.plant(each, folder)
    found = short_check(folder).findings
    assert [one.code for one in found] == (codes or "").split()
    assert not codes or says in found[0].message


def test_renewing_a_fault_keeps_the_other_rows(bench, field, monkeypatch):
    """And says at which commit each was measured; what the game raises now finds nothing."""
    fault = {"description": "", "expect": ["PUF311"], "result": "found", "commit": "old"}
    before = [{"game": "bandit", "alarms": [], "commit": "old", "faults": [
        {"id": "bandit-01", "codes": ["PUF311"], **fault},
        {"id": "bandit-02", "codes": ["PUF404"], **fault},
        {"id": "bandit-09", "codes": [], **fault}]}, {"game": "zoo", "faults": [], "alarms": [],
                                                      "commit": "old"}]
    monkeypatch.setattr(bench, "codes_of", lambda folder: ["PUF404"] if folder.parent.name
                        in ("clean", "bandit-03") else [])
    monkeypatch.setattr(bench, "commit", lambda: "new")
    game, other = bench.renewed(before, [field / "bandit"], ["bandit-03"], 1)
    assert [(one["id"], one["commit"], one["result"]) for one in game["faults"]] == [
        ("bandit-01", "old", "found"), ("bandit-02", "old", "missed"),
        ("bandit-03", "new", "missed")]
    assert (game["alarms"], bench.measured_at(game), other["game"]) == (["PUF404"], "old, new",
                                                                        "zoo")


def test_names_that_the_field_lacks_are_refused(field):
    done = subprocess.run([sys.executable, str(ROOT / "benchmarks" / "bench_check.py"), "--renew",
                       "no_such"], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 2 and "the field has no no_such" in done.stderr
    assert run(field, "--renew", "bandit").returncode == 2


def test_every_game_is_of_one_lot(bench):
    figures = bench.read_figures()
    games = {path.parent.name for path in bench.FIELD.glob("*/faults.toml")}
    assert {game["game"] for game in figures["field"]} == games
    named = Counter(name for lot in figures["lots"] for name in lot["games"])
    assert games <= set(named) and set(named.values()) == {1}


def test_explain_shows_what_is_known_of_unseen_faults(bench):
    assert json.loads(bench.RATES.read_text()) == bench.rates(), \
        "run: python benchmarks/bench_check.py --rates"


def test_what_was_found_at_first_is_a_row_a_lot(bench):
    lots = [{"lot": "first", "games": ["bandit"], "faults": 3, "found": 0, "other": 1,
             "refused": 1, "alarms": []},
            {"lot": "second", "games": ["zoo"], "faults": 1, "found": 1, "other": 0, "refused": 0,
             "alarms": [{"code": "PUF302", "severity": "error", "of": "bullets"}]}]
    assert bench.lots_table({"lots": lots}).splitlines()[2:] == [
        "| first | 1 | 3 | 0, 1 more under another code, 1 refused by the build | none |",
        "| second | 1 | 1 | 1 | PUF302 (error): bullets |"]


def test_every_set_of_sanitizers_was_measured(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    sanitizers = importlib.import_module("sanitizers")
    sets = json.loads((ROOT / "docs/data/sanitizers.json").read_text())["sets"]
    assert [one["flags"] for one in sets] == list(sanitizers.SETS)


def test_deep_plays_longer_under_the_sanitizers():
    facts = Facts.__new__(Facts)
    sizes = Sizes(1, 8, 32, 5e-7, 5e-7, 5e-7, 1.0)
    steps = {}
    for facts.options in (frozenset(), frozenset({"--deep"})):
        high, low = Jobs(facts, sizes, None, 1.0).sanitized()
        steps[bool(facts.options)] = high.options["steps"]
        assert low.options["steps"] < high.options["steps"]
    assert steps == {False: 8192, True: 64 * 8192}


def test_checkers_of_others_are_heard(monkeypatch):
    """benchmarks/bench_check_python.py: what they say of a bug and not of the clean file. One that
    refuses the clean file found nothing."""
    import bench_check_python as bench

    monkeypatch.setattr(bench, "RUNS", 1)
    bug = {"id": "lists", "edits": [{"old": "return self._observe(), reward,",
                                     "new": "return self._observe().tolist(), reward,"}]}
    for checker in bench.CHECKERS.values():
        clean, refused = bench.said_by(checker, "cart")
        assert not refused and bench.said_by(checker, "cart", bug)[0] - clean
    assert [bench.said_by(checker, "pursuit")[1] for checker in bench.CHECKERS.values()] == [
        False, True]
    rows = [{"id": name, "description": "A bug, and more.", "found": [], "peer": False, "sb3": sb3}
            for name, sb3 in (("a", True), ("b", False), ("c", None))]
    text = bench.table({"bugs": rows, "clean": {}, "versions": {}, "date": "today"})
    assert "1 of the 2 that it can look at" in text
    assert "| c: A bug | - | - | cannot look |" in text
