"""vec.py: NumPy views of the C buffers, threads, logs, watches, and closing."""
from __future__ import annotations

import ctypes
import gc
import hashlib
import mmap
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from helpers.check_fixtures import changed
from helpers.places import ROOT, SPECIMENS
from helpers.short_or_long import some_or_all

import puffer_sdk
from puffer_sdk.base import paths
from puffer_sdk.base.errors import UsageError
from puffer_sdk.env import abi, blocks, seeds, shared_memory, vec
from puffer_sdk.env.abi import ffi


def run(envs, ticks: int, **reset) -> str:
    """A hash of everything that random play sees."""
    draw, digest = np.random.default_rng(1), hashlib.sha256()
    digest.update(envs.reset(**reset))
    for _ in range(ticks):
        for head, width in enumerate(envs.act_sizes):
            envs.actions[:, head] = draw.integers(0, width, envs.num_agents)
        for array in envs.step():
            digest.update(array)
    return digest.hexdigest()


# -- the arrays ------------------------------------------------------------------------------


def test_shapes_and_types(squared, target):
    with puffer_sdk.make(squared, num_envs=3) as envs:
        assert (envs.num_envs, envs.num_agents, envs.obs_size) == (3, 3, 121)
        assert (envs.observations.shape, envs.observations.dtype) == ((3, 121), np.uint8)
        assert (envs.actions.shape, envs.actions.dtype) == ((3, 1), np.float32)
        for array in (envs.rewards, envs.terminals, envs.truncations):
            assert (array.shape, array.dtype) == ((3,), np.float32)
        assert envs.action_mask is None and envs.act_sizes == (5,)
        assert envs.description.log_names == ("perf", "score", "episode_return", "episode_length")
    with puffer_sdk.make(target, total_agents=24) as envs:
        assert (envs.num_envs, envs.num_agents, envs.act_sizes) == (3, 24, (9, 5))
        assert (envs.observations.shape, envs.observations.dtype) == ((24, 28), np.float32)


def test_arrays_are_the_c_memory(probe):
    """What the struct points to is what NumPy shows, both ways, for every env."""
    with puffer_sdk.make(probe(), total_agents=3) as envs:
        envs.reset()
        pointer_at = 8          # Log is two floats; then the five pointers
        for env in range(3):
            struct = int(vec.ffi().cast("intptr_t", envs.library.api.env_struct(envs._handle, env)))
            names = ("observations", "actions", "rewards", "terminals")
            for i, name in enumerate(names):
                address = ctypes.c_void_p.from_address(struct + pointer_at + 8 * i).value
                array = getattr(envs, name)
                assert address == array[env:].ctypes.data
                ctypes.c_float.from_address(address).value = 10 * env + i + 1
                assert array.reshape(3, -1)[env, 0] == 10 * env + i + 1
        envs.actions[:] = [[0], [1], [2]]
        observations, rewards, terminals, truncations = envs.step()
        assert observations is envs.observations and rewards is envs.rewards
        assert terminals is envs.terminals and truncations is envs.truncations
        assert observations[:, 1].tolist() == rewards.tolist() == [0, 1, 2]


def test_torch_shares_the_memory(probe):
    import torch

    with puffer_sdk.make(probe(), total_agents=3) as envs:
        tensors = envs.torch()
        assert tensors.action_mask is None
        envs.reset()
        tensors.actions[:] = torch.tensor([[2.0], [1.0], [0.0]])
        envs.step()
        assert tensors.rewards.tolist() == [2, 1, 0] == envs.rewards.tolist()
        for name in ("observations", "actions", "rewards", "terminals", "truncations"):
            assert getattr(tensors, name).data_ptr() == getattr(envs, name).ctypes.data


