"""The referee against a slow float64 reference, against known defects, and at learning."""
import json
import math
from functools import partial

import numpy as np
import pytest
import torch
from helpers import reference_ppo as reference
from helpers.ppo_fixtures import (  # noqa: F401   one_thread is a fixture
    ACTION_KINDS,
    FakeVec,
    Recall,
    one_thread,
    settings,
)

from puffer_sdk.base import philox
from puffer_sdk.base.errors import RunError, UsageError
from puffer_sdk.base.philox import Purpose
from puffer_sdk.training.reference.actions import ActionHeads, Actor
from puffer_sdk.training.reference.muon import orthogonalise
from puffer_sdk.training.reference.policy import LayerScan, Policy, build_policy, load_weights
from puffer_sdk.training.reference.ppo import (
    TorchPPO,
    advantages,
    draw_segments,
    explained_variance,
    importance_weights,
    ppo_loss,
    segment_probabilities,
)
from puffer_sdk.training.schedules import LOSSES


def make(act_sizes=(3,), vec=None, **changes):
    return TorchPPO(vec or FakeVec(act_sizes), settings(**changes))


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


@pytest.mark.parametrize("dtype, scale_obs", [(np.uint8, 0), (np.uint8, 1), (np.float32, 1)])
def test_scan_repeats_the_rollout(dtype, scale_obs):
    """Values and log-probabilities of a stored rollout, endings included, from its snapshots."""
    trainer = make(vec=FakeVec((3, 1), 8, dtype=dtype), scale_obs=scale_obs, horizon=16)
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
    for name, bound in (("encoder", math.sqrt(2) / 10), ("layers.0", 1 / 8), ("decoder", 1 / 8)):
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
    trainer = make(vec=Script((3,), 4), horizon=4, minibatch_size=8)
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
    trainer = make(reset_state=1)
    for _ in range(2):
        trainer.rollout()
        assert not trainer.state0.any()


# ---- advantages -------------------------------------------------------------------------------

def random_rollout(horizon, agents=5, seed=0):
    random = np.random.default_rng(seed)
    rewards, values = random.normal(size=(2, agents, horizon))
    ended = random.random((agents, horizon)) < 0.2
    return dict(rewards=rewards, values=values, bootstrap=random.normal(size=agents), ended=ended,
                truncated=ended & (random.random((agents, horizon)) < 0.5),
                ratio=np.exp(random.normal(size=(agents, horizon)) * 0.5))


@pytest.mark.parametrize("horizon", [1, 5, 8, 64])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("rho_clip, c_clip", [(1.0, 1.0), (2.0, 0.7)])
def test_one_advantage_formula_for_every_horizon_and_type(horizon, dtype, rho_clip, c_clip):
    rollout = random_rollout(horizon)
    tensors = {key: torch.tensor(value, dtype=None if value.dtype == bool else dtype)
               for key, value in rollout.items()}
    got = advantages(**tensors, gamma=0.99, gae_lambda=0.9, rho_clip=rho_clip, c_clip=c_clip)
    want = reference.advantages(*rollout.values(), 0.99, 0.9, rho_clip, c_clip)
    np.testing.assert_allclose(got.numpy(), want, atol=1e-12 if dtype == torch.float64 else 2e-5)


def test_weights_and_clips_of_one_are_plain_gae():
    rollout = random_rollout(16)
    rollout["truncated"][:], rollout["ratio"][:] = False, 1
    tensors = [torch.tensor(value) for value in rollout.values()]
    got = advantages(*tensors, gamma=0.99, gae_lambda=0.9, rho_clip=1, c_clip=1).numpy()
    rollout.pop("truncated"), rollout.pop("ratio")
    np.testing.assert_allclose(got, reference.plain_gae(*rollout.values(), 0.99, 0.9), atol=1e-12)


def test_the_last_row_has_an_advantage():
    """delta of the last tick uses the value of the observation after it."""
    trainer = make(vec=FakeVec((3,), 8, end_chance=0))
    trainer.rollout()
    t = trainer.settings
    ones = torch.ones_like(trainer.values)
    got = advantages(trainer.rewards, trainer.values, trainer.bootstrap, trainer.ended,
                     trainer.truncated, ones, t.gamma, t.gae_lambda, 1, 1)[:, -1]
    bootstrap = trainer.policy.step(torch.tensor(trainer.vec.observations), trainer.actor.state)[1]
    want = trainer.rewards[:, -1] + t.gamma * bootstrap - trainer.values[:, -1]
    torch.testing.assert_close(got, want)
    assert got.abs().min() > 0 and bootstrap.abs().min() > 0


