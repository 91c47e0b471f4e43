"""The reference trainer as a whole: settings, bad numbers, checkpoints, learning."""
import json
import math

import numpy as np
import pytest
import torch
from helpers.ppo_fixtures import (  # noqa: F401   one_thread is a fixture
    ACTION_KINDS,
    FakeVec,
    Recall,
    make_reference,
    one_thread,
    settings,
    train_reference,
)
from helpers.short_or_long import short_or_long

from puffer_sdk.base import philox
from puffer_sdk.base.errors import RunError, UsageError
from puffer_sdk.training.reference.action_heads import Actor
from puffer_sdk.training.reference.policy import build_policy, load_weights
from puffer_sdk.training.reference.reference_ppo import TorchPPO

# ---- settings that must do something ----------------------------------------------------------

@pytest.mark.parametrize("setting", [
    dict(beta2=0.5), dict(eps=1.0), dict(beta1=0.5), dict(seed=9), dict(gamma=0.5),
    dict(prio_beta0=0.9), dict(gae_lambda=0.1), dict(vf_coef=0.1), dict(ent_coef=0.5),
    dict(max_grad_norm=0.01), dict(reward_clip=0.1), dict(norm_adv=0),
    dict(prio_alpha=0.1), dict(replay_ratio=2.0), dict(obs_scale="0.5"),
    dict(vtrace_rho_clip=0.5), dict(vtrace_c_clip=0.5), dict(clip_coef=0.001),
    dict(vf_clip_coef=0.001), dict(anneal_lr=1), dict(anneal_ent_coef=1, ent_coef=0.5)])
def test_no_setting_is_dead(setting):
    """Every setting reaches the weights."""
    base = dict(total_timesteps=8 * 8 * 3)
    if "anneal_ent_coef" in setting:
        base["ent_coef"] = 0.5
    plain = train_reference(2, **base)[0].state_tensors()
    changed = train_reference(2, **base | setting)[0].state_tensors()
    assert any(not np.array_equal(plain[name], changed[name]) for name in plain), setting


@pytest.mark.parametrize("setting, moves", [(dict(eps=1.0), "logstd"), (dict(beta2=0.5), "logstd"),
                                            (dict(beta1=0.5), "decoder")])
def test_adam_settings_move_vectors_and_momentum_moves_matrices(setting, moves):
    """One gradient, twice: with other settings only the tensors these settings are for differ."""
    def two_steps(**changes):
        trainer = make_reference((3, 1), **changes)
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
    trainer = make_reference(total_timesteps=8 * 8 * 4, anneal_lr=1, min_lr_ratio=0.1,
                             anneal_ent_coef=1, min_ent_coef_ratio=0.5, ent_coef=0.2)
    seen = []
    while not trainer.finished:
        trainer.rollout()
        metrics = trainer.update()
        seen.append((metrics["train/learning_rate"], metrics["train/ent_coef"]))
    down = [0.5 * (1 + math.cos(math.pi * k / 4)) for k in range(4)]
    assert seen == [pytest.approx((0.02 * (0.1 + 0.9 * x), 0.2 * (0.5 + 0.5 * x))) for x in down]
    assert trainer.epoch == trainer.total_epochs == 4 and trainer.global_step == 256


def test_metrics_have_the_documented_keys_and_are_json():
    _, metrics = train_reference()
    assert set(metrics) == {
        "loss/policy", "loss/value", "loss/entropy", "loss/old_approx_kl", "loss/approx_kl",
        "loss/clipfrac", "loss/explained_variance", "loss/grad_norm", "train/learning_rate",
        "train/ent_coef", "train/reward_clipped"}
    json.dumps(metrics, allow_nan=False)
    assert abs(metrics["loss/approx_kl"]) < 1 and metrics["loss/grad_norm"] > 0


def test_timers_split_the_time():
    trainer, _ = train_reference()
    taken = trainer.take_timers()
    assert set(taken) == {"env", "forward", "train"} and all(v > 0 for v in taken.values())
    assert not any(trainer.take_timers().values())


@pytest.mark.parametrize("minibatch, match", [
    (30, "not a multiple of the horizon"), (4, "not a multiple of the horizon"),
    (128, "larger than one rollout")])
def test_contradicting_sizes_are_refused(minibatch, match):
    with pytest.raises(UsageError, match=match) as caught:
        make_reference(minibatch_size=minibatch)
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
    trainer = make_reference(vec=Poisoned(name))
    with pytest.raises(RunError, match=f"{name} not finite: nan at .5") as caught:
        trainer.rollout()
    assert "tick" in caught.value.where and caught.value.exit_status == 4


