"""What the reference network sees of images, grids, ids and lists."""
from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from helpers import reference_ppo as reference
from helpers.policies import SEEING, make_policy
from helpers.ppo_fixtures import (  # noqa: F401   one_thread is a fixture
    FakeVec,
    make_reference,
    one_thread,
    settings,
)

from puffer_sdk.base import philox
from puffer_sdk.base.errors import UsageError
from puffer_sdk.base.philox import Purpose
from puffer_sdk.settings import encoder
from puffer_sdk.training.reference import seeing
from puffer_sdk.training.reference.policy import Policy, build_policy, load_weights
from puffer_sdk.training.reference.reference_ppo import TorchPPO
from puffer_sdk.training.schedules import factors_of_columns

SMALL = "grid 1 5x4x2 of 3,0: 4x3 3x2 + list 41 3x3 mask 0: 5 4 + ids 51 2 of 3"
SIZE = 1 + 40 + 9 + 1 + 2


def as_doubles(tensor):
    return tensor.detach().numpy().astype(np.float64)


@pytest.mark.parametrize("case", SEEING)
def test_the_network_equals_the_oracle(case, tmp_path):
    made = make_policy(tmp_path, **SEEING[case])
    script, policy = made.script(4), made.policy
    obs = script.observations.swapaxes(0, 1)
    ended = np.zeros((made.agents, 4), np.float32)
    ended[0, 1] = 1
    state0 = policy.initial_state(made.agents)
    logits, values = policy.sequence(torch.from_numpy(obs), state0, torch.from_numpy(ended))
    weights = {name: as_doubles(weight) for name, weight in policy.named_parameters()}
    want = reference.network(weights, obs, state0.numpy(), ended, policy.seen)
    largest = max(1.0, np.abs(want[0]).max(), np.abs(want[1]).max())
    np.testing.assert_allclose(as_doubles(logits), want[0], atol=1e-5 * largest)
    np.testing.assert_allclose(as_doubles(values), want[1], atol=1e-5 * largest)
    stepped = policy.step(torch.from_numpy(obs[:, 0]), state0)
    torch.testing.assert_close(stepped[0], logits[:, 0])


def see(text, row, *weights):
    """Of one row, with these weights: a list for each part."""
    found = seeing.see(torch.tensor([row], dtype=torch.float32), encoder.parse(text),
                       [[torch.tensor(each, dtype=torch.float32) for each in part]
                        for part in weights])
    return found[0].tolist()


def test_only_exact_ids_become_a_one():
    row = [7.0, 0.0, 2.0, 3.0, -1.0, 1.5, math.nan, math.inf]
    found = see("ids 1 7 of 3", row, [])
    assert found[0] == 7.0
    assert np.array(found[1:]).reshape(7, 3).tolist() == [
        [1, 0, 0], [0, 0, 1], [0] * 3, [0] * 3, [0] * 3, [0] * 3, [0] * 3]


def test_columns_are_ordered_by_kernel_row_kernel_column_channel():
    row = list(range(18))               # 3 x 3 cells of 2 channels
    weight = np.eye(8).tolist()            # a filter for each column of a 2 x 2 kernel
    found = np.reshape(see("image 0 3x3x2: 8x2", row, [weight]), (2, 2, 8))
    assert found[0, 0].tolist() == [0, 1, 2, 3, 6, 7, 8, 9]
    assert found[1, 1].tolist() == [8, 9, 10, 11, 14, 15, 16, 17]


def test_negative_sums_are_cut_and_a_nan_stays():
    assert see("image 0 1x2x1: 2", [3.0, -4.0], [[[1.0], [-1.0]]]) == [3, 0, 0, 4]
    found = see("image 0 1x2x1: 1", [math.nan, 2.0], [[[1.0]]])
    assert math.isnan(found[0]) and found[1] == 2


