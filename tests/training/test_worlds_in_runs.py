"""A run whose worlds change: the same weights on any number of threads, and after a resume from the
middle of episodes."""
import shutil

import pytest
from helpers.places import SPECIMENS
from helpers.small_trainer import SMALL

import puffer_sdk
from puffer_sdk.training import checkpoint

RISES = '''\
class Rises:
    def __init__(self):
        self.level = 2

    def __call__(self, trainer):
        self.level += 1
        trainer.vec.set("level", self.level, envs=slice(0, trainer.vec.num_envs // 2))
        trainer.log("level", self.level)

    def state_dict(self):
        return {"level": self.level}

    def load_state_dict(self, state):
        self.level = state["level"]
'''
SETTINGS = {**SMALL, "train.on_epoch": "rises.py:Rises", "train.horizon": 16,
            "train.total_timesteps": 64 * 16 * 6, "base.checkpoint_interval": 2,
            "eval.episodes": 10, "train.device": "cpu"}


@pytest.fixture
def corridor(tmp_path, monkeypatch):
    folder = tmp_path / "corridor"
    shutil.copytree(SPECIMENS / "corridor", folder)
    (folder / "rises.py").write_text(RISES)
    monkeypatch.chdir(tmp_path)
    return folder


def weights(path):
    return checkpoint.load(path).facts["checksum"]


def test_a_resumed_run_ends_with_the_same_bytes(corridor):
    first = puffer_sdk.train(corridor, {**SETTINGS, "vec.num_threads": 1})
    *_, middle, last = sorted((first.folder / "checkpoints").iterdir())
    whole, facts = weights(last), checkpoint.load(middle).facts
    asked = [(each["tick"], each["value"]) for each in facts["replay"]["worlds"]]
    assert asked == [(16, "3"), (32, "4"), (48, "5"), (64, "6")]
    assert [each["value"] for each in facts["worlds"]] == ["6"]
    last.unlink()
    again = puffer_sdk.train(corridor, {"vec.num_threads": 2}, resume=str(first.folder))
    assert weights(again.checkpoint) == whole
