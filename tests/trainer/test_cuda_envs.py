"""Environments that play on the GPU: the same episodes, and so the same run, as on the CPU.

Without a driver programs are those of the emulated device, in each of its ways to put work off.
What a program makes of an author's C is in test_device_envs.py.
"""
import json
import re
import shutil
from functools import cache
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from conftest import PROBE
from helpers.cuda_calls import HAS_DRIVER, ROUNDS
from helpers.cuda_trainer import count, puffer
from helpers.native_fixtures import FakeVec, as_bytes, make_native, run
from helpers.places import SPECIMENS
from helpers.ppo_fixtures import one_thread, settings  # noqa: F401   one_thread is a fixture
from helpers.short_or_long import long_only, some_or_all

from puffer_sdk.base.errors import BuildError, RunError, UsageError
from puffer_sdk.env import library, open_env, seeds, vec
from puffer_sdk.settings import config
from puffer_sdk.training import backends, checkpoint, train
from puffer_sdk.training.native.envs import build_program
from puffer_sdk.training.native.native_ppo import NativePPO
from puffer_sdk.training.native.trainer_errors import failure

SMALL = dict(hidden_size=20, num_layers=2, horizon=50, minibatch_size=50 * 16,
             total_timesteps=10**5, learning_rate=0.02)
GAMES = {                               # agents in 4 slices, and what is special
    "squared": (32, dict(obs_scale="0.5", prio_alpha=0.0)),             # bytes, one agent
    "target": (64, dict(replay_ratio=1.5)),                         # two heads, agents together
    "pendulum": (32, dict(reward_clip=0.5, horizon=210, minibatch_size=210 * 8)),   # truncations
    "nim": (64, dict(reset_state=1)),                               # action masks, rand()
    "cartpole": (32, dict(norm_adv=0)),                             # ended by the clock, mostly
    "inn": (32, dict(replay_ratio=1.5)),                            # variable number of agents
}
CHANGED = {"cartpole": dict(max_steps=9)}


@cache
def opened(folder) -> library.Library:
    return open_env.load(folder)


@pytest.fixture(scope="module")
def folders(games, tmp_path_factory):
    sea = tmp_path_factory.mktemp("sea") / "nim"
    shutil.copytree(SPECIMENS / "ocean" / "nim", sea, ignore=shutil.ignore_patterns("build"))
    inn = shutil.copytree(SPECIMENS / "device_envs" / "inn", sea.parent / "inn",
                          ignore=shutil.ignore_patterns("build"))
    return {**games, "nim": sea, "inn": inn}


def make_envs(folder, agents=32, slices=2, seed=3) -> vec.VecEnv:
    return vec.VecEnv(opened(folder), seed=seed, total_agents=agents, num_buffers=slices,
                      env_settings={**config.resolve(folder).env, **CHANGED.get(folder.name, {})})


@pytest.fixture
def make(folders):
    """make(game, plays=True, **settings) -> a trainer over that game's envs"""
    def make(game, plays=True, slices=2, **changes):
        agents, special = GAMES[game]
        return make_native(vec=make_envs(folders[game], agents, slices), path="cuda",
                           program=build_program(folders[game]) if plays else None,
                           **{**SMALL, **special, **changes})
    return make


def story(trainer, epochs: int) -> list:
    """All that a run shows: metrics and logs of each epoch, rollouts, weights."""
    told = []
    for _ in range(epochs):
        trainer.rollout()
        told.append((trainer.update(), trainer.vec.log(),
                     {name: array.tobytes() for name, array in trainer.rollout_tensors.items()}))
    return [*told, as_bytes(trainer), trainer.counters]


WANTED = {}                             # of the CPU's envs, by game


@pytest.fixture
def wanted(make):
    def wanted(game, epochs=4):
        if game not in WANTED:
            with make(game, plays=False) as trainer:
                WANTED[game] = story(trainer, epochs)
        return WANTED[game]
    return wanted


