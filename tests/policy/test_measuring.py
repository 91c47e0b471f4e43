"""What is known of a policy that is exported: its run's evaluation, a short play, or nothing."""
from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from puffer_sdk import cli
from puffer_sdk.policy import export_note
from puffer_sdk.policy.export import read_policy
from puffer_sdk.training import checkpoint

CORPUS = Path(__file__).parents[1] / "corpus" / "v1"


@pytest.fixture
def old(tmp_path, monkeypatch):
    """A run that nobody has evaluated, and its environment."""
    shutil.copytree(CORPUS, tmp_path / "v1")
    monkeypatch.chdir(tmp_path / "v1")
    monkeypatch.setattr(export_note, "SECONDS", 0.2)
    return tmp_path / "v1"


def test_what_nobody_has_measured_is_played_for_a_moment(old, capsys):
    assert cli.main(["export", "walk"]) == 0
    [said] = [line for line in capsys.readouterr().out.splitlines() if "measured" in line]
    assert said.startswith("measured  perf 0.") and "random play 0." in said
    assert not list(old.rglob("episodes.json"))


def test_where_the_environment_is_elsewhere_it_is_said_that_nobody_knows(old, tmp_path, capsys):
    shutil.move(old / "walk", tmp_path / "elsewhere")
    assert cli.main(["export", "runs/walk/0001", "--output", "p.bin"]) == 0
    assert "not measured yet: puffer-sdk eval walk" in capsys.readouterr().out


def test_a_claim_is_repeated_as_it_is(old):
    past = checkpoint.load(old / "runs/walk/0001/best.safetensors")
    played = {"policy": "trained", "unit": "per episode", "count": 40, "ticks": 9, "unfinished": 0,
              "mean": {"perf": 0.5}, "interval": {"perf": 0.125}}
    claim = {"step": past.step, "metric": "perf", "unmoved": [], "least": False,
             "trained": played, "random": {**played, "mean": {"perf": 0.75}, "count": 4}}
    path = checkpoint.save(old / "claimed.safetensors", past.tensors,
                           {**past.facts, "evaluation": claim})
    assert export_note.measure(read_policy(path)) == \
        "perf 0.500 ± 0.125, no better than random play 0.750 (40 fresh episodes)"
