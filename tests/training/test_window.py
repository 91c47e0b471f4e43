"""Results are means over a window of episodes, and the best window's weights are kept."""
from __future__ import annotations

import math

import pytest
from helpers.forms import forms
from helpers.places import ROOT, SPECIMENS

import puffer_sdk
from puffer_sdk.reporting import agreement
from puffer_sdk.settings.goal import parse_goal
from puffer_sdk.training import checkpoint, runs
from puffer_sdk.training.models import find_model
from puffer_sdk.training.window import LEAST, MOST, Best, Window

INNINGS = SPECIMENS / "innings"


def filled(*rows: tuple[int, float, float]) -> Window:
    """rows: (step, n, perf)"""
    window = Window()
    for step, n, perf in rows:
        window.add(step, {"perf": perf, "n": n} if n else {})
    return window


def test_a_mean_is_weighted_by_entries():
    assert filled((1, 1, 1.5), (2, 3, 0.5)).means == {"perf": 0.75, "n": 4}
    assert filled((1, 0, 0.0)).means == {}


def test_an_epoch_with_few_entries_is_not_the_result():
    window = filled(*((step, 50, 0.5) for step in range(1, 9)), (9, 1, 1.5))
    assert window.means["perf"] == pytest.approx(0.5, abs=0.02)


def test_it_holds_the_last_tenth_or_as_much_as_is_enough():
    assert filled(*((step, 2, 0.0) for step in range(1, 1001))).entries == 2 * 101
    assert filled(*((step, 1, 0.0) for step in range(1, 201))).entries == LEAST
    assert filled(*((step, 600, 0.0) for step in range(201, 209))).entries == 1200
    assert MOST == 1000


def test_its_state_goes_through_a_checkpoint():
    first, second = filled((1, 2, 0.25), (2, 5, 0.5)), Window()
    second.load(first.state)
    assert (second.means, second.entries) == (first.means, first.entries)


def test_the_best_is_of_the_goals_metric_and_direction():
    best = Best(parse_goal("score <= 3"))
    looks = []
    for step, score in enumerate((5.0, 4.0, 4.0, 6.0, math.nan, 2.0)):
        window = Window()
        window.add(step, {"score": score, "n": float(LEAST)})
        looks.append(best.look(step, window))
    assert looks == [True, True, False, False, False, True]
    assert best.met == {"metric": "score", "value": 2.0, "step": 5}
    few = Window()
    few.add(9, {"score": 0.0, "n": LEAST - 1.0})
    assert not best.look(9, few)


# -- of whole runs ---------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def fading(tmp_path_factory):
    """A run that reaches its goal and loses it: the first episode of each env scores 0, all others
    1, and the goal is low."""
    return puffer_sdk.train(INNINGS, {
        "env.length": 16, "env.outs": 1, "eval.goal": "perf <= 0.8"},
        runs_dir=tmp_path_factory.mktemp("fading"))


def test_solved_and_then_lost_is_said(fading):
    assert fading.goal and fading.lost == "perf <= 0.8" and not fading.missed
    assert fading.reached["perf"] == 1.0 and fading.reached["n"] >= LEAST


def test_the_best_weights_are_kept_beside_the_last(fading):
    run = runs.Run(fading.folder)
    best = checkpoint.load(run.best_path)
    assert best.facts["best"] == {"metric": "perf", "value": 0.75, "step": best.step}
    assert best.step == 4096 < checkpoint.load(run.checkpoints()[-1]).step
    home = fading.folder.parent
    assert find_model(home, "best") == run.best_path == find_model(home, "1", best=True)
    assert find_model(home, "latest") == fading.checkpoint == find_model(home, "1")


def test_runs_and_list_show_the_window(fading):
    run = runs.Run(fading.folder)
    assert run.reached()["perf"] == 1.0
    assert runs.best_score([run]) == {"metric": "perf", "value": 1.0, "run": 1}


EXAMPLES = sorted(path.stem for path in (ROOT / "examples").glob("*/*.ini"))


@pytest.mark.proof
@pytest.mark.parametrize("name", forms(["squared", "cartpole"],
                                       ["squared", "target", *EXAMPLES, "innings"]))
def test_without_learning_the_window_and_eval_agree(name, tmp_path):
    """The same weights and the same way to draw actions: 99 % intervals overlap."""
    if name in ("squared", "target"):
        folder = puffer_sdk.new(name, template=name, output_dir=tmp_path).folder
    else:
        folder = INNINGS if name == "innings" else ROOT / "examples" / name
    shared = name in ("snake", "target")
    found = {each.name: each for each in agreement.compare(
        folder, agents=1024, shared=shared, runs_dir=tmp_path)}
    assert {"score", "episode_length"} <= set(found)
    if name == "innings":                   # the first game is another
        del found["perf"]
    assert not [each for each in found.values() if not each.agrees]


def test_another_mean_does_not_agree():
    rows = [{"env/score": value, "env/n": 100.0} for value in (1.0, 1.1, 0.9, 1.0, 1.0)]
    entries = [{"env": env, "n": 1.0, "tick": 9, "score": 1.0 + 0.1 * (env % 3)}
               for env in range(9)]
    [measure] = agreement.measures(rows, entries)
    assert measure.training == pytest.approx(1.0) and measure.eval == pytest.approx(1.1)
    assert measure.agrees
    [measure] = agreement.measures(rows, [{**each, "score": each["score"] + 1} for each in entries])
    assert not measure.agrees
    assert agreement.measures(rows, []) == []
