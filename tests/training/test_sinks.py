"""sinks.py: metrics.jsonl, Weights & Biases (offline) and TensorBoard get the same rows."""
import json
import sys
import time

import pytest

from puffer_sdk.base.errors import UsageError
from puffer_sdk.settings import config
from puffer_sdk.training import metrics, runs

ROWS = [{"step": 64, "sps": 1e5, "env/perf": 0.25, "loss/value": float("nan")},
        {"step": 128, "sps": 2e5, "env/perf": 0.75, "loss/value": 0.5}]


@pytest.fixture
def run(tmp_path):
    return runs.create_run(tmp_path / "runs" / "pond", "ducks")


def send(run, **wanted):
    with metrics.open_sinks(run, config.defaults(), **wanted) as opened:
        for row in ROWS:
            opened.log(row)


def test_json_lines_are_json_whatever_the_numbers(run):
    send(run)
    lines = run.metrics_path.read_text().splitlines()
    assert [json.loads(line)["step"] for line in lines] == [64, 128]
    assert json.loads(lines[0])["loss/value"] is None and "NaN" not in lines[0]


def test_tensorboard_files_hold_the_rows(run):
    from tensorboardX.proto.event_pb2 import Event

    send(run, tensorboard=True)
    (file,) = (run.folder / "tensorboard").glob("events.*")
    data, seen, at = file.read_bytes(), {}, 0
    while at < len(data):               # TFRecord: length, its checksum, the record, its checksum
        size = int.from_bytes(data[at:at + 8], "little")
        event = Event.FromString(data[at + 12:at + 12 + size])
        for value in event.summary.value:
            seen.setdefault(value.tag, {})[event.step] = value.simple_value
        at += 16 + size
    assert seen["env/perf"] == {64: 0.25, 128: 0.75}
    assert "step" not in seen


def test_wandb_gets_the_rows_offline(run, monkeypatch, capfd):
    monkeypatch.setenv("WANDB_MODE", "offline")
    monkeypatch.setenv("WANDB_SILENT", "true")
    send(run, wandb=True)
    (folder,) = (run.folder / "wandb").glob("offline-run-*")
    (record,) = folder.glob("*.wandb")
    deadline = time.monotonic() + 30        # a process of its own writes it, on a busy machine late
    while b"env/perf" not in (data := record.read_bytes()) and time.monotonic() < deadline:
        time.sleep(0.2)
    assert b"env/perf" in data and b"ducks" in data and b"train.learning_rate" in data
    assert capfd.readouterr().out == ""


@pytest.mark.parametrize("name, module", metrics.EXTRAS.items())
def test_a_sink_that_is_not_installed_is_refused_before_anything_runs(name, module, monkeypatch):
    metrics.require(**{name: False})
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(UsageError) as caught:
        metrics.require(**{name: True})
    assert caught.value.hint == f"pip install 'puffer-sdk[{name}]'"