def test_reward_and_ending_share_the_row_of_the_action_that_caused_them():
    class Echo(FakeVec):
        def step(self):
            super().step()
            self.rewards[:] = self.actions[:, 0] + 10
            self.terminals[:] = self.actions[:, 0] == 2
            self.truncations[:] = 0
    trainer = make(vec=Echo((3,), 8))
    trainer.rollout()
    assert torch.equal(trainer.rewards, trainer.actions[..., 0] + 10)
    assert torch.equal(trainer.ended, trainer.actions[..., 0] == 2)


def test_truncations_are_recorded_and_change_the_target():
    trainer = make(vec=FakeVec((3,), 32, end_chance=0.5, truncate_chance=0.5), horizon=4)
    trainer.rollout()
    assert trainer.truncated.any() and (trainer.ended & ~trainer.truncated).any()
    assert not (trainer.truncated & ~trainer.ended).any()
    zero, one = torch.zeros(1, 1), torch.ones(1, 1)
    for cut, want in ((False, 1 - 3.0), (True, 1 + 0.9 * 3 - 3.0)):
        got = advantages(one, 3 * one, 7 * one[0], one.bool(), torch.tensor([[cut]]), one, 0.9, 0.9,
                         1, 1)
        torch.testing.assert_close(got, zero + want)


# ---- segments ---------------------------------------------------------------------------------

def test_priorities_are_drawn_by_inverse_cdf_with_the_stated_chances():
    advantage = torch.tensor([[1.0, -1.0], [0.5, 0.5], [0.0, 0.0], [-4.0, 4.0], [0.0, 8.0]])
    weight = np.array([2, 1, 0, 8, 8.0]) ** 0.8 + 1e-6
    chances = segment_probabilities(advantage, 0.8)
    np.testing.assert_allclose(chances, weight / weight.sum(), rtol=1e-6)
    rows = draw_segments(chances, philox.uniform((1, Purpose.PRIORITY), np.arange(200_000)))
    counts = np.bincount(rows, minlength=5)
    expected = chances * len(rows)
    chi2 = ((counts - expected) ** 2 / expected)[[0, 1, 3, 4]].sum()
    assert chi2 < 18 and counts[2] <= 3
    edges = draw_segments(chances, np.array([0, 1 - 2 ** -24], np.float32))
    assert edges.tolist() == [0, 4]


def test_equal_advantages_draw_evenly_and_weigh_one():
    chances = segment_probabilities(torch.ones(8, 4), 0.8)
    np.testing.assert_allclose(chances, 1 / 8)
    rows = draw_segments(chances, (np.arange(8) / 8).astype(np.float32))
    assert rows.tolist() == list(range(8))
    np.testing.assert_allclose(importance_weights(chances, rows, 0.5), 1)


def test_importance_weights_follow_the_formula():
    chances = np.array([0.5, 0.25, 0.25])
    rows = np.array([1, 0])
    got = importance_weights(chances, rows, 0.4)
    np.testing.assert_allclose(got, [0.75 ** -0.4, 1.5 ** -0.4], rtol=1e-6)
    assert got.dtype == np.float32


def test_beta_anneals_from_beta0_to_one():
    trainer = make(total_timesteps=8 * 8 * 4)       # four epochs
    seen = []
    pick = trainer._pick
    trainer._pick = lambda *args: seen.append(args[2]) or pick(*args)
    while not trainer.finished:
        trainer.rollout()
        trainer.update()
    assert seen[::2] == pytest.approx([0.2, 0.4, 0.6, 0.8])


def test_alpha_zero_takes_every_segment_once_an_epoch_without_weights():
    trainer = make(vec=FakeVec((3,), 12), prio_alpha=0.0)       # 3 minibatches of 4 segments
    orders = []
    for _ in range(2):
        trainer.rollout()
        trainer.update()
        rows = np.concatenate([rows for rows, _ in trainer.picks])
        assert sorted(rows.tolist()) == list(range(12))
        assert all((q == 1).all() for _, q in trainer.picks)
        orders.append(rows.tolist())
    assert orders[0] != orders[1] != sorted(orders[1])


