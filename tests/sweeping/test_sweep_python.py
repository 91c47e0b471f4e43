"""Sweeps of environments in Python: spaces, faults, costs, results, storages, Ctrl-C."""
import contextlib
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys

import numpy as np
import pytest
from helpers.places import ROOT, SPECIMENS
from helpers.playground import alive, descendants, flags, wait_until
from helpers.postgres import server
from helpers.sessions import blocks
from helpers.short_or_long import long_only, short_or_long, some_or_all

import puffer_sdk
from puffer_sdk.base.errors import UsageError
from puffer_sdk.interop.python_envs import cpu_usage, env_source
from puffer_sdk.policy.evaluate import evaluate
from puffer_sdk.settings import inifile
from puffer_sdk.sweeping.storages import connect
from puffer_sdk.sweeping.store import DONE, FAILED, RUNNING, STOPPED, Stored
from puffer_sdk.sweeping.sweep import open_sweep, sweep
from puffer_sdk.sweeping.sweep_plan import read
from puffer_sdk.sweeping.sweep_worker import keep_checkpoints
from puffer_sdk.sweeping.trial import Bench

pytest_plugins = ["helpers.playground_fixtures"]

GAMES = SPECIMENS / "python_envs" / "games.py"
SMALL = {"train.horizon": 16, "train.minibatch_size": 128, "vec.total_agents": 16,
         "policy.hidden_size": 16, "train.total_timesteps": 16 * 16 * 2}
QUICK = {"sweep.max_runs": 3, "sweep.seconds": 0, "sweep.workers": 1}
SPACE = """
[env]
size = 3
map = maze

[vec]
step_timeout = 20

[sweep.train.learning_rate]
distribution = log_normal
min = 1e-3
max = 1e-1

[sweep.env.size]
distribution = int_uniform
min = 2
max = 6
"""


@pytest.fixture
def here(tmp_path, monkeypatch):
    shutil.copy(GAMES, tmp_path / "games.py")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def plan_of(name: str, settings=None, ini=None):
    source, settings = env_source.find(name, ini), settings or {}
    prepared = source.prepare({key: value for key, value in settings.items()
                               if not key.startswith("sweep.")})
    return read(source, settings, prepared.config, prepared.spec, prepared.count_agents())


# ---- what is searched --------------------------------------------------------------------------

def test_the_default_space_fits_small_epochs_and_begins_with_the_own_settings(here):
    plan = plan_of("games.py:Guess")
    assert plan.metric == "episode_return" and plan.env == "games.py:Guess"
    assert plan.rows["train.minibatch_size"] == {
        "distribution": "uniform_pow2", "min": 64, "max": 2048}
    own = env_source.find("games.py:Guess").resolve()
    assert plan.start == {name: own[name] for name in plan.rows}
    three = plan_of("games.py:Walkers")
    assert all(three.repair({"vec.total_agents": agents})["vec.total_agents"] % 3 == 0
               for agents in (8, 64, 128))


def test_the_guides_ini_searches_keywords(here):
    *_, text = blocks(ROOT / "docs" / "guides" / "python.md", "ini")
    (here / "given.ini").write_text(text)
    plan = plan_of("games.py:Maze", ini=here / "given.ini")
    assert plan.rows["env.size"] == {"distribution": "int_uniform", "min": 4, "max": 12}
    assert plan.rows["env.map"]["choices"] == ["four_rooms", "maze"]
    assert plan.start == {"env.size": 8, "env.map": "four_rooms"}


