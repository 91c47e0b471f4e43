"""The reference trainer's advantages, segments, loss and Muon, each and in whole updates."""
import math
from functools import partial

import numpy as np
import pytest
import torch
from helpers import reference_ppo as reference
from helpers.ppo_fixtures import FakeVec, make_reference, one_thread, settings  # noqa: F401

from puffer_sdk.base import philox
from puffer_sdk.base.philox import Purpose
from puffer_sdk.training.reference.formulas import (
    advantages,
    draw_segments,
    earned_return,
    explained_variance,
    importance_weights,
    ppo_loss,
    segment_probabilities,
)
from puffer_sdk.training.reference.muon import orthogonalise
from puffer_sdk.training.schedules import LOSSES


def doubles(tensor):
    return tensor.detach().cpu().numpy().astype(np.float64)


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
    trainer = make_reference(vec=FakeVec((3,), 8, end_chance=0))
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
    trainer = make_reference(vec=Echo((3,), 8))
    trainer.rollout()
    assert torch.equal(trainer.rewards, trainer.actions[..., 0] + 10)
    assert torch.equal(trainer.ended, trainer.actions[..., 0] == 2)


def test_truncations_are_recorded_and_change_the_target():
    trainer = make_reference(vec=FakeVec((3,), 32, end_chance=0.5, truncate_chance=0.5), horizon=4)
    trainer.rollout()
    assert trainer.truncated.any() and (trainer.ended & ~trainer.truncated).any()
    assert not (trainer.truncated & ~trainer.ended).any()
    zero, one = torch.zeros(1, 1), torch.ones(1, 1)
    for cut, want in ((False, 1 - 3.0), (True, 1 + 0.9 * 3 - 3.0)):
        got = advantages(one, 3 * one, 7 * one[0], one.bool(), torch.tensor([[cut]]), one, 0.9, 0.9,
                         1, 1)
        torch.testing.assert_close(got, zero + want)


@pytest.mark.parametrize("final, want", [(5.0, 1 + 0.9 * 5 - 3), (math.nan, 1 + 0.9 * 3 - 3)])
def test_a_final_observation_takes_the_place_of_the_one_before(final, want):
    """... and where there is none, NaN, the one before stands in. An ending alone needs neither."""
    one = torch.ones(1, 1)
    for cut, expected in ((True, want), (False, 1 - 3.0)):
        got = advantages(one, 3 * one, 7 * one[0], one.bool(), torch.tensor([[cut]]), one, 0.9, 0.9,
                         1, 1, torch.tensor([[final]]))
        torch.testing.assert_close(got, torch.full((1, 1), expected))


@pytest.mark.parametrize("final, highest, want", [
    (5.0, 2.0, 2), (math.nan, 2.0, 2), (-5.0, 2.0, -5), (5.0, 6.0, 5), (5.0, 0.0, 0)])
def test_a_value_at_a_time_limit_has_a_limit(final, highest, want):
    """No network's word is taken for more than rewards have ever brought."""
    one = torch.ones(1, 1)
    end = one.bool()
    got = advantages(one, 3 * one, 7 * one[0], end, end, one, 0.9, 0.9, 1, 1,
                     torch.tensor([[final]]), highest=highest)
    torch.testing.assert_close(got, torch.full((1, 1), 1 + 0.9 * want - 3))


@pytest.mark.parametrize("horizon, gamma", [(1, 0.9), (8, 0.9), (33, 0.99), (5, 1.0)])
def test_the_highest_return_of_rewards_alone(horizon, gamma):
    for seed in range(5):
        known = random_rollout(horizon, seed=seed)
        if gamma == 1:          # a sum that goes on has no limit then
            known["ended"][:, -1], known["truncated"][:] = True, False
        rows = [torch.tensor(known[name]) for name in ("rewards", "ended", "truncated")]
        want = reference.earned_return(*map(np.asarray, rows), gamma)
        assert earned_return(*rows, gamma) == pytest.approx(want, rel=1e-6)
        assert earned_return(-rows[0].abs(), *rows[1:], gamma) == 0
    assert earned_return(torch.ones(1, 3), *torch.zeros(2, 1, 3, dtype=torch.bool), 1.0) > 1e38


