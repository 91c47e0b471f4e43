"""The native trainer as Python sees it: memory, errors, envs of every kind, acting."""
import gc
import math
from types import SimpleNamespace

import numpy as np
import pytest

import puffer_sdk
from puffer_sdk.base.errors import RunError, UsageError
from puffer_sdk.settings import config
from puffer_sdk.training.native import handle, trainer_library
from puffer_sdk.training.native.actor import NativeActor
from puffer_sdk.training.native.native_ppo import NativePPO
from puffer_sdk.training.schedules import LOSSES

SIZES = {"vec.total_agents": 32, "train.horizon": 8, "train.minibatch_size": 64,
         "policy.hidden_size": 16, "policy.num_layers": 2, "vec.num_threads": 2,
         "train.total_timesteps": 32 * 8 * 4}


@pytest.fixture
def settings(squared):
    def make(**changes):
        return config.resolve(squared, {**SIZES, **{
            name.replace("__", "."): value for name, value in changes.items()}})
    return make


@pytest.fixture
def envs(squared):
    made = []

    def make(seed=3, agents=32, **options):
        made.append(puffer_sdk.make(squared, num_envs=agents, seed=seed, **options))
        return made[-1]

    yield make
    for vec in made:
        vec.close()


def learn(trainer, epochs: int):
    for _ in range(epochs):
        trainer.rollout()
        losses = trainer.update()
    return losses


def same(one: dict, other: dict) -> bool:
    return set(one) == set(other) and all(np.array_equal(one[name], other[name]) for name in one)


class Plain:
    """A VecEnv as Python code steps it: what is not a VecEnv is called every tick."""

    def __init__(self, vec):
        self.vec = vec

    def __getattr__(self, name):
        return getattr(self.vec, name)


# -- the loop -------------------------------------------------------------------------------------


def test_metrics_counters_and_schedule(envs, settings):
    with NativePPO(envs(), settings(train__learning_rate=0.5,
                                    train__target_kl=0)) as trainer:
        assert (trainer.agents, trainer.horizon, trainer.batch_size) == (32, 8, 256)
        assert (trainer.total_epochs, trainer.epoch, trainer.finished) == (4, 0, False)
        rates = []
        while not trainer.finished:
            rates.append(trainer.learning_rate)
            metrics = learn(trainer, 1)
            assert metrics["train/learning_rate"] == rates[-1]
        assert rates[0] == 0.5 and rates == sorted(rates, reverse=True)
        assert set(metrics) == {"train/learning_rate", "train/ent_coef", "train/reward_clipped",
                                "loss/explained_variance", "loss/grad_norm",
                                *(f"loss/{name}" for name in LOSSES)}
        assert trainer.counters.items() >= {"epoch": 4, "global_step": 1024, "minibatch_carry": 0.0,
                                            "optimizer_steps": 16}.items()
        assert trainer.vec.ticks == 32 and trainer.progress == 1.0


def test_an_update_without_a_minibatch_has_no_losses(envs, settings):
    with NativePPO(envs(), settings(train__replay_ratio=0.125)) as trainer:
        assert set(learn(trainer, 1)) == {"train/learning_rate", "train/ent_coef",
                                          "train/reward_clipped"}
        assert trainer.minibatch_carry == 0.5
        assert "loss/policy" in learn(trainer, 1)


@pytest.mark.parametrize("ratio, each", [(0.125, 1), (1.4, 5)])
def test_without_a_carry_an_epoch_has_whole_minibatches(envs, settings, ratio, each):
    with NativePPO(envs(), settings(train__replay_ratio=ratio,
                                    train__minibatch_carry=False)) as trainer:
        learn(trainer, 2)
        assert trainer.counters.items() >= {"epoch": 2, "global_step": 512, "minibatch_carry": 0.0,
                                            "optimizer_steps": 2 * each}.items()