def test_blocks_begin_on_cache_lines():
    wanted = [(shape, dtype) for shape in ((1,), (3, 5), (1000, 7), (4, 0))
              for dtype in (np.uint8, np.float32)]
    block, arrays = blocks.in_one_block(*wanted)
    pages = range(block.ctypes.data, block.ctypes.data + block.nbytes)
    for (shape, dtype), array in zip(wanted, arrays):
        assert array.ctypes.data % 64 == 0 and array.shape == shape and not array.any()
        assert array.flags.c_contiguous and array.flags.writeable and array.dtype == dtype
        array[...] = 1
        assert array.nbytes == 0 or array.ctypes.data + array.nbytes - 1 in pages
    assert block.ctypes.data % mmap.PAGESIZE == block.nbytes % mmap.PAGESIZE == 0
    assert block.astype(bool).sum() == sum(array.size * (1 if array.dtype == np.uint8 else 2)
                                           for array in arrays)      # 1.0f has two such bytes


def test_the_abi_is_read_from_its_header():
    text = (paths.include_dir() / "puffer_abi.h").read_text()
    assert int(re.search(r"PUFFER_ABI_VERSION (\d+)", text)[1]) == abi.number("PUFFER_ABI_VERSION")
    size = int(re.search(r"PUFFER_ERROR_SIZE +(\d+)", text)[1])
    assert size == vec.ffi().sizeof(abi.new_error().text)
    assert vec.ffi().sizeof("PufferWatch") == shared_memory.WATCH.itemsize
    for name, (_, offset) in shared_memory.WATCH.fields.items():
        assert vec.ffi().offsetof("PufferWatch", name) == offset
    with_struct_size = vec.ffi().sizeof("PufferApi")
    assert with_struct_size == 8 + 8 * text.count("(*")


# -- playing ---------------------------------------------------------------------------------


@pytest.mark.parametrize("name, agents", [("squared", 50), ("target", 56)])
def test_threads_change_nothing(templates, name, agents):
    """More threads than fit evenly, and more than there are envs."""
    hashes = set()
    for threads in (1, 2, 3, 64):
        with puffer_sdk.make(templates[name], total_agents=agents, threads=threads,
                             seed=3) as envs:
            hashes.add(run(envs, 200))
    assert len(hashes) == 1


def test_buffers_and_rows(target):
    with puffer_sdk.make(target, total_agents=32, num_buffers=2, seed=3) as envs:
        first, count = vec.ffi().new("int32_t*"), vec.ffi().new("int32_t*")
        slices = []
        for buffer in range(2):
            envs.library.api.slice(envs._handle, buffer, first, count)
            slices.append((first[0], count[0]))
        assert slices == [(0, 2), (2, 2)]
        cut = run(envs, 50)
    with puffer_sdk.make(target, total_agents=32, seed=3) as envs:
        assert run(envs, 50) == cut


def test_seeds(squared):
    hashes = []
    for seed in (0, 0, 1, -1, 2**63, 2**64 - 1):
        with puffer_sdk.make(squared, num_envs=20, seed=seed) as envs:
            hashes.append(run(envs, 50))
    assert hashes[0] == hashes[1] and len(set(hashes)) == 4     # -1 is 2**64 - 1 in C


@pytest.mark.parametrize("name", ["squared", "target", "correct/ladder", "correct/arena",
                                  "correct/quarry", "ocean/nim"])
def test_reset_takes_a_new_seed(name, templates):
    """All is as in a new VecEnv with this seed, whatever was played before."""
    env, own = templates.get(name) or SPECIMENS / name, {"seed": 5, "total_agents": 48}
    with puffer_sdk.make(env, **own) as fresh, \
            puffer_sdk.make(env, **own | {"seed": 4, "threads": 2}) as envs:
        run(envs, 60)
        assert run(envs, 60, seed=5) == run(fresh, 60)
        assert envs.log() == fresh.log() and (envs.seed, envs.ticks) == (5, 60)
        assert [envs.env_seed(env) for env in range(envs.num_envs)] == envs.seeds_of(
            envs.num_envs) == [fresh.env_seed(env) for env in range(envs.num_envs)]
        assert run(envs, 60) == run(fresh, 60)
        for name in ("action_mask", "alive", "final_observations", "has_final"):
            ours, theirs = getattr(envs, name), getattr(fresh, name)
            assert ours is theirs is None or np.array_equal(ours, theirs), name
        assert run(envs, 60, seed=4) != run(fresh, 60)


