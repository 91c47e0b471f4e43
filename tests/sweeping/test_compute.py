"""Modelled compute: what a trial does, in CPU seconds that no clock changes."""
import shutil
from dataclasses import replace

import numpy as np
import pytest
from helpers.places import ROOT
from helpers.short_or_long import long_only, short_or_long

from puffer_sdk.base.errors import RunError
from puffer_sdk.env import build, job
from puffer_sdk.interop.python_envs.env_source import find
from puffer_sdk.settings import config
from puffer_sdk.sweeping import calibration
from puffer_sdk.sweeping import sweep_plan as plans
from puffer_sdk.sweeping.calibration import calibrate
from puffer_sdk.sweeping.compute import fit, parts, seconds
from puffer_sdk.sweeping.sampler import Sampler
from puffer_sdk.sweeping.sweep import sweep
from puffer_sdk.sweeping.trial import Bench


def plan_of(folder, **asked):
    built = build.build(folder)
    resolved = config.resolve(folder, spec=built.spec)
    return plans.read(find(folder), {f"sweep.{name}": value for name, value in asked.items()},
                      resolved, built.spec, job.count_agents(folder))


@pytest.fixture(scope="module")
def breakout(tmp_path_factory):
    return shutil.copytree(ROOT / "examples" / "breakout",
                           tmp_path_factory.mktemp("envs") / "breakout")


def test_the_weights_come_back():
    rng = np.random.default_rng(0)
    true = np.array([2e-8, 0, 3e-10, 1e-12])
    rows = rng.random((40, 4)) / [1e-8, 1e-9, 1e-10, 1e-12] * rng.uniform(1, 100, (40, 1))
    found = fit(rows, rows @ true * np.exp(0.02 * rng.normal(size=40)))
    assert found.min() >= 0 and (rows @ found) / (rows @ true) == pytest.approx(1, rel=0.05)


def test_more_work_costs_more(breakout):
    config_ = config.resolve(breakout)
    weights = np.ones(len(parts(config_)))
    base = seconds(weights, config_, 1000)
    assert seconds(weights, config_, 2000) == 2 * base
    for more in ({"policy.hidden_size": 64}, {"policy.num_layers": 2}, {"train.replay_ratio": 2},
                 {"train.minibatch_size": config_.train.minibatch_size // 2},
                 {"vec.total_agents": config_.vec.total_agents // 2}):
        assert seconds(weights, config.resolve(breakout, more), 1000) > base, more


@long_only
@pytest.mark.parametrize("count", short_or_long([4], [30]))
def test_it_is_near_what_is_measured(breakout, tmp_path, count):
    """CPU seconds of trainings that the weights were not fitted to. They themselves differ by a
    tenth or two with what else runs, so that the median is asked for."""
    plan = plan_of(breakout, metric="score")
    weights = calibrate(find(breakout), plan)
    bench = Bench(find(breakout), replace(plan, cost="cpu"), tmp_path)
    asked, found = Sampler(plan.space(), seed=77, method="random"), []
    try:
        for number in range(count):
            settings = asked.ask(number).settings
            outcome = bench.run(number, settings, number,
                                lambda share, score, cost: "stop" if cost > 1 else None)
            if "cost" in outcome.facts:
                found.append(seconds(weights, bench.resolve(settings, number),
                                     outcome.facts["steps"]) / outcome.facts["cost"])
    finally:
        bench.close()
    assert len(found) >= count - 1
    assert np.median(np.abs(np.log(found))) < 0.3


@long_only
def test_the_same_trial_costs_the_same_on_a_busy_machine(breakout, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(calibration, "LONG", 0.05)
    asked = {"sweep.cost": "compute", "sweep.max_runs": 2, "sweep.seconds": 0, "sweep.workers": 1,
             "sweep.only": "train.learning_rate", "train.total_timesteps": 300_000}
    found = sweep(breakout, asked, seeds=0)
    one, other = found.trials
    assert one.cost == other.cost > 0 and one.facts["steps"] == other.facts["steps"]
    assert found.plan.cost_unit == "modelled CPU seconds"
    assert "modelled CPU s" in (found.folder / "sweep.html").read_text()


def test_an_environment_that_cannot_train_has_no_model(breakout, monkeypatch):
    def fails(self, *given):
        raise RunError("it died")
    monkeypatch.setattr(Bench, "run", fails)
    with pytest.raises(RunError, match="cannot be modelled") as raised:
        calibrate(find(breakout), plan_of(breakout, metric="score"))
    assert raised.value.hint == "--cost cpu measures each trial"
