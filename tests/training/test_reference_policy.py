"""The reference policy: the network, its recurrent state, and a network of your own."""
import math

import numpy as np
import pytest
import torch
from helpers import reference_ppo as reference
from helpers.ppo_fixtures import (  # noqa: F401   one_thread is a fixture
    FakeVec,
    make_reference,
    one_thread,
    settings,
    train_reference,
)

from puffer_sdk.base.errors import RunError, UsageError
from puffer_sdk.training.reference.policy import LayerScan, Policy, build_policy


def doubles(tensor):
    return tensor.detach().cpu().numpy().astype(np.float64)


# ---- the policy -------------------------------------------------------------------------------

@pytest.mark.parametrize("dtype", [np.uint8, np.float32])
def test_network_equals_the_reference(dtype):
    policy = Policy(4, (3, 1), 5, 2)
    vec = FakeVec((3, 1), 6, dtype=dtype)
    obs = torch.tensor(np.stack([vec.reset().copy() for _ in range(7)], 1))
    ended = torch.rand(6, 7, generator=torch.Generator().manual_seed(0)) < 0.3
    state0 = torch.randn(6, 2, 5, generator=torch.Generator().manual_seed(1))
    logits, values = policy.sequence(obs, state0, ended)
    weights = {name: doubles(p) for name, p in policy.named_parameters()}
    want = reference.network(weights, obs.numpy(), state0.numpy(), ended.numpy())
    np.testing.assert_allclose(doubles(logits), want[0], atol=1e-5)
    np.testing.assert_allclose(doubles(values), want[1], atol=1e-5)


def test_scan_gradient_is_the_derivative():
    generator = torch.Generator().manual_seed(0)
    products, x, state0 = (torch.randn(*shape, generator=generator, dtype=torch.float64,
                                       requires_grad=True)
                           for shape in ((2, 5, 9), (2, 5, 3), (2, 3)))
    keep = torch.ones(2, 5, dtype=torch.float64)
    keep[0, 2] = keep[1, 4] = 0
    assert torch.autograd.gradcheck(LayerScan.apply, (products, x, state0, keep))
    one_tick = (products[:, :1].detach().requires_grad_(), x[:, :1].detach().requires_grad_(),
                state0, keep[:, :1])
    assert torch.autograd.gradcheck(LayerScan.apply, one_tick)


def test_scan_gradient_at_zero_is_the_linear_side():
    """Blank byte observations give products that are exactly 0: g(0) = 0.5 belongs to u + 0.5."""
    products = torch.zeros(1, 1, 3, requires_grad=True)
    LayerScan.apply(products, torch.zeros(1, 1, 1), torch.zeros(1, 1), torch.ones(1, 1)).backward()
    assert products.grad[0, 0, 0] == 0.25       # z * s * 1, with z = s = 0.5


@pytest.mark.parametrize("dtype, scale", [
    (np.uint8, "1"), (np.uint8, "0.25"), (np.float32, "2 x 3, 0.5 x 1")])
def test_scan_repeats_the_rollout(dtype, scale):
    """Values and log-probabilities of a stored rollout, endings included, from its snapshots."""
    trainer = make_reference(vec=FakeVec((3, 1), 8, dtype=dtype), obs_scale=scale, horizon=16)
    for _ in range(3):
        trainer.rollout()
        logits, values = trainer.policy.sequence(trainer.obs, trainer.state0, trainer.ended)
        log_probs = trainer.heads.log_prob(logits, trainer.policy.logstd, trainer.actions)
        torch.testing.assert_close(values, trainer.values, atol=1e-5, rtol=1e-5)
        torch.testing.assert_close(log_probs, trainer.log_probs, atol=1e-5, rtol=1e-5)
        trainer.update()
    assert trainer.ended.any() and trainer.state0.abs().sum() > 0


def test_bytes_are_cast_and_only_scaled_if_asked():
    obs = np.array([[0, 51, 255, 102]], np.uint8)
    for scale, factor in ((False, 1.0), (True, 255.0)):
        policy = Policy(4, (3,), 5, 1, scale_obs=scale)
        floats = torch.tensor(obs.astype(np.float32) / factor)
        got = policy.step(torch.tensor(obs), policy.initial_state(1))[0]
        torch.testing.assert_close(got, policy.step(floats, policy.initial_state(1))[0])