def test_a_new_seed_drops_what_was_logged(probe):
    """Here and elsewhere."""
    with puffer_sdk.make(probe(), num_envs=2) as envs:
        envs.reset()
        for _ in range(5):
            envs.step([0, 0])
        envs.library.api.add_log(envs.handle, ffi().new("double[]", [8.0, 2.0]))
        envs.reset(seed=1)
        assert envs.log() == {}


def test_seeds_that_cannot_be(squared):
    with puffer_sdk.make(squared, num_envs=2, seed=1) as envs:
        first = envs.reset().copy()
        for seed in (1.5, "1", 2**64):
            with pytest.raises(UsageError, match="seed cannot be"):
                envs.reset(seed=seed)
        assert np.array_equal(envs.reset(seed=np.int64(1)), first)
    with pytest.raises(UsageError, match="closed"):
        envs.reset(seed=1)
    with puffer_sdk.make(SPECIMENS / "correct" / "convoy", num_envs=1) as envs:
        envs.reset()
        with pytest.raises(UsageError, match="all envs at once"):
            envs.reset(seed=2)
        assert envs.seed == 0 and envs.step()[0] is envs.observations


def test_a_copy_that_cannot_be_made_anew_leaves_the_others_playing(probe):
    """Its init asks for more agents from the second time on."""
    with puffer_sdk.make(probe(*COUNTED), num_envs=3, seed=3) as envs:
        envs.reset()
        with pytest.raises(UsageError, match="has 2 agents"):
            envs.reset(seed=8)
        assert envs.observations[0].any()           # this one is new, and has begun
        envs.step([1, 1, 1])
        assert envs.seed == 3 and envs.observations[:, 0].tolist() == [1, 1, 1]


def test_a_parent_can_tell_an_envs_seed_from_the_watch(squared):
    for seed in (0, 42, 2**63 + 7):
        with puffer_sdk.make(squared, num_envs=3, seed=seed) as envs:
            signed = seed - 2**64 if seed >= 2**63 else seed        # as int64 on the page
            assert [envs.env_seed(i) for i in range(3)] == [seeds.mix_seed(signed, i)
                                                            for i in range(3)]


def test_seeds_of_neighbours_have_nothing_in_common(squared):
    with puffer_sdk.make(squared, num_envs=5000) as envs:
        seeds = np.array([envs.env_seed(i) for i in range(5000)], np.uint32)
    assert len(set(seeds.tolist())) == 5000
    bits = (seeds[:, None] >> np.arange(32, dtype=np.uint32)) & 1
    assert (abs(bits.mean(0) - 0.5) < 0.04).all()
    assert (abs((bits[1:] ^ bits[:-1]).mean(0) - 0.5) < 0.04).all()


def test_a_reset_begins_anew(probe):
    with puffer_sdk.make(probe(), total_agents=2) as envs:
        envs.reset()
        for _ in range(3):
            envs.step()
        assert (envs.observations[:, 0] == 3).all()
        assert not envs.reset().any()
        assert [bool(envs.step()[2].all()) for _ in range(4)] == [False] * 3 + [True]


def test_logs_are_means_and_are_cleared(probe):
    with puffer_sdk.make(probe(), total_agents=6) as envs:
        envs.reset()
        assert envs.log() == {}
        for _ in range(9):
            envs.step()
        assert envs.log_of(2) == {"score": 4, "n": 2}
        assert envs.log_of(2) == {}
        assert envs.log() == {"score": 4, "n": 10}      # env 2 has been counted
        assert envs.log() == {}


def test_logs_of_copies_that_play_elsewhere_are_counted(probe):
    """As doubles: a float holds no count beyond 2^24, and no odd sum there."""
    with puffer_sdk.make(probe(), total_agents=6) as envs:
        def add(*sums):
            envs.library.api.add_log(envs.handle, ffi().new("double[]", sums))

        assert envs.library.api.log_fields() == 2
        envs.reset()
        add(12.0, 3.0)                                  # score, n
        assert envs.log_of(1) == {}                     # they count as env 0's
        assert envs.log_of(0) == {"score": 4, "n": 3}
        assert envs.log() == {}
        for _ in range(9):
            envs.step()
        add(36.0, 3.0)
        add(6.0, 3.0)
        assert envs.log() == {"score": 5, "n": 18}
        add(2.0**26 + 2, 2.0**25 + 1)
        assert envs.log() == {"score": 2, "n": 2**25 + 1} and envs.log() == {}


