"""The pages on other libraries: every program runs, every command does what it says."""
import importlib.util
import json
import os
import re
import shlex
import shutil
import subprocess
import sys

import pytest
from helpers.places import ROOT
from helpers.sessions import blocks
from helpers.short_or_long import long_only, short_or_long

import puffer_sdk
from puffer_sdk.projects import scaffold

GUIDES = ROOT / "docs" / "guides"
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


def programs(name):
    return [pytest.param(text, id=f"{name}-{number}")
            for number, text in enumerate(blocks(GUIDES / name, "python"))]


@pytest.mark.parametrize("program", short_or_long(
    programs("outward.md")[:3], programs("outward.md") + programs("coming-from.md")))
def test_a_program_runs(program, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    exec(program, {})


PAGE = (GUIDES / "coming-from.md").read_text()


def section(library: str) -> str:
    return PAGE.partition(f"## From {library}\n")[2].partition("\n## ")[0]


SMALLER = {"train": "--train.total-timesteps 100000", "sweep": "--runs 2 --workers 1",
           "eval": "--eval.episodes 4"}


@long_only
@pytest.mark.parametrize("library, env, short", [("PufferLib", "breakout", (0, 5, 8)),
                                                 ("CleanRL", "cartpole", (0, 5, 9))])
def test_what_others_users_type_works(library, env, short, tmp_path):
    """The right column of the page's table of commands, but for the window, in its order."""
    found = re.findall(r"^\|.*\| `puffer-sdk (.*)` \|$", section(library), re.M)
    assert len(found) == 10
    shutil.copytree(ROOT / "examples" / env, tmp_path / env,
                    ignore=shutil.ignore_patterns("build", "runs"))
    (tmp_path / "pyproject.toml").touch()           # where runs/ is looked for
    for line in short_or_long([found[at] for at in short], found):
        words = shlex.split(line)
        if words[0] == "play":
            continue
        if "--train.total-timesteps" not in words and "--gif" not in words:
            words += SMALLER.get(words[0], "").split()
        done = subprocess.run([sys.executable, "-m", "puffer_sdk", *words], cwd=tmp_path,
                              capture_output=True, text=True, check=False,
                              env={**os.environ, "WANDB_MODE": "offline",
                                   "PYTHONPATH": str(ROOT)})
        goal = done.returncode == 1 and "goal" in done.stdout       # of its training: not met
        assert done.returncode == 0 or goal, (line, done.stdout, done.stderr)


@long_only
def test_what_sb3s_users_call_works(tmp_path, monkeypatch):
    """The right column of its table, in its order, on a new environment called my_env."""
    calls = re.findall(r"^\|.*\| `(puffer_sdk\..*)` \|$", section("Stable-Baselines3"), re.M)
    assert len(calls) == 5
    scaffold.new("my_env", template="squared", output_dir=tmp_path)
    ini = tmp_path / "my_env" / "my_env.ini"
    ini.write_text(re.sub(r"total_timesteps = .*", "total_timesteps = 50_000", ini.read_text()))
    monkeypatch.chdir(tmp_path)
    found = {call: eval(call, {"puffer_sdk": puffer_sdk}) for call in calls}
    run, measured, policy, checked, _ = found.values()
    assert run.steps >= 50_000 and "trained" in measured.scores
    assert policy.env == "my_env" and checked.verdict == "pass"
    assert (tmp_path / "my_env.gif").read_bytes()[:3] == b"GIF"


def test_the_page_on_cleanrl_says_what_the_diff_does():
    diff = (ROOT / "examples" / "programs" / "cleanrl.diff").read_text()
    lines = [line[1:].strip() for line in diff.splitlines() if line.startswith("+ ")]
    assert lines and all(f"    {line}\n" in section("CleanRL") for line in lines)


def suites():
    spec = importlib.util.spec_from_file_location("suites", ROOT / "tools" / "suites.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules["suites"] = module              # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


def test_the_suites_page_shows_what_was_measured():
    module = suites()
    found = json.loads(module.DATA.read_text())
    assert module.table(found) in (GUIDES / "outward.md").read_text()
    assert set(found) == set(module.SUITES)
    for name, each in found.items():
        assert each["passed"] > 30 and not each["failed"], name
        assert each["passed"] + each["skipped"] + len(each["exceptions"]) <= each["tests"]


ABOUT_TIME = """
from somewhere import Clock

def test_right():
    assert Clock().hour == 1

def test_known():
    assert Clock().minute == 1

def test_wrong():
    assert Clock().second == 1

def test_left_out():
    import pytest
    pytest.skip("no reason")
"""


def test_a_suite_is_judged_by_what_its_tests_say(tmp_path, monkeypatch, capsys):
    """With a name swapped, an exception, a failure that is none, and a skip."""
    module = suites()
    (tmp_path / "theirs").mkdir()
    (tmp_path / "theirs" / "test_time.py").write_text(ABOUT_TIME)
    (tmp_path / "found.json").write_text("{}")
    swap = "import sys, types\nclass Clock: hour, minute, second = 1, 2, 3\n" \
           "sys.modules['somewhere'] = types.SimpleNamespace(Clock=Clock)\n"
    suite = module.Suite("Tests of time", "numpy", "theirs", ("theirs",), swap,
                         {"test_known": "is of another time", "test_right": "was wrong once"})
    monkeypatch.setattr(module, "SUITES", {"time": suite})
    monkeypatch.setattr(module, "DATA", tmp_path / "found.json")
    monkeypatch.setattr(module, "ROOT", tmp_path)
    monkeypatch.setattr(sys, "argv", ["suites.py", "time", str(tmp_path)])
    assert module.main() == 1
    found = json.loads((tmp_path / "found.json").read_text())["time"]
    assert (found["tests"], found["passed"], found["skipped"]) == (4, 1, 1)
    assert found["failed"] == ["test_wrong"]
    assert found["exceptions"] == {"test_known": "is of another time"}
    page = module.table({"time": found})
    assert "| `test_known` | it is of another time |\n| `test_wrong` | not known |" in page
    assert "passed   test_right, which is listed as an exception" in capsys.readouterr().out
    for words in (["chess"], ["time", str(tmp_path / "nowhere")], []):
        monkeypatch.setattr(sys, "argv", ["suites.py", *words])
        assert module.main() == 2
    monkeypatch.setitem(module.SUITES, "time", module.Suite("", "no_such_package", "", (), ""))
    monkeypatch.setattr(sys, "argv", ["suites.py", "time"])
    assert module.main() == 0
    assert "could not run  time: no_such_package is not installed" in capsys.readouterr().out