def test_timers_and_stats_add_up(envs, settings):
    with NativePPO(envs(agents=256), settings(vec__total_agents=256)) as trainer:
        learn(trainer, 3)
        timers = trainer.take_timers()
        assert set(timers) == {"env", "forward", "train"} and min(timers.values()) > 0
        stats = trainer.stats()
        assert 0 < stats["update"] <= timers["train"]       # what Python adds may be a lot
        assert timers["env"] + timers["forward"] >= stats["rollout"]
        assert sum(stats["seconds"].values()) <= 1.2 * stats["threads"] * (
            stats["rollout"] + stats["update"])
        assert stats["threads"] == 2 and stats["path"] in trainer_library.available_paths()
        again = trainer.stats()
        assert again["rollout"] == again["update"] == 0 and not any(again["seconds"].values())
        assert trainer.take_timers() == {"env": 0, "forward": 0, "train": 0}


def test_envs_stepped_from_python_give_the_same_bytes(envs, settings):
    with NativePPO(envs(), settings()) as one, NativePPO(Plain(envs()), settings()) as other:
        learn(one, 3)
        learn(other, 3)
        assert same(one.state_tensors(), other.state_tensors())
        assert other.vec.ticks == 24


def test_what_an_env_in_python_raises_comes_out(envs, settings):
    vec = Plain(envs())
    with NativePPO(vec, settings()) as trainer:
        trainer.rollout()
        vec.step = lambda: 1 / 0
        with pytest.raises(ZeroDivisionError):
            trainer.rollout()
        assert trainer.counters["global_step"] == 256       # no more than was played
        del vec.step
        trainer.rollout()
        assert trainer.counters["global_step"] == 512


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, SystemExit])
def test_what_an_env_raises_comes_before_what_it_left_behind(error, envs, settings):
    vec, calls = Plain(envs()), []

    def step():
        calls.append(len(calls))
        vec.vec.rewards[:] = np.nan
        if len(calls) < 3:
            raise error("mine")
        vec.vec.step()

    vec.step = step
    with NativePPO(vec, settings()) as trainer:
        for _ in range(2):
            with pytest.raises(error, match="mine"):
                trainer.rollout()
            assert trainer.global_step == 0
        trainer.rollout()
        assert trainer.global_step == 256 and len(calls) == 10
        assert np.isfinite(list(trainer.update().values())).all()


def test_a_trainer_after_an_exception_is_as_one_with_fresh_envs(envs, settings):
    vec = Plain(envs())
    with NativePPO(vec, settings()) as one, NativePPO(envs(), settings()) as other:
        vec.step = lambda: 1 / 0
        with pytest.raises(ZeroDivisionError):
            one.rollout()
        one.restart_envs(envs())
        learn(one, 2)
        learn(other, 2)
        assert same(one.state_tensors(), other.state_tensors()) and one.counters == other.counters


def test_ctrl_c_in_a_rollout_leaves_the_books_right(envs, settings, monkeypatch):
    """Python sees the signal once C has returned."""
    vec = envs()
    with NativePPO(vec, settings()) as trainer:
        trainer.rollout()
        call = trainer._handle.call

        def interrupted(name, *args):
            call(name, *args)
            raise KeyboardInterrupt

        with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
            patch.setattr(trainer._handle, "call", interrupted)
            trainer.rollout()
        assert vec.ticks == 16 and trainer.global_step == 512
        learn(trainer, 1)
        assert vec.ticks == 24 and trainer.global_step == 768


def test_state_tensors_and_counters_make_another_trainer_the_same(envs, settings):
    with NativePPO(envs(), settings()) as one, NativePPO(envs(), settings()) as other:
        learn(one, 2)
        other.load_state_tensors(one.state_tensors())
        other.load_counters(one.counters)
        one.restart_envs(envs(seed=9))
        other.restart_envs(envs(seed=9))
        learn(one, 2)
        learn(other, 2)
        assert same(one.state_tensors(), other.state_tensors()) and one.counters == other.counters
        assert {name.split(".")[0] for name in one.state_tensors()} == {
            "encoder", "layers", "decoder", "muon"}


def test_tensors_that_do_not_fit_are_refused_whole(envs, settings):
    with NativePPO(envs(), settings()) as trainer:
        before = trainer.state_tensors()
        lacking = {name: array + 1 for name, array in before.items() if name != "muon.decoder"}
        with pytest.raises(UsageError, match="no tensor 'muon.decoder'"):
            trainer.load_state_tensors(lacking)
        with pytest.raises(UsageError, match="tensor 'encoder' has the wrong size"):
            trainer.load_state_tensors({**before, "encoder": before["encoder"][1:]})
        assert same(trainer.state_tensors(), before)