@pytest.mark.parametrize(("settings", "text", "says"), some_or_all([
    ({}, "[sweep.env.size]\ndistribution = int_uniform\nmin = 2\nmax = 6\n",
     r"\[sweep.env.size\] has no initial value"),
    ({}, "[sweep.train.gama]\ndistribution = uniform\nmin = 0\nmax = 1\n",
     "there is no setting 'train.gama'"),
    ({"sweep.max_run": 3}, "", "no setting 'max_run'"),
    ({"env.sise": 3}, "", "takes no keyword 'sise'\n  --> command line\n"),
    ({}, "[env]\nsise = 3\n", r"takes no keyword 'sise'\n  --> given.ini:2\n"),
], 0, 2))
def test_what_cannot_be_searched_is_refused_before_anything_runs(here, settings, text, says):
    (here / "given.ini").write_text(text)
    with pytest.raises(UsageError, match=says):
        sweep("games.py:Maze", {**QUICK, **settings}, ini=here / "given.ini")
    assert not (here / "runs").exists()


def test_a_package_that_is_missing_is_named():
    with pytest.raises(UsageError, match="there is no module no_package"):
        sweep("gymnasium:no_package:Walk-v0", QUICK)


def test_a_metric_that_is_nearly_one_that_is_logged_is_warned_of(here, capsys):
    assert plan_of("games.py:Count", {"sweep.metric": "episode_retrun"}).metric == "episode_retrun"
    assert "episode_return" in capsys.readouterr().err


# ---- trials ------------------------------------------------------------------------------------

@pytest.fixture
def bench(here):
    """bench(**settings) -> a Bench on Count; closed with the test."""
    made = []

    def go(name="games.py:Count", **settings):
        plan = plan_of(name, {**SMALL, "sweep.only": "lr", "vec.step_timeout": 1, **settings})
        (here / "trials").mkdir(exist_ok=True)
        made.append(Bench(env_source.find(name), plan, here / "trials"))
        return made[-1]

    yield go
    for each in made:
        each.close()


def test_a_fault_costs_its_trial_alone_and_says_what_it_was(bench):
    one, outcomes = bench(), {}
    for number, fault in enumerate(("raise", "die", "exit", "hang", "shape", "nan", "none")):
        outcomes[fault] = one.run(number, {"train.learning_rate": 0.01, "env.fault": fault}, 1,
                                  lambda share, score, cost: None)
    told = {fault: outcome.facts.get("error", "") for fault, outcome in outcomes.items()}
    assert re.search(r"raised ValueError in step: no such lever \(env 0, seed \d+, step 3\)",
                     told["raise"])
    assert "failed in step: SIGSEGV" in told["die"] and "exit(3)" in told["exit"]
    assert "no return for 1 seconds (env 0, seed" in told["hang"]
    assert "has another shape than its space" in told["shape"]
    assert "nan" in told["nan"] or "non-finite" in told["nan"]
    assert {fault: outcome.state for fault, outcome in outcomes.items()} == {
        **dict.fromkeys(told, FAILED), "none": DONE}
    assert outcomes["none"].score > 0 and outcomes["none"].facts["cost"] > 0


def test_a_trial_plays_in_its_own_process_unless_somebody_says(bench):
    assert bench().resolve({}, 1).vec.num_workers == 0
    assert bench(**{"vec.num_workers": 2}).resolve({}, 1).vec.num_workers == 2


def test_the_cost_counts_processes_that_live_and_that_have_ended():
    """A burnt quarter of a second below this process, and below its child."""
    burn = "import time\nwhile time.process_time() < 0.25: pass\n"
    nested = f"import subprocess, sys\nsubprocess.run([sys.executable, '-c', {burn!r}])\n{burn}"
    before = cpu_usage.descendants_seconds()
    lives = subprocess.Popen([sys.executable, "-c", f"{nested}\ninput()"], stdin=subprocess.PIPE)
    wait_until(lambda: cpu_usage.descendants_seconds() - before >= 0.48, seconds=20)
    lives.communicate(b"\n")
    assert cpu_usage.descendants_seconds() - before >= 0.46      # ended: in ticks of 0.01 s
    assert lives.pid not in cpu_usage.children(cpu_usage.os.getpid())


