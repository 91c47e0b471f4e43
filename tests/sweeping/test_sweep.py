"""Whole sweeps of a small game, as a user runs them: results, kill -9, Ctrl-C, two machines."""
import contextlib
import json
import os
import re
import shutil
import signal
import socket
import threading
import time
from pathlib import Path

import pytest
from helpers.playground import FAULTS, alive, descendants, wait_until
from helpers.short_or_long import LONG, long_only, short_or_long, some_or_all

from puffer_sdk.base.errors import RunError, UsageError
from puffer_sdk.interop.python_envs import env_source
from puffer_sdk.settings import config
from puffer_sdk.sweeping import sweep as sweeping
from puffer_sdk.sweeping import trial as trial_module
from puffer_sdk.sweeping.serving import serve
from puffer_sdk.sweeping.store import DONE, FAILED, STOPPED
from puffer_sdk.sweeping.sweep import open_sweep, sweep
from puffer_sdk.sweeping.sweep_worker import Worker
from puffer_sdk.sweeping.trial import Bench
from puffer_sdk.training import runs

pytest_plugins = ["helpers.playground_fixtures"]

SPACE = """
[sweep.train.learning_rate]
distribution = log_normal
min = 1e-3
max = 1e-1

[sweep.train.total_timesteps]
distribution = log_normal
min = 1024
max = 6144
"""
QUICK = {"sweep.max_runs": 10, "sweep.seconds": 0, "sweep.workers": 1, "sweep.metric": "perf"}


RUNS = 60 if LONG else 30           # as long as it takes another machine to join


@pytest.fixture
def toy(faulty, tmp_path):
    """The playground's env, with a space."""
    folder = shutil.copytree(faulty, tmp_path / "faulty")
    ini = folder / "faulty.ini"
    ini.write_text(ini.read_text() + SPACE)
    return folder


def place_of(folder: Path, number: int = 1) -> Path:
    return folder.parent / "runs" / "faulty" / "sweeps" / f"{number:04d}"


def finished(place: Path) -> dict:
    """{number: (score, cost)} of what has a result."""
    if not (place / "sweep.json").is_file():        # not begun
        return {}
    store, _ = open_sweep(place)
    return {trial.number: (trial.score, trial.cost) for trial in store.trials()
            if trial.state in (DONE, STOPPED)}


def test_a_sweep_leaves_its_results(toy, monkeypatch):
    monkeypatch.chdir(toy.parent)
    found = sweep(toy, {**QUICK, "sweep.workers": 2}, seeds=2)
    searched = [trial for trial in found.trials if not {"verdict", "repeats"} & set(trial.facts)]
    assert len(searched) == 10 and searched[0].settings["train.learning_rate"] == 0.02
    assert [t.settings for t in searched].count(searched[0].settings) == 1
    judged = [trial.facts["verdict"] for trial in found.trials if "verdict" in trial.facts]
    assert judged == ["best", "default"] * 2 and len(found.verdict.seeds) == 2
    assert "unseen seeds" in found.verdict.sentence
    seeds = {trial.facts["seed"] for trial in searched}
    assert not seeds & set(found.verdict.seeds) and len(seeds) == 10
    # the ini to copy is what was found, and the environment takes it
    ini = (found.folder / "best.ini").read_text()
    assert f"total_timesteps = {found.best['train.total_timesteps']}\n" in ini
    edge = sorted((found.folder / "front").iterdir())
    assert [int(path.stem) for path in edge] == sorted(trial.number for trial in found.front)
    (toy / "faulty.ini").write_text(re.sub(
        r"(?m)^(total_timesteps|learning_rate) = .*\n", "", (toy / "faulty.ini").read_text())
        .replace("[train]\n", ini[ini.index("[train]"):]))
    assert config.resolve(toy).train.total_timesteps == found.best["train.total_timesteps"]
    # trials are runs: listed, with their settings and seeds
    listed = runs.list_runs(found.folder / "trials")
    assert len(listed) == len(found.trials) and {run.status for run in listed} <= {
        "finished", "interrupted"}
    assert listed[3].settings()["train.seed"] == str(searched[3].facts["seed"])
    again = sweeping.list_sweeps(found.folder.parent)
    assert again == [found.folder]


