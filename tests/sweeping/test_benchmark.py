"""The benchmark of the sampler: its measures are right, and its page shows what it wrote."""
import json
import sys

import numpy as np
import pytest
from helpers.places import ROOT
from helpers.short_or_long import long_only, short_or_long

sys.path.insert(0, str(ROOT / "benchmarks"))
import bench_sweep
import sweep_page
import sweep_peers
import sweep_tasks

from puffer_sdk.base.errors import UsageError

DATA = json.loads((ROOT / "docs" / "data" / "sweep.json").read_text())


@pytest.fixture(scope="module")
def table():
    return sweep_tasks.Table("hpobench/australian")


@long_only
def test_regret_is_0_for_all_that_is_known_and_falls_with_more(table):
    every = [(key, table.sign * table.scores[key].mean(), table.true[key][1])
             for key in table.true]
    assert table.regrets(every) == (pytest.approx(0, abs=1e-9), pytest.approx(0, abs=1e-9))
    rng = np.random.default_rng(0)
    some = [every[k] for k in rng.permutation(len(every))[:300]]
    few, many = table.regrets(some[:10])[0], table.regrets(some)[0]
    assert 0 <= many < few <= 1 and table.regrets([]) == (1.0, 1.0)


def test_an_evaluation_has_the_score_and_cost_of_one_training(table):
    settings = table.space.settings([0.5] * len(table.space))
    key = table.key(settings)
    pairs = set(zip(table.sign * table.scores[key], table.costs[key]))
    rng = np.random.default_rng(0)
    assert {table.run(settings, rng) for _ in range(60)} == pairs


@long_only
@pytest.mark.parametrize("workers, failures", short_or_long([(8, 0.1)], [(1, 0.0), (8, 0.1)]))
def test_the_short_form_is_ahead_of_chance(workers, failures):
    found = bench_sweep.measure(bench_sweep.SHORT, sweep_peers.QUICK, 2, workers, failures)
    mean = {label: np.mean([each["whole"] for rows in tables.values() for each in rows])
            for label, tables in found.items()}
    assert mean["ours"] < mean["random"]
    made = sweep_page.summary(found)
    assert made["whole"]["low"] <= made["whole"]["ratio"] <= made["whole"]["high"]


def test_a_peers_kept_search_is_not_run_again(tmp_path, monkeypatch):
    [name] = bench_sweep.SHORT[:1]
    monkeypatch.setattr(bench_sweep, "keep", tmp_path)
    bench_sweep.make(name)
    job = name, "random", 3, 1, 0.0
    first = bench_sweep.one(job)

    def search(*_):
        raise AssertionError("run again")
    monkeypatch.setattr(bench_sweep, "search", search)
    assert bench_sweep.one(job) == first
    for other in ((name, "ours", 3, 1, 0.0), (name, "random", 4, 1, 0.0)):
        with pytest.raises(AssertionError, match="run again"):
            bench_sweep.one(other)


def test_the_area_is_the_mean_of_the_best_quality_at_each_cost():
    grid = np.log([1, 2, 4, 8])
    assert sweep_tasks.area([(4, 1.0), (2, 0.5), (8, 0.2)], grid) == (0 + 0.5 + 1 + 1) / 4
    assert sweep_tasks.area([(1, -3.0)], grid) == 0
    assert sweep_tasks.area([(16, 1.0)], grid) == 0


@pytest.mark.parametrize("side", [1, -1])
def test_the_synthetic_cost_is_log_uniform_and_buys_quality(side, monkeypatch):
    monkeypatch.setattr(sweep_tasks, "STEPS", 20)
    monkeypatch.setattr(sweep_tasks, "DRAWN", 512)
    optimum = np.array([3.0 * side, -1.0, 2.0])

    def sphere(x):
        return float(((x - optimum) ** 2).sum())
    task = sweep_tasks.Synthetic("sphere", sphere, sphere, optimum)
    costs = [task.cost(x) for x in np.linspace(-5, 5, 201)]
    assert np.quantile(costs, [0, 0.25, 0.5, 1]) == pytest.approx([1, 10 ** 0.5, 10, 100])
    assert task.cost(optimum[0]) == pytest.approx(100 ** 0.8)       # in the dear half
    assert np.mean(costs) == pytest.approx(task.mean_cost, rel=0.02)
    # the best at each cost is known here: the optimum, moved to where it is cheap enough
    edges = side * np.linspace(-5, 3, 400)
    front = [(x, -1.0, 2.0) for x in edges]
    assert abs(task.judge(sorted(front, key=lambda key: task.cost(key[0])))[0]) < 0.01
    rng = np.random.default_rng(0)
    seen = []
    for x in rng.uniform(-5, 5, (400, 3)):
        settings = task.space.settings(task.space.point(dict(zip(task.space.names, x))))
        seen.append((task.key(settings), *task.run(settings, rng)))
    few, many = task.regrets(seen[:20])[0], task.regrets(seen)[0]
    assert 0 < many < few < 1


def test_what_an_environment_recommends_is_judged_by_what_was_trained_again():
    task = sweep_tasks.Environment.__new__(sweep_tasks.Environment)
    task.sign = 1.0
    task.learn({"a": (10.0, 1.0), "b": (20.0, 2.0), "c": (-float("inf"), 4.0)}, 0.0)
    assert task.judge(["a", "b"]) == (0, 0) and task.judge(["c"]) == (1, 1)
    assert task.judge(["a"]) == (pytest.approx(1 - 0.5 / 0.75, abs=0.01), 0.5)


def test_protein_that_cannot_run_is_one_sentence(tmp_path):
    with pytest.raises(UsageError, match="no such file") as error:
        sweep_peers.load_protein(tmp_path / "sweep.py")
    assert error.value.exit_status == 2
    for text, why in (("import no_such_module\n", "cannot be imported"), ("", "no Protein")):
        (tmp_path / "sweep.py").write_text(text)
        with pytest.raises(UsageError, match=why):
            sweep_peers.load_protein(tmp_path / "sweep.py")
    assert "pufferlib" not in sys.modules


def test_every_part_has_a_title():
    assert set(DATA) <= set(sweep_page.TITLES)



def test_the_page_says_where_a_peer_is_ahead():
    def regret(value):
        return {"a/one": {"whole": value, "quarter": 0.2}, "a/two": {"whole": 0.1, "quarter": 0.3}}
    made = {"regret": {"ours": regret(0.5), "TPE": regret(0.4), "MOTPE": regret(0.6)}}
    assert sweep_page.losses(made) == "Ours loses: at the end, one (TPE); at a quarter, nowhere."