def test_initialisation_follows_the_formula_and_the_seed():
    config = settings(hidden_size=64)
    policy = build_policy(100, (3,), config)
    for name, bound in (("encoder", math.sqrt(2) / 10), ("layers.0", 1 / 8), ("decoder", 0.01 / 8)):
        weight = dict(policy.named_parameters())[name].detach()
        assert 0.9 * bound < weight.abs().max() <= bound and abs(weight.mean()) < bound / 5
        assert abs(weight.std() - bound / math.sqrt(3)) < 0.05 * bound
    torch.manual_seed(5)
    again = build_policy(100, (3,), config)
    other = build_policy(100, (3,), settings(hidden_size=64, seed=2))
    assert torch.equal(policy.encoder, again.encoder)
    assert not torch.equal(policy.encoder, other.encoder)
    assert not torch.equal(policy.layers[0], policy.layers[1])


def test_parameter_names_and_shapes():
    shapes = {name: tuple(p.shape) for name, p in Policy(7, (3, 1, 1), 4, 2).named_parameters()}
    assert shapes == {"encoder": (4, 7), "layers.0": (12, 4), "layers.1": (12, 4),
                      "decoder": (6, 4), "logstd": (2,)}
    assert "logstd" not in dict(Policy(7, (3,), 4, 1).named_parameters())


# ---- state ------------------------------------------------------------------------------------

class Script(FakeVec):
    """Ends agent 0's episode on tick 2 of each horizon of 4, and agent 1's on the last, 3."""

    clock = 0

    def step(self):
        super().step()
        self.terminals[:] = self.truncations[:] = 0
        self.terminals[0] = self.clock % 4 == 2
        self.terminals[1] = self.clock % 4 == 3
        self.clock += 1


def test_state_is_zeroed_on_the_very_next_tick_and_carried_otherwise():
    trainer = make_reference(vec=Script((3,), 4), horizon=4, minibatch_size=8)
    seen = []
    step = trainer.policy.step
    trainer.policy.step = lambda obs, state: seen.append(state.clone()) or step(obs, state)
    trainer.rollout()
    trainer.rollout()
    zero = [[bool((state[agent] == 0).all()) for state in seen] for agent in range(3)]
    # calls: ticks 0 1 2 3, bootstrap, ticks 0 1 2 3, bootstrap
    assert zero[0] == [True, False, False, True, False, False, False, False, True, False]
    assert zero[1] == [True, False, False, False, True, True, False, False, False, True]
    assert zero[2] == [True] + [False] * 9
    torch.testing.assert_close(seen[4], seen[5])        # the bootstrap advanced no state
    torch.testing.assert_close(trainer.state0, seen[5])  # snapshot after the zeroing


def test_reset_state_zeroes_every_horizon():
    trainer = make_reference(reset_state=1)
    for _ in range(2):
        trainer.rollout()
        assert not trainer.state0.any()


# ---- a network of one's own -------------------------------------------------------------------

OWN_CLASS = '''
import torch
from torch import nn

class Small(nn.Module):
    """Feed-forward, with biases, an Adam-trained vector and no memory."""
    def __init__(self, obs_size, act_sizes, hidden_size, num_layers, scale_obs=False):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(obs_size, hidden_size), nn.Tanh(),
                                  nn.Linear(hidden_size, sum(act_sizes) + 1))
        self.logstd = nn.Parameter(torch.zeros(sum(w == 1 for w in act_sizes)))

    def initial_state(self, n):
        return torch.zeros(n, 0)

    def step(self, obs, state):
        out = self.body(obs.float())
        return out[..., :-1], out[..., -1], state

    def sequence(self, obs, state0, ended):
        logits, values, _ = self.step(obs, state0)
        return logits, values

class NoSequence(nn.Module):
    def initial_state(self, n): ...
    def step(self, obs, state): ...

class TooWide(Small):
    def step(self, obs, state):
        out = self.body(obs.float())
        return out, out[..., -1], state

class Disagrees(Small):
    def sequence(self, obs, state0, ended):
        logits, values = super().sequence(obs, state0, ended)
        return logits + 1, values

class Crashes(Small):
    def step(self, obs, state):
        raise ValueError("boom")

class NoConstructor(Small):
    def __init__(self, obs_size):
        super().__init__()

class TupleState(Small):
    def initial_state(self, n):
        return torch.zeros(n, 4), torch.zeros(n, 4)

class OneState(Small):
    def initial_state(self, n):
        return torch.zeros(1, 4)

class OtherState(Small):
    def step(self, obs, state):
        return *super().step(obs, state)[:2], state.double()

class NoState(Small):
    def step(self, obs, state):
        return super().step(obs, state)[:2]

class ThirdValue(Small):
    def sequence(self, obs, state0, ended):
        return *super().sequence(obs, state0, ended), obs

class NoFloat(Small):
    def step(self, obs, state):
        out = self.body(obs)
        return out[..., :-1], out[..., -1], state

class Late(Small):
    def step(self, obs, state):
        if len(obs) > 2:
            raise IndexError("late")
        return super().step(obs, state)
'''


