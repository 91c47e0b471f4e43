"""Several GPUs share a run: the same rollouts, the same updates, the same weights on each.

The ranks of these tests are one GPU, opened several times; what another GPU would change is how
their pieces travel. Without a driver it is the emulated one.
"""
import json
import os
import subprocess
import sys
from functools import cache

import numpy as np
import pytest
from helpers.cuda_calls import HAS_DRIVER, ROUNDS
from helpers.cuda_trainer import count, puffer
from helpers.native_fixtures import BUFFERS, as_bytes, distance, make_native, run
from helpers.places import SPECIMENS, TESTS
from helpers.ppo_fixtures import FakeVec, one_thread  # noqa: F401   one_thread is a fixture
from helpers.short_or_long import long_only, some_or_all

from puffer_sdk.base.errors import RunError, UsageError
from puffer_sdk.env import library, open_env, vec
from puffer_sdk.settings import config

SMALL = dict(hidden_size=20, num_layers=2, horizon=6, minibatch_size=6 * 16, total_timesteps=10**5,
             learning_rate=0.02)
CASES = {                               # agents in 4 slices, and what is special
    "target": (64, dict(prio_alpha=0.8, replay_ratio=1.5)),         # two heads, agents together
    "pendulum": (32, dict(prio_alpha=0.0, norm_adv=0, reward_clip=0.5)),    # continuous, truncated
    "nim": (64, dict(prio_alpha=0.8, obs_scale="0.25", reset_state=1)),  # bytes, masks
    "inn": (64, dict(prio_alpha=0.8, replay_ratio=1.5)),            # variable number of agents
}


@cache
def opened(folder) -> library.Library:
    return open_env.load(folder)


@pytest.fixture
def make(games):
    """make(game, **settings) -> a trainer over that game's envs"""
    def make(game, agents=None, slices=4, **changes):
        kept = SPECIMENS / ("device_envs" if game == "inn" else "ocean") / game
        folder = games.get(game, kept)
        agents = agents or CASES[game][0]
        envs = vec.VecEnv(opened(folder), env_settings=config.resolve(folder).env, seed=3,
                          total_agents=agents, num_buffers=slices, threads=2)
        return make_native(vec=envs, **{**SMALL, **CASES[game][1], **changes})
    return make