# -- memory ---------------------------------------------------------------------------------------


def test_parameters_are_live(envs, settings):
    with NativePPO(envs(), settings()) as trainer:
        weights = trainer.parameters
        assert {name: array.shape for name, array in weights.items()} == {
            "encoder": (16, 121), "layers.0": (48, 16), "layers.1": (48, 16), "decoder": (6, 16)}
        before = weights["layers.0"].copy()
        learn(trainer, 1)
        assert not np.array_equal(weights["layers.0"], before)
        weights["decoder"][...] = 0
        trainer.touch()
        trainer.rollout()
        rollout = trainer.rollout_tensors
        np.testing.assert_allclose(rollout["log_probs"], -math.log(5), rtol=1e-6)
        assert not rollout["values"].any() and rollout["obs"].shape == (32, 8, 121)


def test_arrays_outlive_their_trainer(envs, settings):
    trainer = NativePPO(envs(), settings())
    learn(trainer, 1)
    weights, kept = trainer.parameters["encoder"], trainer.parameters["encoder"].copy()
    trainer.close()
    del trainer
    gc.collect()
    for _ in range(5):
        NativePPO(envs(), settings()).close()
    assert np.array_equal(weights, kept)


def test_a_closed_trainer_and_closed_envs_are_refused(envs, settings):
    vec = envs()
    trainer = NativePPO(vec, settings())
    trainer.rollout()
    vec.close()
    with pytest.raises(UsageError, match="this VecEnv is closed"):
        trainer.rollout()
    trainer.close()
    for use in (trainer.rollout, trainer.update, trainer.state_tensors, lambda: trainer.epoch):
        with pytest.raises(UsageError, match="this trainer is closed"):
            use()


# -- refusals -------------------------------------------------------------------------------------


def test_sizes_that_do_not_fit(envs, settings):
    wrong = settings()
    for size, message in ((12, "not a multiple of the horizon"), (512, "larger than one rollout")):
        train = SimpleNamespace(**{**vars(wrong.train), "minibatch_size": size})
        broken = SimpleNamespace(train=train, policy=wrong.policy, base=wrong.base, vec=wrong.vec)
        with pytest.raises(UsageError, match=message):
            NativePPO(envs(), broken)


@pytest.mark.parametrize(("options", "message"), [
    ({"agents": 31}, "another number of agents"),
    ({"env_settings": {"size": 5}}, "another observation size")])
def test_other_envs_must_fit(envs, settings, options, message):
    with NativePPO(envs(), settings()) as trainer, pytest.raises(UsageError, match=message):
        trainer.restart_envs(envs(**options))


def test_settings_that_only_the_referee_has(envs, settings):
    with pytest.raises(UsageError, match="requires the PyTorch trainer"):
        NativePPO(envs(), settings(policy__torch_class="net.py:Net", train__backend="torch"))
    with pytest.raises(UsageError, match="seed is out of range"):
        NativePPO(envs(), settings(train__seed=2 ** 57))


def test_paths(envs, settings, monkeypatch):
    with pytest.raises(UsageError, match="no path 'avx521'") as caught:
        NativePPO(envs(), settings(), path="avx521")
    assert "avx512" in caught.value.hint
    monkeypatch.setenv("PUFFER_TRAINER_PATH", "generic")
    with NativePPO(envs(), settings()) as trainer:
        assert trainer.stats()["path"] == "generic"
    assert "generic" in trainer_library.available_paths()
    absent = {"avx2", "avx512", "neon"} - set(trainer_library.available_paths())
    for path in absent:
        with pytest.raises(UsageError):
            NativePPO(envs(), settings(), path=path)


def test_bf16_works_or_is_refused(envs, settings):
    wanted = settings(train__precision="bf16")
    if trainer_library.matmul_rate("auto", "bf16", 1, 0.01):
        with NativePPO(envs(), wanted) as trainer:
            assert math.isfinite(learn(trainer, 2)["loss/value"])
    else:
        with pytest.raises(UsageError, match="no bf16") as caught:
            NativePPO(envs(), wanted)
        assert "fp32" in caught.value.hint


