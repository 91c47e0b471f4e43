"""What PufferLib's sampler of sweeps does wrong: one test each, that ours does not.

Others stand elsewhere: minimize is exactly maximize of the negative, failed trials enter no model,
and the start runs once (test_sampler.py); a killed worker, kill -9 and resume (test_sweep.py); a
default space on every environment (test_plan.py).
"""
import math
import shutil
from pathlib import Path

import numpy as np
import pytest
from helpers.short_or_long import long_only

from puffer_sdk.base.errors import UsageError
from puffer_sdk.sweeping.sampler import Sampler
from puffer_sdk.sweeping.space import Space
from puffer_sdk.sweeping.stopping import LEAST, is_hopeless
from puffer_sdk.sweeping.store import DONE, FAILED, Stored
from puffer_sdk.sweeping.sweep import sweep
from puffer_sdk.training import runs

pytest_plugins = ["helpers.playground_fixtures"]

RATE = {"train.learning_rate": {"distribution": "log_normal", "min": 1e-3, "max": 0.1}}
SPACE = """
[sweep.train.learning_rate]
distribution = log_normal
min = 1e-3
max = 1e-1
"""


@pytest.fixture
def toy(faulty, tmp_path, monkeypatch):
    folder = shutil.copytree(faulty, tmp_path / "faulty")
    ini = folder / "faulty.ini"
    ini.write_text(ini.read_text() + SPACE)
    monkeypatch.chdir(tmp_path)
    return folder


def test_minimizing_keeps_the_lowest_and_leaves_what_costs_too_much():
    """Protein keeps the highest everywhere, and prefers what is over the limit."""
    sampler = Sampler(Space(RATE), minimize=True)
    for _ in range(30):
        trial = sampler.ask()
        rate = math.log10(trial.settings["train.learning_rate"])
        if rate > -1.3:         # over the limit
            sampler.fail(trial)
        else:
            sampler.tell(trial, (rate + 1.5) ** 2, 10 ** (rate + 3))
    assert abs(math.log10(sampler.best().settings["train.learning_rate"]) + 1.5) < 0.1
    assert sum(trial.state == "failed" for trial in sampler.trials) <= 6


@long_only
def test_the_metric_that_was_asked_for_is_the_one_that_counts(toy):
    """Protein maximises the score whatever the metric is called."""
    asked = {"sweep.max_runs": 2, "sweep.seconds": 0, "sweep.workers": 1}
    found = sweep(toy, {**asked, "sweep.metric": "episode_length"}, seeds=0)
    for trial in found.trials:
        last = runs.Run(Path(trial.facts["run"])).last_metrics()
        assert trial.score == last["window/episode_length"] != last["window/perf"]
    with pytest.raises(UsageError, match="no_such"):
        sweep(toy, {**asked, "sweep.metric": "no_such"}, seeds=0)


def curve(score: float, cost: float, number: int = 0) -> Stored:
    """A whole run whose score rose evenly."""
    return Stored(number, DONE, id=number, score=score, facts={"cost": cost, "curve": [
        score * (eighth + 1) / 8 for eighth in range(8)]})


def test_a_hopeless_trial_is_stopped_and_a_slow_start_is_not():
    """Protein's stopping never fires. It compares runs at the same number of steps, too, where
    one that anneals over a longer schedule is behind for good reason: ours takes shares."""
    whole = [curve(1.0 + 0.01 * k, 10.0, k) for k in range(LEAST)]
    assert is_hopeless(2, 0.02, 2.5, whole)
    assert not is_hopeless(2, 0.35, 2.5, whole)
    assert not is_hopeless(2, 0.02, 2.5, whole[1:])             # too little is known
    assert not is_hopeless(1, 0.0, 1.0, whole)                  # too early
    assert not is_hopeless(2, 0.02, 0.5, whole)                 # for so little, nothing was better
    upside_down = [curve(-trial.score, trial.cost, trial.number) for trial in whole]
    assert is_hopeless(2, -0.02, 2.5, upside_down, minimize=True)


def test_a_stopped_trial_is_no_run_of_fewer_steps():
    """Protein stores a point at t steps of a curve as a run of t steps, whose learning rate would
    have ended at 0; and what it cost as the cost of those settings."""
    space = Space({**RATE, "train.total_timesteps": {
        "distribution": "log_normal", "min": 1e3, "max": 1e5}})
    sampler = Sampler(space)
    for number in range(8):
        trial = sampler.ask()
        sampler.tell(trial, number, 1.0)
    stopped = sampler.ask()
    sampler.stop(stopped, 0.5)
    sampler.ask()
    assert stopped.cost is None and stopped not in sampler.front()
    assert len(sampler.trials) == 10 and stopped.settings["train.total_timesteps"] > 900
    assert len(sampler.costs.points) == 8


@long_only
@pytest.mark.parametrize("workers, count", [(2, 3)])
def test_the_last_trials_of_all_workers_are_collected(toy, workers, count):
    """Protein ends when the last trial begins, and loses those that still run beside it."""
    found = sweep(toy, {"sweep.max_runs": count, "sweep.seconds": 0, "sweep.workers": workers,
                        "sweep.metric": "perf"}, seeds=0)
    assert [trial.state for trial in found.trials] == [DONE] * count


@long_only
def test_the_limit_on_the_cost_of_a_trial_is_a_limit(toy):
    """Protein's limit only steers what is proposed: users saw 5 hours at a limit of 300 s."""
    with pytest.raises(UsageError, match="no trial has finished") as raised:
        sweep(toy, {"sweep.max_runs": 1, "sweep.seconds": 0, "sweep.workers": 1,
                    "sweep.metric": "perf", "sweep.max_suggestion_cost": 0.3,
                    "train.total_timesteps": 10**9}, seeds=0)
    assert "cost more than 0.3" in str(raised.value.detail)
    [run] = runs.list_runs(next((toy.parent / "runs").rglob("trials")))
    assert run.status == FAILED and run.last_metrics()["cpu"] < 3


def test_two_scores_of_the_same_settings_are_two_trials():
    """Protein keeps one of them, the later one: the noise cannot be told."""
    sampler, noise = Sampler(Space(RATE)), np.random.default_rng(0)
    for _ in range(12):
        for rate in (0.002, 0.01, 0.05):
            sampler.tell(sampler.add({"train.learning_rate": rate}), noise.normal())
    sampler.best()
    assert len(sampler.scores.points) == 36
    assert math.sqrt(sampler.scores.noise) * sampler.scores.scale > 0.4
