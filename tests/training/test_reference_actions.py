"""The reference trainer's action heads, masks and random numbers."""
import math

import numpy as np
import pytest
import torch
from helpers import reference_ppo as reference
from helpers.ppo_fixtures import (  # noqa: F401   one_thread is a fixture
    ACTION_KINDS,
    FakeVec,
    make_reference,
    one_thread,
    settings,
)

from puffer_sdk.training.reference.action_heads import ActionHeads, Actor
from puffer_sdk.training.reference.policy import build_policy

# ---- actions ----------------------------------------------------------------------------------

@pytest.mark.parametrize("sizes", ACTION_KINDS.values(), ids=ACTION_KINDS)
@pytest.mark.parametrize("masked", [False, True])
def test_log_prob_and_entropy_equal_the_reference(sizes, masked):
    random = np.random.default_rng(0)
    heads, rows = ActionHeads(sizes), 20
    logits, logstd = random.normal(size=(rows, sum(sizes))), np.array([-0.7])
    mask = np.ones((rows, sum(sizes)), np.uint8)
    if masked:
        mask[:, 0] = sizes[0] == 1
    legal = torch.where(torch.tensor(mask) != 0, torch.tensor(logits), -1e30)
    noise = torch.tensor(np.where(np.array(sizes) == 1, random.normal(size=(rows, len(sizes))),
                                  random.random((rows, len(sizes)))))
    actions = heads.sample(legal, torch.tensor(logstd), noise)
    assert not masked or sizes[0] == 1 or (actions[:, 0] > 0).all()
    got = heads.log_prob_and_entropy(legal, torch.tensor(logstd), actions)
    for row in range(rows):
        want = reference.log_prob_and_entropy(logits[row], actions[row].numpy(), sizes, logstd,
                                              mask[row])
        assert [float(got[0][row]), float(got[1][row])] == pytest.approx(want, rel=1e-9)


def test_sampling_is_by_inverse_cdf():
    """Actions change exactly where the cumulative probability passes the uniform."""
    heads, chances = ActionHeads((4,)), torch.tensor([[0.1, 0.0, 0.6, 0.3]])
    points = torch.tensor([0, 0.099, 0.101, 0.699, 0.701, 1 - 2 ** -24])
    got = heads.sample(chances.log().clamp(min=-1e30).expand(6, 4), None, points[:, None])
    assert got[:, 0].tolist() == [0, 0, 2, 2, 3, 3]
    spread = torch.arange(20_000)[:, None] / 20_000
    picks = heads.sample(torch.randn(1, 4).expand(20_000, 4), None, spread)
    assert (picks[1:] >= picks[:-1]).all()


def test_the_largest_uniform_never_leaves_the_head():
    heads = ActionHeads((7,))
    logits = torch.randn(50_000, 7, generator=torch.Generator().manual_seed(0)) * 4
    logits[:, 6] = -1e30                                # and never picks an illegal last action
    picks = heads.sample(logits, None, torch.full((50_000, 1), 1 - 2 ** -24))
    assert picks.max() <= 5


def test_a_uniform_of_zero_skips_what_is_illegal():
    heads, logits = ActionHeads((3,)), torch.tensor([[-1e30, 0.0, 0.0]])
    assert heads.sample(logits, None, torch.zeros(1, 1)) == 1


def test_continuous_heads_use_their_own_logstd():
    """Dimension d of logstd belongs to the d-th head of width 1, whatever stands between them."""
    heads = ActionHeads((1, 3, 1))
    logstd = torch.tensor([-1.0, 1.0])
    logits, noise = torch.zeros(1, 5), torch.tensor([[1.0, 0.5, 1.0]])
    assert heads.sample(logits, logstd, noise)[0, [0, 2]].tolist() == pytest.approx(
        [math.exp(-1), math.exp(1)])
    far = heads.log_prob(logits, torch.tensor([-1.0, 1.0]), torch.tensor([[0.0, 0.0, 2.0]]))
    swapped = heads.log_prob(logits, torch.tensor([1.0, -1.0]), torch.tensor([[0.0, 0.0, 2.0]]))
    assert far > swapped + 1


