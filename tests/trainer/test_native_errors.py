"""Numbers that go bad in the native trainer: named, placed, and stopped before weights change."""
import ctypes
import gc
import os
import re

import numpy as np
import pytest
from helpers.native_fixtures import PATHS, as_bytes, make_native, run
from helpers.ppo_fixtures import FakeVec, one_thread  # noqa: F401   one_thread is a fixture
from helpers.short_or_long import long_only, short_or_long

from puffer_sdk.base.errors import PufferError, RunError, UsageError
from puffer_sdk.env import abi
from puffer_sdk.training.native.actor import NativeActor
from puffer_sdk.training.native.trainer_errors import HINTS, failure, kinds, refusal
from puffer_sdk.training.native.trainer_library import available_paths

every_path = pytest.mark.parametrize("path", PATHS)
SIZES = dict(sizes=(3, 1), num_layers=2)


class Poisoned(FakeVec):
    """Writes a bad number for agent 5 into one array on its third step."""

    def __init__(self, name, bad):
        super().__init__((3, 1), 9, 5)
        self.name, self.bad, self.steps = name, bad, 0

    def step(self):
        super().step()
        self.steps += 1
        if self.steps == 3:
            getattr(self, self.name)[5] = self.bad


# ---- kinds: no word of a C sentence decides anything -------------------------------------------

def test_every_kind_of_error_has_its_hint():
    assert set(kinds().values()) == set(HINTS)


def test_the_kind_decides_and_not_the_words():
    ffi = abi.trainer_ffi()
    words = b"memory threads bf16 not finite, overflow on the GPU: no legal action in head 1\there"
    for number, kind in kinds().items():
        error = ffi.new("PufferTrainerError*", {"kind": number, "head": 1, "text": words})
        made, refused = failure(error, (2, 7), envs_on_gpu=False), refusal(error)
        assert (made.message, made.where) == tuple(words.decode().split("\t"))
        assert made.hint == refused.hint == HINTS[kind]
        assert type(refused) is (RunError if kind == "NO_THREADS" else UsageError)
        assert ("head's 7" in (made.expected or "")) == (kind == "NO_LEGAL_ACTION")


# ---- in the rollout ---------------------------------------------------------------------------

@every_path
@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("name, tick", [("observations", 3), ("rewards", 2)])
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_a_bad_number_from_the_env_is_named(path, threads, name, tick, bad):
    native = make_native(vec=Poisoned(name, bad), path=path, threads=threads, block_agents=2)
    before, counters = as_bytes(native), native.counters
    place = r"\[5, 0\] of \[9, 5\]" if name == "observations" else r"\[5\] of \[9\]"
    with pytest.raises(RunError, match=f"{name} not finite: {bad} at {place}") as caught:
        native.rollout()
    assert caught.value.where == f"tick {tick}" and "environment" in caught.value.hint
    assert as_bytes(native) == before and native.counters == counters


@every_path
@pytest.mark.parametrize("name, place, bad", [
    ("encoder", (3, 2), np.nan), ("encoder", (0, 4), np.inf), ("layers.0", (3, 2), np.nan),
    ("layers.0", (25, 19), np.nan), ("layers.1", (59, 0), np.nan), ("decoder", (1, 7), np.nan),
    ("decoder", (4, 19), np.inf), ("logstd", (0,), np.nan)])
def test_a_bad_weight_is_named(path, name, place, bad):
    """In a rollout, in an update on a rollout that was good, and where there are no envs.

    A gate that is infinite is merely shut: there only a NaN is wrong.
    """
    native = make_native(**SIZES, path=path)
    native.rollout()
    native.parameters[name][place] = bad
    native.touch()
    at = re.escape(f"weights of {name} not finite: {bad} at {list(place)}")
    for call in (native.update, native.rollout):
        with pytest.raises(RunError, match=at):
            call()
    actor = NativeActor(native.parameters, native.config, np.float32, 5, (3, 1), 1, 2,
                        path=path if path in available_paths() else "auto")
    with pytest.raises(RunError, match=at):
        actor.act(np.ones((2, 5), np.float32))


