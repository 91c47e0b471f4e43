"""The native trainer's bytes: equal for any threads and any cut of the work, and after a resume."""
import hashlib
import json
import shutil
import subprocess
from functools import cache

import numpy as np
import pytest
from helpers.native_fixtures import VARIANTS, as_bytes, make_native, run
from helpers.places import ROOT
from helpers.ppo_fixtures import FakeVec, one_thread, settings  # noqa: F401   one_thread is a fixture
from helpers.short_or_long import long_only, some_or_all

from puffer_sdk.env import abi, open_env, vec
from puffer_sdk.training.native import handle, trainer_library, trainer_sources
from puffer_sdk.training.native.native_ppo import NativePPO

every_variant = pytest.mark.parametrize("variant", VARIANTS.values(), ids=VARIANTS)
SQUARED = dict(total_agents=40, env_settings={"size": 5})
TARGET = dict(total_agents=32, env_settings={"num_agents": 4, "num_goals": 3, "width": 400,
                                             "height": 300})
SMALL = dict(hidden_size=20, num_layers=2, horizon=9, minibatch_size=9 * 7, total_timesteps=10**5,
             replay_ratio=1.3, learning_rate=0.05)


@cache
def opened(folder):
    return open_env.load(folder)


def make_envs(folder, seed=3, **about):
    return vec.VecEnv(opened(folder), seed=seed, **{
        **(SQUARED if folder.name == "squared" else TARGET), **about})


def train(folder, epochs=4, *, num_buffers=1, env_threads=1, threads=1, block_agents=0,
          path="auto", **changes) -> tuple[NativePPO, dict[str, bytes]]:
    """A trainer after so many epochs on a compiled environment, and its bytes."""
    envs = make_envs(folder, num_buffers=num_buffers, threads=env_threads)
    trainer = make_native(vec=envs, threads=threads, path=path, block_agents=block_agents,
                          **{**SMALL, **changes})
    run(trainer, epochs)
    return trainer, everything(trainer)


def everything(trainer) -> dict[str, bytes]:
    """Weights, optimiser state, counters, and the rollout's buffers with the carried state."""
    rollout = {name: array.tobytes() for name, array in trainer.rollout_tensors.items()}
    return {**as_bytes(trainer), **rollout, "counters": json.dumps(trainer.counters).encode()}


def differing(got, want) -> list[str]:
    assert set(got) == set(want)
    return [name for name in want if got[name] != want[name]]


CUTS = [dict(threads=2), dict(threads=4), dict(threads=4, block_agents=1),
        dict(threads=2, block_agents=7), dict(block_agents=5), dict(threads=3, block_agents=40),
        dict(threads=9, block_agents=7),
        dict(num_buffers=4, threads=2), dict(num_buffers=2, env_threads=2)]


@every_variant
@pytest.mark.parametrize("name, alpha", [("squared", 0.0), ("squared", 0.8), ("target", 0.8)])
def test_threads_blocks_and_buffers_change_no_bit(request, name, alpha, variant):
    """Sparse bytes with one agent an env; floats and two heads with four agents an env."""
    folder = request.getfixturevalue(name)
    _, want = train(folder, **variant, prio_alpha=alpha)
    ways = set()
    for cut in CUTS:
        trainer, got = train(folder, **variant, prio_alpha=alpha, **cut)
        assert differing(got, want) == [], cut
        stats = trainer.stats()
        ways.add((stats["lockstep"], stats["blocks"] > 1))
    locked = {False} if trainer.device == "cuda" else {True, False}
    assert {lockstep for lockstep, _ in ways} == locked and len(ways) > len(locked)
    assert np.frombuffer(want["ended"], np.float32).any() or name == "target"


def test_few_envs_are_cut_small_only_while_their_steps_are_slow(squared, tmp_path):
    """Four threads take sixteen blocks of four slow envs, or four blocks of sixteen fast ones."""
    slow = tmp_path / "slow"
    shutil.copytree(ROOT / "benchmarks" / "slow", slow)
    for folder, env_settings, later in ((slow, {"micros": 500}, 16), (squared, {"size": 5}, 4)):
        envs = vec.VecEnv(opened(folder), seed=3, total_agents=64, env_settings=env_settings)
        trainer = make_native(vec=envs, threads=4, **SMALL)
        for _ in range(2):
            trainer.rollout()
            assert trainer.stats()["blocks"] == later
        envs.close()


@every_variant
def test_threads_change_no_bit_of_wide_networks(variant):
    """Beyond a width of 64, threads share the steps of each matrix."""
    def bytes_of(threads, **changes):
        native = make_native((3, 1), dict(num_agents=24, obs_size=81, mask=True), **variant,
                             threads=threads, hidden_size=270, num_layers=1, horizon=5,
                             minibatch_size=5 * 20, **changes)
        run(native, 3)
        return everything(native)
    want = bytes_of(1)
    for threads in (2, 4):
        assert differing(bytes_of(threads), want) == []


def test_a_segment_drawn_often_changes_no_bit():
    """All copies of it read what the first one to be done will write."""
    def bytes_of(threads):
        native = make_native(vec=dict(num_agents=40), threads=threads, learning_rate=0.1,
                             minibatch_size=7 * 40, replay_ratio=6.0, hidden_size=33)
        rows = np.random.default_rng(0).integers(0, 2, (6, 40))
        for _ in range(3):
            native.rollout()
            native.replay(rows, np.ones(rows.shape))
            native.update()
        return everything(native)
    want = bytes_of(1)
    for threads in (2, 4, 4, 4):
        assert differing(bytes_of(threads), want) == []