def test_score_and_cost_come_from_one_run(toy, monkeypatch):
    monkeypatch.chdir(toy.parent)
    found = sweep(toy, {**QUICK, "sweep.max_runs": 2, "sweep.cost": "wall"}, seeds=0)
    for trial in found.trials:
        last = runs.Run(Path(trial.facts["run"])).last_metrics()
        assert trial.score == last["claim/perf"]
        assert last["seconds"] <= trial.cost < last["seconds"] + 1
        assert trial.facts["steps"] == last["step"]


@pytest.mark.parametrize("fault, told", some_or_all(
    [("SEGFAULT", "SIGSEGV"), ("LOOP_IN_STEP", "no return"),
                                         ("NAN_LOG", "logs nan")], 0))
def test_a_fault_costs_its_trial_alone(toy, monkeypatch, fault, told):
    """Some settings make the environment crash, hang or log NaN: the sweep goes on."""
    monkeypatch.chdir(toy.parent)
    ini = toy / "faulty.ini"
    ini.write_text(ini.read_text() + "\n[sweep.env.fault]\ndistribution = choice\n"
                   f"choices = 0, {FAULTS[fault]}\n")
    found = sweep(toy, {**QUICK, "sweep.max_runs": 6, "vec.step_timeout": 1}, seeds=0)
    failed = [trial for trial in found.trials if trial.state == FAILED]
    assert failed and all(told in trial.facts["error"] for trial in failed)
    assert {trial.settings["env.fault"] for trial in failed} == {FAULTS[fault]}
    assert sum(trial.state == DONE for trial in found.trials) + len(failed) == 6
    assert all(trial.facts.get("cost") is None for trial in failed)


@long_only
def test_time_to_goal_is_the_cost_of_getting_there(toy, monkeypatch):
    monkeypatch.chdir(toy.parent)
    ini = toy / "faulty.ini"                    # runs that are long enough to be evaluated
    ini.write_text(ini.read_text().replace("min = 1024\nmax = 6144", "min = 12288\nmax = 32768"))
    found = sweep(toy, {**QUICK, "sweep.metric": "time_to_goal", "sweep.max_runs": 5,
                        "eval.goal": "episode_length >= 1",
                        "train.total_timesteps": 12_288}, seeds=2)
    assert found.plan.minimize and "in" in found.verdict.sentence
    done = [trial for trial in found.trials if trial.state == DONE]
    assert all(trial.facts["reached"] and trial.score == trial.cost for trial in done)


# ---- ends --------------------------------------------------------------------------------------

@pytest.mark.parametrize("after", short_or_long([1.1], [0.06 * k for k in range(50)]))
def test_kill_9_loses_nothing_and_resume_counts_nothing_twice(toy, start, cli, after):
    count = 14 if LONG else 8
    command = ["sweep", toy, "--runs", count, "--workers", 2, "--metric", "perf", "--seeds", 0]
    first = start(*command)
    wait_until((place_of(toy) / "sweep.json").is_file)
    time.sleep(after)
    family = [first.pid, *descendants(first.pid)]
    first.send_signal(signal.SIGKILL)
    wait_until(lambda: not any(map(alive, family)))         # no worker outlives it
    before = finished(place_of(toy))
    done = cli("sweep", toy, "--resume", "--seeds", 0, timeout=120)
    assert done.returncode == 0, done.stderr
    store, _ = open_sweep(place_of(toy))
    trials = store.trials()
    assert {number: (trial.score, trial.cost) for number, trial in enumerate(trials)
            if number in before} == before
    assert [trial.number for trial in trials] == list(range(count))
    assert all(trial.score is not None for trial in trials)
    assert len(runs.list_runs(place_of(toy) / "trials")) == count


def test_ctrl_c_ends_within_a_few_trials_and_says_how_to_go_on(toy, start):
    command = start("sweep", toy, "--runs", 500, "--workers", 2, "--metric", "perf")
    wait_until(lambda: len(finished(place_of(toy))) >= 3)
    before = len(finished(place_of(toy)))
    command.send_signal(signal.SIGINT)
    _, err = command.communicate(timeout=60)
    assert command.returncode == 130 and len(finished(place_of(toy))) <= before + 6
    assert "--resume 1" in err and "finished trials kept" in err
    assert (place_of(toy) / "best.ini").is_file()
    assert not [run for run in runs.list_runs(place_of(toy) / "trials")
                if run.status == "running"]