def test_alpha_zero_with_replay_deals_whole_decks():
    trainer = make(vec=FakeVec((3,), 6), prio_alpha=0.0, replay_ratio=2.0)     # 12 in 3 minibatches
    trainer.rollout()
    trainer.update()
    rows = np.concatenate([rows for rows, _ in trainer.picks]).tolist()
    assert sorted(rows[:6]) == sorted(rows[6:]) == list(range(6)) and rows[:6] != rows[6:]


@pytest.mark.parametrize("replay_ratio, counts", [(1.0, [2, 2, 2, 2]), (0.75, [1, 2, 1, 2]),
                                                  (0.25, [0, 1, 0, 1])])
def test_minibatches_per_epoch_carry_their_fraction(replay_ratio, counts):
    trainer = make(replay_ratio=replay_ratio)      # 64 rows, minibatches of 32
    seen = []
    for _ in counts:
        trainer.rollout()
        metrics = trainer.update()
        seen.append(len(trainer.picks))
        assert ("loss/policy" in metrics) == bool(trainer.picks)
    assert seen == counts


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
    trainer = make(vec=vec)
    trainer.rollout()
    assert (vec.actions == 777).all() and (trainer.actions == 777).all()
    torch.testing.assert_close(trainer.log_probs, torch.zeros_like(trainer.log_probs))


def test_masks_bind_in_the_rollout_and_count_in_the_loss():
    trainer = make(vec=FakeVec((3, 1, 2), 16, mask=True), minibatch_size=64)
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
        trainer = make((3, 1), **changes)
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


# ---- loss -------------------------------------------------------------------------------------

def test_q_multiplies_the_normalised_advantage_only():
    generator = torch.Generator().manual_seed(0)
    rows = {key: torch.randn(4, 6, generator=generator) * 0.1 for key in
            ("log_prob_old", "value_old", "advantage", "returns")}
    log_prob, entropy, value = (torch.randn(4, 6, generator=generator) * 0.1 for _ in range(3))
    q = torch.tensor([[0.5], [1.0], [2.0], [3.0]])
    config = settings().train
    parts = {name: ppo_loss(log_prob, entropy, value, rows | {"q": weight}, config, 0.01)[1]
             for name, weight in (("one", torch.ones(4, 1)), ("q", q))}
    assert torch.equal(parts["one"][1:], parts["q"][1:])        # everything but the policy loss
    a = rows["advantage"]
    a = q * (a - a.mean()) / (a.std(correction=0) + 1e-8)       # normalised before q
    ratio = (log_prob - rows["log_prob_old"]).exp()
    want = torch.max(-a * ratio, -a * ratio.clamp(0.8, 1.2)).mean()
    torch.testing.assert_close(parts["q"][0], want)


def test_normalisation_can_be_switched_off():
    rows = {key: torch.zeros(1, 2) for key in ("log_prob_old", "value_old", "returns")}
    rows |= {"advantage": torch.tensor([[1.0, 3.0]]), "q": torch.ones(1, 1)}
    for norm_adv, want in ((1, 0.0), (0, -2.0)):
        parts = ppo_loss(*torch.zeros(3, 1, 2), rows, settings(norm_adv=norm_adv).train, 0.0)[1]
        assert float(parts[0]) == pytest.approx(want)


def test_explained_variance():
    returns = torch.tensor([1.0, 2.0, 3.0])
    assert explained_variance(returns, returns) == 1
    assert explained_variance(torch.zeros(3), returns) == 0
    assert explained_variance(returns, torch.ones(3)) == 0


# ---- Muon -------------------------------------------------------------------------------------

@pytest.mark.parametrize("shape", [(6, 4), (4, 6), (5, 5), (1, 7), (24, 3)])
def test_orthogonalise_brings_singular_values_near_one(shape):
    """Down to a thirtieth of the largest; a much smaller one is left behind by five steps."""
    generator = torch.Generator().manual_seed(0)
    got = torch.linalg.svdvals(orthogonalise(torch.randn(*shape, generator=generator)))
    assert got.min() > 0.7 and got.max() < 1.3


# ---- whole updates against the reference ------------------------------------------------------