def check(told, want):
    """The bits of emulated envs; a GPU's own arithmetic may part them at any step."""
    if ROUNDS:
        assert all(np.isfinite(list(metrics.values())).all() for metrics, _, _ in told[:-2])
        assert sum(log.get("n", 0) for _, log, _ in told[:-2]) > 0
        return
    for got, expected in zip(told[:-2], want[:-2], strict=True):
        assert got[:2] == expected[:2]
        assert not [name for name in expected[2] if got[2][name] != expected[2][name]]
    assert told[-2:] == want[-2:]


# ---- the same run --------------------------------------------------------------------------------

@pytest.mark.parametrize("game", some_or_all(GAMES, 0, 1, 4))
def test_a_run_is_the_one_that_the_cpus_envs_make(game, make, wanted, mode):
    """Observations, masks, rewards and endings of each tick, weights, metrics and logs."""
    want = wanted(game)
    assert sum(log.get("n", 0) for _, log, _ in want[:-2]) > 20     # episodes came to an end
    with make(game) as trainer:
        check(story(trainer, 4), want)
        assert trainer.gpu()["envs_on_gpu"]


@pytest.mark.skipif(ROUNDS, reason="a GPU's own arithmetic plays other episodes")
@pytest.mark.parametrize("game, cut", [("cartpole", 3 * 32 * 5), ("pendulum", 3 * 32),
                                       ("inn", 40)])
@pytest.mark.parametrize("how", [dict(slices=4, gpus=[0, 0]), dict(timed=True)], ids=str)
def test_values_of_final_observations_are_those_of_the_cpus_trainer(game, cut, how, make, folders):
    cpu = make_native(vec=make_envs(folders[game]), path="generic", **{**SMALL, **GAMES[game][1]})
    found = 0
    with make(game, **how) as gpu:
        for _ in range(3):
            gpu.load_state_tensors(cpu.state_tensors())
            for trainer in cpu, gpu:
                trainer.rollout()
            want, got = cpu.rollout_tensors, gpu.rollout_tensors
            kept = want["truncated"] == 2
            for name in "truncated", "rewards", "values", "bootstrap", "obs":
                assert got[name].tobytes() == want[name].tobytes(), name
            assert got["final_values"][kept].tobytes() == want["final_values"][kept].tobytes()
            found += kept.sum()
            for trainer in cpu, gpu:
                trainer.update()
    assert found >= cut


def without_finals(envs: vec.VecEnv) -> vec.VecEnv:
    envs._final_observations = envs._has_final = None
    return envs


def test_a_program_brings_its_own_final_observations(make, folders):
    """The host's are not used; but the trainer has to expect some."""
    envs = without_finals(make_envs(folders["cartpole"]))
    with make("cartpole") as trainer, make("cartpole", plays=False) as other:
        trainer.restart_envs(envs)
        run(trainer, 1)
        assert (trainer.rollout_tensors["truncated"] == 2).any()
        other.restart_envs(without_finals(make_envs(folders["cartpole"])))
        assert refused(other).message == "the envs have no final observations"
    with make_native(vec=envs, path="cuda", program=build_program(folders["cartpole"]),
                     **SMALL) as trainer:
        assert refused(trainer).message == ("the program for the GPU is of another environment: "
                                            "1 final observations of an episode, not 0")


def without_alive(envs: vec.VecEnv) -> vec.VecEnv:
    envs._alive = None
    return envs


def test_a_program_says_itself_which_agents_live(make, folders):
    """The host's row is not used; but the trainer has to expect one."""
    envs = without_alive(make_envs(folders["inn"]))
    with make("inn") as trainer, make("inn", plays=False) as other:
        trainer.vec._alive[:] = 0
        run(trainer, 1)
        assert 0 < trainer.rollout_tensors["live"].mean() < 1
        with pytest.raises(UsageError, match="row of who lives"):
            other.restart_envs(envs)
        without_alive(other.vec)
        assert refused(other).message == "the envs do not say which agents live"
    with make_native(vec=envs, path="cuda", program=build_program(folders["inn"]),
                     **SMALL) as trainer:
        assert refused(trainer).message == ("the program for the GPU is of another environment: "
                                            "1 bytes that say whether an agent lives, not 0")