@pytest.mark.parametrize(("change", "name", "hint"), [
    (("env->rewards[a] += env->actions[a];",
      "env->rewards[a] = env->tick == 3 ? 0.0f / 0.0f : 1;"), "rewards not finite: nan", "check"),
    (("env->observations[2 * a] = env->tick;",
      "env->observations[2 * a] = env->tick == 3 ? 1.0f / 0.0f : 1;"),
     "observations not finite: inf",
     "check"),
    (("env->rewards[a] += env->actions[a];", "env->rewards[a] = 1e38f;"), "not finite|overflow",
     "learning_rate")])
def test_numbers_that_went_bad_are_named(probe, change, name, hint):
    """A reward of 1e38 is a number; what follows from it is not."""
    folder = probe(change)
    with puffer_sdk.make(folder, num_envs=8) as vec:
        wanted = config.resolve(folder, {"vec.total_agents": 8, "train.horizon": 8,
                                         "train.minibatch_size": 64, "policy.hidden_size": 8})
        with NativePPO(vec, wanted) as trainer, pytest.raises(RunError, match=name) as caught:
            learn(trainer, 3)
    assert hint in caught.value.hint
    assert caught.value.where.split(", ")[-1].split()[0] in ("tick", "epoch")


def test_an_agent_without_a_legal_action_is_named(envs, settings):
    vec = Plain(envs())
    vec.action_mask = np.ones((32, 5), np.uint8)
    vec.action_mask[7] = 0
    refused = pytest.raises(RunError, match="agent 7 has no legal action in head 0")
    with NativePPO(vec, settings()) as trainer, refused as caught:
        trainer.rollout()
    assert "this head's 5" in caught.value.expected and "do nothing" in caught.value.hint


def read_only(array):
    array = array.copy()
    array.flags.writeable = False
    return array


@pytest.mark.parametrize(("name", "make", "message"), [
    ("terminals", lambda a: a.astype(bool), "`terminals` has the wrong type"),
    ("truncations", lambda a: a.astype(np.uint8), "`truncations` has the wrong type"),
    ("rewards", lambda a: a.astype(np.float64), "`rewards` has the wrong type"),
    ("rewards", lambda a: a.astype(">f4"), "`rewards` has the wrong type"),
    ("rewards", lambda a: a[:, None], "`rewards` has the wrong shape"),
    ("rewards", lambda a: a[1:], "`rewards` has the wrong shape"),
    ("rewards", lambda a: np.zeros(64, np.float32)[::2], "`rewards` must be contiguous"),
    ("rewards", lambda a: a.tolist(), "`rewards` must be a NumPy array"),
    ("actions", lambda a: a.astype(np.int64), "`actions` has the wrong type"),
    ("actions", lambda a: a[:, 0], "`actions` has the wrong shape"),
    ("actions", read_only, "`actions` must be writable"),
    ("observations", lambda a: a.astype(np.float64), "`observations` has the wrong type"),
    ("observations", lambda a: a[:, 1:], "`observations` has the wrong shape"),
    ("observations", np.asfortranarray, "`observations` must be contiguous"),
    ("action_mask", lambda a: np.ones((32, 5), np.float32), "`action_mask` has the wrong type"),
    ("action_mask", lambda a: np.ones((32, 4), np.uint8), "`action_mask` has the wrong shape")])
def test_arrays_that_c_would_misread(name, make, message, envs, settings):
    vec = Plain(envs())
    setattr(vec, name, make(getattr(vec, name)))
    with pytest.raises(UsageError, match=message) as caught:
        NativePPO(vec, settings())
    assert caught.value.expected and caught.value.actual


def test_arrays_that_changed_since_are_looked_at_again(envs, settings):
    vec, other = Plain(envs()), Plain(envs())
    with NativePPO(vec, settings()) as trainer:
        other.rewards = np.zeros(32)
        trainer.restart_envs(other)
        with pytest.raises(UsageError, match="`rewards` has the wrong type"):
            trainer.rollout()


def test_masks_of_bools_and_arrays_that_only_the_env_writes_are_fine(envs, settings):
    vec = Plain(envs())
    vec.action_mask = np.ones((32, 5), bool)
    vec.observations = vec.vec.observations.view()
    vec.observations.flags.writeable = False
    with NativePPO(vec, settings()) as trainer:
        learn(trainer, 1)


