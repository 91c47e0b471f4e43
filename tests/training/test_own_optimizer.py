"""An optimiser of one's own, in PyTorch: it learns, and goes on from a checkpoint as it was."""
import numpy as np
import pytest
from helpers.small_trainer import SMALL

import puffer_sdk
from puffer_sdk.base.errors import PufferError, UsageError

torch = pytest.importorskip("torch")
pytest_plugins = ["helpers.small_fixtures"]
TORCH = {**SMALL, "train.backend": "torch"}


def adam(parameters):
    return torch.optim.AdamW(parameters, lr=0.01)


def learn(trainer, epochs):
    for _ in range(epochs):
        trainer.rollout()
        losses = trainer.update()
    return losses, {name: array.copy() for name, array in trainer.parameters.items()}


def test_an_inis_rate_beside_it_is_not_ignored_in_silence(vec, squared, tmp_path, capsys):
    ini = squared / "squared.ini"
    written = {name: value for name, value in SMALL.items() if name != "train.learning_rate"}
    config = puffer_sdk.configure(squared, written)
    assert config.origin["train.learning_rate"].startswith(ini.name)
    puffer_sdk.Trainer(vec, written, optimizer=adam).close()
    assert "squared.ini:" in (said := capsys.readouterr().err)
    assert "learning_rate has no effect on an optimiser of your own" in said


def test_it_steps_in_place_of_muon_and_its_state_comes_back(vec, squared, tmp_path):
    given = {**SMALL, "base.reset_state": 1}
    with puffer_sdk.Trainer(vec, given, optimizer=adam) as trainer:
        losses, _ = learn(trainer, 1)
        assert losses["train/learning_rate"] == trainer.learning_rate == 0.01
        path = trainer.save(tmp_path / "a.safetensors")
        trainer.load(path)                  # both begin with fresh episodes
        _, went_on = learn(trainer, 2)
    with puffer_sdk.make(squared, num_envs=32, seed=1) as again, \
            puffer_sdk.Trainer(again, given, optimizer=adam) as trainer:
        learn(trainer, 1)
        trainer.load(path)
        assert trainer._trainer.muon.optimizer.state_dict()["state"][0]["step"] == \
            trainer._trainer.muon.steps > 0
        _, resumed = learn(trainer, 2)
    assert all(np.array_equal(went_on[name], resumed[name]) for name in went_on)
    assert not [name for name in trainer._trainer.state_tensors() if name.startswith("muon")]


def test_gradients_are_clipped_and_scaled_as_muons_are(vec):
    def plain(parameters):
        return torch.optim.SGD(parameters, lr=1.0)

    steps = {}
    for factor in ("1", "0.5"):
        with puffer_sdk.Trainer(vec, {**SMALL, "train.obs_scale": factor,
                                      "train.max_grad_norm": 1e-3}, optimizer=plain) as trainer:
            ours = trainer._trainer
            before = {name: array.copy() for name, array in trainer.parameters.items()}
            for weight in ours.policy.parameters():
                weight.grad = torch.ones_like(weight)
            norm = float(ours.muon.grad_norm())
            ours.muon.step(0.0, norm)
            steps[factor] = {name: before[name] - array
                             for name, array in trainer.parameters.items()}
            assert steps[factor]["decoder"] == pytest.approx(1e-3 / norm, rel=1e-3)
            scale = float(factor) ** 2
            assert steps[factor]["encoder"] == pytest.approx(scale * 1e-3 / norm, rel=1e-2)


def test_a_checkpoint_of_another_optimiser_is_refused(vec, tmp_path):
    paths = {}
    for name, more in (("muon", {}), ("adam", {"optimizer": adam})):
        with puffer_sdk.Trainer(vec, TORCH, **more) as trainer:
            learn(trainer, 1)
            paths[name] = trainer.save(tmp_path / f"{name}.safetensors")
    with puffer_sdk.Trainer(vec, TORCH, optimizer=adam) as trainer, \
            pytest.raises(UsageError, match="no state of your optimiser"):
        trainer.load(paths["muon"])
    with puffer_sdk.Trainer(vec, TORCH) as trainer, \
            pytest.raises(UsageError, match="no tensor 'muon"):
        trainer.load(paths["adam"])
    with puffer_sdk.Trainer(vec, TORCH, optimizer=lambda p: torch.optim.SGD(
            [{"params": p[:1]}, {"params": p[1:]}], lr=1)) as trainer, \
            pytest.raises(UsageError, match="state does not fit optimizer"):
        trainer.load(paths["adam"])


@pytest.mark.parametrize(("settings", "optimizer", "match"), [
    (TORCH, lambda parameters: 3, "must return a torch.optim.Optimizer"),
    (TORCH, lambda parameters: torch.optim.Adam([]), "optimizer failed: ValueError"),
    ({**TORCH, "train.learning_rate": 0.1}, adam, "has no effect on an optimiser of your own"),
    ({**SMALL, "train.backend": "native"}, adam, "optimizer= is in PyTorch")])
def test_what_is_no_optimiser_is_refused(vec, settings, optimizer, match):
    with pytest.raises(PufferError, match=match) as caught:
        puffer_sdk.Trainer(vec, settings, optimizer=optimizer)
    assert "train." in caught.value.where or __file__ in caught.value.where