# ---- resume -----------------------------------------------------------------------------------

@pytest.mark.parametrize("alpha", [0.8, 0.0])
def test_a_resumed_run_is_the_same_run(squared, alpha):
    """2k epochs with a barrier at k, and k epochs, a new trainer, k more: the same bytes."""
    changes = dict(prio_alpha=alpha, anneal_lr=1, total_timesteps=40 * 9 * 6, path="generic")

    straight, _ = train(squared, 3, **changes)
    saved, counters = straight.state_tensors(), json.dumps(straight.counters)
    assert json.loads(counters)["minibatch_carry"] > 0
    straight.restart_envs(make_envs(squared, seed=77))
    run(straight, 3)

    resumed, _ = train(squared, 0, threads=2, block_agents=3, **changes)
    resumed.load_state_tensors(saved)
    resumed.load_counters(json.loads(counters))
    resumed.restart_envs(make_envs(squared, seed=77))
    run(resumed, 3)
    assert differing(everything(resumed), everything(straight)) == []
    assert straight.finished and resumed.finished
    assert differing(as_bytes(straight), {n: t.tobytes() for n, t in saved.items()})


def test_adams_state_is_resumed():
    """A continuous head: the vector's moments and the number of steps, which unbiases them."""
    def make(seed):
        return make_native((3, 1), FakeVec((3, 1), 9, 5, seed=seed), total_timesteps=63 * 6)
    straight = make(0)
    run(straight, 3)
    saved, counters = straight.state_tensors(), straight.counters
    resumed = make(5)
    straight.restart_envs(FakeVec((3, 1), 9, 5, seed=5))
    resumed.load_state_tensors(saved)
    resumed.load_counters(counters)
    for trainer in (straight, resumed):
        run(trainer, 3)
    assert differing(everything(resumed), everything(straight)) == []


def test_padding_between_tensors_is_nobodys(squared):
    """Sizes that fill no cache line: tensors come back whole, each in its own place."""
    native = make_native((2, 1), dict(obs_size=5), hidden_size=7, num_layers=2)
    tensors = {name: np.random.default_rng(number).normal(size=array.shape).astype(np.float32)
               for number, (name, array) in enumerate(native.state_tensors().items())}
    assert sum(array.size % 8 != 0 for array in tensors.values()) >= 8
    native.load_state_tensors(tensors)
    got = native.state_tensors()
    assert all(np.array_equal(got[name], tensors[name]) for name in tensors)
    for name, array in native.parameters.items():
        array[...] += 1                 # and a write to one touches no other
        now = native.state_tensors()
        assert all(np.array_equal(now[other], got[other]) for other in got if other != name)
        array[...] = got[name]


# ---- the generic path's bytes -----------------------------------------------------------------

# No libm call enters here (no priorities, no annealing, no continuous head), and Squared computes
# with whole numbers: every machine and every compiler gives these bytes. What changes them changes
# what a seed means for everybody: say so in CHANGELOG.md
GENERIC = "d49a43aa489677f795401766dd4c4a12245d2dbf35b6654eaa4142ff3eb689da"


def digest(folder, threads=1) -> str:
    trainer, _ = train(folder, 5, path="generic", prio_alpha=0.0, threads=threads)
    tensors = trainer.state_tensors()
    assert all(np.isfinite(array).all() for array in tensors.values())
    joined = b"".join(np.ascontiguousarray(tensors[name]).tobytes() for name in sorted(tensors))
    return hashlib.sha256(joined).hexdigest()


@pytest.mark.parametrize("threads", [1, 2, 4])
def test_the_generic_path_gives_the_pinned_bytes(squared, threads):
    assert digest(squared, threads) == GENERIC


def compile_generic(compiler: str, level: str, folder):
    """The trainer without the other paths' kernels, which would take most of the time."""
    stub = folder / "others.c"
    stub.write_text('#include "kernels/kernels.h"\nconst Kernels '
                    'kernels_avx2, kernels_avx512, kernels_bf16, kernels_neon;\n')
    files = [path for path in trainer_sources.for_cpu()
             if path.stem not in ("avx2", "avx512", "bf16", "neon")]
    made = folder / f"{compiler}{level}.so"
    flags = [level if flag == "-O3" else flag for flag in trainer_library.FLAGS]
    subprocess.run([compiler, *flags, *(f"-I{place}" for place in trainer_sources.include_dirs()),
                    *map(str, files), str(stub), "-lm", "-o", str(made)], check=True)
    return abi.trainer_ffi().dlopen(str(made))


@long_only
@pytest.mark.parametrize("level", some_or_all(["-O1", "-O2", "-O3"], 0))
def test_every_compiler_and_level_gives_the_pinned_bytes(squared, tmp_path, monkeypatch, level):
    """gcc, and clang where there is one."""
    assert "-O3" in trainer_library.FLAGS
    for compiler in filter(shutil.which, ("gcc", "clang")):
        lib = compile_generic(compiler, level, tmp_path)
        monkeypatch.setattr(handle, "library", lambda lib=lib: lib)
        assert digest(squared, threads=2) == GENERIC, compiler
