"""The CUDA trainer where it differs from the CPU's: slices, graphs, overlap, what a GPU refuses.

Without a driver all of this runs on the emulated device, in each of its ways to put work off. What
the two trainers have in common is in test_native_*.py, where "cuda" is one of the paths.
"""
import json
import os
import re
import subprocess
import sys
from functools import cache
from types import SimpleNamespace

import cffi
import numpy as np
import pytest
from helpers.cuda_calls import HAS_DRIVER, ROUNDS
from helpers.cuda_trainer import count, puffer
from helpers.native_fixtures import BUFFERS, as_bytes, distance, make_native, run
from helpers.places import ROOT, SPECIMENS
from helpers.ppo_fixtures import FakeVec, one_thread  # noqa: F401   one_thread is a fixture
from helpers.short_or_long import long_only

from puffer_sdk.base.errors import RunError, UsageError
from puffer_sdk.env import library, open_env, vec
from puffer_sdk.settings import config
from puffer_sdk.toolchain import compilers
from puffer_sdk.training import checkpoint, train_worker
from puffer_sdk.training.pacing import SNAPSHOT, Pace

CASES = {
    "mixed, masked bytes, drawn": dict(
        sizes=(3, 1, 2, 1), vec=dict(mask=True, obs_size=9, dtype=np.uint8, num_agents=9,
                                      waits=0.3),
        obs_scale="0.2 x 7, 1 x 2", num_layers=2, hidden_size=21, replay_ratio=2.0,
        max_grad_norm=0.1),
    "discrete, floats, dealt": dict(
        sizes=(5,), vec=dict(num_agents=11, end_chance=0.3), horizon=13, minibatch_size=52,
        hidden_size=33, prio_alpha=0.0, replay_ratio=2.4, reward_clip=0.5, norm_adv=0,
        norm_returns=1, target_kl=1e-4,
        vtrace_rho_clip=0.99, vtrace_c_clip=0.9, reset_state=1),
    "wide, three layers, annealed": dict(
        sizes=(4,), vec=dict(obs_size=70), num_layers=3, hidden_size=40, anneal_lr=1,
        anneal_ent_coef=1, obs_scale="0.3"),
}


@pytest.fixture(params=CASES.values(), ids=CASES)
def case(request):
    return request.param


@cache
def opened(folder) -> library.Library:
    return open_env.load(folder)


def make_envs(folder, **about) -> vec.VecEnv:
    return vec.VecEnv(opened(folder), **{"env_settings": config.resolve(folder).env, **TARGET,
                                         **about})


# ---- the same as the CPU's trainer ---------------------------------------------------------------

def test_a_rollout_has_the_bits_of_the_cpus_and_an_update_its_numbers(case, mode):
    """Several epochs, so that calls are done one by one, captured and replayed."""
    cpu, gpu = make_native(**case, path="generic"), make_native(**case, path="cuda", threads=2)
    for _ in range(4):
        for native in (cpu, gpu):
            native.rollout()
        want, got = cpu.rollout_tensors, gpu.rollout_tensors
        for name in BUFFERS:
            if name in want and not ROUNDS:
                np.testing.assert_array_equal(got[name], want[name], name)
            elif name in want and name != "actions":
                np.testing.assert_allclose(got[name], want[name], rtol=1e-4, atol=1e-4)
        if ROUNDS:                  # it rounds otherwise, and may have drawn another action
            for name in BUFFERS:
                if name in want:
                    got[name][...] = want[name]
            gpu.touch()
        want, got = cpu.update(), gpu.update()
        assert want == pytest.approx(got, rel=1e-4, abs=1e-5)
        for name, value in cpu.state_tensors().items():
            assert distance(gpu.state_tensors()[name], value) < 5e-5, name
        assert gpu.counters == pytest.approx(cpu.counters, rel=1e-5)
        gpu.load_state_tensors(cpu.state_tensors())


@pytest.mark.parametrize("segments, weights, parts", [
    (512, 5_000, 64), (48, 5_000, 48), (96, 5_000, 48), (67, 5_000, 1),     # whole segments
    (512, 2 ** 20, 64), (512, 2 ** 20 + 16, 32), (510, 2 ** 20 + 16, 51),
    (512, 25_000_000, 2), (512, 40_000_000, 1), (512, 2 ** 31 - 1, 1)])
