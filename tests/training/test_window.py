"""The window: means over the latest episodes that ended; without learning, what eval says."""
from __future__ import annotations

import numpy as np
import pytest
from helpers.places import ROOT, SPECIMENS
from helpers.short_or_long import long_only, short_or_long

import puffer_sdk
from puffer_sdk.reporting import agreement
from puffer_sdk.training.action_log import Restarts
from puffer_sdk.training.ended_agents import Endings, what_is_cut
from puffer_sdk.training.log_window import LEAST, MOST, Window

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
    assert (second.means, second.total, second.last) == (first.means, 7, 2)


EXAMPLES = sorted(path.stem for path in (ROOT / "examples").glob("*/*.ini"))


@long_only
@pytest.mark.parametrize("name", short_or_long(["squared", "cartpole"],
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


# -- who has not ended an episode ------------------------------------------------------------------

def test_agents_without_an_ending_are_counted():
    endings = Endings(4, per_env=1)
    endings.note(np.array([[0, 1], [0, 0], [1, 1], [0, 0]]), 3)
    assert endings.count == 2
    endings.note(np.array([[1, 1], [0, 1], [0, 0], [0, 0]]), 3)
    assert endings.count == 1
    endings.begin()
    assert endings.count == 4


@pytest.mark.parametrize(("per_env", "counts"), [(1, [8, 5, 0]), (2, [8, 2, 0])])
def test_where_endings_are_not_shown_entries_say_how_many_lack_one_at_least(per_env, counts):
    """On a GPU. An entry may be of one agent, or of all agents of an env."""
    endings, found = Endings(8, per_env), []
    for entries in (0, 3, 9):
        endings.note(None, entries)
        found.append(endings.count)
    assert found == counts
    restarts = Restarts(8, 64)
    restarts.entries = 3
    assert what_is_cut(5, 8, restarts, least=True).startswith("at least 5 of 8 agents have ended")
    assert what_is_cut(5, 8, restarts, least=False).startswith("5 of 8 agents")