@pytest.mark.parametrize("how", [dict(slices=1), dict(slices=4), dict(gpus=[0, 0]),
                                 dict(slices=4, gpus=[0, 0])], ids=str)
@pytest.mark.parametrize("game", ["target", "inn"])
def test_slices_and_gpus_change_no_episode(how, game, make, folders):
    with make(game, plays=False, **how) as cpu, make(game, **how) as gpu:
        check(story(gpu, 3), story(cpu, 3))


@pytest.mark.parametrize("how", some_or_all(
    [dict(precision="bf16"), dict(async_=True), dict(timed=True)], 0),
                         ids=str)
@pytest.mark.parametrize("game", some_or_all(["target", "inn"], 0))
def test_other_ways_to_train_change_no_episode(how, game, make, mode):
    with make(game, plays=False, **how) as cpu, make(game, **how) as gpu:
        check(story(gpu, 4), story(cpu, 4))


@long_only
def test_behind_a_barrier_envs_are_closed_and_started_afresh(make, folders, mode):
    """As a checkpoint does it: what goes on, and what is resumed from it, is the same run."""
    told = []
    for plays in False, True:
        with make("target", plays) as first, make("target", plays) as resumed:
            before = story(first, 2)
            resumed.load_state_tensors(first.state_tensors())
            resumed.load_counters(first.counters)
            for trainer in first, resumed:
                trainer.restart_envs(make_envs(folders["target"], 64, seed=9))
            told.append((before, story(first, 3), story(resumed, 3)))
    (_, want, _), (_, got, again) = told
    check(got, want)
    check(again, want)


@pytest.mark.skipif(HAS_DRIVER, reason="the emulated device counts")
def test_the_host_waits_once_a_rollout_and_nothing_is_allocated(make, folders):
    for how in dict(slices=4), dict(slices=4, gpus=[0, 0]):
        trainer = make("target", prio_alpha=0.0, replay_ratio=1.0, **how)
        gpus, ticks, minibatches = len(trainer.gpus), 50, 4
        run(trainer, 3)
        before, taken = count(), trainer.stats()["allocations"]
        run(trainer, 2)
        made = {name: now - before[name] for name, now in count().items()}
        assert made.pop("replays") >= 2 * (4 * (ticks + 1) + minibatches)
        assert made == {"allocations": 0, "waits": 2 * (gpus + gpus)}       # and for the update
        trainer.restart_envs(make_envs(folders["target"], 64, 4, seed=9))
        run(trainer, 3)                             # graphs are made anew, memory is not
        assert trainer.stats()["allocations"] == taken


@pytest.mark.skipif(HAS_DRIVER, reason="the emulated device counts")
@pytest.mark.parametrize("plays", [True, False])
def test_where_agents_come_and_go_an_update_waits_once_for_their_number(make, plays, monkeypatch):
    monkeypatch.setitem(CHANGED, "inn", {"limit": 10**6})       # nobody is cut off
    with make("inn", plays, slices=4, gpus=[0, 0]) as trainer:
        run(trainer, 3)
        before, gpus, ticks = count(), 2, 50
        run(trainer, 2)
        made = {name: now - before[name] for name, now in count().items()}
        rollout = gpus if plays else 4 * (ticks + 1)
        assert made.pop("replays") > 2 * 4 * (ticks + 1)
        assert made == {"allocations": 0, "waits": 2 * (rollout + gpus + gpus)}


