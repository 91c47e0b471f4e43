"""A loss of one's own, in PyTorch: what it is given, what it gives, what is refused."""
import numpy as np
import pytest
from helpers.small_trainer import SMALL

import puffer_sdk
from puffer_sdk.base.errors import PufferError, UsageError
from puffer_sdk.settings import torch_class

torch = pytest.importorskip("torch")
pytest_plugins = ["helpers.small_fixtures"]
TORCH = {**SMALL, "train.backend": "torch"}
IDEAS = '''\
import torch
from torch import nn

def ours(batch, outputs):
    return outputs.loss, {"mine": 2.0}

def auxiliary(batch, outputs):
    error = (outputs.extra["next"] - 1 - batch.ended.float()[..., None]).square().mean()
    return outputs.loss + error, {"auxiliary": error}

class Net(nn.Module):
    def __init__(self, obs_size, act_sizes, hidden_size, num_layers, scale_obs=False):
        super().__init__()
        self.body = nn.Linear(obs_size, hidden_size)
        self.decoder = nn.Linear(hidden_size, sum(act_sizes) + 1)
        self.guess = nn.Linear(hidden_size, 4)

    def initial_state(self, n):
        return torch.zeros(n, 0)

    def step(self, obs, state):
        out = self.decoder(torch.relu(self.body(obs.float())))
        return out[..., :-1], out[..., -1], state

    def sequence(self, obs, state0, ended):
        logits, value, _ = self.step(obs, state0)
        return logits, value, {"next": self.guess(torch.relu(self.body(obs.float())))}
'''


def learn(vec, settings, epochs=2, **more):
    with puffer_sdk.Trainer(vec, settings, **more) as trainer:
        for _ in range(epochs):
            trainer.rollout()
            losses = trainer.update()
        return losses, {name: array.copy() for name, array in trainer.parameters.items()}


@pytest.fixture
def ideas(tmp_path):
    (tmp_path / "ideas.py").write_text(IDEAS)
    return tmp_path / "ideas.py"


def test_our_loss_given_back_learns_the_same_bits(vec, squared):
    seen = []

    def ours(batch, outputs):
        seen.append((batch, outputs))
        return outputs.loss

    _, plain = learn(vec, TORCH)
    with puffer_sdk.make(squared, num_envs=32, seed=1) as again:
        _, mine = learn(again, SMALL, loss=ours)        # auto: the trainer in PyTorch
    assert all(np.array_equal(plain[name], mine[name]) for name in plain)
    batch, outputs = seen[0]
    assert batch.obs.shape == (8, 8, 121) and batch.actions.shape == (8, 8, 1)
    for each in (batch.log_probs, batch.values, batch.advantages, batch.returns, batch.rewards,
                 batch.ended, outputs.values, outputs.log_probs, outputs.entropy):
        assert each.shape == (8, 8)
    assert batch.importance.shape == (8, 1) and len(batch.state0) == 8
    assert batch.alive is batch.masks is outputs.extra is None
    assert outputs.logits.shape == (8, 8, 5) and outputs.loss.shape == ()


def test_metrics_are_means_over_minibatches_and_the_loss_decides(vec):
    numbers = iter(range(100))

    def nothing(batch, outputs):
        return 0 * outputs.values.sum(), {"count": next(numbers), "drift": outputs.values.mean()}

    with puffer_sdk.Trainer(vec, {**SMALL, "train.replay_ratio": 1}, loss=nothing) as trainer:
        before = trainer.parameters["decoder"].copy()
        trainer.rollout()
        assert trainer.update()["count"] == 1.5         # of 0, 1, 2, 3
        assert np.array_equal(trainer.parameters["decoder"], before)
        trainer.rollout()
        assert trainer.update()["count"] == 5.5


def test_extra_outputs_of_a_network_reach_an_auxiliary_loss(vec, ideas):
    settings = {**SMALL, "policy.torch_class": f"{ideas}:Net",
                "train.torch_loss": f"{ideas}:auxiliary", "train.total_timesteps": 32 * 8 * 40}
    with puffer_sdk.Trainer(vec, settings) as trainer:
        before, errors = trainer.parameters["guess.weight"].copy(), []
        for _ in range(12):
            trainer.rollout()
            errors.append(trainer.update()["auxiliary"])
    assert not np.array_equal(before, trainer.parameters["guess.weight"])
    assert errors[-1] < 0.8 * errors[0]


@pytest.mark.parametrize(("loss", "match"), [
    (lambda batch, outputs: outputs.values, "must return one number"),
    (lambda batch, outputs: 0.5, "must return one number"),
    (lambda batch, outputs: (outputs.loss, 3), "must return one number"),
    (lambda batch, outputs: outputs.loss.detach(), "does not depend on the network"),
    (lambda batch, outputs: (outputs.loss, {"loss/policy": 1}), "is the name of a metric of ours"),
    (lambda batch, outputs: (outputs.loss, {"x": outputs.values}), "'x' is no number"),
    (lambda batch, outputs: batch.reward, "loss failed: AttributeError"),
    (lambda batch: 0, "loss failed: TypeError"),
    (lambda batch, outputs: outputs.loss * float("nan"), "loss is NaN|not finite|went bad|is nan")])
def test_what_is_no_loss_is_refused(vec, loss, match):
    with pytest.raises(PufferError, match=match) as caught:
        learn(vec, TORCH, loss=loss)
    if "NaN" not in match and "metric" not in match and "no number" not in match:
        assert __file__ in caught.value.where


def test_the_native_trainer_takes_none(vec, ideas):
    with pytest.raises(UsageError, match="loss= is in PyTorch, which the native trainer does not"):
        puffer_sdk.Trainer(vec, {**SMALL, "train.backend": "native"}, loss=lambda b, o: o.loss)
    with pytest.raises(UsageError, match=r"\[train\] torch_loss is in PyTorch, which the native"):
        puffer_sdk.Trainer(vec, {**SMALL, "train.backend": "native",
                                 "train.torch_loss": f"{ideas}:ours"})


def test_a_third_value_without_a_loss_is_refused(vec, ideas):
    torch_class.name(f"{ideas}:Net", None)
    with pytest.raises(UsageError, match="only a loss of your own takes a third value"):
        puffer_sdk.Trainer(vec, {**SMALL, "policy.torch_class": f"{ideas}:Net"})