def test_too_much_memory_is_a_refused_setting(envs, settings):
    with pytest.raises(UsageError, match="memory") as caught:
        NativePPO(envs(), settings(policy__hidden_size=16384, policy__num_layers=64))
    assert "policy.num_layers" in caught.value.hint


def test_threads_follow_the_cores_that_are_granted(monkeypatch):
    monkeypatch.setattr("os.sched_getaffinity", lambda pid: {0, 1, 2}, raising=False)
    assert handle.choose_threads(SimpleNamespace()) == 3
    assert handle.choose_threads(SimpleNamespace(), 5) == 5


# -- picking --------------------------------------------------------------------------------------


def test_segments_can_be_given(envs, settings):
    with NativePPO(envs(), settings()) as one, NativePPO(envs(), settings()) as other:
        one.rollout()
        other.rollout()
        advantages = one.advantages()
        assert advantages.shape == (32, 8) and np.isfinite(advantages).all()
        rows, q = one.pick(advantages)
        assert rows.shape == q.shape == (8,) and rows.min() >= 0 and rows.max() < 32
        other.replay([rows], [q])
        one.replay([rows], [q])
        one.update()
        other.update()
        assert same(one.state_tensors(), other.state_tensors())
        with pytest.raises(UsageError, match="wrong shape"):
            one.replay([rows[1:]], [q[1:]])
        with pytest.raises(UsageError, match="segment does not exist"):
            one.replay([rows * 0 + 32], [q])
        with pytest.raises(UsageError, match="wrong shape"):
            one.pick(advantages[1:])
        with pytest.raises(UsageError, match="minibatch cannot be -1"):
            one.pick(advantages, -1)


# -- acting ---------------------------------------------------------------------------------------


@pytest.fixture
def actor(envs, settings):
    """A trainer that has learned a little, and an actor with its weights and seed."""
    wanted = settings()
    with NativePPO(envs(), wanted) as trainer:
        learn(trainer, 2)
        yield trainer, lambda **options: NativeActor(
            trainer.parameters, wanted, np.uint8, 121, (5,), wanted.train.seed, 32, **options)


def test_an_actor_repeats_the_rollout(actor, envs):
    trainer, make = actor
    trainer.restart_envs(envs(seed=5))
    one = make()
    one.tick = trainer.global_step // 32
    trainer.rollout()
    rollout = trainer.rollout_tensors
    for t in range(8):
        actions, log_probs, values = one.forward(rollout["obs"][:, t])
        assert np.array_equal(actions, rollout["actions"][:, t])
        np.testing.assert_allclose(log_probs, rollout["log_probs"][:, t], atol=1e-5)
        np.testing.assert_allclose(values, rollout["values"][:, t], atol=1e-5)
        one.ended(rollout["ended"][:, t])
    assert one.tick == trainer.global_step // 32


def test_greedy_takes_no_numbers_and_reset_forgets(actor):
    trainer, make = actor
    obs = trainer.rollout_tensors["obs"][:, 0].copy()
    greedy, drawn = make(greedy=True), make()
    first = greedy.act(obs)
    greedy.reset()
    assert np.array_equal(greedy.act(obs), first)
    both = [drawn.act(obs), drawn.act(obs)]
    assert not np.array_equal(*both)
    drawn.reset()
    drawn.tick = 0
    assert np.array_equal(drawn.act(obs), both[0])
    mask = np.zeros((32, 5), np.uint8)
    mask[:, 2] = 1
    assert (drawn.act(obs, mask) == 2).all()


def test_an_actor_refuses_what_does_not_fit(actor):
    _, make = actor
    one = make()
    with pytest.raises(UsageError, match="observations have the wrong shape"):
        one.act(np.zeros((31, 121), np.uint8))
    with pytest.raises(UsageError, match="masks have the wrong shape"):
        one.act(np.zeros((32, 121), np.uint8), np.ones((32, 4), np.uint8))
    for wrong in (np.zeros(31), np.zeros((32, 1)), np.zeros(33, bool)):
        with pytest.raises(UsageError, match="terminals have the wrong shape"):
            one.ended(wrong)
    with pytest.raises(UsageError, match="no tensor 'encoder'"):
        one.load_weights({})