def test_rand_belongs_to_the_env(probe):
    """Copies that are stepped between others' steps do not disturb one another's dice."""
    folder = probe(("#include <stdbool.h>", "#include <stdlib.h>"),
                   ("observations[2 * a] = env->tick", "observations[2 * a] = rand() % 1000"))

    def dice(order) -> np.ndarray:
        with puffer_sdk.make(folder, total_agents=4, seed=1) as envs:
            api, handle = envs.library.api, envs._handle
            envs.reset()
            seen = np.zeros((4, 3))
            count = [0] * 4
            for env in order:
                api.step(handle, env, 1, 0, vec.ffi().NULL)
                seen[env, count[env]] = envs.observations[env, 0]
                count[env] += 1
            return seen

    straight = dice([0, 1, 2, 3] * 3)
    assert (dice([3, 3, 3, 0, 2, 1, 2, 0, 1, 0, 1, 2]) == straight).all()
    assert len(np.unique(straight)) > 8


def test_rewards_are_cleared_wherever_buffers_lie(probe):
    """Blocks with gaps between them, as the checker and the trainer bind them."""
    with puffer_sdk.make(probe(), total_agents=4) as envs:
        api, handle = envs.library.api, envs._handle
        _, (rewards, terminals) = blocks.in_one_block(*2 * [((100,), np.float32)])
        places = [50, 51, 10, 11]                   # neighbours, a jump back, neighbours
        rewards[:], terminals[:] = 8, 8
        for env, place in enumerate(places):
            api.bind(handle, env, vec.ffi().new("PufferBuffers*", {
                "observations": blocks.pointer("void*", envs.observations[env:]),
                "actions": blocks.pointer("float*", envs.actions[env:]),
                "rewards": blocks.pointer("float*", rewards[place:]),
                "terminals": blocks.pointer("float*", terminals[place:])}))
        rest = [i for i in range(100) if i not in places]
        envs.reset()
        assert not rewards[places].any() and not terminals[places].any()
        assert (rewards[rest] == 8).all() and (terminals[rest] == 8).all()
        envs.actions[:] = 1
        for _ in range(3):
            envs.step()
        assert rewards[places].tolist() == [1] * 4 and (rewards[rest] == 8).all()
        api.step(handle, 1, 2, 0, vec.ffi().NULL)
        assert rewards[places].tolist() == [1] * 4
        api.step(handle, 1, 2, 1, vec.ffi().NULL)           # PUFFER_KEEP_REWARDS
        assert rewards[places].tolist() == [1, 2, 2, 1]


# -- watching --------------------------------------------------------------------------------


def test_watches_say_who_is_inside(probe, tmp_path):
    """Env code finds its own env, seed, phase and step on the page that a parent reads."""
    watches = vec.ffi().new("PufferWatch[]", 1)
    address = int(vec.ffi().cast("intptr_t", watches))
    folder = probe(
        ("void c_reset(", f"""
static double seen[4];
static void look(void) {{
    const volatile long long* watch = (const volatile long long*){address}ull;
    seen[0] = watch[0]; seen[1] = watch[1]; seen[2] = watch[2];
    seen[3] = ((const volatile int*){address}ull)[6];
}}
void c_reset("""),
        ("    env->tick++;", "    look();\n    for (int i = 0; i < 4; i++) "
                             "env->observations[4 + i] = seen[i];\n    env->tick++;"),
        ("OBS_SIZE 2", "OBS_SIZE 8"))
    library = puffer_sdk.load(folder)
    with vec.VecEnv(library, total_agents=3, watches=watches,
                    env_settings={"limit": 9}) as envs:
        envs.reset()
        assert watches[0].phase == 0
        before = watches[0].pulse
        envs.step()
        envs.step()
        assert watches[0].phase == 0 and watches[0].pulse == before + 4
        for env in range(3):
            step, number, seed, phase = envs.observations[env, 4:]
            assert (step, number, shared_memory.PHASES[int(phase)]) == (2, env, "c_step")
            assert seed == envs.seed == 0