def test_kernels_of_the_program_are_timed(make):
    with make("target", timed=True) as trainer:
        run(trainer, 2)
        kernels, memory = trainer.kernels(), trainer.gpu()["used"]
    with make("target", plays=False) as other:
        run(other, 1)
        assert memory > other.gpu()["used"] and not other.gpu()["envs_on_gpu"]
    assert kernels["envs_step"]["calls"] == 2 * 2 * 50 and kernels["envs_step"]["seconds"] > 0
    assert kernels["envs_log"]["calls"] == 2 * 2 and "puffer_envs_step" not in kernels


# ---- what goes wrong -----------------------------------------------------------------------------

FAULTS = """
    switch (env->fault) {
    case 1: if (env->tick == 1 && env->rng % 3 == 0) abort(); break;
    case 2: assert(env->tick < 3); break;
    case 3: exit(1);
    case 4: if (env->tick == 2) env->rewards[0] = (float)NAN; break;
    case 5: if (env->tick == 5) broken = 1; break;
    case 6: *(int*)(long)env->fault = 1; break;
    case 7: if (env->tick == 4) for (;;); break;
    case 8: env->memory = malloc(8 << 20); break;
    case 9: broken = deep(env, 3) < 0; break;
    }
"""
START = """
    if (env->fault == 11) env->num_agents = 2;
    if (env->fault == 12) env->memory = malloc((size_t)5 << 30);
    if (env->fault == 13) for (;;);
"""
DEEP = """
#ifdef PUFFER_DEVICE
static int deep(Probe* env, int more) {
    return more ? deep(env, more - 1) + env->tick : env->tick;
}
#endif
"""
HORIZON = 6


@pytest.fixture(scope="module")
def faulty(tmp_path_factory):
    """An env that does what [env] fault says, on the GPU alone: the CPU's are good"""
    text, folder = PROBE, tmp_path_factory.mktemp("faulty") / "probe"
    for old, new in (
            ('#include "raylib.h"\n', "#include <assert.h>\n#include <math.h>\n"
                                      "#include <stdlib.h>\n"),
            ("    int tick;\n} Probe;\n",
             f"    int tick;\n    int fault;\n    void* memory;\n}} Probe;\n{DEEP}\n"
             f"void init(Probe* env) {{\n    (void)env;\n#ifdef PUFFER_DEVICE{START}#endif\n}}\n"),
            ("    env->tick++;\n", f"    int broken = 0;\n#ifdef PUFFER_DEVICE{FAULTS}#endif\n"
                                   "    env->tick++;\n"),
            ("        env->rewards[a] += env->actions[a];\n",
             "        env->rewards[a] += env->actions[a];\n"
             "        if (broken) env->observations[2 * a] = (float)NAN;\n"),
            ("void c_close(Probe* env) { (void)env; }", "void c_close(Probe* env) "
                                                        "{ free(env->memory); }")):
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    folder.mkdir()
    (folder / "probe.h").write_text(text)
    (folder / "probe.ini").write_text("[env]\nlimit = 9\nfault = 0\nnum_agents = 1\n")
    return folder


@pytest.fixture
def fail(faulty):
    """fail(number) -> a trainer whose env fails so"""
    def fail(number, **settings):
        return make_native(vec=faulty_envs(faulty, number), path="cuda",
                           program=build_program(faulty), **{
                               **SMALL, "horizon": HORIZON, "minibatch_size": 12, **settings})
    return fail


def faulty_envs(folder, number, agents=1) -> vec.VecEnv:
    return vec.VecEnv(opened(folder), total_agents=8, num_buffers=2, env_settings={
        "limit": 9, "fault": number, "num_agents": agents})


def refused(trainer) -> RunError:
    with pytest.raises(RunError) as caught:
        run(trainer, 2)
    return caught.value


ABORTED = "an environment on the GPU called assert, abort or exit"


@pytest.mark.parametrize("number, said", some_or_all([
    (1, ABORTED), (2, ABORTED), (3, ABORTED),
    (11, "an environment's num_agents differs between GPU and CPU"),
    (12, "malloc on the GPU has no memory left: all environments share 40 MiB")], 0, 2))