def test_a_gradient_of_many_weights_is_made_in_few_parts(parts_of, segments, weights, parts):
    assert parts_of(segments, weights) == parts
    assert parts == 1 or 4 * parts * weights <= 256 << 20


@pytest.fixture(scope="module")
def parts_of(tmp_path_factory):
    folder = tmp_path_factory.mktemp("parts")
    (folder / "parts.c").write_text("""
#include "trainer/cuda/internal.h"
int32_t parts_of(int32_t segments, int64_t weights) { return gradient_parts(segments, weights); }
""")
    compilers.compile_to(folder / "parts.so", [
        *compilers.find_compiler().command, "-shared", "-fPIC", f"-I{ROOT}",
        f"-I{ROOT / 'puffer_sdk' / 'include'}", folder / "parts.c"],
        source=folder / "parts.c", what="a number of parts")
    ffi = cffi.FFI()
    ffi.cdef("int32_t parts_of(int32_t segments, int64_t weights);")
    return ffi.dlopen(str(folder / "parts.so")).parts_of


def test_a_large_network_learns_what_the_cpus_does():
    """64 segments, a million weights: 32 parts of two segments each, not 64 of one."""
    large = dict(sizes=(3,), vec=dict(num_agents=64, obs_size=33_000), hidden_size=32, horizon=2,
                 minibatch_size=128, total_timesteps=128 * 20)
    cpu, gpu = make_native(**large, path="generic"), make_native(**large, path="cuda", timed=True)
    for native in (cpu, gpu):
        run(native, 1)
    numbers = 33_000 * 32 + 3 * 32 * 32 + (3 + 1) * 32
    assert gpu.kernels()["parts_add"]["bytes"] == 4 * (32 + 1) * numbers
    for name, value in cpu.state_tensors().items():         # of momentum: the gradient
        assert distance(gpu.state_tensors()[name], value) < 5e-5, name


def test_learning_during_a_rollout_has_one_update_of_staleness(mode):
    """A CPU trainer that is handed the weights of one update ago before each rollout."""
    case = dict(sizes=(3, 1), vec=dict(num_agents=12), num_layers=2, learning_rate=0.01,
                norm_returns=True)
    cpu, gpu = make_native(**case, path="generic"), make_native(**case, path="cuda", async_=True)
    acting = learned = cpu.state_tensors()
    before = None
    for epoch in range(5):
        cpu.load_state_tensors(acting)
        cpu.rollout()
        acting = learned                # of the next rollout
        cpu.load_state_tensors(learned)
        want, learned = cpu.update(), cpu.state_tensors()
        gpu.rollout()
        got = gpu.update()
        assert gpu.epoch == epoch + 1 and got["train/learning_rate"] == want["train/learning_rate"]
        assert ("loss/policy" in got) == (epoch > 0)
        if before:
            assert got["loss/policy"] == pytest.approx(before["loss/policy"], rel=1e-3, abs=1e-4)
            assert got["loss/grad_norm"] == pytest.approx(before["loss/grad_norm"], rel=1e-3)
        for name in BUFFERS:
            if name in cpu.rollout_tensors:
                np.testing.assert_allclose(gpu.rollout_tensors[name], cpu.rollout_tensors[name],
                                           atol=1e-3)
        before = want
    for name, value in gpu.state_tensors().items():
        assert distance(value, learned[name]) < 1e-4, name
    assert gpu.counters == pytest.approx(cpu.counters, rel=1e-4)


def test_weights_that_are_read_leave_the_losses_of_an_update_to_the_next():
    """A checkpoint holds the counters after the update that its weights had."""
    read, twin = (make_native(path="cuda", async_=True, norm_returns=True) for _ in range(2))
    for _ in range(3):
        for gpu in (read, twin):
            gpu.rollout()
        want, got = twin.update(), read.update()
        assert got == want
        before = read.counters["return_rms"]
        read.state_tensors()
        assert read.counters["return_rms"] != before == twin.counters["return_rms"]
        np.testing.assert_array_equal(read.rollout_tensors["rewards"],
                                      twin.rollout_tensors["rewards"])


