"""Means over envs, and the 95 % intervals around them."""
import math
from types import SimpleNamespace

import numpy as np
import pytest

from puffer_sdk.scoring.intervals import clustered_mean, student_t
from puffer_sdk.scoring.score import score_of


def test_students_t():
    for freedom, value in ((1, 12.706), (2, 4.303), (3, 3.182), (5, 2.571), (12, 2.179),
                           (30, 2.042), (1000, 1.962)):
        assert student_t(freedom) == pytest.approx(value, rel=0.01)


def test_the_interval_is_over_environments():
    values, envs = [1, 1, 1, 1, 3, 3, 3, 3], [0, 0, 0, 0, 1, 1, 1, 1]
    mean, half = clustered_mean(values, envs)
    assert mean == 2 and half == pytest.approx(12.706 * math.sqrt(2) / math.sqrt(2))
    assert clustered_mean(values, [0] * 8) == (2, None)


def test_weights_count_within_an_env_and_envs_weigh_alike():
    mean, half = clustered_mean([1, 4, 3], [0, 0, 1], [2, 1, 9])
    assert mean == 2.5 and half == pytest.approx(12.706 * 0.5)      # envs: 2 and 3


def test_a_win_rate_of_two_envs_stays_a_share():
    """With one degree of freedom, Student's t gave 0.75 ± 2.1."""
    ones = np.ones(2, bool)
    games = [{"env": env, "n": 1, "win_rate": won} for env, won in
             [(0, 1), (0, 1), (0, 1), (1, 1), (1, 0), (1, 1)]]
    score = score_of(SimpleNamespace(
        counted=games, clocks=np.array([3, 4]), kept=2, span=9, seen=ones, rows=2, ended=ones,
        finished=ones, quota=1, done=~ones, env_of=np.arange(2), tick=4, zero_sum=True), "trained")
    assert score.mean["win_rate"] == score.interval["win_rate"] == pytest.approx(5 / 6)