@every_path
def test_a_state_and_logits_that_overflow_are_named(path):
    native = make_native(**SIZES, path=path)
    native.rollout()
    native.rollout_tensors["state"][4, 1, 2] = np.nan
    native.touch()
    with pytest.raises(RunError, match="recurrent state not finite at agent 4"):
        native.rollout()
    native = make_native(**SIZES, path=path)
    native.parameters["decoder"][...] = 3e38
    native.touch()
    with pytest.raises(RunError, match="logits or values not finite at agent 0"):
        native.rollout()


@every_path
def test_an_agent_without_a_legal_action_is_named(path):
    vec = FakeVec((1, 2, 3), 9, 5, mask=True)
    native = make_native(vec=vec, path=path, first_agent=100)
    vec.observe = lambda: vec.action_mask.__setitem__((6, slice(3, 6)), 0)
    with pytest.raises(RunError, match="agent 6 has no legal action in head 2") as caught:
        native.rollout()
    assert "this head's 3" in caught.value.expected and caught.value.where == "tick 0"
    assert "do nothing" in caught.value.hint
    vec.observe = lambda: (vec.action_mask.fill(1), vec.action_mask[:, 0].fill(0))
    native.restart_envs(vec)
    native.rollout()                        # a continuous head needs no legal byte


def test_workers_that_find_different_faults_do_not_mix_them():
    class Broken(FakeVec):
        def observe(self):
            super().observe()
            self.observations[::2] = np.nan
            self.action_mask[1::2, :3] = 0
    native = make_native(vec=Broken((3, 2), 64, 5, mask=True), threads=4, block_agents=1)
    for _ in range(30):
        with pytest.raises(RunError, match=r"observations not finite: nan at .\d*[02468],|"
                                           r"agent \d*[13579] has no legal action in head 0"):
            native.rollout()


# ---- in the update ----------------------------------------------------------------------------

BUFFERS = {"obs": "observations", "actions": "actions", "log_probs": "log-probabilities",
           "rewards": "rewards", "values": "values", "state0": "recurrent state",
           "bootstrap": "values of what comes next"}


@every_path
@pytest.mark.parametrize("name", BUFFERS)
@pytest.mark.parametrize("norm_adv", [0, 1])
def test_a_bad_number_in_a_rollout_is_named(path, name, norm_adv):
    native = make_native(**SIZES, path=path, prio_alpha=0.0, norm_adv=norm_adv, reward_clip=0.5)
    native.rollout()
    before, buffer = as_bytes(native), native.rollout_tensors[name]
    place = (2, 3, 1)[:buffer.ndim] if name != "state0" else (2, 1, 1)
    kept, buffer[place] = buffer[place].copy(), np.nan
    native.touch()
    native.replay([[0, 1, 2]] * 3, np.ones((3, 3)))
    at = re.escape(f"{BUFFERS[name]} not finite: nan at {list(place)} of {list(buffer.shape)}")
    with pytest.raises(RunError, match=at) as caught:
        native.update()
    assert caught.value.where == "epoch 0" and as_bytes(native) == before
    assert native.counters["epoch"] == native.counters["optimizer_steps"] == 0
    buffer[place] = kept                    # nothing of it stays behind, nor what was replayed
    native.touch()
    assert np.isfinite(list(native.update().values())).all()
    assert (native.rollout_tensors["ratio_now"] != 1).any(1).sum() > 3