def test_overlap_starts_anew_with_fresh_envs_and_with_loaded_weights():
    """Behind a barrier, as behind a load, the next rollout acts with the newest weights."""
    gpu, twin = (make_native(path="cuda", async_=True, learning_rate=0.05) for _ in range(2))
    run(gpu, 3)
    twin.load_state_tensors(gpu.state_tensors())
    twin.load_counters(gpu.counters)
    gpu.restart_envs(FakeVec((3,), 9, 5, seed=4))
    twin.restart_envs(FakeVec((3,), 9, 5, seed=4))
    for native in (gpu, twin):
        run(native, 2)
    assert as_bytes(gpu) == as_bytes(twin)


@pytest.mark.parametrize("precision", ["fp32", "bf16"])
def test_the_same_seed_gives_the_same_weights(mode, precision):
    first, again = (run_and_close(make_native((3, 1), path="cuda", precision=precision,
                                              num_layers=2)) for _ in range(2))
    other = run_and_close(make_native((3, 1), path="cuda", precision=precision, num_layers=2,
                                      seed=2))
    assert first == again != other


def run_and_close(native) -> dict[str, bytes]:
    run(native, 3)
    state = as_bytes(native)
    native.close()
    return state


def test_bf16_stays_near_fp32_and_keeps_what_must_be_exact():
    """Log-probabilities, values, rewards and advantages are float32, the master weights as well."""
    wide, narrow = (make_native((3, 1), path="cuda", precision=precision, num_layers=2)
                    for precision in ("fp32", "bf16"))
    for native in (wide, narrow):
        run(native, 1)
    out, want = narrow.rollout_tensors, wide.rollout_tensors
    assert out["obs"].tobytes() == want["obs"].tobytes()
    for name in ("values", "log_probs", "advantages"):
        bits = out[name].view(np.uint32) & 0xffff
        assert out[name].dtype == np.float32 and (bits != 0).mean() > 0.9, name     # not bf16
        same = (out["actions"] == want["actions"]).all(-1) if name == "log_probs" else ...
        np.testing.assert_allclose(out[name][same], want[name][same], atol=0.05)
    for name, value in narrow.state_tensors().items():
        assert distance(value, wide.state_tensors()[name]) < 0.1, name
        assert not name.startswith("layers") or (value.view(np.uint32) & 0xffff).any()


# ---- final observations --------------------------------------------------------------------------

class FinalVec(FakeVec):
    """Some of the episodes that are cut off have a final observation; all other rows are bad."""

    def __init__(self, *about, **more):
        super().__init__(*about, **more)
        self.final_observations = np.zeros_like(self.observations)
        self.has_final = np.zeros(self.num_agents, np.uint8)

    def step(self):
        seen, obs = super().step(), self.final_observations
        draw = np.random.default_rng(int(1e6 * abs(self.rewards[0])))
        self.has_final[:] = draw.random(self.num_agents) < 0.8
        obs[:] = draw.integers(0, 3, obs.shape) if obs.dtype == np.uint8 else \
            draw.normal(size=obs.shape)
        obs[(self.truncations * self.has_final) == 0] = 255 if obs.dtype == np.uint8 else np.nan
        return seen


FINALS = {
    "floats": dict(sizes=(3, 1), vec=dict(num_agents=9, end_chance=0.4, truncate_chance=0.8),
                   num_layers=2),
    "bytes, masked": dict(sizes=(4,), vec=dict(dtype=np.uint8, mask=True, obs_size=9, num_agents=12,
                                               end_chance=0.3, truncate_chance=0.9),
                          horizon=13, minibatch_size=52, obs_scale="0.5", prio_alpha=0.0,
                          norm_adv=0),
    "long": dict(sizes=(3,), vec=dict(num_agents=15, end_chance=0.1, truncate_chance=0.9),
                 horizon=40, minibatch_size=200, reset_state=1),
}


def final_pair(case, **how):
    """The CPU's trainer and a CUDA one, over envs alike"""
    def make(**where):
        return make_native(**{**case, "vec": FinalVec(case["sizes"], **{
            "obs_size": 5, **case["vec"]})}, **where)
    return make(path="generic"), make(path="cuda", **how)