def test_adaptive_threads_decide_and_change_nothing(squared):
    hashes = set()
    for adaptive in (False, True):
        with vec.VecEnv(puffer_sdk.load(squared), total_agents=40, threads=2, seed=2,
                        env_settings={"size": 11}, adaptive=adaptive) as envs:
            hashes.add(run(envs, 60))
            assert envs._autotune is None             # decided, or never in doubt
    assert len(hashes) == 1


# -- closing ---------------------------------------------------------------------------------


def test_closed_is_closed(probe):
    envs = puffer_sdk.make(probe(), total_agents=2, threads=2)
    envs.reset()
    envs.step()
    envs.close()
    envs.close()
    assert envs.observations[0, 0] == 1             # the arrays stay readable
    for call in (envs.step, envs.reset, envs.log):
        with pytest.raises(UsageError, match="closed"):
            call()


def test_the_arrays_outlive_their_envs(probe):
    envs = puffer_sdk.make(probe(), total_agents=2)
    envs.reset()
    envs.step()
    observations = envs.observations
    del envs
    gc.collect()
    assert observations[:, 0].tolist() == [1, 1]


# -- bad input -------------------------------------------------------------------------------


@pytest.mark.parametrize("options, text", some_or_all([
    ({"num_envs": 0}, "num_envs"), ({"num_envs": -3}, "num_envs"),
    ({"total_agents": 0}, "total_agents"), ({"total_agents": 2**31}, "total_agents"),
    ({"threads": 0}, "threads"), ({"num_buffers": 0}, "num_buffers"),
    ({"num_envs": 2, "total_agents": 2}, "not both"),
    ({"env_settings": {"limitt": 3}}, "limitt")], 0, 2, 4, 6))
def test_refused_arguments(probe, options, text):
    with pytest.raises(UsageError, match=text):
        puffer_sdk.make(probe(), **options)


def test_what_does_not_fit_is_refused_before_it_is_allocated(probe):
    folder = probe(("OBS_SIZE 2", "OBS_SIZE 10000000"))
    with pytest.raises(UsageError, match="would not fit in memory") as caught:
        puffer_sdk.make(folder, total_agents=1_000_000)
    assert "1000000 agents" in caught.value.actual and caught.value.hint


def test_observations_of_no_size(probe):
    folder = probe(("OBS_SIZE 2", "OBS_SIZE (env->limit - 4)"))
    with pytest.raises(UsageError):
        puffer_sdk.make(folder)


def test_an_environment_that_is_not_there(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError, match="no environment called 'nowhere'"):
        puffer_sdk.make("nowhere")


def test_assigning_actions_fills_the_buffer(probe, target):
    with puffer_sdk.make(probe(), num_envs=3) as envs:
        buffer = envs.actions
        envs.reset()
        envs.actions = [1, 2, 0]                    # one head: (N,) will do
        envs.step()
        assert envs.actions is buffer and envs.observations[:, 1].tolist() == [1, 2, 0]
        with pytest.raises(UsageError, match="wrong shape"):
            envs.actions = np.zeros(2)
        with pytest.raises(AttributeError):
            envs.observations = np.zeros((3, 2))
        assert repr(envs) == "<VecEnv probe: 3 agents, 2 float32 observations, actions 3>"
    assert repr(envs).endswith(", closed>")
    with puffer_sdk.make(target) as envs, pytest.raises(UsageError, match="wrong shape"):
        envs.actions = np.zeros(8)


@pytest.mark.parametrize("options", some_or_all(
    [{"num_envs": 1.5}, {"num_envs": "4"}, {"seed": "a"},
                                     {"seed": 1.7}, {"seed": 2**70}], 0, 2))
def test_numbers_that_are_none(probe, options):
    with pytest.raises(UsageError, match="cannot be"):
        puffer_sdk.make(probe(), **options)


# -- one copy anew, and a step of the others ---------------------------------------------------