@long_only
def test_a_trial_with_workers_costs_what_they_use(bench):
    settings = {"train.learning_rate": 0.01, "env.burn": 0.0005}
    costs = [bench(**{"vec.num_workers": workers}).run(
        workers, settings, 1, lambda *_: None).facts["cost"] for workers in (0, 2)]
    assert min(costs) > 0.0005 * SMALL["train.total_timesteps"]


def test_checkpoints_of_what_is_judged_stay(here):
    """Also where repeated runs have done better than the trial that they repeat."""
    plan, trials = plan_of("games.py:Count"), []
    scores = [9, 1, 8, 7, 6, 5, 2, 20, 21, 22, 23, 24]
    for number, score in enumerate(scores):
        facts = {"settings": {}, "cost": 10.0 + number, "run": str(here / f"{number:04d}")}
        if number > 6:
            facts.update({"repeats": 6} if number < 9 else {"verdict": "best", "trial": 1})
        (here / f"{number:04d}" / "checkpoints").mkdir(parents=True)
        trials.append(Stored(number, DONE, facts, number, float(score)))
    keep_checkpoints(trials, plan, here)
    left = {number for number in range(len(scores))
            if (here / f"{number:04d}" / "checkpoints").exists()}
    assert left == {0, 2, 3, 4, 5} | {1, 6} | {9, 10, 11}


# ---- whole sweeps ------------------------------------------------------------------------------

def test_a_sweep_leaves_its_results(here, cli):
    """Its best settings train with --config, a trial can be evaluated, `runs` lists it."""
    (here / "given.ini").write_text(SPACE)
    found = sweep("games.py:Maze", {**QUICK, **SMALL, "env.length": 4}, seeds=0,
                  ini=here / "given.ini")
    assert [trial.state for trial in found.trials] == [DONE] * 3
    assert found.trials[0].settings["env.size"] == 3        # as the ini says
    sizes = {trial.settings["env.size"] for trial in found.trials}
    specs = [json.loads((here / trial.facts["run"] / "spec.json").read_text())
             for trial in found.trials]
    assert len(sizes) > 1 and {spec["obs_size"] for spec in specs} == sizes
    entries, _, faults = inifile.read(found.folder / "best.ini")
    texts = {f"{entry.section}.{entry.key}": entry.text for entry in entries}
    assert not faults and texts["env.map"] == "maze" and texts["env.length"] == "4"
    assert texts["env.size"] == str(found.best["env.size"]) and texts["vec.step_timeout"] == "20"
    # rewards are scaled as in `train`: measured once, the same in all trials
    scales = {env_source.find("games.py:Maze").resolve(
        ini=here / trial.facts["run"] / "config.ini").vec.reward_scale for trial in found.trials}
    assert scales == {float(texts["vec.reward_scale"])} and 0.2 < scales.pop() < 0.8
    again = puffer_sdk.train("games.py:Maze", ini=found.folder / "best.ini")
    assert again.steps == SMALL["train.total_timesteps"]
    score = evaluate("games.py:Maze", {"eval.episodes": 4}, ini=found.folder / "best.ini",
                     model=found.best_trial.facts["run"]).scores["trained"]
    assert score.mean["episode_length"] == 4
    rows = json.loads(cli("runs", "list", "games.py:Maze", "--sweep", 1, "--format", "json",
                          cwd=here).stdout)["runs"]
    assert [row["env"] for row in rows] == ["games.py:Maze"] * 3
    # resumed with what it began with, though the file is gone
    (here / "given.ini").unlink()
    more = sweep("games.py:Maze", {"sweep.max_runs": 4}, resume="latest", seeds=0)
    assert len(more.trials) == 4 and more.plan.held == found.plan.held
    assert np.isfinite(more.trials[3].score)


@contextlib.contextmanager
def proxy(address: str):
    """Optuna's gRPC proxy in front of a database, on a port of the loopback: its URL."""
    from optuna.storages._grpc.server import make_server

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    served = make_server(connect(address), "127.0.0.1", port)
    served.start()
    try:
        yield f"grpc://127.0.0.1:{port}"
    finally:
        served.stop(1.0).wait()