def check_rollout(got, want, slots: int) -> int:
    """Values of final observations, of the first `slots` of each agent; how many there were"""
    kept = (want["truncated"] == 2) & (np.cumsum(want["truncated"] == 2, 1) <= slots)
    cut = np.where((want["truncated"] == 2) & ~kept, 1, want["truncated"])
    np.testing.assert_array_equal(got["truncated"], cut)
    for name in (set(BUFFERS) & set(want)) - {"truncated"} if not ROUNDS else ("obs",):
        np.testing.assert_array_equal(got[name], want[name], name)
    limit = 1e-4 if ROUNDS else 0
    np.testing.assert_allclose(got["final_values"][kept], want["final_values"][kept],
                               rtol=limit, atol=limit)
    return int(kept.sum())


@pytest.mark.parametrize("case", FINALS.values(), ids=FINALS)
def test_values_of_final_observations_have_the_bits_of_the_cpus(case, mode):
    """With the state before it is zeroed; and an update learns from them."""
    cpu, gpu = final_pair(case, threads=2)
    horizon, kept = cpu.horizon, 0
    slots = horizon if horizon < 16 else horizon // 8 + 1
    for _ in range(4):
        for native in (cpu, gpu):
            native.rollout()
        want, got = cpu.rollout_tensors, gpu.rollout_tensors
        kept += check_rollout(got, want, slots)
        if ROUNDS or horizon >= 16:             # what has no slot counts otherwise
            for name in {*BUFFERS, "final_values"} & set(want):
                got[name][...] = want[name]
            gpu.touch()
        else:
            assert cpu.advantages() == pytest.approx(gpu.advantages(), rel=1e-5, abs=1e-5)
        assert cpu.update() == pytest.approx(gpu.update(), rel=1e-4, abs=1e-5)
        for name, value in cpu.state_tensors().items():
            assert distance(gpu.state_tensors()[name], value) < 5e-5, name
        gpu.load_state_tensors(cpu.state_tensors())
    assert kept > 50


def test_what_has_no_slot_counts_as_before():
    """Episodes of four ticks, all cut off: of ten in a rollout, the first six are kept."""
    cpu, gpu = final_pair(dict(FINALS["long"], vec=dict(num_agents=15, end_chance=1.0,
                                                        truncate_chance=0.25)))
    for native in (cpu, gpu):
        native.rollout()
    assert check_rollout(gpu.rollout_tensors, cpu.rollout_tensors, 6) > 60
    assert ((gpu.rollout_tensors["truncated"] == 2).sum(1) <= 6).all()
    assert ((cpu.rollout_tensors["truncated"] == 2).sum(1) > 6).any()


@pytest.mark.parametrize("how", [dict(), dict(timed=True), dict(gpus=[0, 0], threads=2),
                                 dict(async_=True), dict(precision="bf16")], ids=str)
def test_final_observations_of_compiled_envs(games, how, mode):
    """The clock ends episodes in slices, on ranks, in each of two rollout buffers."""
    def make(**where):
        return make_native(vec=make_envs(games["cartpole"], env_settings={
            **config.resolve(games["cartpole"]).env, "max_steps": 5}), **SMALL, **where)
    cpu, gpu = make(path="generic"), make(path="cuda", **how)
    for _ in range(4):
        gpu.load_state_tensors(cpu.state_tensors())
        for native in (cpu, gpu):
            native.rollout()
        want, got = cpu.rollout_tensors, gpu.rollout_tensors
        assert (want["truncated"] == 2).sum() >= 64
        if "precision" in how:
            alike = np.logical_and.reduce([             # the same episodes
                (got[name] == want[name]).all((1, 2)) for name in ("actions", "obs")])
            kept = alike[:, None] & (want["truncated"] == 2)
            np.testing.assert_array_equal(got["truncated"][alike], want["truncated"][alike])
            np.testing.assert_allclose(got["final_values"][kept], want["final_values"][kept],
                                       0.02, 0.05)
            assert alike.sum() > 40
        else:
            check_rollout(got, want, SMALL["horizon"])
        for native in (cpu, gpu):
            native.update()
    assert not how.get("timed") or gpu.kernels()["final_values_store"]["calls"] >= 4 * 4