def test_a_nan_weight_is_named_in_the_rollout():
    trainer = make_reference()
    with torch.no_grad():
        trainer.policy.layers[1][3, 2] = float("nan")
    with pytest.raises(RunError, match="weights of layers.1 not finite: nan at .3, 2"):
        trainer.rollout()


def test_nan_logits_are_an_error_in_actor_too():
    policy = build_policy(4, (3,), settings())
    actor = Actor(policy, (3,), 0, 2)
    with pytest.raises(RunError, match="observations not finite"):
        actor.act(np.full((2, 4), np.nan, np.float32))


def test_a_non_finite_loss_stops_before_the_weights_change():
    trainer = make_reference()
    trainer.rollout()
    trainer.log_probs[2, 3] = -200.0            # a ratio that overflows
    before = trainer.state_tensors()
    with pytest.raises(RunError, match="ratio not finite: inf") as caught:
        trainer.update()
        trainer.update()
    assert "learning_rate" in caught.value.hint and "epoch 0" in caught.value.where
    after = trainer.state_tensors()
    assert len(trainer.picks) > 1 or all(np.array_equal(before[n], after[n]) for n in before)
    assert all(np.isfinite(tensor).all() for tensor in after.values())


def test_weights_that_go_bad_in_the_last_step_are_named():
    """Nothing computes with them before the next rollout, but a checkpoint would hold them."""
    trainer = make_reference(minibatch_size=64)
    step = trainer.muon.step
    trainer.muon.step = lambda *args: step(*args) or trainer.policy.decoder.data.fill_(math.inf)
    trainer.rollout()
    with pytest.raises(RunError, match="weights of decoder not finite: inf"):
        trainer.update()


def test_an_agent_without_a_legal_action_is_named():
    vec = FakeVec((2, 3), mask=True)
    trainer = make_reference(vec=vec)
    vec.observe = lambda: vec.action_mask.__setitem__((6, slice(2, 5)), 0)
    with pytest.raises(RunError, match="agent 6 has no legal action in head 1"):
        trainer.rollout()


def test_a_mask_of_another_size_is_refused():
    vec = FakeVec((2, 3), mask=True)
    vec.action_mask = vec.action_mask[:, :4]
    with pytest.raises(UsageError, match="action mask"):
        make_reference(vec=vec)


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
    straight = make_reference(vec=envs(0), **changes)
    run_epochs(straight, 3)
    saved, counters = straight.state_tensors(), json.dumps(straight.counters)
    straight.restart_envs(envs(3))
    run_epochs(straight, 3)

    resumed = make_reference(vec=envs(3), **changes)
    resumed.load_state_tensors(saved)
    resumed.load_counters(json.loads(counters))
    resumed.restart_envs(resumed.vec)
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
    trainer = make_reference()
    saved = trainer.state_tensors()
    before = trainer.state_tensors()
    with pytest.raises(UsageError, match="no tensor 'decoder'"):
        trainer.load_state_tensors({k: v + 1 for k, v in saved.items() if k != "decoder"})
    with pytest.raises(UsageError, match="'muon.decoder' has the wrong size"):
        trainer.load_state_tensors({k: v + 1 for k, v in saved.items()}
                                   | {"muon.decoder": np.zeros((2, 2), np.float32)})
    assert all(np.array_equal(before[k], v) for k, v in trainer.state_tensors().items())
    with pytest.raises(UsageError, match="another number of agents"):
        trainer.restart_envs(FakeVec(num_agents=9))


def test_weights_alone_are_enough_to_act():
    trainer, _ = train_reference()
    policy = build_policy(4, (3, 1), settings(seed=77))
    load_weights(policy, trainer.state_tensors())
    obs = torch.ones(2, 4)
    assert torch.equal(policy.step(obs, policy.initial_state(2))[0],
                       trainer.policy.step(obs, trainer.policy.initial_state(2))[0])


# ---- learning ---------------------------------------------------------------------------------

RECALLS = [("mixed", True, 0.8), ("discrete", False, 0.0), ("discrete", False, 0.8),
           ("multi-discrete", True, 0.8), ("continuous", False, 0.8), ("mixed", False, 0.0)]


@pytest.mark.parametrize("kind, masked, alpha", short_or_long(RECALLS[:1], RECALLS))
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
