"""check on Python environments: a specimen for each judgement, and correct ones that pass."""
from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
import time
from pathlib import Path

import pytest
from helpers.places import ROOT, SPECIMENS
from helpers.shared import once
from helpers.short_or_long import LONG, long_only, some_or_all

import puffer_sdk
from puffer_sdk.base.errors import UsageError
from puffer_sdk.checking import check_python
from puffer_sdk.checking.collect.python import clock
from puffer_sdk.checking.core import registry
from puffer_sdk.cli import main
from puffer_sdk.interop.python_envs import makers
from puffer_sdk.interop.python_envs.oddities import ODD

FAULTY = SPECIMENS / "python_envs" / "faulty.py"
GAMES = SPECIMENS / "python_envs" / "games.py"
DEADLY = ("Exits", "Crashes", "Hangs")
MODULE = sys.modules[makers.find_callable(f"{FAULTY}:Walk").__module__]
KINDS = {name: kind for name, kind in vars(MODULE).items()
         if isinstance(kind, type) and hasattr(kind, "expect")}
CORRECT = [f"gymnasium:{name}" for name in some_or_all((
    "CartPole-v1", "Pendulum-v1", "MountainCar-v0", "Acrobot-v1", "MountainCarContinuous-v0",
    "Taxi-v4", "FrozenLake-v1", "Blackjack-v1", "CliffWalking-v1"), 1, 6)] + [
    f"{GAMES}:Guess", f"{GAMES}:Walkers"]
ZOMBIES = "pettingzoo:pettingzoo.butterfly.knights_archers_zombies_v11"


def play_all(folder: Path) -> None:
    """Every specimen and every correct environment in one process."""
    with open(folder / "said.txt", "wb") as said:
        subprocess.run([sys.executable, "-m", "helpers.python_checks", folder / "facts.pkl", FAULTY,
                        *CORRECT, *[ZOMBIES] * LONG], check=True, stdout=said, stderr=said,
                       timeout=300, env={**os.environ, "PYTHONPATH": os.pathsep.join(
                           [str(ROOT), str(ROOT / "tests"), *sys.path])})


@pytest.fixture(scope="module")
def played(tmp_path_factory) -> dict:
    return pickle.loads((once(tmp_path_factory, "python-checks", play_all) / "facts.pkl")
                        .read_bytes())


def judged(facts):
    verdict = check_python.judge(facts)
    findings, not_tested = verdict.findings, verdict.not_tested
    return [(each.code, each.message) for each in findings], not_tested


@pytest.mark.parametrize("name", [name for name in KINDS if name not in DEADLY])
def test_each_fault_is_named_and_nothing_else(played, name):
    found, not_tested = judged(played[name])
    assert sorted(code for code, _ in found) == sorted(KINDS[name].expect), (found, not_tested)


def test_infos_of_one_play_and_the_next_tell_the_same_time():
    """What an info says of elapsed time differs between two plays, and is no fault."""
    def took() -> tuple:
        with clock.counting():
            began, made = time.perf_counter(), time.time()
            return time.perf_counter() - began, made, time.monotonic_ns()
    real = time.perf_counter
    assert took() == took()
    assert took()[0] > 0 and time.perf_counter is real


@pytest.mark.long
@pytest.mark.parametrize("name", CORRECT)
def test_correct_environments_stay_silent(played, name):
    found, _ = judged(played[name])
    assert found == []
    assert played[name].play.steps >= 16 and not played[name].died


@long_only
def test_what_a_released_game_forgets_is_all_that_is_said_of_it(played):
    """Version 11 makes zombie_spawn_interval in __init__, and no reset() begins it anew."""
    found, _ = judged(played[ZOMBIES])
    assert {code for code, _ in found} <= {"PUF404"}
    assert played[ZOMBIES].done["drawing"] > 0


def test_findings_say_where_and_what(played):
    text = FAULTY.read_text().splitlines()
    findings = check_python.judge(played["OutOfBounds"]).findings
    (finding,) = findings
    assert finding.file == "faulty.py" and text[finding.line - 1].strip().startswith("def ")
    assert finding.expected == "within [-1, 1]" and abs(finding.actual) == 1.5
    (raised,) = check_python.judge(played["Raises"]).findings
    assert text[raised.line - 1].strip() == 'assert self.t < 20, "too far"'
    assert raised.actual == "too far" and "raises AssertionError" in raised.message


@pytest.mark.parametrize(("name", "says"), some_or_all(
    [("Exits", "exit(3)"), ("Crashes", "SIGSEGV"),
                                            ("Hangs", "none for 1 s")], 1))
def test_what_ends_the_process_is_a_finding(name, says):
    result = puffer_sdk.check(f"{FAULTY}:{name}", settings={"vec.step_timeout": 1}, budget=0.1)
    (finding,) = result.findings
    assert (finding.code,) == KINDS[name].expect and says in str(finding.actual)
    assert finding.file == "faulty.py" and finding.line > 1
    assert result.exit_status == 1 and "PUF411" in result.not_tested