@pytest.mark.skipif(HAS_DRIVER, reason="the emulated device counts")
def test_without_final_observations_nothing_is_different(games):
    """And where no episode is cut off, the host does not wait for any."""
    def make(limit, has_final_obs=True, **how):
        envs = make_envs(games["cartpole"], env_settings={
            **config.resolve(games["cartpole"]).env, "max_steps": limit})
        if not has_final_obs:
            envs._final_observations = envs._has_final = None
        return make_native(vec=envs, path="cuda", **SMALL, **how)

    def waits(native):
        run(native, 2)
        before = count()
        run(native, 1)
        return count()["waits"] - before["waits"], count()["allocations"] - before["allocations"]
    plain, none, some = make(5, False), make(100), make(5)
    slices, ticks = 4, SMALL["horizon"] + 1
    assert waits(plain) == waits(none) == (slices * ticks + 1, 0)
    assert waits(some) == (slices * ticks + slices + 1, 0)
    assert "final_values" not in plain.rollout_tensors and "final_values" in none.rollout_tensors
    assert set(plain.rollout_tensors["truncated"].flat) == {0, 1}
    more = 4 * (1 + 4 + 2 * 20)             # of each tick: a value, an observation, a state
    assert none.stats()["bytes"] - plain.stats()["bytes"] > 64 * SMALL["horizon"] * more
    timed = make(5, False, timed=True), make(100, timed=True)
    for native in timed:
        run(native, 1)
    plain, none = (set(native.kernels()) for native in timed)
    assert none - plain == {"final_obs_keep"} and not plain - none


def test_bad_final_observations_are_told_as_the_cpus_are():
    for path in "generic", "cuda":
        native = make_native(vec=FinalVec((3,), 9, 5, end_chance=0.0), path=path)
        step, ticks = native.vec.step, []

        def bad(vec=native.vec, step=step, ticks=ticks):
            seen = step()
            ticks.append(0)
            if len(ticks) in (3, 5, 7):
                vec.terminals[[4, 6]] = vec.truncations[[4, 6]] = vec.has_final[[4, 6]] = 1
                vec.final_observations[[4, 6]] = 1
                if len(ticks) > 3:
                    vec.final_observations[6, 2] = np.inf
            return seen
        native.vec.step = bad
        with pytest.raises(RunError) as caught:
            native.rollout()
        assert caught.value.message == "final observations not finite: inf at [6, 2] of [9, 5]"
        assert caught.value.where == "tick 4"


def test_envs_without_final_observations_are_refused():
    gpu = make_native(vec=FinalVec((3,), 9, 5), path="cuda")
    run(gpu, 1)
    gpu.restart_envs(FakeVec((3,), 9, 5))
    with pytest.raises(RunError, match="the envs have no final observations"):
        gpu.rollout()
    gpu.restart_envs(FinalVec((3,), 9, 5))
    run(gpu, 2)


# ---- slices of compiled envs ---------------------------------------------------------------------

TARGET = dict(total_agents=64, num_buffers=4, threads=2, seed=3)
SMALL = dict(hidden_size=20, num_layers=2, horizon=9, minibatch_size=9 * 8, total_timesteps=10**5,
             learning_rate=0.05)


def test_slices_step_in_turn_and_change_no_bit(target, mode):
    wanted = None
    for slices, threads in ((1, 1), (2, 3), (4, 2), (8, 1)):
        envs = make_envs(target, num_buffers=slices)
        native = make_native(vec=envs, path="cuda", threads=threads, **SMALL)
        run(native, 3)
        assert native.stats()["blocks"] == slices
        got = {**as_bytes(native), "actions": native.rollout_tensors["actions"].tobytes(),
               "log": json.dumps(envs.log())}
        wanted = wanted or got
        assert ROUNDS or got == wanted, slices


@pytest.mark.skipif(HAS_DRIVER, reason="a driver pins memory as it likes")
def test_memory_that_cannot_be_pinned_is_copied(target, monkeypatch):
    states = []
    for pins in "10":
        monkeypatch.setenv("PUFFER_CUDA_EMULATED_PIN", pins)
        native = make_native(vec=make_envs(target), path="cuda", **SMALL)
        run(native, 2)
        states.append(as_bytes(native))
        assert native.gpu()["unpinned"] == {"1": "", "0": "PUFFER_CUDA_EMULATED_PIN=0"}[pins]
    assert states[0] == states[1]