def test_a_fault_names_the_first_env_that_has_it(fail, number, said, faulty, monkeypatch, mode):
    monkeypatch.setenv("PUFFER_CUDA_EMULATED_MEMORY", str(160 << 20))
    if HAS_DRIVER and number == 12:
        said = "malloc on the GPU has no memory left"
    with fail(number) as trainer:
        error = refused(trainer)
        first = 0 if number != 1 else next(e for e in range(8) if seeds.mix_seed(0, e) % 3 == 0)
        when = "step 1 to 6" if number < 10 else "in init or reset"
        assert error.message.startswith(said)
        assert error.where == f"env {first}, seed {seeds.mix_seed(0, first)}, {when}"
        assert error.hint and trainer.global_step == 0
        assert refused(trainer).message == error.message        # it stays so,
        trainer.restart_envs(faulty_envs(faulty, 0))
        run(trainer, 2)                                         # until other envs come


@pytest.mark.skipif(HAS_DRIVER, reason="a GPU has more memory than this takes")
def test_memory_that_is_never_freed_runs_out_in_a_step(fail, monkeypatch):
    monkeypatch.setenv("PUFFER_CUDA_EMULATED_MEMORY", str(160 << 20))
    with fail(8) as trainer:
        error = refused(trainer)
        assert error.message.startswith("malloc on the GPU has no memory left")
        assert error.where.endswith("step 1 to 6")
        assert error.hint == "free what c_reset and c_step allocate, or lower vec.total_agents"


def test_bad_numbers_are_told_as_the_cpus_are(fail, mode):
    with fail(4) as trainer:
        error = refused(trainer)
        assert error.message == "rewards not finite: nan at [0] of [8]"
        assert re.fullmatch(r"env 0, seed \d+, tick 2", error.where)
    with fail(5) as trainer:                        # behind the last tick: fetched to be looked at
        error = refused(trainer)
        assert error.message == "observations not finite: nan at [0, 0] of [8, 2]"
        assert error.where.endswith(f", tick {HORIZON}")


def test_what_stops_a_gpu_has_a_hint(fail):
    with fail(0) as trainer:
        run(trainer, 1)
        handle = trainer._handle
        handle.error.kind = handle.lib.PUFFER_TRAINER_GPU_STOPPED
        assert handle.envs_on_gpu
        assert "--vec.device cpu" in failure(handle.error, handle.act_sizes, envs_on_gpu=True).hint
        assert failure(handle.error, handle.act_sizes, envs_on_gpu=False).hint is None


def test_an_env_that_recurses_gets_a_stack_of_what_memory_is_left(fail, make, monkeypatch):
    with make("target") as trainer:
        run(trainer, 1)
        assert trainer.gpu()["stack"] == 0 == trainer._handle.stack()
    with fail(9) as trainer:
        run(trainer, 1)
        handle, stack = trainer._handle, trainer.gpu()["stack"]
        assert stack == handle.stack() == 64 << 10 or HAS_DRIVER and stack > 1024
        handle.error.kind = handle.lib.PUFFER_TRAINER_GPU_STOPPED
        assert failure(handle.error, handle.act_sizes, envs_on_gpu=True, stack=stack
                       ).hint.startswith(f"a recursion deeper than its {stack >> 10} KiB of stack")
    if not HAS_DRIVER:
        monkeypatch.setenv("PUFFER_CUDA_EMULATED_MEMORY", str(160 << 20))
        with fail(9) as trainer:
            run(trainer, 1)
            assert trainer.gpu()["stack"] == 3 << 10    # 120 MiB without a heap, 4,096 threads


