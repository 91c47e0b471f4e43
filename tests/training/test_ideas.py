"""The examples of ideas, examples/ideas/: short, and they do what they say."""
import importlib.util

import numpy as np
import pytest
from helpers.places import ROOT
from helpers.small_trainer import SMALL

import puffer_sdk
from puffer_sdk.training import checkpoint

pytest_plugins = ["helpers.small_fixtures"]
IDEAS = ROOT / "examples" / "ideas"


def test_they_are_short():
    found = sorted(IDEAS.glob("*.py"))
    assert len(found) >= 2
    assert all(len(path.read_text().splitlines()) <= 60 for path in found)


@pytest.mark.parametrize("backend", ["native", "torch"])
def test_what_was_seen_pays_less_and_its_counts_are_kept(vec, backend, tmp_path):
    spec = {**SMALL, "train.backend": backend, "train.reward": f"{IDEAS}/curiosity.py:Curious"}
    with puffer_sdk.Trainer(vec, spec) as trainer:
        rollout = trainer.rollout()
        paid = rollout.rewards.copy()
        assert (paid[:, -1] > vec.rewards).all()        # the env's, of the last tick
        losses = trainer.update()
        kept = checkpoint.load(trainer.save(tmp_path / "a.safetensors")).tensors
        counts = kept["own.reward.counts"]
        bonus = paid[:, -1] - vec.rewards
        trainer.load(tmp_path / "a.safetensors")
        again = trainer._code.reward(rollout) - paid    # of the same observations
    assert counts.sum() == 32 * 8 and losses["reward"] == pytest.approx(paid.mean())
    assert (again > 0).all() and (again[:, -1] < bonus).all()


def test_the_auxiliary_loss_learns_to_guess_rewards(vec):
    pytest.importorskip("torch")
    spec = {**SMALL, "policy.torch_class": f"{IDEAS}/auxiliary_loss.py:Net",
            "train.torch_loss": f"{IDEAS}/auxiliary_loss.py:loss",
            "train.total_timesteps": 32 * 8 * 40}
    with puffer_sdk.Trainer(vec, spec) as trainer:
        before = trainer.parameters["guess.bias"].copy()
        for _ in range(3):
            trainer.rollout()
            error = trainer.update()["guess"]
        assert error > 0 and not np.array_equal(before, trainer.parameters["guess.bias"])


def test_its_network_fits_continuous_heads():
    torch = pytest.importorskip("torch")
    found = importlib.util.spec_from_file_location("auxiliary", IDEAS / "auxiliary_loss.py")
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    assert module.Net(4, (3, 1), 8, 1).logstd.shape == (1,)
    guesses = module.Net(4, (3, 1), 8, 1).sequence(torch.zeros(2, 3, 4), None, None)[2]
    assert guesses.shape == (2, 3)
