"""The templates are learned: short runs over several seeds against bars that each must pass.

Figures of full runs are in docs/why/benchmarks.md; these runs are a part of them, so the bars are
lower. Training is deterministic for a machine's arithmetic, so a failure here is a change.
"""
import pytest
from helpers.short_or_long import long_only, short_or_long

import puffer_sdk

SEEDS = short_or_long([1], [1, 2, 3, 4, 5])


@pytest.mark.long
@pytest.mark.parametrize("seed", SEEDS)
def test_squared_is_learned(tmp_path, seed):
    folder = puffer_sdk.new("squared", output_dir=tmp_path).folder
    result = puffer_sdk.train(folder, {"train.seed": seed, "train.total_timesteps": 4_000_000})
    scores = puffer_sdk.evaluate(folder, model=result.checkpoint).scores
    assert scores["trained"].mean["perf"] > 0.8
    assert scores["random"].mean["perf"] < 0.2
    assert scores["idle"].mean["perf"] == 0.0


@long_only
@pytest.mark.parametrize("seed", SEEDS)
def test_target_is_learned(tmp_path, seed):
    folder = puffer_sdk.new("target", template="target", output_dir=tmp_path).folder
    result = puffer_sdk.train(folder, {"train.seed": seed, "train.total_timesteps": 1_000_000})
    scores = puffer_sdk.evaluate(folder, model=result.checkpoint).scores
    assert scores["trained"].unit == "episodes do not end"
    goals = {name: score.mean["entries_per_1000_ticks"] for name, score in scores.items()}
    assert goals["trained"] > 2 * goals["random"] > goals["idle"]