def test_a_final_value_has_the_state_from_before_it_is_zeroed():
    vec = FakeVec((3,), 8, end_chance=1.0, truncate_chance=1.0, finals=True)
    trainer = make_reference(vec=vec, horizon=1, minibatch_size=8)
    for _ in range(3):                          # has_final is 1 for two of three
        trainer.rollout()
    rows = np.flatnonzero(vec.has_final)
    assert 0 < len(rows) < 8
    obs = torch.from_numpy(vec.final_observations)
    state = trainer.policy.step(trainer.obs[:, 0], trainer.state0)[2]
    want = trainer.policy.step(obs, state)[1]
    torch.testing.assert_close(trainer.final_values[rows, 0], want[rows])
    assert not torch.allclose(want, trainer.policy.step(obs, torch.zeros_like(state))[1])
    assert trainer.final_values[np.flatnonzero(vec.has_final == 0), 0].isnan().all()
    assert not trainer.actor.state.any()


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
    trainer = make_reference(total_timesteps=8 * 8 * 4)       # four epochs
    seen = []
    pick = trainer._pick
    trainer._pick = lambda *args: seen.append(args[2]) or pick(*args)
    while not trainer.finished:
        trainer.rollout()
        trainer.update()
    assert seen[::2] == pytest.approx([0.2, 0.4, 0.6, 0.8])


def test_alpha_zero_takes_every_segment_once_an_epoch_without_weights():
    # 3 minibatches of 4 segments
    trainer = make_reference(vec=FakeVec((3,), 12), prio_alpha=0.0)
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
    # 12 segments in 3 minibatches
    trainer = make_reference(vec=FakeVec((3,), 6), prio_alpha=0.0, replay_ratio=2.0)
    trainer.rollout()
    trainer.update()
    rows = np.concatenate([rows for rows, _ in trainer.picks]).tolist()
    assert sorted(rows[:6]) == sorted(rows[6:]) == list(range(6)) and rows[:6] != rows[6:]


@pytest.mark.parametrize("replay_ratio, counts", [(1.0, [2, 2, 2, 2]), (0.75, [1, 2, 1, 2]),
                                                  (0.25, [0, 1, 0, 1])])
def test_minibatches_per_epoch_carry_their_fraction(replay_ratio, counts):
    trainer = make_reference(replay_ratio=replay_ratio)      # 64 rows, minibatches of 32
    seen = []
    for _ in counts:
        trainer.rollout()
        metrics = trainer.update()
        seen.append(len(trainer.picks))
        assert ("loss/policy" in metrics) == bool(trainer.picks)
    assert seen == counts


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
    trainer = make_reference(vec=vec, hidden_size=3, num_layers=2, horizon=4, minibatch_size=8,
                             anneal_lr=1, anneal_ent_coef=1, ent_coef=0.1, total_timesteps=16 * 3,
                             learning_rate=0.01, replay_ratio=2.0, **case)
    t = trainer.settings
    weights = {name: tensor.astype(np.float64) for name, tensor in trainer.state_tensors().items()
               if name in dict(trainer.policy.named_parameters())}
    moments, steps, highest = {}, 0, 0.0
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
                t.gae_lambda, t.vtrace_rho_clip, t.vtrace_c_clip, highest=highest)
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
        highest = max(highest, reference.earned_return(rewards, ended, truncated, t.gamma))
        for key in LOSSES:
            assert metrics[f"loss/{key}"] == pytest.approx(total[key] / 4, rel=1e-4, abs=2e-6), key
        assert metrics["loss/grad_norm"] == pytest.approx(norms / 4, rel=1e-4)
        got = trainer.state_tensors()
        for name, want in {**weights, **moments}.items():
            np.testing.assert_allclose(got[name], want, rtol=2e-4, atol=2e-5, err_msg=name)
