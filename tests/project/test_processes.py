"""Python processes that we start: what they import, and that none outlives its parent."""
import os
import re
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest
from helpers.places import ROOT, SPECIMENS
from helpers.playground import alive, descendants, wait_until
from helpers.short_or_long import some_or_all

from puffer_sdk.base import processes
from puffer_sdk.base.processes import python, python_code
from puffer_sdk.env.child_process import Child
from puffer_sdk.env.warm import Warm
from puffer_sdk.interop.python_envs.worker_processes import Process

# what our processes import, early or late
NAMES = ("numpy", "cffi", "json", "random", "optuna", "scipy", "torch", "gymnasium", "clang",
         "safetensors", "rich", "click", "puffer_sdk", "psutil", "PIL")
SCRIPT = [os.path.join(os.path.dirname(sys.executable), "puffer-sdk")]
SMALL = ("--train.total-timesteps", "512", "--train.horizon", "8", "--train.minibatch-size", "64",
         "--vec.total-agents", "64", "--policy.hidden-size", "16")


@pytest.fixture
def trapped(tmp_path, monkeypatch):
    """The current folder: modules that would leave a file, were they imported."""
    here = tmp_path / "here"
    here.mkdir()
    for name in NAMES:
        (here / f"{name}.py").write_text(
            f"open({str(tmp_path / 'imported')!r}, 'a').write({name!r} + ' ')\n"
            "raise ImportError('a module of the current folder')\n")
    monkeypatch.chdir(here)
    yield here
    imported = tmp_path / "imported"
    assert not imported.exists(), imported.read_text()


def test_the_traps_work(tmp_path, trapped):
    """With Python's own -c."""
    done = subprocess.run([sys.executable, "-c", "import numpy"], capture_output=True, text=True)
    assert "a module of the current folder" in done.stderr
    (tmp_path / "imported").unlink()


@pytest.mark.parametrize("words", some_or_all([
    ["sweep", "{env}", "--runs", "1", "--workers", "1", "--seeds", "0", "--metric", "perf", *SMALL],
    ["train", "gymnasium:CartPole-v1", "--vec.num-workers", "1", *SMALL],
    ["check", "gymnasium:CartPole-v1", "--budget", "0.01"],
    ["doctor"],
], 0), ids=lambda words: " ".join(words[:2]))
def test_no_command_imports_from_the_current_folder(words, trapped, tmp_path):
    env = SPECIMENS / "faulty"
    target = tmp_path / "faulty"
    if "{env}" in words:
        subprocess.run(["cp", "-r", env, target], check=True)
    done = subprocess.run([*SCRIPT, *(word.format(env=target) for word in words)],
                          capture_output=True, text=True, timeout=120)
    assert done.returncode in (0, 1), done.stderr


def test_as_a_module_neither(trapped):
    """As torchrun starts it; the rank of a group, too."""
    for words in ([sys.executable, "-m", "puffer_sdk"], python("puffer_sdk.__main__:run")):
        if "-m" in words:
            (trapped / "puffer_sdk.py").unlink()        # Python itself looks for it there
        done = subprocess.run([*words, "train", "--help"], capture_output=True, text=True)
        assert done.returncode == 0 and "Usage: puffer-sdk train" in done.stdout, done.stderr
        done = subprocess.run([*words, "config", str(ROOT / "examples" / "pong")],
                              capture_output=True, text=True)
        assert done.returncode == 0, done.stderr


def test_a_named_module_of_the_current_folder_is_the_one_that_is_meant(trapped):
    """MODULE:NAME: it, and what stands beside it, but nothing in place of what is installed."""
    (trapped / "colorsys.py").write_text(textwrap.dedent("""
        import beside
        import numpy
        from gymnasium.envs.classic_control import CartPoleEnv as Env
        assert beside.HERE
    """))
    (trapped / "beside.py").write_text("HERE = True\n")
    (trapped / "scenes").mkdir()
    (trapped / "scenes" / "__init__.py").write_text("")
    (trapped / "scenes" / "one.py").write_text(
        "from gymnasium.envs.classic_control import CartPoleEnv as Env\n")
    for name in ("colorsys:Env", "scenes.one:Env"):
        done = subprocess.run([*SCRIPT, "config", name], capture_output=True, text=True)
        assert done.returncode == 0 and "4 floats" in done.stdout, done.stderr