def test_a_worker_that_dies_is_replaced_and_its_trial_runs_again(toy, start):
    command = start("sweep", toy, "--runs", 5, "--workers", 1, "--metric", "perf", "--seeds", 0)
    wait_until(lambda: len(finished(place_of(toy))) >= 2)
    for pid in descendants(command.pid):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    _, err = command.communicate(timeout=60)
    assert command.returncode == 0, err
    assert sorted(finished(place_of(toy))) == list(range(5))


# ---- machines ----------------------------------------------------------------------------------

@pytest.mark.long
def test_a_second_machine_joins_over_grpc(toy, start, cli, tmp_path):
    """The gRPC proxy on the loopback, and a worker with a folder of its own."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = start("sweep", toy, "--runs", RUNS, "--workers", 1, "--metric", "perf", "--seeds", 0)
    wait_until(lambda: len(finished(place_of(toy))) >= 1)
    ready, stop = threading.Event(), threading.Event()
    server = threading.Thread(target=serve, args=(place_of(toy), port, "127.0.0.1", ready, stop))
    server.start()
    assert ready.wait(10)
    elsewhere = tmp_path / "elsewhere"
    joined = cli("sweep", toy, "--join", f"grpc://127.0.0.1:{port}", "--runs-dir", elsewhere)
    _, err = command.communicate(timeout=60)
    stop.set()
    server.join()
    assert joined.returncode == 0 and command.returncode == 0, joined.stderr + err
    store, _ = open_sweep(place_of(toy))
    assert [trial.score is not None for trial in store.trials()] == [True] * RUNS
    theirs = runs.list_runs(elsewhere / "faulty" / "sweeps" / "faulty-0001" / "trials")
    here = runs.list_runs(place_of(toy) / "trials")
    assert theirs and here and not {r.number for r in theirs} & {r.number for r in here}


def test_a_sweep_of_another_environment_is_not_joined(toy, cli, monkeypatch):
    monkeypatch.chdir(toy.parent)
    sweep(toy, {**QUICK, "sweep.max_runs": 1}, seeds=0)
    header = toy / "faulty.h"
    header.write_text(header.read_text().replace("float perf;", "float perf;\n    float extra;"))
    for command in (["--resume"], ["--join", place_of(toy)]):
        done = cli("sweep", toy, *command)
        assert done.returncode == 2 and "environment" in done.stderr and "hint" in done.stderr


# ---- the command -------------------------------------------------------------------------------

def test_the_command_prints_what_was_found(toy, cli):
    done = cli("sweep", toy, "--runs", 4, "--workers", 1, "--metric", "perf", "--seeds", 1)
    assert done.returncode == 0, done.stderr
    assert [line.split()[0] for line in done.stdout.splitlines()] == [
        "swept", "best", "verdict", "copy", "page", "next"]
    assert "Score against cost" in (place_of(toy) / "sweep.html").read_text()
    drawn = cli("sweep", "--map", toy, place_of(toy), "-o", toy.parent / "map.html")
    assert drawn.returncode == 0 and (toy.parent / "map.html").is_file(), drawn.stderr
    shown = cli("sweep", toy, "--show")
    assert "default" in shown.stdout and "learning_rate" in shown.stdout
    best = cli("sweep", toy, "--best").stdout
    assert best.startswith("# sweep 1 of faulty") and "[train]\n" in best
    facts = json.loads(cli("sweep", toy, "--show", "1", "--format", "json").stdout)
    assert len([t for t in facts["trials"] if not t["verdict"] and t["repeats"] is None]) == 4
    listed = cli("runs", "list", toy, "--sweep", "1").stdout.splitlines()
    assert len(listed) == 1 + len(facts["trials"])


@pytest.mark.parametrize("options, told", [
    (["--only", "gama"], "there is no setting 'gama'"),
    (["--method", "tpi"], "did you mean 'tpe'?"),
    (["--metric", "joy"], "does not log 'joy'"),
    (["--runs", "x"], "max_runs cannot be 'x'"),
    (["--sweep.max-cost", "3"], "no setting 'max_cost'"),
    (["--train.gama", "3"], "has no setting 'gama'"),
    (["--resume", "7"], "there are no sweeps yet"),
    (["--join", "nowhere"], "this is no sweep"),
    (["--show"], "there are no sweeps yet"),
])
def test_bad_input_is_refused_before_anything_runs(toy, cli, options, told):
    done = cli("sweep", toy, *options)
    assert done.returncode == 2 and told in done.stderr, done.stderr
    assert not place_of(toy).exists()


@long_only
def test_two_sweeps_get_two_folders(toy, start):
    pair = [start("sweep", toy, "--runs", 3, "--workers", 1, "--metric", "perf", "--seeds", 0)
            for _ in range(2)]
    assert [each.communicate(timeout=60) and each.returncode for each in pair] == [0, 0]
    assert [sorted(finished(place_of(toy, number))) for number in (1, 2)] == [[0, 1, 2]] * 2


def test_a_resumed_sweep_keeps_its_space(toy, monkeypatch, capsys):
    monkeypatch.chdir(toy.parent)
    sweep(toy, {**QUICK, "sweep.max_runs": 1}, seeds=0)
    with pytest.raises(UsageError, match=r"sweep\.only cannot change"):
        sweep(toy, {"sweep.only": "gamma"}, resume="latest")
    found = sweep(toy, {"sweep.max_runs": 2}, resume="latest", seeds=0)
    assert len(found.trials) == 2 and "no time is left" not in capsys.readouterr().err
    found = sweep(toy, {"sweep.max_runs": 9, "sweep.seconds": 1}, resume="latest", seeds=0)
    assert len(found.trials) == 2
    assert "of 1 seconds were spent before: no time is left to search" in capsys.readouterr().err


@long_only
def test_wandb_shows_the_trials_of_a_sweep_as_one_group(toy, monkeypatch):
    monkeypatch.chdir(toy.parent)
    monkeypatch.setenv("WANDB_MODE", "offline")
    monkeypatch.setenv("WANDB_SILENT", "true")
    found = sweep(toy, {**QUICK, "sweep.max_runs": 1, "sweep.workers": 1}, seeds=0, wandb=True)
    [record] = Path(found.trials[0].facts["run"]).glob("wandb/offline-run-*/*.wandb")
    wait_until(lambda: b"env/perf" in record.read_bytes())
    data = record.read_bytes()
    assert b"faulty-0001" in data and b"trials\x12" not in data


@long_only
@pytest.mark.parametrize("keep", some_or_all(["front", "all"], 0))
def test_checkpoints_of_the_front_stay_and_others_on_request(toy, monkeypatch, keep):
    monkeypatch.chdir(toy.parent)
    found = sweep(toy, {**QUICK, "sweep.max_runs": 9, "sweep.keep": keep}, seeds=0)
    kept = {each.number for each in runs.list_runs(found.folder / "trials")
            if list(each.folder.glob("checkpoints/*"))}
    assert found.best_trial.number in kept
    assert (kept == set(range(9))) is (keep == "all")


@long_only
def test_a_full_disk_is_no_fault_of_the_trial(toy, monkeypatch):
    """What cannot be written ends the worker; its trial waits for another time."""
    monkeypatch.chdir(toy.parent)
    found = sweep(toy, {**QUICK, "sweep.max_runs": 1, "sweep.workers": 1}, seeds=0)
    store, plan = open_sweep(found.folder)
    store.note(over=False, beat=time.time())
    store.add({**found.best, "env.fault": FAULTS["SEGFAULT"]}, "waiting", repeats=0)
    monkeypatch.setattr(trial_module, "FULL", 1 << 60)
    bench = Bench(env_source.find(toy), plan, found.folder / "trials")
    try:
        with pytest.raises(RunError, match="disk is full") as raised:
            Worker(store, bench).run()
    finally:
        bench.close()
    assert raised.value.exit_status == 4 and "--resume" in raised.value.hint
    assert [each.state for each in store.trials()] == [DONE, "waiting"]
    assert not (found.folder / "trials" / "0001").exists()