@pytest.fixture
def address(request, tmp_path):
    """The URL of an empty storage."""
    with contextlib.ExitStack() as stack:
        yield stack.enter_context(server()) if request.param == "postgresql" \
            else stack.enter_context(proxy(f"sqlite:///{tmp_path}/behind.db")) \
            if request.param == "grpc" else f"sqlite:///{tmp_path}/sweeps.db"


@long_only
@pytest.mark.parametrize("address", short_or_long(["grpc"], ["grpc", "sqlite", "postgresql"]),
                         indirect=True)
def test_a_storage_holds_a_sweep_through_kill_9_and_for_a_second_machine(here, start, cli, address):
    """kill -9 of all, resume, and somebody who has nothing but the URL."""
    name, elsewhere = "gymnasium:CartPole-v1", here / "elsewhere"
    elsewhere.mkdir()
    place = here / "runs" / "gymnasium" / "CartPole-v1" / "sweeps" / "0001"

    def states() -> list[str]:
        if not (place / "sweep.json").is_file():
            return []
        return [trial.state for trial in open_sweep(place)[0].trials()]

    command = start("sweep", name, "--storage", address, "--runs", 14, "--workers", 2, "--seeds", 0,
                    "--only", "lr", *flags({**SMALL, "train.total_timesteps": 16 * 16 * 8,
                                            "env.max_episode_steps": 8}),     # a claim in 100 steps
                    cwd=here)
    wait_until(lambda: states().count(DONE) >= 2, seconds=60)
    os.killpg(command.pid, signal.SIGKILL)
    command.wait()
    before = {trial.number: trial.score for trial in open_sweep(place)[0].trials()
              if trial.state == DONE}
    command = start("sweep", name, "--resume", "--workers", 1, cwd=here)
    wait_until(lambda: RUNNING in states(), seconds=60)
    joined = cli("sweep", name, "--join", address, cwd=elsewhere)
    _, err = command.communicate(timeout=120)
    assert command.returncode == 0 and joined.returncode == 0, err + joined.stderr
    after = {trial.number: trial.score for trial in open_sweep(place)[0].trials()}
    assert len(after) == 14 and {*states()} <= {DONE, STOPPED} and before.items() <= after.items()
    theirs = [path.parent.name for path in elsewhere.rglob("config.ini")]
    assert theirs and len(theirs) < 14          # both had a share
    best = cli("sweep", name, "--best", cwd=here)
    assert "[train]" in best.stdout and "learning_rate" in best.stdout, best.stderr


@long_only
def test_a_storage_that_cannot_be_reached_is_an_error_before_anything_runs(here, cli):
    done = cli("sweep", "gymnasium:CartPole-v1", "--storage", "grpc://127.0.0.1:1", cwd=here)
    assert done.returncode == 4 and "cannot be reached" in done.stderr
    assert not [*here.rglob("trials/*")]


@long_only
def test_ctrl_c_leaves_no_process(here, start):
    """Also with worker processes below the trial's."""
    command = start("sweep", "games.py:Count", "--runs", 500, "--workers", 2,
                    "--vec.num-workers", 1, "--env.slow", 0.001, cwd=here)
    place = here / "runs" / "games" / "Count" / "sweeps" / "0001"
    # two workers, each with one that forks; a trial and its worker
    below = wait_until(lambda: len(found := descendants(command.pid)) >= 6 and found, seconds=40)
    command.send_signal(signal.SIGINT)
    _, err = command.communicate(timeout=60)
    assert command.returncode == 130, err
    assert "puffer-sdk sweep games.py:Count --resume 1" in err
    wait_until(lambda: not any(map(alive, below)))
    assert {trial.state for trial in open_sweep(place)[0].trials()} <= {"waiting", DONE}