# each env holds memory, and observes how many are open
COUNTED = [("    int tick;\n}", "    int tick;\n    int* memory;\n}"),
           ("void c_reset(", """#include <stdlib.h>
static int open, made;
void init(Probe* env) {
    env->memory = calloc(1, 4);
    open++;
    made++;
    env->num_agents = made > 5 ? 2 : 1;
}

void c_reset("""),
           ("observations[i] = 0;", "observations[i] = (float)(open + *env->memory);"),
           ("void c_close(Probe* env) { (void)env; }",
            "void c_close(Probe* env) { free(env->memory); open--; }")]


def test_a_copy_made_anew_is_closed_once_and_its_rows_are_kept(probe):
    with puffer_sdk.make(probe(*COUNTED), num_envs=3) as envs:
        # and a scratch one, which tells how many rows there are
        assert envs.reset()[:, 0].tolist() == [4, 4, 4]
        envs.step([1, 1, 1])
        envs.renew(1, 77)
        assert envs.env_seed(1) == 77 and not envs.observations[1].any()
        envs.reset_range(1, 1)
        assert envs.observations.tolist() == [[1, 1], [4, 4], [1, 1]]   # the others play on
        envs.step([2, 1, 0])
        assert envs.rewards.tolist() == [2, 1, 0]
        assert envs.observations.tolist() == [[2, 2], [1, 1], [2, 0]]
        with pytest.raises(UsageError, match="env 0 has 2 agents"):     # its init asks for more
            envs.renew(0, 5)
        envs.step([0, 0, 0])
        assert envs.observations[:, 0].tolist() == [3, 2, 3] and envs.env_seed(0) != 5


def test_who_is_abandoned_is_not_closed(probe):
    with puffer_sdk.make(probe(*COUNTED), num_envs=2) as envs:
        envs.reset()
        envs.renew(0, 1, abandon=True)
        envs.reset_range(0, 1)
        assert envs.observations[0, 0] == 4


@pytest.mark.parametrize("threads", [1, 3])
def test_those_that_wait_stay_as_they_are(squared, threads):
    """The others do what they do in a step of all, on any number of threads."""
    waits = np.arange(40) % 3 == 0
    with puffer_sdk.make(squared, num_envs=40, seed=2, threads=threads) as envs, \
            puffer_sdk.make(squared, num_envs=40, seed=2) as all_of_them:
        for each in (envs, all_of_them):
            each.reset()
        draw = np.random.default_rng(3)
        for _ in range(30):
            actions = draw.integers(0, 5, 40)
            before = envs.observations[waits].copy()
            envs.actions = actions
            envs.step_others(waits)
            all_of_them.step(actions)
            for name in ("observations", "rewards", "terminals", "truncations"):
                ours, theirs = getattr(envs, name), getattr(all_of_them, name)
                assert np.array_equal(ours[~waits], theirs[~waits]), name
            assert np.array_equal(envs.observations[waits], before)
            assert not envs.rewards[waits].any() and not envs.terminals[waits].any()


# -- spaces ------------------------------------------------------------------------------------

MIXED = [("#define ACT_SIZES {3}", "#define ACT_SIZES {3, 1}"),
         ("env->observations[2 * a + 1] = env->actions[a];",
          "env->observations[2 * a + 1] = env->actions[2 * a] + env->actions[2 * a + 1];")]


def test_spaces_hold_what_the_arrays_hold(squared, target, probe):
    """And step() takes what action_space samples."""
    from gymnasium import spaces

    for env, single in ((squared, spaces.Discrete(5)), (target, spaces.MultiDiscrete([9, 5])),
                        ("pendulum", spaces.Box(-1, 1, (1,))),
                        (probe(*MIXED), spaces.Tuple([spaces.Discrete(3),
                                                      spaces.Box(-1, 1, (1,))]))):
        with puffer_sdk.make(env, total_agents=16) as envs:
            assert envs.single_action_space == single
            assert envs.observation_space.shape == (16, envs.obs_size)
            assert envs.single_observation_space.dtype == envs.observations.dtype
            assert envs.observation_space is envs.observation_space
            assert envs.reset() in envs.observation_space
            envs.action_space.seed(1)
            for _ in range(30):
                sample = envs.action_space.sample()
                observations, *_ = envs.step(sample)
                assert observations in envs.observation_space
                assert observations[3] in envs.single_observation_space
                assert sample in envs.action_space
            last = sample if not isinstance(sample, tuple) else np.column_stack(sample)
            assert np.allclose(envs.actions, last.reshape(envs.actions.shape))


