"""Trainer and configure: loops of one's own, checkpoints that every other command understands."""
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from helpers.places import ROOT
from helpers.short_or_long import long_only
from helpers.small_trainer import SMALL

import puffer_sdk
from puffer_sdk.base.errors import UsageError
from puffer_sdk.training import checkpoint

pytest_plugins = ["helpers.small_fixtures"]


def learn(trainer, epochs: int):
    for _ in range(epochs):
        trainer.rollout()
        trainer.update()
    return trainer


def state(path) -> dict[str, bytes]:
    return {name: array.tobytes() for name, array in checkpoint.load(path).tensors.items()}


def test_configure_resolves_the_inis_settings(squared):
    config = puffer_sdk.configure(squared, {"train.learning_rate": 0.02})
    assert (config.train.learning_rate, config.train.gamma, config.env["size"]) == (0.02, 0.995, 11)
    with pytest.raises(UsageError, match="no setting 'gama'"):
        puffer_sdk.configure(squared, {"train.gama": 1})


@pytest.mark.parametrize("backend", ["native", "torch"])
def test_a_loop_of_ones_own(backend, vec, squared, tmp_path):
    with puffer_sdk.Trainer(vec, {**SMALL, "train.backend": backend}) as trainer:
        assert (trainer.agents, trainer.horizon, trainer.total_epochs) == (32, 8, 4)
        while not trainer.finished:
            trainer.rollout()
            losses = trainer.update()
        assert losses["loss/entropy"] > 0 and trainer.metrics == losses
        assert trainer.global_step == 1024 and trainer.vec is vec
        weights = trainer.parameters
        assert weights["decoder"].shape == (6, 16)
        path = trainer.save(tmp_path / "mine.safetensors")
        assert np.array_equal(checkpoint.load(path).tensors["decoder"], weights["decoder"])
    facts = checkpoint.load(path).facts
    assert facts["config"]["vec"]["total_agents"] == 32 and facts["seconds"] > 0
    assert facts["env"]["name"] == "squared" and facts["epoch"] == 4
    score = puffer_sdk.evaluate(squared, {"eval.episodes": 50}, model=path).scores["trained"]
    assert score.count >= 50
    vec.reset()                                     # the envs are still the caller's


@pytest.mark.parametrize(("first", "then"), [("native", "torch"), ("torch", "native")])
def test_checkpoints_go_from_one_trainer_to_the_other(first, then, vec, tmp_path):
    with puffer_sdk.Trainer(vec, {**SMALL, "train.backend": first}) as one:
        saved = learn(one, 2).save(tmp_path / "a.safetensors")
    with puffer_sdk.Trainer(vec, {**SMALL, "train.backend": then}) as other:
        other.load(saved)
        assert (other.epoch, other.global_step) == (2, 512)
        assert state(other.save(tmp_path / "b.safetensors")) == state(saved)
        learn(other, 1)
        assert state(other.save(tmp_path / "c.safetensors")) != state(saved)


def test_loading_goes_on_as_it_was(squared, tmp_path):
    """Fresh envs of the same seed after 2 epochs, and a trainer that loads: the same bytes."""
    ends = []
    for stop in (False, True):
        with puffer_sdk.make(squared, num_envs=32, seed=1) as vec:
            trainer = learn(puffer_sdk.Trainer(vec, SMALL), 2)
            saved = trainer.save(tmp_path / "half.safetensors")
            if stop:
                trainer = puffer_sdk.Trainer(vec, SMALL)
                trainer.load(saved)
        with puffer_sdk.make(squared, num_envs=32, seed=2) as fresh:
            trainer.use(fresh)
            ends.append(state(learn(trainer, 2).save(tmp_path / "end.safetensors")))
            trainer.close()
    assert ends[0] == ends[1]


def test_a_checkpoint_of_other_sizes_is_refused(vec, squared, tmp_path):
    with puffer_sdk.Trainer(vec, SMALL) as trainer:
        saved = trainer.save(tmp_path / "a.safetensors")
    with puffer_sdk.make(squared, num_envs=32, env_settings={"size": 5}) as small, \
            puffer_sdk.Trainer(small, SMALL) as trainer:
        with pytest.raises(UsageError, match="another observation size") as caught:
            trainer.load(saved)
        assert "--env.size 11" in caught.value.hint
        with pytest.raises(UsageError, match="no such checkpoint"):
            trainer.load(tmp_path / "nowhere.safetensors")
    with puffer_sdk.Trainer(vec, {**SMALL, "policy.hidden_size": 32}) as trainer, \
            pytest.raises(UsageError, match="tensor '.*' has the wrong size"):
        trainer.load(saved)