def test_a_program_of_another_environment_is_refused(make, folders):
    with make("pendulum", plays=False) as trainer:
        trainer.program = build_program(folders["squared"])
        error = refused(trainer)
        assert error.message.startswith("the program for the GPU is of another environment: 1 byt")
        assert error.where == str(trainer.program)
        trainer.program = trainer.vec.library.path  # the environment, but for the CPU
        if not HAS_DRIVER:
            error = refused(trainer)
            assert error.message == "the program has no kernel puffer_envs_facts"
        trainer.program = build_program(folders["pendulum"])
        run(trainer, 1)
        assert trainer.gpu()["envs_on_gpu"]
        trainer.program = None
        trainer.restart_envs(make_envs(folders["pendulum"]))
        run(trainer, 1)                             # and on the CPU again
        assert not trainer.gpu()["envs_on_gpu"]


def test_more_envs_than_before_get_more_room(faulty):
    """The same agents may be other envs: fewer of them each, say."""
    told, allocations = [], []
    for program in None, build_program(faulty):
        with make_native(vec=faulty_envs(faulty, 0, agents=2), path="cuda", program=program,
                         **{**SMALL, "horizon": HORIZON, "minibatch_size": 12}) as trainer:
            for agents in 2, 4, 2, 1, 2:            # of an env
                trainer.restart_envs(faulty_envs(faulty, 0, agents))
                told.append(story(trainer, 2))
                allocations.append(trainer.stats()["allocations"])
    for want, got in zip(told[:5], told[5:], strict=True):
        check(got, want)
    assert np.diff(allocations[5:]).tolist() == [0, 0, 2, 0]        # pinned, and the GPU's