@pytest.mark.skipif(HAS_DRIVER, reason="the emulated device counts")
def test_after_the_warm_up_nothing_is_allocated_and_the_host_waits_once_a_tick(target):
    native = make_native(vec=make_envs(target), path="cuda",
                         prio_alpha=0.0, **SMALL)
    run(native, 3)
    before = count()
    run(native, 2)
    made = {name: now - before[name] for name, now in count().items()}
    slices, ticks, minibatches = 4, 9 + 1, 8
    assert made == {"allocations": 0, "waits": 2 * (slices * ticks + 1),    # and one for an update
                    "replays": 2 * (slices * ticks + 2 * minibatches)}


@pytest.mark.skipif(HAS_DRIVER, reason="the emulated device counts")
@pytest.mark.parametrize("precision", ["fp32", "bf16"])
def test_each_product_is_called_when_the_trainer_is_made(target, precision):
    """cuBLASLt loads kernels with their first call: no rollout waits for that."""
    before = count("products")["products"]
    make_native(vec=make_envs(target), path="cuda", precision=precision, **SMALL)
    muon = 3 * 5 * 3                    # groups of matrices, steps, products of a step
    assert count("products")["products"] - before == 11 + muon


def test_a_checkpoint_moves_between_cpu_and_gpu(tmp_path):
    cpu = make_native((3, 1), path="auto")
    run(cpu, 2)
    path = checkpoint.save(tmp_path / "one.safetensors", cpu.state_tensors(), {
        "env": {"name": "none", "obs_size": 3, "obs_dtype": "float32", "act_sizes": [3, 1]},
        "config": {}, "counters": cpu.counters, "epoch": 2, "step": 126, "seconds": 1})
    past = checkpoint.load(path)
    gpu, twin = make_native((3, 1), path="cuda"), make_native((3, 1), path="generic")
    for native in (gpu, twin):
        native.load_state_tensors(past.tensors)
        native.load_counters(past.facts["counters"])
        run(native, 1)
    assert gpu.counters == twin.counters
    for name, value in twin.state_tensors().items():
        assert distance(gpu.state_tensors()[name], value) < 5e-5
    back = make_native((3, 1), path="auto")
    back.load_state_tensors(gpu.state_tensors())
    assert as_bytes(back) == as_bytes(gpu)


# ---- what it refuses -----------------------------------------------------------------------------

def test_settings_that_a_gpu_cannot_do_are_refused():
    with pytest.raises(UsageError, match="has neither `async` nor `timed`"):
        make_native(path="generic", async_=True)
    with pytest.raises(UsageError, match="has neither `async` nor `timed`"):
        make_native(path="generic", timed=True)


@pytest.mark.skipif(HAS_DRIVER, reason="the emulated device has as little memory as it is told")
def test_a_gpu_that_is_too_small_is_an_error_with_both_sizes(monkeypatch):
    monkeypatch.setenv("PUFFER_CUDA_EMULATED_MEMORY", str(4 << 20))
    with pytest.raises(UsageError, match=r"this takes \d+ MiB of GPU memory, 3 MiB") as caught:
        make_native(vec=dict(num_agents=900), path="cuda", hidden_size=256, minibatch_size=7 * 900)
    assert "policy.hidden_size" in caught.value.hint
    monkeypatch.delenv("PUFFER_CUDA_EMULATED_MEMORY")
    with make_native(path="cuda") as native:
        used = native.gpu()["used"]
    for memory in 200, used + 256 + 200:        # for no stream; for the first and all arrays
        monkeypatch.setenv("PUFFER_CUDA_EMULATED_MEMORY", str(memory))
        with pytest.raises(UsageError, match="no memory is left for a stream's workspace, 0 MiB of "
                                             "the GPU's are not in use") as caught:
            make_native(path="cuda")
        assert caught.value.of_gpu == "OUT_OF_MEMORY"


def test_weights_written_too_late_are_an_error():
    gpu = make_native(path="cuda")
    weights = gpu.parameters
    run(gpu, 1)
    weights["decoder"][...] = 0
    gpu.touch()
    with pytest.raises(RunError, match="fetch them first"):
        gpu.rollout()
    gpu.parameters["decoder"][...] = 0
    gpu.touch()
    gpu.rollout()
    assert not gpu.rollout_tensors["values"].any()