def test_a_class_of_ones_own_trains(tmp_path):
    (tmp_path / "net.py").write_text(OWN_CLASS)
    trainer, metrics = train_reference(torch_class=f"{tmp_path / 'net.py'}:Small")
    assert type(trainer.policy).__name__ == "Small" and math.isfinite(metrics["loss/value"])
    again, _ = train_reference(torch_class=f"{tmp_path / 'net.py'}:Small")
    want, got = trainer.state_tensors(), again.state_tensors()
    assert all(np.array_equal(want[name], got[name]) for name in want)


@pytest.mark.parametrize("name, match", [
    ("Smal", "'Smal' is not"), ("NoSequence", "no method sequence"), ("TooWide", "step logits"),
    ("Disagrees", "give different results"), ("Crashes", "trial run")])
def test_a_class_that_does_not_fit_is_refused(tmp_path, name, match):
    (tmp_path / "net.py").write_text(OWN_CLASS)
    with pytest.raises(UsageError, match=match) as caught:
        make_reference((3, 1), torch_class=f"{tmp_path / 'net.py'}:{name}")
    assert caught.value.hint
    if name == "Crashes":
        assert "boom" in str(caught.value)


@pytest.mark.parametrize(("name", "match", "told"), [
    ("NoConstructor", r"NoConstructor.__init__\(\) failed", "positional argument"),
    ("TupleState", r"initial_state\(\) must return the state as one", "a tuple of 2"),
    ("OneState", "no row for each agent", "(1, 4) float32"),
    ("OtherState", "another kind of state", "float64"),
    ("NoState", r"step\(\) returns something else", "logits, value, new state"),
    ("ThirdValue", r"sequence\(\) returns something else", "a tuple of 3"),
    ("NoFloat", r"NoFloat.step\(\) failed", "obs.float()")])
def test_what_is_wrong_with_a_class_is_said_with_method_shape_and_type(tmp_path, name, match, told):
    (tmp_path / "net.py").write_text(OWN_CLASS)
    with pytest.raises(UsageError, match=match) as caught:
        make_reference(vec=FakeVec((3, 1), dtype=np.uint8),
                       torch_class=f"{tmp_path / 'net.py'}:{name}")
    assert told in str(caught.value) and "too many values" not in str(caught.value)
    if name == "NoFloat":
        assert "obs is (2, 4) uint8" in caught.value.detail
        assert (tmp_path / "net.py").read_text().splitlines()[
            int(caught.value.where.rpartition(":")[2]) - 1].strip() == "out = self.body(obs)"


def test_what_fails_later_is_said_with_its_line(tmp_path):
    (tmp_path / "net.py").write_text(OWN_CLASS)
    trainer = make_reference((3, 1), torch_class=f"{tmp_path / 'net.py'}:Late")
    with pytest.raises(RunError, match=r"Late.step\(\) failed: IndexError") as caught:
        trainer.rollout()
    assert "net.py:" in caught.value.where and "float32" in caught.value.detail
    assert "late" in caught.value.detail


def test_a_file_that_is_missing_or_does_not_import_is_refused(tmp_path):
    for spec in ("nowhere.py:Small", "Small", f"{tmp_path}:Small"):
        with pytest.raises(UsageError, match="no such file"):
            make_reference(torch_class=spec)
    (tmp_path / "bad.py").write_text("import not_a_module_at_all\n")
    with pytest.raises(UsageError, match="does not import"):
        make_reference(torch_class=f"{tmp_path / 'bad.py'}:Small")