CASES = {
    "discrete": dict(sizes=(3,)),
    "multi-discrete, masked": dict(sizes=(2, 3), mask=True),
    "continuous": dict(sizes=(1, 1)),
    "mixed, alpha 0, not normalised": dict(sizes=(3, 1), prio_alpha=0.0, norm_adv=0),
    "masked mixed, clips that bite": dict(
        sizes=(1, 3), mask=True, clip_coef=0.01, vf_clip_coef=0.01, max_grad_norm=0.1,
        vtrace_rho_clip=0.99, reward_clip=0.5),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_updates_equal_the_reference(case):
    """Two epochs of four minibatches, replaying the rows: gradients by central differences.

    From the third minibatch on, V and w differ from the rollout's, and segments come again.
    """
    case = dict(case)
    sizes, mask = case.pop("sizes"), case.pop("mask", False)
    vec = FakeVec(sizes, 4, 3, mask=mask, end_chance=0.3)
    trainer = make(vec=vec, hidden_size=3, num_layers=2, horizon=4, minibatch_size=8, anneal_lr=1,
                   anneal_ent_coef=1, ent_coef=0.1, total_timesteps=16 * 3, learning_rate=0.01,
                   replay_ratio=2.0, **case)
    t = trainer.settings
    weights = {name: tensor.astype(np.float64) for name, tensor in trainer.state_tensors().items()
               if name in dict(trainer.policy.named_parameters())}
    moments, steps = {}, 0
    for epoch in range(2):
        trainer.rollout()
        rollout = {name: doubles(getattr(trainer, name)) for name in
                   ("obs", "actions", "log_probs", "values", "bootstrap", "rewards", "state0")}
        ended, truncated = trainer.ended.numpy().copy(), trainer.truncated.numpy().copy()
        masks = None if trainer.masks is None else trainer.masks.numpy().copy()
        metrics = trainer.update()
        rewards = rollout["rewards"]
        if t.reward_clip:
            assert metrics["train/reward_clipped"] == (np.abs(rewards) > 0.5).sum() > 0
            rewards = np.clip(rewards, -0.5, 0.5)
        shape = (1 + math.cos(math.pi * epoch / 3)) / 2
        assert metrics["train/learning_rate"] == pytest.approx(0.01 * shape)
        assert metrics["train/ent_coef"] == pytest.approx(0.1 * shape)
        values, ratio = rollout["values"].copy(), np.ones_like(rewards)
        total, norms = dict.fromkeys(LOSSES, 0.0), 0.0
        assert len(trainer.picks) == 4
        for rows, q in trainer.picks:
            advantage = reference.advantages(
                rewards, values, rollout["bootstrap"], ended, truncated, ratio, t.gamma,
                t.gae_lambda, t.vtrace_rho_clip, t.vtrace_c_clip)
            batch = {key: rollout[key][rows] for key in ("obs", "state0", "actions")}
            batch |= dict(advantage=advantage[rows], returns=(advantage + values)[rows],
                          q=q.astype(np.float64), ended=ended[rows],
                          log_prob_old=rollout["log_probs"][rows],
                          value_old=rollout["values"][rows],
                          mask=None if masks is None else masks[rows])
            call = partial(reference.loss, batch=batch, sizes=sizes, settings=t,
                           ent_coef=0.1 * shape)
            _, parts, new_values, new_ratio = call(weights)
            grads = reference.gradient(lambda w, call=call: call(w)[0], weights)
            steps += 1
            norms += reference.muon(weights, grads, moments, 0.01 * shape, t, steps)
            values[rows], ratio[rows] = new_values, new_ratio
            total = {key: total[key] + parts[key] for key in total}
        for key in LOSSES:
            assert metrics[f"loss/{key}"] == pytest.approx(total[key] / 4, rel=1e-4, abs=2e-6), key
        assert metrics["loss/grad_norm"] == pytest.approx(norms / 4, rel=1e-4)
        got = trainer.state_tensors()
        for name, want in {**weights, **moments}.items():
            np.testing.assert_allclose(got[name], want, rtol=2e-4, atol=2e-5, err_msg=name)


# ---- settings that must do something ----------------------------------------------------------

def train_one(epochs=1, **changes):
    trainer = make((3, 1), **changes)
    for _ in range(epochs):
        trainer.rollout()
        metrics = trainer.update()
    return trainer, metrics


@pytest.mark.parametrize("setting", [
    dict(beta2=0.5), dict(eps=1.0), dict(beta1=0.5), dict(seed=9), dict(gamma=0.5),
    dict(prio_beta0=0.9), dict(gae_lambda=0.1), dict(vf_coef=0.1), dict(ent_coef=0.5),
    dict(max_grad_norm=0.01), dict(reward_clip=0.1), dict(norm_adv=0),
    dict(prio_alpha=0.1), dict(replay_ratio=2.0),
    dict(vtrace_rho_clip=0.5), dict(vtrace_c_clip=0.5), dict(clip_coef=0.001),
    dict(vf_clip_coef=0.001), dict(anneal_lr=1), dict(anneal_ent_coef=1, ent_coef=0.5)])
def test_no_setting_is_dead(setting):
    """Every setting reaches the weights."""
    base = dict(total_timesteps=8 * 8 * 3)
    if "anneal_ent_coef" in setting:
        base["ent_coef"] = 0.5
    plain = train_one(2, **base)[0].state_tensors()
    changed = train_one(2, **base | setting)[0].state_tensors()
    assert any(not np.array_equal(plain[name], changed[name]) for name in plain), setting


@pytest.mark.parametrize("setting, moves", [(dict(eps=1.0), "logstd"), (dict(beta2=0.5), "logstd"),
                                            (dict(beta1=0.5), "decoder")])
def test_adam_settings_move_vectors_and_momentum_moves_matrices(setting, moves):
    """One gradient, twice: with other settings only the tensors these settings are for differ."""
    def two_steps(**changes):
        trainer = make((3, 1), **changes)
        for number in range(2):
            for p in trainer.policy.parameters():
                draws = np.random.default_rng(number).normal(size=p.shape)
                p.grad = torch.tensor(draws, dtype=torch.float32)
            trainer.muon.step(0.01, 1.0)
        return trainer.state_tensors()
    plain, changed = two_steps(), two_steps(**setting)
    differ = {n for n in ("decoder", "logstd") if not np.array_equal(plain[n], changed[n])}
    assert differ == {moves}


def test_schedules_move():
    trainer = make(total_timesteps=8 * 8 * 4, anneal_lr=1, min_lr_ratio=0.1, anneal_ent_coef=1,
                   min_ent_coef_ratio=0.5, ent_coef=0.2)
    seen = []
    while not trainer.finished:
        trainer.rollout()
        metrics = trainer.update()
        seen.append((metrics["train/learning_rate"], metrics["train/ent_coef"]))
    down = [0.5 * (1 + math.cos(math.pi * k / 4)) for k in range(4)]
    assert seen == [pytest.approx((0.02 * (0.1 + 0.9 * x), 0.2 * (0.5 + 0.5 * x))) for x in down]
    assert trainer.epoch == trainer.total_epochs == 4 and trainer.global_step == 256


def test_metrics_have_the_documented_keys_and_are_json():
    _, metrics = train_one()
    assert set(metrics) == {
        "loss/policy", "loss/value", "loss/entropy", "loss/old_approx_kl", "loss/approx_kl",
        "loss/clipfrac", "loss/explained_variance", "loss/grad_norm", "train/learning_rate",
        "train/ent_coef", "train/reward_clipped"}
    json.dumps(metrics, allow_nan=False)
    assert abs(metrics["loss/approx_kl"]) < 1 and metrics["loss/grad_norm"] > 0


def test_timers_split_the_time():
    trainer, _ = train_one()
    taken = trainer.take_timers()
    assert set(taken) == {"env", "forward", "train"} and all(v > 0 for v in taken.values())
    assert not any(trainer.take_timers().values())


@pytest.mark.parametrize("minibatch, match", [(30, "whole segments"), (4, "whole segments"),
                                              (128, "more than one rollout")])
def test_contradicting_sizes_are_refused(minibatch, match):
    with pytest.raises(UsageError, match=match) as caught:
        make(minibatch_size=minibatch)
    assert caught.value.expected and caught.value.actual == minibatch
    assert "--train.minibatch-size" in caught.value.hint


def test_an_unusable_device_is_a_usage_error():
    for device in ("nonsense", "cuda:99"):
        with pytest.raises(UsageError, match=device):
            TorchPPO(FakeVec(), settings(), device=device)


# ---- bad numbers ------------------------------------------------------------------------------

class Poisoned(FakeVec):
    """Writes a NaN for agent 5 into one array on its third step."""

    def __init__(self, name):
        super().__init__()
        self.name, self.steps = name, 0

    def step(self):
        super().step()
        self.steps += 1
        if self.steps == 3:
            getattr(self, self.name)[5] = np.nan


@pytest.mark.parametrize("name", ["observations", "rewards"])
def test_a_nan_from_the_env_is_named(name):
    trainer = make(vec=Poisoned(name))
    with pytest.raises(RunError, match=f"{name} went bad: nan at .5") as caught:
        trainer.rollout()
    assert "tick" in caught.value.where and caught.value.exit_status == 4


def test_a_nan_weight_is_named_in_the_rollout():
    trainer = make()
    with torch.no_grad():
        trainer.policy.layers[1][3, 2] = float("nan")
    with pytest.raises(RunError, match="weights of layers.1 went bad: nan at .3, 2"):
        trainer.rollout()


def test_nan_logits_are_an_error_in_actor_too():
    policy = build_policy(4, (3,), settings())
    actor = Actor(policy, (3,), 0, 2)
    with pytest.raises(RunError, match="observations went bad"):
        actor.act(np.full((2, 4), np.nan, np.float32))


def test_a_non_finite_loss_stops_before_the_weights_change():
    trainer = make()
    trainer.rollout()
    trainer.log_probs[2, 3] = -200.0            # a ratio that overflows
    before = trainer.state_tensors()
    with pytest.raises(RunError, match="ratio went bad: inf") as caught:
        trainer.update()
        trainer.update()
    assert "learning_rate" in caught.value.hint and "epoch 0" in caught.value.where
    after = trainer.state_tensors()
    assert len(trainer.picks) > 1 or all(np.array_equal(before[n], after[n]) for n in before)
    assert all(np.isfinite(tensor).all() for tensor in after.values())


def test_weights_that_go_bad_in_the_last_step_are_named():
    """Nothing computes with them before the next rollout, but a checkpoint would hold them."""
    trainer = make(minibatch_size=64)
    step = trainer.muon.step
    trainer.muon.step = lambda *args: step(*args) or trainer.policy.decoder.data.fill_(math.inf)
    trainer.rollout()
    with pytest.raises(RunError, match="weights of decoder went bad: inf"):
        trainer.update()


def test_an_agent_without_a_legal_action_is_named():
    vec = FakeVec((2, 3), mask=True)
    trainer = make(vec=vec)
    vec.observe = lambda: vec.action_mask.__setitem__((6, slice(2, 5)), 0)
    with pytest.raises(RunError, match="agent 6 has no legal action in head 1"):
        trainer.rollout()


def test_a_mask_of_another_size_is_refused():
    vec = FakeVec((2, 3), mask=True)
    vec.action_mask = vec.action_mask[:, :4]
    with pytest.raises(UsageError, match="action mask"):
        make(vec=vec)


# ---- checkpoints ------------------------------------------------------------------------------

def run_epochs(trainer, count):
    for _ in range(count):
        trainer.rollout()
        trainer.update()


@pytest.mark.parametrize("alpha", [0.8, 0.0])
def test_a_resumed_run_is_the_same_run(alpha):
    """2k epochs with a barrier at k, and k epochs, a new process, k more: the same bytes."""
    changes = dict(total_timesteps=8 * 8 * 6, anneal_lr=1, prio_alpha=alpha, replay_ratio=0.75)

    def envs(epoch):
        return FakeVec((3, 1), seed=philox.env_seed(1, 0, epoch))
    straight = make(vec=envs(0), **changes)
    run_epochs(straight, 3)
    saved, counters = straight.state_tensors(), json.dumps(straight.counters)
    straight.barrier(envs(3))
    run_epochs(straight, 3)

    resumed = make(vec=envs(3), **changes)
    resumed.load_state_tensors(saved)
    resumed.load_counters(json.loads(counters))
    resumed.barrier(resumed.vec)
    assert resumed.vec.resets == 0
    run_epochs(resumed, 3)
    assert resumed.vec.resets == 1
    want, got = straight.state_tensors(), resumed.state_tensors()
    assert set(want) == set(got) == {
        "encoder", "layers.0", "layers.1", "decoder", "logstd", "muon.encoder", "muon.layers.0",
        "muon.layers.1", "muon.decoder", "adam.m.logstd", "adam.v.logstd"}
    for name in want:
        assert want[name].tobytes() == got[name].tobytes(), name
        assert not np.array_equal(want[name], saved[name]), name
    assert straight.counters == resumed.counters and resumed.finished


def test_a_checkpoint_that_does_not_fit_is_refused_whole():
    trainer = make()
    saved = trainer.state_tensors()
    before = trainer.state_tensors()
    with pytest.raises(UsageError, match="no tensor 'decoder'"):
        trainer.load_state_tensors({k: v + 1 for k, v in saved.items() if k != "decoder"})
    with pytest.raises(UsageError, match="'muon.decoder' has another size"):
        trainer.load_state_tensors({k: v + 1 for k, v in saved.items()}
                                   | {"muon.decoder": np.zeros((2, 2), np.float32)})
    assert all(np.array_equal(before[k], v) for k, v in trainer.state_tensors().items())
    with pytest.raises(UsageError, match="another number of agents"):
        trainer.barrier(FakeVec(num_agents=9))


def test_weights_alone_are_enough_to_act():
    trainer, _ = train_one()
    policy = build_policy(4, (3, 1), settings(seed=77))
    load_weights(policy, trainer.state_tensors())
    obs = torch.ones(2, 4)
    assert torch.equal(policy.step(obs, policy.initial_state(2))[0],
                       trainer.policy.step(obs, trainer.policy.initial_state(2))[0])


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
'''


def test_a_class_of_ones_own_trains(tmp_path):
    (tmp_path / "net.py").write_text(OWN_CLASS)
    trainer, metrics = train_one(torch_class=f"{tmp_path / 'net.py'}:Small")
    assert type(trainer.policy).__name__ == "Small" and math.isfinite(metrics["loss/value"])
    again, _ = train_one(torch_class=f"{tmp_path / 'net.py'}:Small")
    want, got = trainer.state_tensors(), again.state_tensors()
    assert all(np.array_equal(want[name], got[name]) for name in want)


@pytest.mark.parametrize("name, match", [
    ("Smal", "'Smal' is not"), ("NoSequence", "no method sequence"), ("TooWide", "step logits"),
    ("Disagrees", "does not give what step"), ("Crashes", "trial run")])
def test_a_class_that_does_not_fit_is_refused(tmp_path, name, match):
    (tmp_path / "net.py").write_text(OWN_CLASS)
    with pytest.raises(UsageError, match=match) as caught:
        make((3, 1), torch_class=f"{tmp_path / 'net.py'}:{name}")
    assert caught.value.hint
    if name == "Crashes":
        assert "boom" in str(caught.value)


def test_a_file_that_is_missing_or_does_not_import_is_refused(tmp_path):
    for spec in ("nowhere.py:Small", "Small", f"{tmp_path}:Small"):
        with pytest.raises(UsageError, match="no such file"):
            make(torch_class=spec)
    (tmp_path / "bad.py").write_text("import not_a_module_at_all\n")
    with pytest.raises(UsageError, match="does not import"):
        make(torch_class=f"{tmp_path / 'bad.py'}:Small")


# ---- learning ---------------------------------------------------------------------------------

@pytest.mark.parametrize("kind, masked, alpha", [
    ("discrete", False, 0.8), ("discrete", False, 0.0), ("multi-discrete", True, 0.8),
    ("continuous", False, 0.8), ("mixed", False, 0.0), ("mixed", True, 0.8)])
def test_recalls_a_cue(kind, masked, alpha):
    sizes = ACTION_KINDS[kind]
    vec = Recall(sizes, mask=masked)
    trainer = TorchPPO(vec, settings(hidden_size=16, num_layers=1, horizon=16, minibatch_size=256,
                                     total_timesteps=64 * 16 * 60, prio_alpha=alpha, anneal_lr=1,
                                     learning_rate=0.03, gamma=0.95))
    while not trainer.finished:
        trainer.rollout()
        trainer.update()
    start, end = np.mean(vec.returns[:1000]), np.mean(vec.returns[-1000:])
    assert end > 0.85 > start + 0.15, (start, end)