def test_a_list_takes_the_largest_of_the_things_that_are_there():
    weights = [[[0.0, 1.0], [0.0, -1.0]]]
    assert see("list 0 3x2 mask 0: 2", [1, 5, 0, 9, -2, -3], weights) == [5, 3]
    assert see("list 0 3x2: 2", [1, 5, 0, 9, -2, -3], weights) == [9, 3]
    assert see("list 0 3x2 mask 0: 2", [0, 5, 0, 9, 0, -3], weights) == [0, 0]


def test_no_parts_are_the_network_of_before():
    obs = torch.rand(3, 4)
    assert seeing.see(obs, (), ()) is obs
    flat = build_policy(4, (3,), settings())
    assert [name for name, _ in flat.named_parameters()] == ["encoder", "decoder", "layers.0",
                                                             "layers.1"]
    assert torch.equal(flat.encoder, build_policy(4, (3,), settings(encoder="auto")).encoder)


# ---- weights ----------------------------------------------------------------------------------


def test_names_shapes_and_first_weights():
    policy = build_policy(SIZE, (3,), settings(encoder=SMALL, seed=9, hidden_size=6))
    parts = encoder.parse(SMALL)
    found = {name: tuple(weight.shape) for name, weight in policy.named_parameters()}
    assert found == {"encoder": (6, encoder.seen_size(parts, SIZE)), "decoder": (4, 6),
                     "layers.0": (18, 6), "layers.1": (18, 6), **encoder.weight_shapes(parts)}
    names = ["encoder", "layers.0", "layers.1", "decoder", *encoder.weight_shapes(parts)]
    assert names[4:] == ["parts.0.0", "parts.0.1", "parts.1.0", "parts.1.1"]
    for number, name in enumerate(names):
        weight = dict(policy.named_parameters())[name].detach().numpy()
        gain = math.sqrt(6) if number > 3 else (math.sqrt(2), 1, 1, 0.01)[number]
        draws = philox.uniform((9, Purpose.INIT), np.arange(weight.size), number)
        np.testing.assert_allclose(weight.ravel(), (2 * draws - 1) * gain
                                   / math.sqrt(weight.shape[1]), rtol=1e-6)


def test_factors_go_to_columns():
    factors = np.arange(1, SIZE + 1, dtype=np.float32)
    found = factors_of_columns(factors, encoder.parse(SMALL))
    assert set(found) == {"encoder", "parts.0.0", "parts.1.0"}
    assert found["encoder"][:2].tolist() == [1, 51] and set(found["encoder"][2:]) == {1}
    assert len(found["encoder"]) == encoder.seen_size(encoder.parse(SMALL), SIZE)
    assert found["parts.0.0"].tolist() == [1, 1, 1, 3] * 9
    assert found["parts.1.0"].tolist() == [42, 43, 44]
    plain = factors_of_columns(factors, ())
    assert list(plain) == ["encoder"] and np.array_equal(plain["encoder"], factors)


def test_the_gradient_is_the_derivative():
    parts = encoder.parse(SMALL)
    generator = torch.Generator().manual_seed(0)
    obs = torch.randn(3, SIZE, generator=generator, dtype=torch.float64)
    obs[:, 1:41:2] = torch.randint(0, 4, (3, 20), generator=generator).double()
    obs[0, 41] = obs[1, 44] = 0         # things that are not there
    shapes = list(encoder.weight_shapes(parts).values())
    weights = [torch.randn(*shape, generator=generator, dtype=torch.float64, requires_grad=True)
               for shape in shapes]
    assert torch.autograd.gradcheck(
        lambda *given: seeing.see(obs, parts, [given[:2], given[2:], ()]), weights)


class Seen(FakeVec):
    """Observations of small whole numbers, times a factor for each."""

    def __init__(self, size, factors=1.0, **more):
        self.factors = factors
        super().__init__(obs_size=size, **more)

    def observe(self):
        super().observe()
        self.observations[:] = self.random.integers(0, 3, self.observations.shape) * self.factors


