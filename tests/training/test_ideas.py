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
    module = load("auxiliary_loss")
    assert module.Net(4, (3, 1), 8, 1).logstd.shape == (1,)
    guesses = module.Net(4, (3, 1), 8, 1).sequence(torch.zeros(2, 3, 4), None, None)[2]
    assert guesses.shape == (2, 3)


def load(name):
    found = importlib.util.spec_from_file_location(name, IDEAS / f"{name}.py")
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return module


def test_a_clone_of_collected_data_plays_as_its_policy_does(vec, squared, tmp_path, monkeypatch,
                                                            capsys):
    pytest.importorskip("torch")
    monkeypatch.chdir(tmp_path)
    module = load("offline_data")

    def walk(obs):
        """To the target's row, then to it."""
        grid = obs.reshape(len(obs), 11, 11)
        here, there = ((grid == what).reshape(len(obs), -1).argmax(1) for what in (1, 2))
        down, right = there // 11 - here // 11, there % 11 - here % 11
        return np.select([down > 0, down < 0, right < 0], [1, 2, 3], 4)

    data = puffer_sdk.collect(walk, vec, 40_000)
    assert module.returns(data) == 1
    play = module.player(module.clone(data))
    assert module.returns(puffer_sdk.collect(play, vec, 3_000)) > 0.6
    with puffer_sdk.Trainer(vec, SMALL) as trainer:
        module.main(squared, trainer.save("policy.safetensors"), 2_000)
    assert "of its clone: 1.000" in capsys.readouterr().out         # two ticks: only wins end
    assert len(np.load("offline.npz")["rewards"]) == 2048
