"""The CUDA kernels in their order, against the CPU trainer: whole rollouts and whole updates.

Products are NumPy's, in the CPU's order, so that on the host a rollout has the bits of the generic
CPU trainer. An update adds rows in another order; its tolerances are those between the trainers.
"""
import numpy as np
import pytest
from cuda_calls import same
from cuda_trainer import CudaTrainer
from native_fixtures import distance, make_native, make_vec
from ppo_fixtures import one_thread  # noqa: F401   a fixture

pytest_plugins = ["cuda_fixtures"]

CASES = {
    "mixed, masked bytes, drawn": dict(
        sizes=(3, 1, 2, 1), vec=dict(mask=True, obs_size=9, dtype=np.uint8, num_agents=9),
        scale_obs=1, num_layers=2, hidden_size=21, replay_ratio=2.0, max_grad_norm=0.1),
    "discrete, floats, dealt": dict(
        sizes=(5,), vec=dict(num_agents=11, end_chance=0.3), horizon=13, minibatch_size=52,
        num_layers=1, hidden_size=33, prio_alpha=0.0, replay_ratio=2.4, reward_clip=0.5,
        vtrace_rho_clip=0.99, vtrace_c_clip=0.9, norm_adv=0),
}
ROLLOUT = ("obs", "actions", "log_probs", "values", "rewards", "ended", "truncated", "bootstrap",
           "state0")


@pytest.fixture(params=CASES.values(), ids=CASES)
def case(request, cuda, monkeypatch):
    """A native trainer after one epoch, and one made of CUDA kernels in the same state."""
    if not cuda.exact:
        pytest.skip("a GPU rounds otherwise, and then draws other actions")
    monkeypatch.setattr(cuda, "grids", ((3, 96, 1),))
    known = dict(request.param)
    sizes, vec = known.pop("sizes"), known.pop("vec")
    native, other = make_native(sizes, vec, path="generic", **known), make_vec(sizes, vec)
    native.rollout()
    native.update()
    other.reset()
    for _ in range(native.horizon):     # the same random numbers
        other.step()
    return native, CudaTrainer(cuda, native, other)


def learn(native, trainer):
    """The next rollout of both, each with its own envs."""
    native.rollout()
    tick = native.global_step // native.agents - native.horizon
    trainer.rollout([(0, 4), (4, trainer.N)], tick)


def test_a_rollout_has_the_bits_of_the_cpus(case):
    native, trainer = case
    assert native.stats()["path"] == "generic"
    learn(native, trainer)
    for name in ROLLOUT:
        want = np.array(native.rollout_tensors[name])
        assert same(getattr(trainer.r, name), want), name
    if trainer.r.masks is not None:
        assert same(trainer.r.masks, np.array(native.rollout_tensors["masks"]))
    assert same(trainer.state, np.array(native.rollout_tensors["state"]))
    assert trainer.r.ended.any() and trainer.fault[0] == 2 ** 64 - 1


def test_an_update_is_the_cpus(case):
    native, trainer = case
    learn(native, trainer)
    before, counters = trainer.tensors(), native.counters
    wanted = native.settings.replay_ratio * trainer.N / trainer.S + counters["minibatch_carry"]
    metrics = native.update()
    verdict = trainer.update(counters["epoch"], counters["optimizer_steps"], int(wanted))
    assert verdict["minibatches"] == int(wanted) > 1 and not verdict["stop"]
    for name, want in native.state_tensors().items():
        limit = 1e-5 if name.startswith(("muon", "adam")) else 5e-5
        assert distance(trainer.tensors()[name], want) < limit, name
        assert distance(trainer.tensors()[name], before[name]) > 1e-3, name
    for name in "values_now", "ratio_now", "advantages":
        want = np.array(native.rollout_tensors[name])
        assert distance(getattr(trainer.r, name), want) < 1e-5, name
    losses = dict(zip(("policy_loss", "value_loss", "entropy", "old_approx_kl", "approx_kl",
                       "clipfrac", "grad_norm"), verdict["loss_sums"]))
    for name, total in losses.items():
        key = f"loss/{name.removesuffix('_loss')}"
        assert total / verdict["minibatches"] == pytest.approx(metrics[key], rel=1e-5, abs=1e-6)
