"""The benchmark of learning: its split, and its statistics."""
from __future__ import annotations

import sys

import numpy as np
import pytest
from helpers.places import ROOT

sys.path.insert(0, str(ROOT / "benchmarks" / "learning"))
import bench_learn
from learn_tasks import TASKS

HELD_OUT = {"CartPole-v1", "Acrobot-v1", "MountainCarContinuous-v0", "LunarLanderContinuous-v3",
            "HalfCheetah-v5", "InvertedPendulum-v5", "MiniGrid-Empty-8x8-v0",
            "MiniGrid-DoorKey-5x5-v0", "popgym-RepeatPreviousEasy-v0", "simple_spread_v3",
            "corridor", "walk", "pong"}


def test_the_split_stays_as_it_was_before_the_first_search():
    assert {task.name for task in TASKS.values() if task.held_out} == HELD_OUT
    assert len(TASKS) == 30 and sum(task.in_c for task in TASKS.values()) <= 8


def test_the_interquartile_mean_is_that_of_the_middle_half():
    assert bench_learn.interquartile_mean(np.array([0, 1, 2, 3, 4, 5, 6, 100.0])) == 3.5
    assert bench_learn.interquartile_mean(np.array([[5.0, 5], [1, 3]])).tolist() == [5, 2]


def figures(**scores) -> dict:
    """Runs of "walk", of which 1 is the best known, and random play has 0."""
    runs = {who: {str(seed): {"last": last, "best": last, "cpu": 1.0}
                  for seed, last in enumerate(each)} for who, each in scores.items()}
    return {"tasks": {"walk": {"steps": 100, "best": 1.0, "held_out": True}},
            "runs": {"walk": {"random": 0.0, **runs}}}


def test_intervals_hold_what_they_should():
    same = figures(ours=[0.5] * 5, sb3=[0.25] * 5)
    assert bench_learn.iqm(same, "ours", "last", ["walk"]) == (0.5, 0.5, 0.5)
    assert bench_learn.difference(same, "sb3", "last", ["walk"]) == (0.25, 0.25, 0.25)
    spread = figures(ours=[0, 1, 0, 1, 0.5], sb3=[0, 1, 0, 1, 0.5])
    point, low, high = bench_learn.difference(spread, "sb3", "last", ["walk"])
    assert low < point == 0 < high and low == pytest.approx(-high, abs=0.1)
    assert bench_learn.difference(spread, "zoo", "last", ["walk"]) is None
    shown = bench_learn.table(spread)
    assert "| held out | ours, defaults | 1 | 5 | 0.50 (0.00 to 1.00) |" in shown


def test_a_try_keeps_its_own_runs_and_shows_them(monkeypatch, capsys, tmp_path):
    asked = []

    def run(script, *words):
        asked.append((script, *words))
        return {"random": 0.0} if "--random" in words else {"cpu": 1.0, "last": 0.5, "best": 0.75}

    monkeypatch.setattr(bench_learn, "run", run)
    monkeypatch.setattr(bench_learn, "versions", lambda figures: {})
    monkeypatch.setattr(bench_learn, "ROOT", tmp_path)
    monkeypatch.setattr(sys, "argv", ["bench_learn.py", "--try", "slow", "--half", "search",
                                      "--only", "Reacher", "--seeds", "2",
                                      "--train.learning-rate=0.001"])
    for _ in range(2):                  # what is there is not run again
        assert bench_learn.main() == 0
    assert asked == [("learn_ours.py", "Reacher-v5", 1, "--random"),
                     *(("learn_ours.py", "Reacher-v5", seed, "--train.learning-rate=0.001")
                       for seed in (1, 2))]
    assert "0.75, 0.5; 1\N{NO-BREAK SPACE}s" in capsys.readouterr().out
    assert (tmp_path / "build" / "learning" / "slow.json").is_file()


def test_what_is_held_out_is_not_tuned_on(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["bench_learn.py", "--try", "x", "--train.gamma=0.9"])
    with pytest.raises(SystemExit) as refused:
        bench_learn.main()
    assert refused.value.code == 2 and "--half search" in capsys.readouterr().err
