"""The benchmark beside PufferLib 4.0's trainer: its score, its interval, its table."""
from __future__ import annotations

import json
import sys

import bench_upstream
import bench_upstream_gpu
import bench_upstream_speed
import pytest


def test_the_score_is_that_of_the_last_tenths_episodes():
    log = [[10, 5, 1.0], [90, 5, 2.0], [95, 1, 4.0], [100, 3, 8.0]]
    assert bench_upstream.last_tenth(log) == (4 + 3 * 8) / 4


def test_the_interval_of_a_difference():
    assert bench_upstream.difference([3.0, 3.0], [1.0, 1.0]) == (2, 2)
    low, high = bench_upstream.difference([0.0, 4.0], [1.0, 1.0])
    assert (low, high) == (-1, 3)


def test_runs_are_kept_one_by_one_and_made_once(monkeypatch, capsys, tmp_path):
    asked, kept = [], tmp_path / "kept.json"

    def theirs(python, folder, name, steps, seed):
        asked.append(("theirs", name, steps, seed))
        return [[steps, 2, 1.0]]

    def ours(folder, name, steps, seed, settings):
        asked.append(("ours", name, steps, seed, *settings))
        return [[steps, 2, 3.0]]

    monkeypatch.setattr(bench_upstream, "theirs", theirs)
    monkeypatch.setattr(bench_upstream, "ours", ours)
    monkeypatch.setattr(bench_upstream, "prepare", lambda tree, name: tmp_path)
    words = ["bench_upstream.py", str(tmp_path), "python", str(kept), "--only", "pong",
             "--steps", "100"]
    monkeypatch.setattr(sys, "argv", [*words, "--seeds", "1"])
    assert bench_upstream.main() == bench_upstream.main() == 0
    assert asked == [("theirs", "pong", 100, 1), ("ours", "pong", 100, 1)]
    monkeypatch.setattr(sys, "argv", [*words, "--seeds", "2", "--who", "ours", "--try", "slow",
                                      "--train.learning-rate=0.001"])
    bench_upstream.main()
    assert asked[2:] == [("ours", "pong", 100, seed, "--train.learning-rate=0.001")
                         for seed in (1, 2)]
    assert set(json.loads(kept.read_text())["runs"]["pong, 100 steps"]) == {
        "PufferLib 4.0", "ours", "slow"}
    assert "| pong, 100 steps | slow | 2 | 3 | 0 s | 2 to 2 |" in capsys.readouterr().out


def test_settings_are_tried_under_a_label(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["bench_upstream.py", ".", "python", "kept.json",
                                      "--train.gamma=0.9"])
    with pytest.raises(SystemExit):
        bench_upstream.main()
    assert "--try LABEL" in capsys.readouterr().err


def test_pairs_that_were_thrown_away_are_said():
    row = {"hidden": 64, "layers": 2, "thrown": 2, "pairs": 3, "theirs": 33_000.0,
           "ours": 300_000.0, "ratio": 9.1, "theirs_bytes": 2.3e9, "ours_bytes": 2e8}
    text = bench_upstream_speed.table({
        "machine": {"cores": 2, "cpu": "CPU", "date": "now"}, "rounds": 3, "least": 0.9,
        "training": {"breakout": row, "pong": {**row, "pairs": 0, "thrown": 9}},
        "goals": {"breakout": {"goal": "score >= 800", "seeds": 2, "seconds": [61.0, 70.4],
                               "steps": [1, 2], "minute": [700.0, 800.0], "theirs": 12.3,
                               "theirs_seconds": 66.1}},
        "stepping": {"pong": {"theirs_ns": 79.0, "ours_ns": 67.0, "ratio": 1.18}}})
    assert "| breakout | 64 x 2 | 33 k | 300 k | 9.1 | 2.3, 0.2 GB |" in text
    assert "| pong | 64 x 2 | - | - | no quiet pair | - |" in text and "11 pairs" in text
    assert "| pong | 79 ns | 67 ns | 1.18 |" in text
    assert "| breakout, score >= 800 | 2 of 2 seeds | 61 to 70 | 750 ± 635 | 12.3 after" in text


def test_whole_runs_on_a_gpu_show_each_seed():
    runs = [{"score": 845.08, "seconds": 6.9}, {"score": 860.2, "seconds": 7.1}]
    text = bench_upstream_gpu.table({
        "gpu": "GPU", "machine": {"cores": 16, "date": "now"},
        "training": {"tetris, bf16": {"theirs": 4e6, "ours": 4.4e6, "ratio": 1.1}},
        "learning": {"breakout": {"theirs": runs, "ours": runs[:1]}}})
    assert "| tetris, bf16 | 4.0 M | 4.4 M | 1.10 |" in text
    assert "| breakout | 845.1, 860.2 in 7 s | 845.1 in 6.9 s |" in text