@every_path
@pytest.mark.parametrize("reward", [50.0, -50.0])
def test_a_ratio_that_overflows_is_named_and_the_last_good_weights_stay(path, reward):
    """Whether its clipped loss is finite or not. The two minibatches before it count."""
    def after(minibatches):
        native = make_native(**SIZES, path=path, replay_ratio=minibatches / 3 + 1e-6)
        native.rollout()
        out = native.rollout_tensors
        out["rewards"][8, 3], out["log_probs"][8, 3] = reward, -200
        native.touch()
        native.replay([[0, 1, 2], [3, 4, 5], [6, 7, 8]], np.ones((3, 3)))
        return native
    good, bad = after(2), after(3)
    good.update()
    with pytest.raises(RunError, match=r"ratio not finite: inf at .8, 3. of .9, 7."):
        bad.update()
    assert as_bytes(bad) == as_bytes(good)
    assert bad.counters["optimizer_steps"] == 2 and bad.counters["epoch"] == 0


@every_path
def test_a_loss_that_overflows_is_an_error(path):
    native = make_native(**SIZES, path=path, norm_adv=0)
    native.rollout()
    native.rollout_tensors["rewards"][...] = 1e30
    native.touch()
    before = as_bytes(native)
    with pytest.raises(RunError, match="overflows") as caught:
        native.update()
    assert "learning_rate" in caught.value.hint and as_bytes(native) == before


@every_path
def test_weights_that_go_bad_in_the_last_step_are_named(path):
    """Nothing computes with them before the next rollout, but a checkpoint would hold them."""
    native = make_native(**SIZES, path=path, learning_rate=3e38, minibatch_size=63)
    native.rollout()
    with pytest.raises(RunError, match="weights of .* not finite: -?(inf|nan) at") as caught:
        for _ in range(4):
            native.update()
    assert "epoch" in caught.value.where


# ---- memory -----------------------------------------------------------------------------------

def heap_in_use() -> int:
    """Bytes that malloc has given out, by glibc's account; 0 elsewhere."""
    libc = ctypes.CDLL(None)
    if not hasattr(libc, "mallinfo2"):
        return 0
    names = "arena ordblks smblks hblks hblkhd usmblks fsmblks uordblks fordblks keepcost".split()
    fields = type("Info", (ctypes.Structure,), {"_fields_": [(n, ctypes.c_size_t) for n in names]})
    libc.mallinfo2.restype = fields
    info = libc.mallinfo2()
    return info.uordblks + info.hblkhd


@pytest.mark.parametrize("changes", short_or_long(
    [dict(hidden_size=70, threads=2)],
    [dict(), dict(prio_alpha=0.0), dict(hidden_size=70, threads=2)]))
def test_nothing_is_allocated_after_the_first_epoch(changes):
    native = make_native((3, 1), dict(obs_size=70, mask=True), **changes)
    run(native, 2)
    allocations, growth = native.stats()["allocations"], []
    for _ in range(6):
        gc.collect()                        # Python's own, which comes and goes
        before = heap_in_use()
        run(native, 2)
        gc.collect()
        growth.append(heap_in_use() - before)
    stats = native.stats()
    assert stats["allocations"] == allocations <= 8 and stats["bytes"] > 0
    # a leak would show each time; other threads of this process allocate now and then
    assert min(growth) <= 0, growth


@long_only
def test_sizes_beyond_32_bits_are_refused():
    """The sums of sizes would wrap otherwise; and what was taken until then is given back."""
    vec, growth = FakeVec(num_agents=1, obs_size=1 << 20), []
    for _ in range(5):
        gc.collect()
        before = heap_in_use()
        with pytest.raises(PufferError, match=r"more than 2\^31"):
            make_native(vec=vec, hidden_size=2048, horizon=1, minibatch_size=1)
        gc.collect()
        growth.append(heap_in_use() - before)
    assert min(growth) <= 0, growth


def test_a_trainer_ends_in_a_forked_child():
    """Its threads are not there: closing it must not wait for them."""
    native = make_native(threads=2)
    run(native, 1)
    child = os.fork()
    if not child:
        native.close()
        del native
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    run(native, 1)
