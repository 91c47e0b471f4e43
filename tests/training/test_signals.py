"""Ctrl-C, SIGTERM and kill -9, sent to real commands: status, what is saved, who survives."""
import ctypes
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time

import pytest
from helpers.playground import (
    COMMAND,
    alive,
    descendants,
    flags,
    good_checkpoints,
    leftovers,
    overrides,
    wait_until,
)
from helpers.short_or_long import long_only, some_or_all

from puffer_sdk.cli import Stopped, stoppable
from puffer_sdk.training import runs, train

pytest_plugins = ["helpers.playground_fixtures"]

ENDLESS = {"train.total_timesteps": "1e12", "base.checkpoint_interval": "1000000"}


def read_until(process, text: str) -> str:
    """What it wrote to stderr up to the line with this text."""
    seen = ""
    for line in process.stderr:
        seen += line
        if text in line:
            return seen
    raise AssertionError(f"no {text!r} in {seen!r}")


def finish(process) -> tuple[str, str]:
    """What it says until it ends; the run that it makes would take hours."""
    return process.communicate(timeout=60)


@pytest.fixture
def training_run(start, faulty, tmp_path):
    """A training in progress, some epochs old."""
    process = start("train", faulty, "--runs-dir", tmp_path / "runs", *flags(ENDLESS))
    read_until(process, "%")
    return process


@pytest.mark.parametrize(("number", "status"), some_or_all(
    [(signal.SIGINT, 130), (signal.SIGTERM, 143),
                                                (signal.SIGHUP, 129)], 0))
def test_a_signal_ends_training_and_saves_first(number, status, training_run, tmp_path, cli,
                                                faulty):
    helpers = descendants(training_run.pid)
    assert helpers
    training_run.send_signal(number)
    out, err = finish(training_run)
    assert training_run.returncode == status and out == "" and "Traceback" not in err
    step, path = re.search(r"interrupted at step ([\d,]+); saved (\S+)", err).groups()
    assert int(step.replace(",", "")) > 0
    (saved,) = good_checkpoints(tmp_path / "runs/faulty/0001")
    assert str(saved).endswith(path) and int(saved.stem) == int(step.replace(",", ""))
    assert json.loads((saved.parent.parent / "run.json").read_text())["status"] == "interrupted"
    assert leftovers(tmp_path / "runs") == []
    wait_until(lambda: not any(alive(pid) for pid in helpers))
    words = re.search(r"continue with: puffer-sdk (.*)", err)[1].split()       # and it does
    done = cli(*words, "--train.total-timesteps", int(saved.stem) + 512)
    assert done.returncode == 0, done.stderr
    assert len(good_checkpoints(saved.parent.parent)) == 2


@long_only
def test_a_signal_saves_even_while_an_env_never_returns(start, faulty, tmp_path):
    """The state before the epoch that hangs."""
    hang = overrides("LOOP_IN_STEP", at=400) | {"vec.step_timeout": 600} | ENDLESS
    process = start("train", faulty, "--runs-dir", tmp_path, *flags(hang))
    read_until(process, "%")
    helper = descendants(process.pid)
    metrics = tmp_path / "faulty/0001/metrics.jsonl"
    wait_until(lambda: len(metrics.read_text().splitlines()) == 49)     # the 50th epoch hangs
    process.send_signal(signal.SIGINT)
    _, err = finish(process)
    assert process.returncode == 130 and "saved" in err
    (saved,) = good_checkpoints(tmp_path / "faulty/0001")
    assert int(saved.stem) == 49 * 512          # ticks 1-399 hold 49 whole epochs of 8
    wait_until(lambda: not any(alive(pid) for pid in helper))