def test_the_child_that_reads_an_environment_needs_no_arrays():
    """Each build, run and check starts one; NumPy and what opens libraries triple its time."""
    done = subprocess.run(python_code(
        "import sys, puffer_sdk.checking.collect.c.source.collecting\n"
        "print(*sys.modules)"), capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    assert "puffer_sdk.env.answers" in loaded
    assert not loaded & {"numpy", "cffi", "puffer_sdk.env.library", "puffer_sdk.settings.table"}


def test_one_module_starts_python():
    """And so what it takes care of holds for all: others would have to say why."""
    others = {"base/processes.py": "it", "__main__.py": "the same process anew",
              "projects/probes.py": "shown", "reviewing/sandbox.py": "with the path of its inside",
              "toolchain/cuda_finding.py": "isolated: -I", "mutate/bench.py": "a folder"}
    found = {str(path.relative_to(ROOT / "puffer_sdk")) for path in ROOT.glob("puffer_sdk/**/*.py")
             if re.search(r"sys\.executable", path.read_text())}
    assert found == {*others}


def test_durations_are_not_those_of_a_clock_that_somebody_sets():
    """Where the time of day is read, and why."""
    readers = {"training/runs.py": "a stamp to show", "cli/cmd_runs.py": "how old that is",
               "sweeping/sweep.py": "a stamp to show", "raylib/fetch.py": "the age of a file",
               "reporting/stages.py": "waits for the clock's next second"}
    found = {str(path.relative_to(ROOT / "puffer_sdk"))
             for path in ROOT.glob("puffer_sdk/**/*.py") if re.search(
                 r"time\.time(_ns)?\(|from time import|datetime\.(utc)?now\(|CLOCK_REALTIME",
                 path.read_text())}
    assert found == {*readers}


# ---- ends --------------------------------------------------------------------------------------

def ended() -> int:
    """The id of a process that has ended."""
    process = subprocess.Popen(["true"])
    process.wait()
    return process.pid


@pytest.fixture
def orphaned(monkeypatch):
    """What starts now is told of a parent that has ended, as if that had happened before it
    could look."""
    pid, own = ended(), os.getpid
    monkeypatch.setattr(processes.os, "getpid", lambda: pid)
    yield
    monkeypatch.setattr(processes.os, "getpid", own)


def test_what_starts_after_its_parents_end_ends_at_once(orphaned, tmp_path):
    """All that start Python: nothing of what they were to do is done."""
    made = tmp_path / "made"
    done = subprocess.run(python_code(f"open({str(made)!r}, 'w')"), timeout=30)
    assert done.returncode == 0 and not made.exists()
    child = Child("time:sleep", 60)
    assert wait_until(lambda: child.process.poll() is not None) and child.process.poll() == 0
    worker = Process()
    assert worker.popen.wait(30) == 0
    warm = Warm([])
    warm._open()
    assert warm.process.wait(30) == 0
    warm.close()


def test_another_program_ends_with_us_too(orphaned, monkeypatch, tmp_path):
    """Repro programs, debuggers and an author's tests: its end comes as it starts, or later."""
    done = subprocess.run(processes.bound(["touch", str(tmp_path / "made")]), timeout=30)
    assert done.returncode == 0 and not (tmp_path / "made").exists()
    monkeypatch.undo()
    code = ("import subprocess; from puffer_sdk.base import processes; "
            "print(subprocess.Popen(processes.bound(['sleep', '60'])).pid, flush=True); input()")
    parent = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, text=True)
    child = int(parent.stdout.readline())
    assert wait_until(lambda: alive(child) and "sleep" in name_of(child))
    parent.kill()
    parent.communicate()
    assert wait_until(lambda: not alive(child))


def name_of(pid: int) -> str:
    return (Path("/proc") / str(pid) / "comm").read_text()


def test_a_fork_after_its_parents_end_ends_at_once(tmp_path):
    """As Warm's children: the parent says who it is, before it forks."""
    made = tmp_path / "made"
    pid = os.fork()
    if not pid:
        processes.end_with(ended())
        made.write_text("")
        os._exit(1)
    assert os.waitpid(pid, 0)[1] == 0 and not made.exists()


def test_where_the_system_does_not_tell_a_thread_looks(monkeypatch, tmp_path):
    """As on macOS."""
    code = textwrap.dedent(f"""
        import os, subprocess, sys, time
        from puffer_sdk.base import processes
        from puffer_sdk.base.processes import python
        sys.path.insert(0, {str(tmp_path)!r})
        process = subprocess.Popen(python("elsewhere:main"), stdout=subprocess.PIPE)
        process.stdout.readline()
        print(process.pid, flush=True)
        time.sleep(60)
    """)
    (tmp_path / "elsewhere.py").write_text(textwrap.dedent("""
        import ctypes, time
        from puffer_sdk.base import processes
        def main():
            ctypes.CDLL(None).prctl(1, 0)           # the kernel says nothing from here on
            processes.sys.platform, processes.LOOK = "darwin", 0.01
            processes.end_with(processes.parent())
            print("ready", flush=True)
            time.sleep(60)
    """))
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    child = int(process.stdout.readline())
    assert alive(child)
    process.kill()
    process.wait()
    assert wait_until(lambda: not alive(child))
    process.stdout.close()


@pytest.mark.long
def test_kill_9_in_the_first_second_leaves_nobody(tmp_path):
    """A command is killed as soon as it has a child, which may not yet have looked."""
    env = tmp_path / "faulty"
    subprocess.run(["cp", "-r", SPECIMENS / "faulty", env], check=True)
    for words in (["train", "gymnasium:CartPole-v1"], ["train", env], ["sweep", env]):
        process = subprocess.Popen([*SCRIPT, *map(str, words)], cwd=tmp_path,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                   start_new_session=True)
        below = wait_until(lambda process=process: descendants(process.pid), seconds=30)
        time.sleep(0.02)
        below = [*below, *descendants(process.pid)]
        process.send_signal(signal.SIGKILL)
        process.wait()
        assert wait_until(lambda below=below: not any(map(alive, below)), seconds=20)
