"""Metrics of one's own: in the epoch's row on both trainers, and nothing else under their names."""
import json
import re
from pathlib import Path

import numpy as np
import pytest
from helpers.small_trainer import SMALL

import puffer_sdk
from puffer_sdk.base.errors import PufferError, UsageError
from puffer_sdk.training.own_metrics import checked, is_ours, of_row

pytest_plugins = ["helpers.small_fixtures"]
METRICS = Path(__file__).parents[2] / "docs" / "reference" / "metrics.md"


@pytest.mark.parametrize("backend", ["native", "torch"])
def test_what_is_logged_is_in_its_epochs_row_alone(vec, backend, tmp_path, capsys):
    with puffer_sdk.Trainer(vec, {**SMALL, "train.backend": backend}) as trainer, \
            puffer_sdk.Run(trainer, runs_dir=tmp_path) as run:
        trainer.log("early", 1)
        trainer.rollout()
        trainer.log("novelty", 1)
        trainer.log("novelty", np.float32(0.25))
        assert of_row(trainer.update()) == {"early": 1, "novelty": 0.25}
        trainer.log("mine/late", np.array(3))
        assert of_row(trainer.metrics) == {"early": 1, "novelty": 0.25, "mine/late": 3}
        run.log({"also": 2}, env=vec.log())
        trainer.rollout()
        assert not of_row(trainer.update())
        run.log()
        with pytest.raises(UsageError, match="'loss/policy' is a metric of the trainer's"):
            run.log({"loss/policy": 1})
        with pytest.raises(UsageError, match="metrics is fixed"):
            trainer.metrics = {}
    rows = [json.loads(line) for line in (run.folder / "metrics.jsonl").read_text().splitlines()]
    assert of_row(rows[0]) == {"early": 1, "novelty": 0.25, "mine/late": 3, "also": 2}
    assert not of_row(rows[1]) and rows[1]["epoch"] == 2


@pytest.mark.parametrize(("name", "value", "match"), [
    ("novelty", float("nan"), "not finite: nan"), ("novelty", -np.inf, "not finite: -inf"),
    ("novelty", 10**400, "no number"), ("novelty", "3", "no number"), ("novelty", None, "no numb"),
    ("novelty", np.zeros(1), "no number"), ("novelty", {}, "no number"),
    ("", 1, "has a name"), ("a\nb", 1, "has a name"), (3, 1, "has a name"),
    *((name, 1, f"'{name}' is the name of a metric of ours") for name in (
        "step", "sps", "env/perf", "loss/mine", "window/n", "time/mine"))])
def test_what_cannot_be_logged(name, value, match):
    with pytest.raises(PufferError, match=match):
        checked(name, value)


def test_every_key_of_the_reference_page_is_ours():
    keys = re.findall(r"^\| `([^`.]+)`", METRICS.read_text(), re.MULTILINE)
    assert len(keys) > 40 and all(map(is_ours, keys))
    assert not is_ours("novelty") and not is_ours("environment/x") and not is_ours("env")
