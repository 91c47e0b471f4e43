"""README's session and programs of pages run; benchmarks can be run again."""
import json
import os
import shlex
import subprocess
import sys

from helpers.places import ROOT
from helpers.sessions import blocks, session, shape


def test_the_readme_session_prints_what_it_shows(tmp_path):
    (text,) = blocks(ROOT / "README.md", "console")
    steps = session(text)
    assert [shlex.split(command)[1] for command, _ in steps] == ["new", "check", "train", "eval"]
    for command, shown in steps:
        words = shlex.split(command)
        assert words[0] == "puffer-sdk"
        done = subprocess.run([sys.executable, "-m", "puffer_sdk", *words[1:]], cwd=tmp_path,
                              capture_output=True, text=True, timeout=300,
                              env={**os.environ, "COLUMNS": "80"})
        assert done.returncode == 0, done.stderr
        printed = [shape(line) for line in done.stdout.splitlines()]
        for line in shown:
            assert line == "..." or shape(line) in printed, f"{command}: {line!r} not in {printed}"


def test_contract_page_python_runs(tmp_path):
    (text,) = blocks(ROOT / "docs" / "reference" / "contract.md", "python")
    import puffer_sdk
    puffer_sdk.new("my_env", output_dir=tmp_path)
    done = subprocess.run([sys.executable, "-c", text + "assert observations.any()\n"],
                          cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr


def test_trainer_page_python_runs(tmp_path):
    (text,) = blocks(ROOT / "docs" / "trainer" / "native.md", "python")
    done = subprocess.run([sys.executable, "-c", text + "assert losses and episodes and weights\n"],
                          cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr


def test_a_peer_that_did_not_run_is_named_and_no_goal_is_reached_against_it(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "benchmarks" / "peers")
    import bridges_page
    figures = json.loads((ROOT / "docs" / "data" / "bridges.json").read_text())
    goal = "nothing, with processes: half the CPU of the best peer"
    (line,) = [line for line in bridges_page.reached(figures).splitlines() if goal in line]
    assert line.endswith("| yes |")
    figures["empty"]["TorchRL ParallelEnv"] = {"failed": "pip install failed: no space"}
    text = bridges_page.table(figures)
    (line,) = [line for line in text.splitlines() if goal in line]
    assert line.endswith("| not judged: TorchRL ParallelEnv did not run |")
    assert "- TorchRL ParallelEnv, nothing: pip install failed: no space" in text


def test_the_planted_python_bugs_are_in_their_files():
    """The benchmark can be run again."""
    import bench_check_python
    figures = json.loads(bench_check_python.DATA.read_text())
    planted = bench_check_python.bugs()
    assert [row["id"] for row in figures["bugs"]] == [bug["id"] for bug in planted]
    for bug in planted:
        assert bench_check_python.source(bug["file"].removesuffix(".py"), bug)