# ---- looking on ----------------------------------------------------------------------------------

def test_every_kernel_is_timed_and_its_traffic_known():
    native = make_native((3, 1), path="cuda", num_layers=2, timed=True)
    run(native, 2)
    kernels = native.kernels()
    assert {"tick_begin", "scan_backward", "heads_loss", "muon_apply", "adam_step", "layer dW",
            "muon gram", "tick layer", "upload"} <= set(kernels)
    assert all(each["calls"] > 0 and each["seconds"] > 0 and each["bytes"] > 0
               for each in kernels.values())
    # a layer: (63, 20) by (60, 20), forward in each minibatch; two layers, three minibatches
    assert kernels["layer"]["calls"] == 2 * 2 * 3
    assert kernels["layer"]["flops"] == kernels["layer"]["calls"] * 2 * 21 * 60 * 20
    facts, (copy_rate, product_rate) = native.gpu(), native.peaks()
    assert facts["emulated"] is not HAS_DRIVER and facts["used"] > 10_000
    assert copy_rate > 1e8 and product_rate > 1e7
    plain = make_native((3, 1), path="cuda", num_layers=2)
    run(plain, 2)
    assert as_bytes(plain) == as_bytes(native) and plain.kernels() == {}


# ---- the command line ----------------------------------------------------------------------------

SHORT = ["--train.total-timesteps", "6000", "--vec.total-agents", "64", "--train.horizon", "16",
         "--train.minibatch-size", "512", "--policy.hidden-size", "16", "--eval.goal", ""]


def test_train_on_a_gpu_and_go_on_with_the_cpu(target, tmp_path):
    runs = ["--runs-dir", tmp_path / "runs"]
    done = puffer("train", target, *SHORT, *runs, "--train.device", "cuda")
    assert ("on a GPU (" if HAS_DRIVER else "on an emulated GPU (PUFFER_CUDA=emulated)") \
        in done.stderr
    done = puffer("train", target, "--resume", *runs, "--train.total-timesteps", "9000",
                  "--train.device", "cpu")
    assert "on the CPU (train.device is cpu)" in done.stderr
    rows = [json.loads(line) for line in
            next((tmp_path / "runs").rglob("metrics.jsonl")).read_text().splitlines()]
    assert rows[-1]["step"] == 8192 and all(np.isfinite(row["loss/policy"]) for row in rows)


@long_only
def test_train_with_overlap_from_the_command_line(target, tmp_path):
    runs = ["--runs-dir", tmp_path / "runs"]
    puffer("train", target, *SHORT, *runs, "--train.device", "cuda", "--train.async", "1")
    rows = [json.loads(line) for line in
            next((tmp_path / "runs").rglob("metrics.jsonl")).read_text().splitlines()]
    assert "loss/policy" not in rows[0] and "loss/policy" in rows[1]
    done = puffer("train", target, *SHORT, *runs, "--train.device", "cpu", "--train.async", "1",
                  status=2)
    assert "learning during a rollout needs the native trainer on a GPU" in done.stderr


@long_only
@pytest.mark.skipif(HAS_DRIVER, reason="there is a GPU")
def test_without_a_gpu_the_reason_is_said(target, tmp_path):
    none = {"PUFFER_CUDA": ""}
    done = puffer("train", target, *SHORT, "--runs-dir", tmp_path / "runs", env=none)
    assert "on the CPU (no NVIDIA driver" in done.stderr
    done = puffer("train", target, *SHORT, "--runs-dir", tmp_path / "runs", "--train.device",
                  "cuda", env=none, status=2)
    assert "Traceback" not in done.stderr and "--train.device cpu" in done.stderr


