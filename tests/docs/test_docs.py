"""README and docs as written: sessions run, links lead somewhere, tables hold what was measured."""
import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from helpers.places import ROOT
from helpers.sessions import blocks, session, shape

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


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


def is_made(path: Path) -> bool:
    """True for what is not committed, but made together with the site."""
    import tutorial_games
    from helpers import docs_site
    pictures = {ROOT / "docs" / "assets" / f"{name}.gif" for name in (
        tutorial_games.NAME, *tutorial_games.RECORDED)}
    return path in pictures or (path.is_relative_to(ROOT / "docs") and path.relative_to(
        ROOT / "docs").as_posix().replace(".md", ".html") in docs_site.made())


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_to_files(page):
    for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", page.read_text()):
        if not target.startswith(("http:", "https:")):
            path = (page.parent / target).resolve()
            assert path.exists() or is_made(path), f"{page.name}: {target}"


def test_every_page_is_in_the_navigation():
    nav = (ROOT / "mkdocs.yml").read_text().partition("\nnav:")[2]
    named = {ROOT / "docs" / name for name in re.findall(r": (\S+\.md)$", nav, re.M)}
    assert set(PAGES) - {ROOT / "README.md"} <= named
    assert all(page.exists() or is_made(page) for page in named)


@pytest.mark.parametrize("name", ["docs/why/what-it-does.md", "docs/why/benchmarks.md"])
def test_tables_hold_the_measured_figures(name):
    import bench
    figures = json.loads((ROOT / "docs" / "data" / "benchmarks.json").read_text())
    assert bench.table(figures) in (ROOT / name).read_text(), "run `make bench`"


def test_contract_page_names_what_the_reader_demands():
    from puffer_sdk.env import header
    text = (ROOT / "docs" / "reference" / "contract.md").read_text()
    for word in (*header.REQUIRED, *header.FUNCTIONS, *header.BINDING_MACROS):
        assert f"`{word}" in text or f" {word}`" in text or f"* {word}" in text, word


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


def test_exit_status_page_names_the_constants():
    from puffer_sdk.base import errors
    text = (ROOT / "docs" / "reference" / "exit-status.md").read_text()
    for status in (errors.OK, errors.FINDINGS, errors.USAGE, errors.BUILD, errors.RUN, errors.BUG,
                   130, 143):
        assert f"| {status} |" in text


def test_the_page_of_python_environments_holds_the_measured_figures(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "benchmarks" / "peers")
    import bridges_page
    figures = json.loads((ROOT / "docs" / "data" / "bridges.json").read_text())
    page = ROOT / "docs" / "why" / "bridges.md"
    assert bridges_page.table(figures) in page.read_text(), "run `make bench`"
    (text,) = blocks(page, "python")
    assert text.strip() in (ROOT / "benchmarks" / "peers" / "makers.py").read_text()


def test_the_page_of_python_environments_holds_what_the_defaults_reach():
    import bench_defaults
    figures = json.loads(bench_defaults.FILE.read_text())
    assert bench_defaults.table(figures) in bench_defaults.PAGE.read_text()
    for name, _, steps, best in bench_defaults.TASKS:
        run = figures["runs"][name]
        assert (run["steps"], run["best"], len(run["returns"])) == (steps, best, 3)
        assert "random" in run


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


def test_the_page_of_other_libraries_holds_the_measured_figures(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "benchmarks" / "peers")
    import outward_page
    figures = json.loads((ROOT / "docs" / "data" / "outward.json").read_text())
    page = ROOT / "docs" / "why" / "outward.md"
    assert outward_page.table(figures) in page.read_text(), "run `make bench`"


def test_the_page_of_planted_python_bugs_holds_the_measured_figures():
    """And the planted texts are in their files: the benchmark can be run again."""
    import bench_check_python
    figures = json.loads(bench_check_python.DATA.read_text())
    assert bench_check_python.table(figures) in bench_check_python.PAGE.read_text()
    planted = bench_check_python.bugs()
    assert [row["id"] for row in figures["bugs"]] == [bug["id"] for bug in planted]
    for bug in planted:
        assert bench_check_python.source(bug["file"].removesuffix(".py"), bug)


def test_the_checkers_page_holds_the_measured_figures():
    import bench_check
    figures = json.loads((ROOT / "docs" / "data" / "checker.json").read_text())
    text = bench_check.table(figures)
    assert text in (ROOT / "docs" / "why" / "checker.md").read_text(), "run `make bench`"
    for mutant in figures["mutants"]:
        assert mutant["planted"] >= 20 and mutant["check"] > 0
