"""benchmarks/bench_bridges.py: a race of each kind, small; what it says of those that fail."""
import re
import subprocess
import sys
from pathlib import Path

import bench_bridges
import pytest
from bench_bridges import bridges_page, venvs
from helpers.places import ROOT
from helpers.short_or_long import LONG, long_only, some_or_all

PAGE = ROOT / "docs" / "why" / "bridges.md"


@pytest.mark.parametrize(("workload", "few"), some_or_all([
    ("empty", [*bench_bridges.US[::2], *bench_bridges.PEERS[:2]]),
    ("structured", [bench_bridges.US[0], *bench_bridges.PEERS[:2]])], 0))
def test_ours_and_gymnasiums_run_one_after_the_other(workload, few, monkeypatch):
    """The shape of the answer; on a busy machine the figures say nothing."""
    monkeypatch.setattr(bench_bridges, "ENVS", 4)
    monkeypatch.setattr(bench_bridges, "RACES", {workload: few})
    found = bench_bridges.race(workload, bench_bridges.Pythons(None), rounds=1, seconds=0.04)
    assert [*found] == [label for label, *_ in few]
    for label, row in found.items():
        assert {*row} == {"cpu_us", "rate"}, (label, row)
        assert row["cpu_us"] > 0 and row["rate"] > 0
    text = bridges_page.races({workload: found})
    for label, row in found.items():
        assert f"| {label} | {bridges_page.cell(row)} |" in text


def test_who_cannot_run_is_named_with_the_reason(monkeypatch, tmp_path):
    found = bench_bridges.in_its_own(
        Path(sys.executable), bench_bridges.RACE, ("EnvPool (C++)", "empty", 4, 1, 0.04), str(ROOT))
    assert found == {"failed": "ModuleNotFoundError: No module named 'envpool'"}

    def missing(name, **more):
        raise venvs.Missing("pip install failed: no space")
    monkeypatch.setattr(bench_bridges.venvs, "python_of", missing)
    monkeypatch.setattr(bench_bridges, "RACES", {"empty": [bench_bridges.PEERS[2]]})
    pythons = bench_bridges.Pythons(None)
    assert bench_bridges.race("empty", pythons, 2, 0.04) == {
        "SB3 DummyVecEnv": {"failed": "pip install failed: no space"}}
    assert pythons.missing == {"sb3": "pip install failed: no space"}


def test_what_pip_says_last_is_no_reason():
    text = ("ERROR: No matching distribution found for procgen\n"
            "WARNING: Location 'simple' is ignored\n")
    assert venvs.last_error(text) == "ERROR: No matching distribution found for procgen"
    assert venvs.last_error("it broke\nWARNING: a newer pip is there\n") == "it broke"


@long_only
def test_our_parameters_are_counted_as_those_of_peers():
    """And the page says how many that are."""
    found = bench_bridges.train_ours({"train.total_timesteps": 2048, "vec.num_workers": 0})
    assert found["steps"] == 2048 and found["rate"] > 0
    said = re.search(r"We have ([\d,]+) parameters", PAGE.read_text())
    assert found["parameters"] == int(said[1].replace(",", ""))


if LONG:
    @pytest.mark.long
    def test_everybody_runs_in_the_short_form():
        """All workloads, each peer in a venv of its own. Who cannot be installed is said."""
        before = bench_bridges.FILE.read_bytes(), PAGE.read_bytes()
        done = subprocess.run([sys.executable, ROOT / "benchmarks" / "bench_bridges.py", "--short"],
                              capture_output=True, text=True, timeout=3600)
        assert done.returncode == 0, done.stderr
        assert (bench_bridges.FILE.read_bytes(), PAGE.read_bytes()) == before
        left_out = re.findall(r"^(\S+) is left out: (.*)$", done.stderr, re.M)
        for title in ("What is reached", "32 copies", "Sleepers", "One observation", "Training",
                      *["Tested names"] * ("zoo" not in dict(left_out))):
            assert f"\n### {title}" in f"\n{done.stdout}", title
        titles = "|".join(map(re.escape, bridges_page.COLUMNS.values()))
        failed = re.findall(rf"^- (.+), (?:{titles}): (.+)$", done.stdout, re.M)
        reasons = {why for _, why in left_out}
        assert not [(label, why) for label, why in failed if why not in reasons], failed
        if left_out:
            pytest.skip("all others ran; left out: " + "; ".join(map(": ".join, left_out)))