def test_a_rollout_is_repeated_from_its_snapshots():
    trainer = make_reference(vec=Seen(SIZE, act_sizes=(3, 1)), encoder=SMALL, horizon=16)
    for _ in range(2):
        trainer.rollout()
        logits, values = trainer.policy.sequence(trainer.obs, trainer.state0, trainer.ended)
        log_probs = trainer.heads.log_prob(logits, trainer.policy.logstd, trainer.actions)
        torch.testing.assert_close(values, trainer.values, atol=1e-5, rtol=1e-5)
        torch.testing.assert_close(log_probs, trainer.log_probs, atol=1e-5, rtol=1e-5)
        trainer.update()


def test_factors_act_as_multiplied_observations():
    """Trained on x with factors f, and on f x with none: the same network of x."""
    text, size = "image 1 5x4x2: 4x3 3x2 + list 41 3x3: 5", 50
    factors = np.array([0.5] + [2, 0.25] * 20 + [4, 1, 0.5] * 3, np.float32)
    scale = "0.5 x 1, " + "2 x 1, 0.25 x 1, " * 20 + "4 x 1, 1 x 1, 0.5 x 1, " * 3
    raw = make_reference(vec=Seen(size), encoder=text, obs_scale=scale.rstrip(", "))
    scaled = make_reference(vec=Seen(size, factors), encoder=text)
    for trainer in (raw, scaled):
        for _ in range(2):
            trainer.rollout()
            trainer.update()
    columns = factors_of_columns(factors, encoder.parse(text))
    for name, weight in scaled.policy.named_parameters():
        want = weight.detach().numpy() * columns.get(name, np.float32(1))
        np.testing.assert_allclose(raw.parameters[name], want, rtol=1e-4, atol=1e-5)


# ---- training ---------------------------------------------------------------------------------


class Quadrant(FakeVec):
    """A dot in one of four quadrants of an image of 6 x 6: the action is to name it."""

    def __init__(self, num_agents=32):
        self.scores: list[float] = []
        super().__init__((4,), num_agents, 36, np.uint8)

    def observe(self):
        y, x = self.random.integers(0, 6, (2, self.num_agents))
        self.observations[:] = 0
        self.observations[np.arange(self.num_agents), y * 6 + x] = 200
        self.quadrant = y // 3 * 2 + x // 3

    def step(self):
        self.rewards[:] = self.actions[:, 0] == self.quadrant
        self.scores.append(float(self.rewards.mean()))
        self.terminals[:] = self.random.random(self.num_agents) < 0.2
        self.observe()


def make_trainer():
    return TorchPPO(Quadrant(), settings(
        encoder="image 0 6x6x1: 8x3 8x2", hidden_size=16, num_layers=1, horizon=8,
        minibatch_size=128, total_timesteps=32 * 8 * 120, obs_scale="0.005", gamma=0.5,
        learning_rate=0.02, anneal_lr=1))


def test_it_learns_what_an_image_shows():
    trainer = make_trainer()
    while not trainer.finished:
        trainer.rollout()
        metrics = trainer.update()
    scores = trainer.vec.scores
    assert np.mean(scores[:16]) < 0.45 and np.mean(scores[-32:]) > 0.9
    assert all(math.isfinite(value) for value in metrics.values())


def test_a_state_is_saved_and_loaded_with_its_parts():
    trainer, other = make_trainer(), make_trainer()
    trainer.rollout()
    trainer.update()
    saved = trainer.state_tensors()
    assert {name for name in saved if "parts" in name} == {
        "parts.0.0", "parts.0.1", "muon.parts.0.0", "muon.parts.0.1"}
    assert np.abs(saved["muon.parts.0.1"]).max() > 0
    other.load_state_tensors(saved)
    assert all(np.array_equal(saved[name], each) for name, each in other.state_tensors().items())
    policy = Policy(36, (4,), 16, 1, seen=trainer.policy.seen)
    load_weights(policy, saved)
    obs = torch.from_numpy(trainer.vec.observations)
    state = policy.initial_state(len(obs))
    assert torch.equal(policy.step(obs, state)[0], trainer.policy.step(obs, state)[0])
    with pytest.raises(UsageError, match="no tensor 'parts.0.1'"):
        other.load_state_tensors({k: v for k, v in saved.items() if k != "parts.0.1"})