def test_logstd_is_clamped():
    heads, row = ActionHeads((1,)), torch.zeros(1, 1)
    assert heads.sample(row, torch.tensor([9.0]), torch.ones(1, 1)) == pytest.approx(math.exp(2))
    assert torch.isfinite(heads.log_prob(row, torch.tensor([-99.0]), row)).all()


def test_action_ids_above_256_stay_exact():
    class Only777(FakeVec):
        def observe(self):
            self.action_mask[:] = np.arange(1000) == 777
    vec = Only777((1000,), 8, mask=True)
    trainer = make_reference(vec=vec)
    trainer.rollout()
    assert (vec.actions == 777).all() and (trainer.actions == 777).all()
    torch.testing.assert_close(trainer.log_probs, torch.zeros_like(trainer.log_probs))


def test_masks_bind_in_the_rollout_and_count_in_the_loss():
    trainer = make_reference(vec=FakeVec((3, 1, 2), 16, mask=True), minibatch_size=64)
    trainer.rollout()
    chosen = trainer.actions.long()
    assert trainer.masks[..., :3].gather(-1, chosen[..., :1]).all()
    assert trainer.masks[..., 4:].gather(-1, chosen[..., 2:]).all()
    assert not trainer.masks[..., :3].all() and trainer.masks[..., 3].all()
    metrics = trainer.update()
    assert metrics["loss/entropy"] < math.log(3) + math.log(2) + 1.42 - 0.1     # the unmasked bound


def test_greedy_takes_the_likeliest_action_and_the_mean():
    policy = build_policy(4, (3, 1), settings())
    actor = Actor(policy, (3, 1), 0, 5, greedy=True)
    obs = np.random.default_rng(0).normal(size=(5, 4)).astype(np.float32)
    logits = policy.step(torch.tensor(obs), policy.initial_state(5))[0].detach()
    got = actor.act(obs)
    assert got.dtype == np.float32 and got.shape == (5, 2)
    assert np.array_equal(got[:, 0], logits[:, :3].argmax(-1).numpy())
    assert np.allclose(got[:, 1], logits[:, 3])
    masked = actor.act(obs, np.array([[0, 1, 0, 0]] * 5, np.uint8))
    assert (masked[:, 0] == 1).all()


# ---- random numbers and seeds -----------------------------------------------------------------

def play(seed=3, n=6, ticks=150, first_agent=0, greedy=False):
    policy = build_policy(4, (5, 1), settings())
    actor = Actor(policy, (5, 1), seed, n, first_agent=first_agent, greedy=greedy)
    obs = np.ones((n, 4), np.float32)
    return np.stack([actor.act(obs) for _ in range(ticks)])


def test_actor_repeats_itself_and_follows_its_seed():
    assert np.array_equal(play(), play())
    assert (play() != play(seed=4)).mean() > 0.4


def test_ranks_draw_what_one_process_would():
    """Agents 3..5 of one process, and the three agents of a second one that start at 3."""
    whole, second, first = play(), play(n=3, first_agent=3), play(n=3)
    assert np.array_equal(whole[:, 3:, 0], second[..., 0])
    np.testing.assert_allclose(whole[:, 3:], second, atol=1e-5)
    assert (first != second).mean() > 0.4


def test_training_follows_the_seed():
    def bytes_of(**changes):
        trainer = make_reference((3, 1), **changes)
        for _ in range(3):
            trainer.rollout()
            trainer.update()
        return {name: tensor.tobytes() for name, tensor in trainer.state_tensors().items()}
    torch.manual_seed(1)
    first = bytes_of()
    torch.manual_seed(2)
    np.random.seed(2)
    assert bytes_of() == first
    assert bytes_of(seed=2)["decoder"] != first["decoder"]