def test_a_space_has_the_bounds_that_the_header_declares(squared):
    with puffer_sdk.make("breakout", num_envs=2) as envs:
        low, high = (getattr(envs.single_observation_space, name) for name in ("low", "high"))
        assert low[:7].tolist() == [0, 0, 0, 0, -1, -1, 0] and (high[:7] == 1).all()
        assert envs.observation_space.low.shape == (2, 118)
    with puffer_sdk.make(squared, num_envs=2) as envs:
        assert envs.single_observation_space.high.max() < 255       # ids
        envs.library.folder = None                                  # nobody knows the header
        del envs.single_observation_space
        assert envs.single_observation_space.high.min() == 255


def test_spaces_need_gymnasium(squared, monkeypatch):
    monkeypatch.setitem(sys.modules, "gymnasium", None)
    with puffer_sdk.make(squared, num_envs=1) as envs:
        for name in ("observation_space", "single_action_space"):
            with pytest.raises(UsageError, match="_space requires a package") as caught:
                getattr(envs, name)
            assert "pip install 'puffer-sdk[gymnasium]'" in caught.value.hint


def test_making_a_vec_imports_no_gymnasium(squared):
    program = ("import puffer_sdk, sys\n"
               f"puffer_sdk.make({str(squared)!r}, num_envs=1).reset(seed=1)\n"
               "assert 'gymnasium' not in sys.modules")
    subprocess.run([sys.executable, "-c", program], check=True, cwd=ROOT)


# -- resources ---------------------------------------------------------------------------------


def test_env_code_finds_its_resources_wherever_the_caller_stands(probe, tmp_path, monkeypatch):
    folder = probe(("#include <stdbool.h>", "#include <stdbool.h>\n#include <stdio.h>"),
                   ("    env->tick = 0;", """    env->tick = 0;
    FILE* map = fopen("resources/probe/map.txt", "r");
    int tile = map ? fgetc(map) - '0' : -1;
    if (map) fclose(map);"""),
                   ("env->observations[i] = 0;", "env->observations[i] = tile;"))
    (tmp_path / "resources" / "probe").mkdir(parents=True)
    (tmp_path / "resources" / "probe" / "map.txt").write_text("7")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    with puffer_sdk.make(folder) as vec:
        assert (vec.reset() == 7).all()
    assert Path.cwd() == elsewhere


# -- the benchmark ---------------------------------------------------------------------------


def test_stepping_through_the_abi_plays_the_same_game_as_a_plain_loop(squared):
    """benchmarks/bench_abi.py compares the bytes of both; the cost is `make bench`'s."""
    import importlib.util

    file = ROOT / "benchmarks" / "bench_abi.py"
    module = importlib.util.module_from_spec(spec := importlib.util.spec_from_file_location(
        "bench_abi", file))
    spec.loader.exec_module(module)
    result = module.compare(squared, envs=512, rounds=41, ticks=10)
    assert result["ratio"] > 0


@pytest.mark.parametrize("kind, differs", some_or_all(
    [("uint64_t", True), ("int", True), ("short", False)], 0))
def test_my_vec_init_seeds_and_the_runs_seed_joins_where_it_can(kind, differs, tmp_path):
    """Into a generator of 32 or 64 bits; another rng is the author's alone."""
    folder = changed(SPECIMENS / "reports" / "own_seeds", tmp_path, ("uint64_t rng", f"{kind} rng"),
                     ("(int)(env->rng >> 62)", "(int)(env->rng >> 22 & 3)"))
    with puffer_sdk.make(folder, num_envs=64, seed=1) as one, \
            puffer_sdk.make(folder, num_envs=64, seed=2) as other:
        one.reset()
        other.reset()
        assert (one.observations != other.observations).any() == differs