def test_a_second_signal_never_leaves_half_a_file(start, faulty, tmp_path):
    often = {"train.total_timesteps": "1e12", "base.checkpoint_interval": 1,
             "policy.hidden_size": 256}
    process = start("train", faulty, "--runs-dir", tmp_path, *flags(often))
    wait_until(lambda: list(tmp_path.glob("faulty/0001/checkpoints/0*.safetensors")))
    process.send_signal(signal.SIGINT)
    time.sleep(0.03)
    process.send_signal(signal.SIGINT)
    finish(process)
    assert process.returncode == 130
    assert good_checkpoints(tmp_path / "faulty/0001")
    assert leftovers(tmp_path) == []
    assert runs.find_run(tmp_path / "faulty", "1").status == "interrupted"


def test_a_signal_after_the_end_does_not_change_the_status():
    """Between a command's last line and the end of its process: seen as -2 in place of 130."""
    late = ("import os, signal, sys; from puffer_sdk.cli import main; sys.argv[1:] = ['explain', "
            "'nonsense']; status = main(); os.kill(os.getpid(), signal.SIGINT); sys.exit(status)")
    done = subprocess.run([sys.executable, "-c", late], capture_output=True, text=True, check=False)
    assert done.returncode == 2 and "Traceback" not in done.stderr


@pytest.mark.parametrize("delay", some_or_all([0.15, 0.4, 0.8, 1.3], 0, 2))
def test_a_signal_at_any_moment_of_the_start(delay, start, faulty, tmp_path):
    process = start("train", faulty, "--runs-dir", tmp_path, *flags(ENDLESS))
    time.sleep(delay)
    process.send_signal(signal.SIGINT)
    out, err = finish(process)
    # before our first line runs, Python itself ends by the signal: a shell says 130 as well
    assert process.returncode in ((130, -signal.SIGINT) if delay < 0.2 else (130,)), err
    assert out == "" and (delay < 0.2 or "Traceback" not in err)
    assert leftovers(tmp_path) == []
    for run in runs.list_runs(tmp_path / "faulty"):     # none, or one that can be gone on with
        assert run.status == "interrupted" and good_checkpoints(run.folder)


@pytest.mark.parametrize(("number", "status"), some_or_all(
    [(signal.SIGINT, 130), (signal.SIGTERM, 143)], 0))
def test_a_signal_ends_an_evaluation(number, status, start, faulty, tmp_path):
    endless = overrides(length=0) | {"eval.steps": 10**9}
    process = start("eval", faulty, "--baselines", "--output", tmp_path / "e.json",
                    *flags(endless))
    helper = wait_until(lambda: descendants(process.pid))
    time.sleep(1.0)
    process.send_signal(number)
    out, err = finish(process)
    assert process.returncode == status and out == "" and "Traceback" not in err
    assert not (tmp_path / "e.json").exists()
    wait_until(lambda: not any(alive(pid) for pid in helper))


@pytest.mark.parametrize(("number", "status"), some_or_all(
    [(signal.SIGINT, 130), (signal.SIGTERM, 143)], 0))
def test_a_signal_ends_check(number, status, start, faulty):
    process = start("check", faulty, "--budget", "20")
    wait_until(lambda: descendants(process.pid))
    time.sleep(1.0)
    process.send_signal(number)
    out, err = finish(process)
    assert process.returncode == status and out == "" and "Traceback" not in err
    assert descendants(process.pid) == []


def test_a_signal_inside_a_callback_is_not_lost():
    """ctypes only reports what is raised in a callback: the command must end all the same."""

    callback = ctypes.CFUNCTYPE(None)(lambda: os.kill(os.getpid(), signal.SIGINT))
    with pytest.raises(Stopped) as stopped, stoppable():
        callback()
        for _ in range(200):
            time.sleep(0.01)
    assert stopped.value.number == signal.SIGINT


@pytest.fixture
def slow_compiler(tmp_path, monkeypatch):
    """A CC that takes half a minute to compile anything; names the file that holds its pid."""
    note = tmp_path / "compiler.pid"
    compiler = tmp_path / "slowcc"
    compiler.write_text(f"#!{sys.executable}\n"
                        "import os, sys, time\n"
                        "if '-shared' in sys.argv:\n"
                        f"    open({str(note)!r}, 'w').write(str(os.getpid()))\n"
                        "    time.sleep(30)\n"
                        "os.execvp('cc', ['cc', *sys.argv[1:]])\n")
    compiler.chmod(0o755)
    monkeypatch.setenv("CC", str(compiler))
    return note