def dealt(random, trainer, gpus: int, minibatches: int):
    """Segments for a replay: the same number of each rank's agents, one rank behind another."""
    size, each = trainer.settings.minibatch_size // trainer.horizon, trainer.agents // gpus
    rows = random.integers(0, each, (minibatches, gpus, size // gpus))
    rows += np.arange(gpus)[:, None] * each
    return rows.reshape(minibatches, size), np.float32(0.5 + random.random((minibatches, size)))


def segments_of(rollout) -> np.ndarray:
    """Those in which somebody lived."""
    return np.flatnonzero(rollout["live"].any(1))


# ---- the same as one -----------------------------------------------------------------------------

@pytest.mark.parametrize("game", CASES)
@pytest.mark.parametrize("gpus", [2, 4])
def test_rollouts_and_updates_are_those_of_one_trainer(make, game, gpus, mode):
    """The CPU's trainer, handed the segments that the ranks learn from."""
    cpu, gpu = make(game, path="generic"), make(game, path="cuda", gpus=[0] * gpus, threads=2)
    random = np.random.default_rng(1)
    for _ in range(3):
        cpu.rollout()
        gpu.rollout()
        want, got = cpu.rollout_tensors, gpu.rollout_tensors
        if ROUNDS:          # its exp and sin round otherwise, and so do continuous actions
            np.testing.assert_allclose(got["obs"].astype(float), want["obs"].astype(float),
                                       rtol=0, atol=1e-3 if game == "pendulum" else 0)
        for name in (set(BUFFERS) & set(want)) if not ROUNDS else ():
            np.testing.assert_array_equal(got[name], want[name], name)
        living = len(segments_of(want)) if "live" in want else cpu.agents
        minibatches = int(cpu.settings.replay_ratio * living / 16 + cpu.minibatch_carry)
        picks = dealt(random, cpu, gpus, minibatches)
        for trainer in (cpu, gpu):
            trainer.replay(*picks)
        want, got = cpu.update(), gpu.update()
        assert got == pytest.approx(want, rel=1e-4, abs=1e-5)
        for name, value in cpu.state_tensors().items():
            # steps have one size even where there is hardly a gradient: rounding shows
            assert distance(gpu.state_tensors()[name], value) < 2e-3, name
        assert gpu.counters == cpu.counters
        gpu.load_state_tensors(cpu.state_tensors())


@pytest.mark.parametrize("changes", [{}, {"async_": True}, {"precision": "bf16"}], ids=str)
def test_the_same_seed_gives_the_same_weights(make, changes, mode):
    states = []
    for gpus, seed in ((2, 1), (2, 1), (2, 2), (1, 1)):
        trainer = make("target", path="cuda", gpus=[0] * gpus, seed=seed, **changes)
        run(trainer, 3)
        states.append({**as_bytes(trainer), "log": json.dumps(trainer.vec.log())})
        trainer.close()
    first, again, other, alone = states
    assert first == again != other and first != alone       # one GPU picks among all segments


def test_each_rank_picks_among_its_own(make):
    """Drawn by what its own advantages are, and dealt once a epoch_pass."""
    drawn, alone = make("target", path="cuda", gpus=[0, 0]), make("target", path="cuda", gpus=[0])
    for trainer in (drawn, alone):
        trainer.rollout()
    advantages = np.ones_like(drawn.advantages())
    advantages[:32] *= np.arange(1, 33)[:, None]            # the first rank's differ
    rows, q = drawn.pick(advantages, 1)
    assert (rows[:8] < 32).all() and (rows[8:] >= 32).all()
    assert np.allclose(q[8:], 1, atol=1e-5) and len(set(q[:8])) > 3
    whole, _ = alone.pick(np.ones_like(advantages), 1)
    assert not (whole[8:] >= 32).all()                      # for one, all are its own
    dealt = make("pendulum", path="cuda", gpus=[0, 0])
    dealt.rollout()
    rows = np.concatenate([dealt.pick(advantages[:32], number)[0] for number in range(2)])
    assert sorted(rows) == list(range(32))
    first, second = rows.reshape(2, 2, 8)[:, 0], rows.reshape(2, 2, 8)[:, 1] - 16
    assert (first != second).any()                          # each rank's own order


@pytest.mark.parametrize("alpha", [0.8, 0.0])
@pytest.mark.parametrize("deserted", [False, True])
def test_each_rank_learns_from_those_of_its_agents_that_live(make, alpha, deserted):
    """Where none of a rank's do, it adds nothing to a minibatch, which the others fill."""
    settings = dict(prio_alpha=alpha, replay_ratio=1.2)
    cpu, gpu = make("inn", path="generic", **settings), make("inn", path="cuda", gpus=[0, 0],
                                                             **settings)
    for trainer in cpu, gpu:
        run(trainer, 1)
    gpu.load_state_tensors(cpu.state_tensors())
    gpu.load_counters(cpu.counters)
    for trainer in cpu, gpu:
        trainer.rollout()
        if deserted:
            trainer.rollout_tensors["live"][32:] = 0
            trainer.touch()
    living = segments_of(gpu.rollout_tensors)
    minibatches = int(1.2 * len(living) / 16 + cpu.minibatch_carry)
    picks = [np.stack(each) for each in zip(*(gpu.pick(gpu.advantages(), number)
                                              for number in range(minibatches)))]
    assert minibatches > 0 and 5 < len(living) < (32 if deserted else 64)
    rows = picks[0][:, :8] if deserted else picks[0]
    assert np.isin(rows, living).all() and (picks[0][:, 8:] >= 32).all()
    for trainer in (cpu, gpu) if alpha else (cpu,):     # orders are the same without advantages
        trainer.replay(*picks)
    want, got = cpu.update(), gpu.update()
    assert got == pytest.approx(want, rel=1e-4, abs=1e-5) and gpu.counters == cpu.counters
    for name, value in cpu.state_tensors().items():
        assert distance(gpu.state_tensors()[name], value) < 2e-3, name


def test_a_lap_of_two_ranks_is_learned_as_a_lap_of_one(make):
    """All segments in one minibatch, none weighted: who dealt them makes no difference."""
    states = []
    for gpus in (1, 2, 4):
        trainer = make("pendulum", path="cuda", gpus=[0] * gpus, minibatch_size=6 * 32, norm_adv=1)
        metrics = run(trainer, 2)
        states.append((trainer.state_tensors(), metrics))
    for state, metrics in states[1:]:
        assert metrics == pytest.approx(states[0][1], rel=1e-3, abs=1e-5)
        for name, value in states[0][0].items():
            assert distance(state[name], value) < 1e-4, name


def test_checkpoints_move_between_any_numbers_of_gpus(make):
    start = make("target", path="cuda", gpus=[0] * 4)
    run(start, 2)
    after = []
    for gpus in (1, 2, 4):
        trainer = make("target", path="cuda", gpus=[0] * gpus)
        trainer.load_state_tensors(start.state_tensors())
        trainer.load_counters(start.counters)
        trainer.rollout()
        after.append({name: trainer.rollout_tensors[name].tobytes() for name in BUFFERS
                      if name in trainer.rollout_tensors})
    assert ROUNDS or after[0] == after[1] == after[2]


@pytest.mark.skipif(HAS_DRIVER, reason="the emulated device counts")
def test_after_the_warm_up_nothing_is_allocated_and_each_slice_is_waited_for_once_a_tick(make):
    trainer = make("pendulum", path="cuda", gpus=[0, 0])
    run(trainer, 3)
    before = count()
    run(trainer, 2)
    made = {name: now - before[name] for name, now in count().items()}
    slices, ticks, minibatches, gpus = 4, 6 + 1, 2, 2
    assert made == {"allocations": 0, "waits": 2 * (slices * ticks + gpus),
                    "replays": 2 * (slices * ticks + gpus * 3 * minibatches)}


# ---- what is refused -----------------------------------------------------------------------------

def test_what_cannot_be_shared_is_refused(make):
    for changes, text in (
            (dict(slices=1), "1 slices cannot be dealt to 2 GPUs"),
            (dict(minibatch_size=6 * 15), "a minibatch of 15 segments cannot be dealt to 2 GPUs")):
        with pytest.raises(UsageError, match=text):
            make("pendulum", path="cuda", gpus=[0, 0], **changes)
    with pytest.raises(UsageError, match="1 slices cannot be dealt"):       # envs in Python
        make_native(vec=FakeVec((3,), 8, 5), path="cuda", gpus=[0, 0], minibatch_size=14)
    with pytest.raises(UsageError, match="too many GPUs"):
        make("target", path="cuda", gpus=[0] * 17)
    with pytest.raises(UsageError, match="there is no (device|GPU) 99"):
        make("target", path="cuda", gpus=[0, 99])
    trainer = make("pendulum", path="cuda", gpus=[0, 0])
    with pytest.raises(UsageError, match="belong to another GPU's agents") as caught:
        trainer.replay(np.zeros((1, 16)), np.ones((1, 16)))
    assert "8 segments of each GPU's 16 agents" in caught.value.expected


def test_a_bad_number_names_the_right_agent(make):
    """The agent is one of the second rank's."""
    trainer = make("pendulum", path="cuda", gpus=[0, 0])
    run(trainer, 1)
    trainer.rollout()
    trainer.rollout_tensors["rewards"][27, 3] = np.nan
    trainer.touch()
    with pytest.raises(RunError, match="not finite|not finite"):
        trainer.update()
    bad = make("pendulum", path="cuda", gpus=[0, 0])
    bad.rollout()
    bad.vec.observations[27] = np.inf
    with pytest.raises(RunError, match="observations") as caught:
        bad.rollout()
    assert "27" in f"{caught.value} {caught.value.where}"


# ---- the command line ----------------------------------------------------------------------------

SHORT = ["--train.total-timesteps", "3000", "--vec.total-agents", "64", "--train.horizon", "16",
         "--policy.hidden-size", "16", "--eval.goal", "", "--train.device", "cuda",
         "--train.minibatch-size", "512"]


@pytest.mark.skipif(HAS_DRIVER, reason="a machine has as many GPUs as it has")
def test_train_on_two_gpus(target, tmp_path):
    two = {"PUFFER_CUDA_EMULATED_GPUS": "2"}
    words = ["train", target, *SHORT, "--runs-dir", tmp_path / "runs", "--train.gpus"]
    done = puffer(*words, "2", env=two)
    assert "on 2 emulated GPUs (PUFFER_CUDA=emulated)" in done.stderr
    saved = next((tmp_path / "runs").rglob("config.ini")).read_text()
    assert "num_buffers = 4" in saved and "one slice on each GPU steps" in saved
    done = puffer(*words, "4", env=two, status=2)
    assert "train.gpus requires 4 GPUs, and there are 2" in done.stderr
    assert "Traceback" not in done.stderr
    done = puffer(*words, "2", env={"PUFFER_CUDA_EMULATED_GPUS": "two"}, status=2)
    assert "expected 1 or more, got 'two'" in done.stderr and "Traceback" not in done.stderr


@pytest.mark.parametrize("words, text", some_or_all([
    (["--train.device", "cpu"], "2 GPUs need the native trainer on a GPU"),
    (["--train.gpus", "3"], "num_buffers = 6 and total_agents = 66 work"),
    (["--vec.num-buffers", "1"],
     "num_buffers = 1 and total_agents = 64 cannot be divided among 2 GPUs"),
    (["--train.minibatch-size", "48"], "minibatch_size = 48 cannot be shared by 2 GPUs"),
], 0, 2))
def test_settings_that_do_not_fit_are_refused(target, tmp_path, words, text):
    done = puffer("train", target, *SHORT, "--runs-dir", tmp_path, "--train.gpus", "2", *words,
                  status=2)
    assert text in done.stderr and "hint" in done.stderr


@long_only
@pytest.mark.skipif(HAS_DRIVER, reason="a machine has as many GPUs as it has")
def test_profile_says_how_many_gpus_it_measured(target):
    done = puffer("profile", target, *SHORT[2:-4], "--train.device", "cuda", "--train.gpus", "2",
                  "--train.minibatch-size", "512", "--seconds", "0.5",
                  env={"PUFFER_CUDA_EMULATED_GPUS": "2"})
    assert "2 x emulated on the CPU" in done.stdout and "timed by itself, on the first GPU" \
        in done.stdout


CLOSE = """
import os, sys
sys.path.insert(0, {tests!r})
from helpers.native_fixtures import make_native, run
from puffer_sdk.env import open_env, vec
from puffer_sdk.settings import config
envs = vec.VecEnv(open_env.load({folder!r}), env_settings=config.resolve({folder!r}).env, seed=3,
                  total_agents=32, num_buffers=4)
trainer = make_native(vec=envs, path="cuda", gpus=[0, 0], async_=True, horizon=6,
                      minibatch_size=96, hidden_size=20)
run(trainer, 2)
trainer.close()
print("closed")
"""


@long_only
def test_ranks_end_together_while_they_learn(games, mode):
    """The last update is under way: one rank's memory is not given back before the others read."""
    words = CLOSE.format(tests=str(TESTS), folder=str(games["pendulum"]))
    done = subprocess.run([sys.executable, "-c", words], capture_output=True, text=True,
                          env=os.environ)
    assert (done.returncode, done.stdout) == (0, "closed\n"), done.stderr
