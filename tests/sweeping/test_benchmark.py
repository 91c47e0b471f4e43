"""The benchmark of the sampler: its measures are right, and its page shows what it wrote."""
import json
import sys

import numpy as np
import pytest
from helpers.places import ROOT

sys.path.insert(0, str(ROOT / "benchmarks"))
import bench_sweep

PAGE = (ROOT / "docs" / "guides" / "sweep.md").read_text()
DATA = json.loads((ROOT / "docs" / "data" / "sweep.json").read_text())


@pytest.fixture(scope="module")
def table():
    return bench_sweep.Table("hpobench/australian")


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


@pytest.mark.parametrize("workers, failures", [(1, 0.0), (8, 0.1)])
def test_the_short_form_is_ahead_of_chance(workers, failures):
    found = bench_sweep.measure(bench_sweep.SHORT, bench_sweep.QUICK, 2, workers, failures)
    mean = {label: np.mean([each["whole"] for rows in tables.values() for each in rows])
            for label, tables in found.items()}
    assert mean["ours"] < mean["random"]
    made = bench_sweep.summary(found)
    assert made["whole"]["low"] <= made["whole"]["ratio"] <= made["whole"]["high"]


@pytest.mark.parametrize("part", ["tables", "unseen", "parallel"])
def test_the_page_shows_what_was_written(part):
    made = DATA[part]
    assert bench_sweep.rows(made) in PAGE
    for field in ("quarter", "whole"):
        row = made[field]
        assert f"{row['ratio']:.2f} (95 % from {row['low']:.2f} to {row['high']:.2f})" in PAGE