@pytest.mark.skipif(HAS_DRIVER, reason="the emulated device has as little memory as it is told")
def test_envs_that_are_too_large_for_the_gpu(fail, monkeypatch):
    with fail(0) as trainer:
        used = trainer.gpu()["used"]
    monkeypatch.setenv("PUFFER_CUDA_EMULATED_MEMORY", str(used * 4 // 3 + 3000))  # and a heap
    with fail(0) as trainer:
        error = refused(trainer)
    assert error.message.startswith("this takes 0 MiB of GPU memory")
    assert "vec.total_agents" in error.hint


def test_envs_that_cannot_play_on_a_gpu_are_refused(folders):
    played = SimpleNamespace(device="cuda", num_threads=1)
    for envs, device, said in ((FakeVec((3,), 8, 4), "cuda", "are compiled C, in a VecEnv"),
                               (make_envs(folders["squared"]), "cpu", "need the trainer there")):
        wanted = settings(**{**SMALL, "minibatch_size": 100})
        wanted.vec = played
        with pytest.raises(UsageError, match=f"environments on a GPU {said}"):
            NativePPO(envs, wanted, device=device)
    with pytest.raises(UsageError, match="need the trainer there"):
        NativePPO(make_envs(folders["squared"]), settings(**SMALL), program=Path("x.so"))
    rain = SPECIMENS / "ocean" / "rain"
    with pytest.raises(BuildError, match="MY_VEC_STEP_RANGE cannot be compiled for a GPU"):
        backends.require(config.resolve(rain, {"vec.device": "cuda"}), rain)


# ---- the command line ----------------------------------------------------------------------------

SHORT = ["--train.total-timesteps", "6000", "--vec.total-agents", "64", "--train.horizon", "16",
         "--train.minibatch-size", "512", "--policy.hidden-size", "16", "--eval.goal", "",
         "--base.checkpoint-interval", "3"]


def trained(folder) -> tuple[list, dict]:
    """The metrics of the run in there without times, and the last checkpoint's tensors"""
    rows = [json.loads(line) for line in
            next(folder.rglob("metrics.jsonl")).read_text().splitlines()]
    last = sorted(folder.rglob("*.safetensors"))[-1]
    return ([{name: value for name, value in row.items()
              if not name.startswith("time/") and name not in ("seconds", "cpu", "sps")}
             for row in rows],
            {name: array.tobytes() for name, array in checkpoint.load(last).tensors.items()})


def test_train_with_environments_on_the_gpu(target, tmp_path):
    """Checkpoints in between, a resume: what the CPU's environments would have made."""
    for where, device in ("cpu", "train"), ("cuda", "vec"):
        runs, wanted = tmp_path / where, dict(zip(SHORT[::2], SHORT[1::2], strict=True))
        wanted = {name[2:].replace("-", "_"): value for name, value in wanted.items()}
        train.train(target, {**wanted, f"{device}.device": "cuda"}, runs_dir=runs)
        train.train(target, {"train.total_timesteps": 9000}, runs_dir=runs, resume="latest")
    want, got = (trained(tmp_path / where) for where in ("cpu", "cuda"))
    assert ROUNDS or got == want
    assert len(got[0]) == 8 and any("env/score" in row for row in got[0])


@pytest.mark.skipif(HAS_DRIVER, reason="a GPU goes on behind a fault of this kind")
def test_an_environment_that_crashes_on_the_gpu_is_an_error(faulty, tmp_path):
    done = puffer("train", faulty, *SHORT, "--runs-dir", tmp_path, "--vec.device", "cuda",
                  "--env.fault", "6", status=4)
    assert ("the environment failed in c_step: SIGSEGV (on the GPU, in the rollout that begins "
            "with step 1)") in done.stderr


def test_an_assert_that_fails_is_shown(faulty, tmp_path):
    done = puffer("train", faulty, *SHORT, "--runs-dir", tmp_path, "--vec.device", "cuda",
                  "--env.fault", "2", status=4)
    assert "an environment on the GPU called assert, abort or exit" in done.stderr
    assert "probe.h:" in done.stderr and "Assertion `env->tick < 3' failed." in done.stderr


@long_only
@pytest.mark.skipif(HAS_DRIVER, reason="NVRTC may take such a loop for one that ends")
@pytest.mark.parametrize("fault, phase", some_or_all([(7, "c_step"), (13, "c_reset")], 0))
def test_an_environment_that_never_returns_is_noticed(faulty, tmp_path, fault, phase):
    done = puffer("train", faulty, *SHORT, "--runs-dir", tmp_path, "--vec.device", "cuda",
                  "--vec.step-timeout", "1", "--env.fault", fault, status=4)
    assert f"the environment failed in {phase}: no return for 1 seconds (on the GPU" in done.stderr


@long_only
def test_what_commands_say_of_environments_on_the_gpu(target, tmp_path):
    done = puffer("profile", target, *SHORT[2:10], "--seconds", "0.5", "--vec.device", "cuda",
                  "--format", "json")
    found = json.loads(done.stdout)
    assert found["gpu"]["envs_on_gpu"]
    assert "envs_step" in [each["name"] for each in found["kernels"]]
    done = puffer("train", target, *SHORT, "--runs-dir", tmp_path, "--vec.device", "cuda")
    assert HAS_DRIVER or "on an emulated GPU, environments too (PUFFER_CUDA=" in done.stderr


@pytest.mark.parametrize("changes", [{"train.device": "cpu"}, {"train.backend": "torch"}], ids=str)
def test_settings_that_contradict_are_refused(target, changes):
    with pytest.raises(UsageError, match="environments on a GPU need the native trainer") as caught:
        config.resolve(target, {"vec.device": "cuda", **changes})
    assert caught.value.where == "command line, --vec.device"
    assert config.resolve(target, {"vec.device": "cuda"}).train.device == "cuda"


@pytest.mark.skipif(HAS_DRIVER, reason="there is a GPU")
def test_without_a_gpu_the_reason_is_said(target, tmp_path):
    done = puffer("train", target, *SHORT, "--runs-dir", tmp_path, "--vec.device", "cuda",
                  env={"PUFFER_CUDA": ""}, status=2)
    assert "cannot train on a GPU: no NVIDIA driver" in done.stderr
    assert "vec.device cuda" in done.stderr
    hint = "--train.device cpu --vec.device cpu"
    assert hint in done.stderr and "--train.gpus" not in done.stderr
    puffer("train", target, *SHORT, "--runs-dir", tmp_path, "--vec.device", "cuda", *hint.split(),
           env={"PUFFER_CUDA": ""})
