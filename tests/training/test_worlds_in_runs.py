"""A run whose worlds change: the same weights on any number of threads, and after a resume from the
middle of episodes."""
import shutil
from types import SimpleNamespace

import pytest
from helpers.places import SPECIMENS
from helpers.small_trainer import SMALL

import puffer_sdk
from puffer_sdk.base.errors import UsageError
from puffer_sdk.settings.values import Config
from puffer_sdk.training import checkpoint
from puffer_sdk.training.world_stages import WorldStages

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
            "eval.episodes": 10, "train.device": "cpu",
            "worlds.limit": "20..30 then 5 | 9 from 50%"}


@pytest.fixture
def corridor(tmp_path, monkeypatch):
    folder = tmp_path / "corridor"
    shutil.copytree(SPECIMENS / "corridor", folder)
    (folder / "rises.py").write_text(RISES)
    monkeypatch.chdir(tmp_path)
    return folder


def weights(path):
    return checkpoint.load(path).facts["checksum"]


def first_ini(folder):
    return (folder / "config.ini").read_text()


def test_a_resumed_run_ends_with_the_same_bytes(corridor, capsys):
    first = puffer_sdk.train(corridor, {**SETTINGS, "vec.num_threads": 1})
    *_, middle, last = sorted((first.folder / "checkpoints").iterdir())
    whole, facts = weights(last), checkpoint.load(middle).facts
    asked = [(each["tick"], each["value"]) for each in facts["replay"]["worlds"]]
    assert asked == [(0, "20..30"), (16, "3"), (32, "4"), (48, "5"), (48, "5 | 9"), (64, "6")]
    assert [each["value"] for each in facts["worlds"]] == ["5 | 9", "6"]
    assert "[worlds]\nlimit = 20..30 then 5 | 9 from 50%\n" in first_ini(first.folder)
    last.unlink()
    assert "evaluations play limit = 40, as [env] has it" in capsys.readouterr().err
    again = puffer_sdk.train(corridor, {"vec.num_threads": 2}, resume=str(first.folder))
    assert weights(again.checkpoint) == whole
    found = puffer_sdk.evaluate(corridor, {"env.limit": 12, "eval.episodes": 10})
    assert found.worlds == (
        "limit = 12, as [env] has it (trained on 20..30 then 5 | 9 from 50%)",
        "level = 2, as [env] has it (trained on 8)")
    assert found.to_dict()["worlds"] == list(found.worlds)
    with pytest.raises(UsageError, match="no effect on an evaluation"):
        puffer_sdk.evaluate(corridor, {"worlds.limit": "1..2"})


def test_worlds_of_an_ini_are_read_strictly(corridor):
    ini = corridor / "corridor.ini"
    ini.write_text(ini.read_text() + "\n[worlds]\nlevel = 1..4\nlimit = 9 | 12\n")
    config = puffer_sdk.configure(corridor, {"worlds.limit": ""})
    assert config.worlds == {"level": "1..4"} and config["worlds.level"] == "1..4"
    assert config.origin["worlds.level"].startswith("corridor.ini:")
    assert Config.from_dict(config.to_dict()) == config
    for key, text, match in (("levl", "1..3", "names 'levl'"), ("level", "3..1", "cannot be"),
                             ("level", "1 from 3", "cannot be")):
        with pytest.raises(UsageError, match=match) as caught:
            puffer_sdk.configure(corridor, {f"worlds.{key}": text})
        assert caught.value.where == f"command line, --worlds.{key}" and caught.value.expected
    with pytest.raises(UsageError, match="these worlds never end"), \
            puffer_sdk.make(corridor, num_envs=2, env_settings={"endless": 1}) as vec:
        vec.reset()
        vec.set("level", "1..3")


def test_other_stages_of_a_resumed_run_hold_at_once(corridor):
    config = puffer_sdk.configure(corridor, {"worlds.level": "1..4"})
    with puffer_sdk.make(corridor, num_envs=2) as vec:
        stages = WorldStages.begun(config, vec, 0, None)
        assert [each["value"] for each in vec.changes] == ["1..4"]
        stages.turn(vec, 100, stages.at(0))
        assert len(vec.changes) == 1
        past = SimpleNamespace(config=config)
        WorldStages.begun(config, vec, 500, past)
        assert len(vec.changes) == 1
        WorldStages.begun(puffer_sdk.configure(corridor, {"worlds.limit": "5..9"}), vec, 500, past)
        assert [(each["key"], each["value"]) for each in vec.changes[1:]] == [
            ("limit", "5..9"), ("level", "2")]