@pytest.mark.parametrize(("number", "status"), some_or_all(
    [(signal.SIGINT, 130), (signal.SIGTERM, 143)], 0))
def test_a_signal_while_compiling(number, status, slow_compiler, start, faulty, tmp_path):
    process = start("train", faulty, "--runs-dir", tmp_path / "runs")
    wait_until(lambda: slow_compiler.is_file() and slow_compiler.read_text())
    process.send_signal(number)
    out, err = finish(process)
    assert process.returncode == status and "Traceback" not in err
    assert not alive(int(slow_compiler.read_text()))
    assert not (tmp_path / "runs").exists()
    assert leftovers(faulty) == []


@pytest.mark.parametrize("fault", some_or_all(["NO_FAULT", "LOOP_IN_STEP", "FORK_AND_WAIT",
                                   "INSTALL_HANDLERS"], 0, 2))
def test_kill_9_leaves_no_process_behind(fault, start, faulty, tmp_path):
    process = start("train", faulty, "--runs-dir", tmp_path,
                    *flags(overrides(fault, at=100) | {"vec.step_timeout": 600} | ENDLESS))
    read_until(process, "%")
    helpers = descendants(process.pid)
    assert helpers
    process.kill()
    process.wait()
    wait_until(lambda: not any(alive(pid) for pid in helpers), 5)
    assert runs.find_run(tmp_path / "faulty", "1").status == "killed"


def test_kill_9_of_check_leaves_no_process_behind(start, faulty):
    process = start("check", faulty, *flags({"vec.step_timeout": 600} | overrides("LOOP_IN_STEP")))
    wait_until(lambda: any("harness" in command(pid) for pid in descendants(process.pid)))
    helpers = descendants(process.pid)
    process.kill()
    process.wait()
    wait_until(lambda: not any(alive(pid) for pid in helpers), 5)


def command(pid: int) -> str:
    try:
        with open(f"/proc/{pid}/cmdline") as file:
            return file.read()
    except OSError:
        return ""


def test_the_python_api_leaves_the_handlers_as_they_were(faulty, tmp_path):
    before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    train.train(faulty, {"train.total_timesteps": 512}, runs_dir=tmp_path)
    assert before == [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]


def test_ignored_signals_still_end_a_command(faulty, tmp_path):
    """A shell script's background jobs are started with SIGINT ignored."""
    script = (f"trap '' INT; {' '.join(COMMAND)} train {faulty} --runs-dir {tmp_path} "
              f"{' '.join(flags(ENDLESS))} >/dev/null 2>{tmp_path}/err & echo $!")
    shell = subprocess.run(["sh", "-c", script], stdout=subprocess.PIPE, text=True, check=True)
    pid = int(shell.stdout)
    try:
        wait_until(lambda: "%" in (tmp_path / "err").read_text())
        os.kill(pid, signal.SIGINT)
        wait_until(lambda: not alive(pid), 10)
    finally:
        if alive(pid):
            os.kill(pid, signal.SIGKILL)
    assert "interrupted at step" in (tmp_path / "err").read_text()


def test_a_signal_that_comes_while_a_lost_one_is_asked_for_again_is_not_lost(monkeypatch):
    """On a busy machine a thread takes longer to start than the signal that it sends."""
    starts = []

    class Slow(threading.Timer):
        def start(self):
            super().start()
            starts.append(self)
            if len(starts) == 1:
                time.sleep(0.3)

    monkeypatch.setattr(threading, "Timer", Slow)
    lose = ctypes.CFUNCTYPE(None)(lambda: os.kill(os.getpid(), signal.SIGINT))
    with pytest.raises(Stopped) as caught, stoppable():
        lose()
        time.sleep(20)
    assert caught.value.number == signal.SIGINT and len(starts) > 1