SEES = {"policy.encoder": "image 0 11x11x1: 4x3/2", "train.backend": "torch"}


def test_a_checkpoint_of_another_encoder_is_refused(vec, tmp_path):
    with puffer_sdk.Trainer(vec, {**SMALL, **SEES}) as trainer:
        saved = learn(trainer, 1).save(tmp_path / "a.safetensors")
    with puffer_sdk.Trainer(vec, {**SMALL, **SEES}) as trainer:
        trainer.load(saved)
        assert state(trainer.save(tmp_path / "b.safetensors")) == state(saved)
    with puffer_sdk.Trainer(vec, {**SMALL, "policy.encoder": "flat"}) as trainer, \
            pytest.raises(UsageError, match="trained with another encoder") as caught:
        trainer.load(saved)
    assert caught.value.hint == "--policy.encoder 'image 0 11x11x1: 4x3/2'"


@pytest.mark.parametrize("backend", ["native", "torch"])
def test_there_is_nothing_to_learn_before_a_rollout(backend, vec, tmp_path, monkeypatch):
    with puffer_sdk.Trainer(vec, {**SMALL, "train.backend": backend}) as trainer:
        with pytest.raises(UsageError, match="no rollout to train on") as caught:
            trainer.update()
        assert "roll out first" in caught.value.hint and trainer.epoch == 0
        learn(trainer, 1)
        trainer.update()                            # once more from the same: allowed
        with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
            patch.setattr(trainer._trainer, "rollout", lambda: raise_(KeyboardInterrupt))
            trainer.rollout()
        with pytest.raises(UsageError, match="no rollout"):
            trainer.update()                        # half of one does not count
        learn(trainer, 1).load(trainer.save(tmp_path / "a.safetensors"))
        with pytest.raises(UsageError, match="no rollout"):
            trainer.update()


def raise_(error):
    raise error


@pytest.mark.parametrize(("settings", "message"), [
    ({"env.size": 5}, "env.size cannot change"),
    ({"vec.total_agents": 64}, "after the envs are created"),
    ({"train.gama": 1}, "no setting 'gama'"), ({"train.minibatch_size": 12}, "not a multiple"),
    ({"train.async": True, "train.device": "cpu"}, "during a rollout needs"),
    ({"policy.torch_class": "net.py:Net", "train.backend": "native"}, "torch_class")])
def test_settings_that_are_refused(settings, message, vec):
    with pytest.raises(UsageError, match=message):
        puffer_sdk.Trainer(vec, {**SMALL, **settings})


def test_a_config_is_taken_with_the_envs_as_they_are(vec, squared):
    config = puffer_sdk.configure(squared, {**SMALL, "env.size": 5})
    with pytest.raises(UsageError, match="env.size cannot change"):
        puffer_sdk.Trainer(vec, config)
    with puffer_sdk.Trainer(vec, puffer_sdk.configure(squared, SMALL)) as trainer:
        assert trainer.config.vec.total_agents == 32 and trainer.config.env["size"] == 11
        learn(trainer, 1)


def test_weights_written_by_hand_are_used(vec):
    with puffer_sdk.Trainer(vec, SMALL) as trainer:
        trainer.parameters["decoder"][:] = 0
        trainer.touch()
        losses = learn(trainer, 1).metrics
        assert losses["loss/entropy"] == pytest.approx(np.log(5), rel=1e-2)


# -- the examples, as written ---------------------------------------------------------------------


def example(name: str, *args, cwd: Path) -> str:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path])}
    done = subprocess.run([sys.executable, ROOT / "examples" / name, *args], cwd=cwd,
                          capture_output=True, text=True, timeout=300, check=False,
                          env=environment)
    assert done.returncode == 0, done.stderr
    return done.stdout


@long_only
def test_own_loop_stops_when_it_is_good_enough(tmp_path):
    puffer_sdk.new("my_env", output_dir=tmp_path)
    shown = example("own_loop.py", "my_env", "0.6", cwd=tmp_path)
    perf, steps = re.search(r"^perf ([\d.]+) after ([\d,]+) steps", shown, re.M).groups()
    assert 0.6 <= float(perf) < 0.8 and int(steps.replace(",", "")) < 3_500_000
    score = puffer_sdk.evaluate(tmp_path / "my_env", model=tmp_path / "own_loop.safetensors")
    assert score.scores["trained"].mean["perf"] > 0.5


def test_step_by_hand_steps(tmp_path):
    puffer_sdk.new("my_env", output_dir=tmp_path)
    assert "2,560,000 agent steps" in example("step_by_hand.py", "my_env", cwd=tmp_path)