def test_state_of_the_class_and_order_of_sets_need_another_process(tmp_path):
    """What differs between two instances, and what between two processes only."""
    (tmp_path / "sets.py").write_text(
        "import importlib.util\n"
        f"spec = importlib.util.spec_from_file_location('faulty', {str(FAULTY)!r})\n"
        "faulty = importlib.util.module_from_spec(spec)\n"
        "spec.loader.exec_module(faulty)\n"
        "class Sets(faulty.Walk):\n"
        "    def move(self, action):\n"
        "        super().move((action + int(list({str(i) for i in range(20)})[0])) % 3)\n"
        "class Counts(faulty.Walk):\n"
        "    made = []\n"
        "    def __init__(self, render_mode=None):\n"
        "        super().__init__(render_mode)\n"
        "        self.made.append(self)\n"
        "    def move(self, action):\n"
        "        super().move((action + len(self.made)) % 3)\n")
    codes = {name: [each.code for each in puffer_sdk.check(
        f"{tmp_path}/sets.py:{name}", budget=0.1).findings] for name in ("Sets", "Counts")}
    assert codes == {"Sets": ["PUF501"], "Counts": ["PUF503"]}


def test_the_command_reports_in_every_format(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    name = f"{FAULTY}:DeadAction"
    quick = ["--budget", "0.4", "--seed", "7"]
    assert main(["check", name, *quick, "--format", "json"]) == 0
    report = json.loads(capsys.readouterr().out)
    (finding,) = report["findings"]
    assert (finding["code"], finding["severity"], finding["seed"]) == ("PUF411", "warning", 7)
    assert report["coverage"]["actions"] == [{"head": 0, "width": 3, "seen": 3}]
    assert report["coverage"]["rules"] > 20 and report["verdict"] == "pass"
    sarif = tmp_path / "check.sarif"
    allow = "PUF411 it is meant"
    assert main(["check", name, *quick, "--strict", "--check.allow", allow, "--format", "sarif",
                 "-o", str(sarif)]) == 0
    (result,) = json.loads(sarif.read_text())["runs"][0]["results"]
    assert result["suppressions"][0]["justification"] == "it is meant"
    place = result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
    assert place.endswith("faulty.py")


def test_marks_in_the_file_of_the_class_allow_what_is_placed_there(tmp_path):
    text = FAULTY.read_text().replace(
        "class NoOptions(Walk):\n    expect = (\"PUF101\",)\n",
        "class NoOptions(Walk):\n    # puffer: allow(PUF101) nobody asks for options\n")
    (tmp_path / "mine.py").write_text(text)
    result = puffer_sdk.check(f"{tmp_path / 'mine.py'}:NoOptions", budget=0.1, strict=True)
    assert result.findings == [] and result.verdict == "pass"
    (allowed,) = result.suppressed
    assert allowed.finding.code == "PUF101" and allowed.reason == "nobody asks for options"
    assert allowed.in_source and result.notes == []


def test_names_that_lead_nowhere_are_errors_of_usage(capsys):
    with pytest.raises(UsageError, match="has no environment"):
        puffer_sdk.check("gymnasium:CartPoleee-v1")
    assert main(["check", "gymnasium:CartPole-v1", "--fix"]) == 2
    assert "--fix supports only C environments" in capsys.readouterr().err


def test_every_kind_of_oddity_has_a_rule():
    assert {kind.code for kind in ODD.values()} <= set(registry.load())


def test_what_each_instance_holds_alone_is_held_once(tmp_path, monkeypatch):
    """A port: no experiment, nor another process, makes a second instance beside it."""
    (tmp_path / "ports.py").write_text(
        "import gymnasium, os, socket\n"
        "class Ports(gymnasium.Wrapper):\n"
        "    def __init__(self, port, mode):\n"
        "        super().__init__(gymnasium.make('CartPole-v1', render_mode=mode))\n"
        "        self.held = socket.socket(socket.AF_UNIX)\n"
        "        self.held.bind(os.path.join(os.path.dirname(__file__), str(port)))\n"
        "    def close(self):\n"
        "        os.unlink(self.held.getsockname())\n"
        "        self.held.close()\n"
        "def make(env_index=0, render_mode=None): return Ports(env_index, render_mode)\n"
        "ONE = gymnasium.make('CartPole-v1')\n"
        "def again():\n"
        "    return ONE\n")
    monkeypatch.chdir(tmp_path)
    assert puffer_sdk.check("ports.py:make", budget=0.1).findings == []
    (finding,) = puffer_sdk.check("ports.py:again", budget=0.1).findings
    assert (finding.code, finding.file, finding.line) == ("PUF503", "ports.py", 12)