@long_only
def test_profile_shows_each_kernel(target, monkeypatch):
    done = puffer("profile", target, *SHORT[2:-2], "--train.device", "cuda", "--seconds", "0.5",
                  "--format", "json")
    found = json.loads(done.stdout)
    assert found["gpu"]["name"] and found["busy"] > 0 and found["copy_rate"] > 0
    assert [phase["name"] for phase in found["phases"]] == [        # the host's
        "rollout: environments", "rollout: hand over", "rollout: wait for actions",
        "rollout: launch", "update: launch", "update: wait", "waiting"]
    kernels = {each["name"]: each for each in found["kernels"]}
    assert {"gates_step", "scan_forward", "heads_sample"} <= set(kernels)
    assert sum(each["share"] for each in kernels.values()) == pytest.approx(1)
    assert all(each["bandwidth"] > 0 and each["of_copy"] > 0 for each in kernels.values())
    monkeypatch.setenv("PUFFER_CUDA_EMULATED_PIN", "0")
    shown = puffer("profile", target, *SHORT[2:-2], "--train.device", "cuda", "--seconds", "0.5"
                   ).stdout
    assert "us/call" in shown and "heads_sample" in shown      # a part of 1 % or more
    assert HAS_DRIVER or "cannot be pinned (PUFFER_CUDA_EMULATED_PIN=0): rows are copied" in shown


@pytest.mark.parametrize("device, async_, often", [("cpu", False, True), ("cuda", False, False),
                                                   ("cuda", True, False)])
def test_weights_are_not_downloaded_each_epoch(device, async_, often):
    """On the CPU a snapshot is a copy; a GPU's is taken for a checkpoint and once a second."""
    child = SimpleNamespace(
        config=SimpleNamespace(train=SimpleNamespace(device=device, async_=async_)),
        group=SimpleNamespace(size=1), epoch=SimpleNamespace(due=False), pace=Pace(),
        is_kept_epoch=lambda: False)
    needs = train_worker._Worker.needs_snapshot
    assert needs(child) == often
    child.pace._snapshot -= SNAPSHOT + 0.1
    assert needs(child)
    child.epoch.due = True                      # a save is due by the clock
    assert needs(child)
    child.epoch.due, child.is_kept_epoch = False, lambda: True
    assert needs(child)
    child.group.size, child.is_kept_epoch = 2, lambda: False    # of several ranks: before a save
    child.pace._snapshot -= SNAPSHOT + 0.1
    assert not needs(child)
    child.epoch.due = True
    assert needs(child)


# ---- what measures it ---------------------------------------------------------------------------



@long_only
def test_the_benchmark_measures_and_writes_nothing_of_an_emulated_gpu(tmp_path):
    kept = ROOT / "docs" / "data" / "benchmarks-gpu.json"
    before = kept.read_bytes()
    done = subprocess.run(
        [sys.executable, ROOT / "benchmarks" / "bench_gpu.py", "--quick", "--no-tests", "--env",
         SPECIMENS / "correct" / "bandit",
         *("--set vec.total_agents 64 --set train.horizon 16 --set train.minibatch_size 512 "
           "--set policy.hidden_size 16 --set train.total_timesteps 4096").split()],
        capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert all(way in done.stdout for way in ("| fp32 |", "| bf16, async |"))
    assert re.search(r"^\| `\w[\w ]*` \| \d+% \| ", done.stdout, re.M)      # a kernel, timed
    assert kept.read_bytes() == before


def test_a_benchmark_cuts_its_agents_as_training_does(monkeypatch):
    """In slices, of which one steps while the GPU infers from another; and its tests are there."""
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    import bench_gpu
    import training_runs

    vec, trainer = training_runs.open_trainer(SPECIMENS / "correct" / "bandit", {
        "vec.num_buffers": 2, "vec.total_agents": 64, "train.horizon": 16,
        "train.minibatch_size": 512})
    assert vec.num_buffers == 2
    training_runs.close(vec, trainer)
    assert all((ROOT / name).is_file() for name in bench_gpu.TESTS)


@pytest.mark.skipif(HAS_DRIVER, reason="there is a GPU")
@pytest.mark.parametrize("tool", ["benchmarks/bench_gpu.py", "tools/gpu_day.py look"])
def test_what_needs_a_gpu_says_so(tool):
    done = subprocess.run([sys.executable, *tool.split()], capture_output=True, text=True, cwd=ROOT,
                          env={**os.environ, "PUFFER_CUDA": ""})
    assert done.returncode == 2 and "cannot train on a GPU: no NVIDIA driver" in done.stderr
    assert "Traceback" not in done.stderr
