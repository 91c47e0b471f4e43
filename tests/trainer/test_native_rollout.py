"""The native trainer's rollouts: those of the reference, and what training makes of them again."""
import numpy as np
import pytest
import torch
from helpers.native_fixtures import (
    PATHS,
    VARIANTS,
    as_bytes,
    cut_off,
    distance,
    make_native,
    make_reference,
    make_vec,
    run,
)
from helpers.ppo_fixtures import FakeVec, one_thread  # noqa: F401   one_thread is a fixture
from helpers.short_or_long import some_or_all

from puffer_sdk.base import philox
from puffer_sdk.base.philox import Purpose
from puffer_sdk.training.native.actor import NativeActor
from puffer_sdk.training.native.trainer_library import available_paths
from puffer_sdk.training.reference.action_heads import Actor
from puffer_sdk.training.reference.policy import build_policy, load_weights

BYTES = dict(dtype=np.uint8)
CASES = {
    "discrete": dict(sizes=(4,)),
    "multi-discrete, masked, dense bytes": dict(
        sizes=(2, 3), vec=dict(mask=True, obs_size=7, **BYTES), hidden_size=33, num_layers=3),
    "continuous": dict(sizes=(1, 1), num_layers=2),
    "mixed, masked, more outputs than lanes, scaled sparse bytes": dict(
        sizes=(1, 17, 3, 1), vec=dict(mask=True, obs_size=201, density=0.1, **BYTES),
        hidden_size=33, obs_scale="0.125 x 200, 1 x 1"),
    "blank bytes": dict(sizes=(2, 2), vec=dict(obs_size=3, density=0.2, **BYTES)),
    "more agents than a block holds": dict(
        sizes=(3, 1), vec=dict(num_agents=71), horizon=3, minibatch_size=3 * 71, num_layers=2),
    "final observations": dict(
        sizes=(3,), vec=dict(num_agents=67, end_chance=0.4, truncate_chance=0.6, finals=True),
        minibatch_size=67 * 7, num_layers=2),
    "final observations in bytes": dict(
        sizes=(2, 1), vec=dict(end_chance=0.3, truncate_chance=0.8, finals=True, **BYTES),
        obs_scale="0.25"),
    "variable number of agents": dict(
        sizes=(3, 1), vec=dict(num_agents=67, alive=True, end_chance=0.2, truncate_chance=0.6,
                               finals=True), minibatch_size=67 * 7, num_layers=2),
    "variable number of agents, masked bytes": dict(
        sizes=(2, 2), vec=dict(alive=True, mask=True, **BYTES)),
    "waiting for turns": dict(
        sizes=(3, 2), vec=dict(num_agents=67, mask=True, waits=0.6, end_chance=0.2, finals=True,
                               truncate_chance=0.6, alive=True), minibatch_size=67 * 7),
    "wide": dict(sizes=(33,), vec=dict(obs_size=195), hidden_size=70, num_layers=3),
}
SHORT = 1, 2, 3, 5, 6, 10
every_case = pytest.mark.parametrize("case", some_or_all(CASES.values(), *SHORT),
                                     ids=some_or_all(CASES, *SHORT))
every_path = pytest.mark.parametrize("path", PATHS)


def trained_tensors(case) -> dict:
    """Weights that are no longer those of the start, logstd among them."""
    trainer = make_native(**{**case, "learning_rate": 0.05})
    run(trainer, 3)
    tensors = trainer.state_tensors()
    if "logstd" in tensors:
        tensors["logstd"] = np.linspace(-0.7, 0.4, len(tensors["logstd"]), dtype=np.float32)
    return tensors


# ---- against the reference ----------------------------------------------------------------------

def explain_flips(reference, got) -> int:
    """How many discrete actions differ: each must lie where the uniform meets a partial sum.

    A uniform is one of 2^24, a partial sum is off by some 1e-7: one draw in a million may be
    decided by rounding. No observation here depends on it, so that nothing else follows.
    """
    logits, _ = reference.policy.sequence(reference.obs, reference.state0, reference.ended)
    if reference.masks is not None:
        logits = torch.where(reference.masks, logits, -1e30)
    logits, first, flips = logits.detach().double().numpy(), 0, 0
    last = reference.global_step // reference.agents
    ticks = np.arange(last - reference.horizon, last)
    if reference.vec.waits:
        rows = np.array(reference.vec.rows[ticks[0]:last]).T
        ticks = ticks[0] + np.argsort(~rows, axis=1, kind="stable")
    for head, width in enumerate(reference.heads.sizes):
        mine = logits[..., first:first + width]
        first += width
        if width == 1:
            continue
        sums = np.exp(mine - mine.max(-1, keepdims=True)).cumsum(-1)
        uniform = philox.uniform((reference.settings.seed, Purpose.ACTION),
                                 np.arange(reference.agents)[:, None], ticks, head)
        want = reference.actions[..., head].numpy().astype(int)
        for agent, tick in np.argwhere(got[..., head] != want):
            low = min(want[agent, tick], int(got[agent, tick, head]))
            border = sums[agent, tick, low] / sums[agent, tick, -1]
            assert abs(want[agent, tick] - got[agent, tick, head]) == 1
            assert abs(border - uniform[agent, tick]) < 1e-6, (agent, tick, head)
            flips += 1
    return flips


@every_path
@every_case
def test_rollouts_are_the_references(case, path):
    """Three in a row, with state carried, endings, and a value of what comes next."""
    reference, native = make_reference(**case), make_native(path=path, **case)
    tensors, flips = trained_tensors(case), 0
    discrete = [head for head, width in enumerate(reference.heads.sizes) if width > 1]
    continuous = [head for head, width in enumerate(reference.heads.sizes) if width == 1]
    for trainer in (reference, native):
        trainer.load_state_tensors(tensors)
    for _ in range(3):
        reference.rollout()
        native.rollout()
        out = {name: array.copy() for name, array in native.rollout_tensors.items()}
        for name in ("obs", "rewards", "ended"):
            np.testing.assert_array_equal(out[name], getattr(reference, name).numpy(), err_msg=name)
        truncated, finals = cut_off(reference)
        np.testing.assert_array_equal(out["truncated"], truncated)
        assert ("final_values" in out) == (reference.final_values is not None) \
            == (truncated == 2).any()
        if "final_values" in out:
            assert distance(np.where(truncated == 2, out["final_values"], 0), finals) < 1e-5
            assert (truncated == 1).any()
        if reference.masks is not None:       # those of continuous heads mean nothing
            columns = np.repeat(np.array(reference.heads.sizes) > 1, reference.heads.sizes)
            np.testing.assert_array_equal(out["masks"][..., columns],
                                          reference.masks.numpy()[..., columns])
        flips += explain_flips(reference, out["actions"])
        same = (out["actions"][..., discrete] == reference.actions[..., discrete].numpy()).all(-1)
        for name in ("values", "bootstrap", "state0"):
            assert distance(out[name], getattr(reference, name).numpy()) < 1e-5, name
        np.testing.assert_allclose(out["state"], reference.actor.state.numpy(),
                                   rtol=1e-5, atol=1e-5)
        np.testing.assert_allclose(out["log_probs"][same], reference.log_probs.numpy()[same],
                                   rtol=1e-5, atol=1e-5)
        np.testing.assert_allclose(out["actions"][..., continuous],
                                   reference.actions[..., continuous].numpy(), rtol=1e-5, atol=1e-5)
    assert flips <= 1 and native.counters == reference.counters
    assert out["ended"].any() and ((out["truncated"] > 0) < out["ended"]).any()


@pytest.mark.parametrize("path", available_paths())
@pytest.mark.parametrize("greedy", [False, True])
def test_acting_without_envs_is_the_references(path, greedy):
    """Odd sizes, more agents than a block holds, endings, a reset, and a tick set by hand."""
    sizes, agents, tensors = (3, 1, 5), 71, trained_tensors(dict(sizes=(3, 1, 5)))
    config = make_reference(sizes).config
    policy = build_policy(5, sizes, config)
    load_weights(policy, tensors)
    about = dict(seed=5, n=agents, greedy=greedy, first_agent=11)
    reference = Actor(policy, sizes, **about)
    native = NativeActor(tensors, config, np.float32, 5, sizes, **about, threads=2, path=path)
    vec, different = make_vec(sizes, dict(num_agents=agents, mask=True, waits=0.2)), 0
    vec.reset()
    for tick in range(12):
        if tick == 8:
            reference.tick = native.tick = 1000
            reference.reset(), native.reset()
        mask = vec.action_mask if tick % 2 else None
        want = [x.numpy() for x in reference.forward(
            torch.tensor(vec.observations), None if mask is None else reference.to_mask(mask))]
        got = native.forward(vec.observations, mask)
        different += (got[0][:, [0, 2]] != want[0][:, [0, 2]]).sum()
        same = (got[0][:, [0, 2]] == want[0][:, [0, 2]]).all(1)
        for one, other in zip(got, want):
            np.testing.assert_allclose(one[same], other[same], rtol=1e-5, atol=1e-5)
        vec.step()
        for actor in (reference, native):
            actor.ended(vec.terminals)
    assert different <= 1 and reference.tick == native.tick == 1004


# ---- state ------------------------------------------------------------------------------------

class Script(FakeVec):
    """Ends agent 0's episode on tick 2 of each horizon of 4, and agent 1's on the last, 3."""

    clock = 0

    def step(self):
        super().step()
        self.terminals[:] = self.truncations[:] = 0
        self.terminals[0] = self.clock % 4 == 2
        self.truncations[1] = self.clock % 4 == 3       # a truncation alone is an ending as well
        self.clock += 1


@every_path
def test_state_is_zero_from_the_very_next_tick_on_and_carried_otherwise(path):
    """One tick at a time, so that the state after each can be seen."""
    native = make_native(vec=Script((3,), 4, 5), path=path, horizon=1, minibatch_size=4,
                         num_layers=2)
    before = np.zeros((4, 2, 20), np.float32)
    for tick in range(9):
        native.rollout()
        out = native.rollout_tensors
        np.testing.assert_array_equal(out["state0"], before)
        zero = [bool((state == 0).all()) for state in out["state"]]
        assert zero == [tick % 4 == 2, tick % 4 == 3, False, False]
        before = out["state"].copy()


@every_path
def test_the_first_value_of_an_episode_is_that_of_a_fresh_state(path):
    """In the rollout, and in the training scan: not one tick later."""
    native = make_native(vec=Script((3,), 4, 5), path=path, horizon=4, minibatch_size=16,
                         learning_rate=0.0, prio_alpha=0.0)
    fresh = NativeActor(native.parameters, native.config, np.float32, 5, (3,), 1, 1,
                        path=path if path in available_paths() else "generic")
    near = 1e-5 if path == "cuda" else 1e-6

    def value(agent, tick):
        fresh.reset()
        return fresh.forward(out["obs"][agent, tick][None])[2][0]

    for epoch in range(2):
        native.rollout()
        native.update()
        out = native.rollout_tensors
        for name in ("values", "values_now"):
            assert out[name][0, 3] == pytest.approx(value(0, 3), rel=near)
            assert out[name][0, 2] != pytest.approx(value(0, 2), rel=1e-3)
            assert (out[name][1, 0] == pytest.approx(value(1, 0), rel=near))
            assert (out[name][2, 0] == pytest.approx(value(2, 0), rel=near)) == (epoch == 0)


def test_reset_state_zeroes_every_horizon_and_a_barrier_once():
    carried, zeroed = make_native(), make_native(reset_state=1)
    for epoch in range(2):
        for trainer in (carried, zeroed):
            trainer.rollout()
        assert not zeroed.rollout_tensors["state0"].any()
        assert carried.rollout_tensors["state0"].any() == (epoch == 1)
    vec = make_vec()
    carried.restart_envs(vec)
    carried.restart_envs(vec)
    assert vec.resets == 0
    carried.rollout()
    assert vec.resets == 1 and not carried.rollout_tensors["state0"].any()


# ---- the training scan over a stored rollout --------------------------------------------------

@pytest.mark.parametrize("variant", VARIANTS)
@every_case
def test_the_training_scan_repeats_the_rollout(case, variant):
    """Values and log-probabilities, endings included: bit for bit on the generic path."""
    case = {**case, "learning_rate": 0.0, "prio_alpha": 0.0, "replay_ratio": 1.0}
    native = make_native(**VARIANTS[variant], **case)
    native.load_state_tensors(trained_tensors(case | {"minibatch_size": native.batch_size}))
    weights = {name: array.copy() for name, array in native.parameters.items()}
    for _ in range(3):
        native.rollout()
        native.update()
        out = native.rollout_tensors
        if variant == "generic":
            np.testing.assert_array_equal(out["values_now"], out["values"])
            assert (out["ratio_now"] == 1).all()
        np.testing.assert_allclose(out["values_now"], out["values"], rtol=1e-5, atol=1e-5)
        np.testing.assert_allclose(out["ratio_now"], 1, rtol=1e-5)
    assert out["ended"].any() and out["state0"].any()
    assert all(np.array_equal(native.parameters[name], weights[name]) for name in weights)


# ---- random numbers ---------------------------------------------------------------------------

class Still(FakeVec):
    """The same observation for everybody, always, and no endings."""

    def __init__(self, sizes, agents, obs_size):
        super().__init__(sizes, agents, obs_size, end_chance=0)

    def observe(self):
        self.observations[:] = 1


def play(seed=3, agents=6, first_agent=0, path="auto", **changes):
    native = make_native(vec=Still((5, 1), agents, 5), path=path, seed=seed, horizon=32,
                         minibatch_size=32, first_agent=first_agent, **changes)
    tensors = make_native((5, 1), seed=9).state_tensors()       # the same network for each seed
    native.load_state_tensors(tensors)
    native.rollout()
    return native.rollout_tensors["actions"].copy()


@every_path
def test_ranks_draw_what_one_process_would(path):
    """Agents 3..5 of one process, and the three agents of a second one that start at 3."""
    whole, second, first = play(path=path), play(agents=3, first_agent=3), play(agents=3)
    assert np.array_equal(whole[3:, :, 0], second[..., 0])
    np.testing.assert_allclose(whole[3:], second, atol=1e-5)
    assert (first != second).mean() > 0.4
    assert (play(seed=4, path=path) != whole).mean() > 0.4


def test_numbers_follow_the_tick():
    """A rollout takes up where the last one ended, and the value after it draws none."""
    def even(horizon):      # all actions as likely as each other, whatever the state
        native = make_native(vec=Still((5,), 6, 5), horizon=horizon, minibatch_size=32)
        native.parameters["decoder"][...] = 0
        native.touch()
        return native
    one, two, late = even(32), even(16), even(16)
    one.rollout()
    two.rollout()
    first = two.rollout_tensors["actions"].copy()
    two.rollout()
    both = np.concatenate([first, two.rollout_tensors["actions"]], 1)
    np.testing.assert_array_equal(one.rollout_tensors["actions"], both)
    late.load_counters({**late.counters, "global_step": 16 * 6})
    late.rollout()
    np.testing.assert_array_equal(late.rollout_tensors["actions"], both[:, 16:])
    assert (both[:, :16] != both[:, 16:]).mean() > 0.4


class Whole(FakeVec):
    """Whole numbers, of which floats do not hold those beyond 2^24."""

    def observe(self):
        super().observe()
        self.observations[:] = self.random.integers(-2**26, 2**26, self.observations.shape)
        if self.final_observations is not None:
            self.final_observations[:] = self.observations[::-1]


@every_path
def test_ints_train_as_the_nearest_floats(path):
    trained = []
    for dtype in (np.int32, np.float32):
        native = make_native(vec=Whole(dtype=dtype, seed=5, finals=True), path=path,
                             obs_scale="0.00000001", num_layers=2)
        run(native, 2)
        trained.append((as_bytes(native), native.rollout_tensors["obs"].copy()))
    (ints, seen), (floats, seen_as_floats) = trained
    assert seen.dtype == np.int32 and (np.abs(seen) > 2**24).any()
    assert seen.astype(np.float32).tobytes() == seen_as_floats.tobytes()
    assert ints == floats


# ---- heads ------------------------------------------------------------------------------------

@every_path
def test_large_action_ids_stay_exact(path):
    """3000 actions, of which the mask leaves one to each agent; then all of them."""
    class One(FakeVec):
        def observe(self):
            self.observations[:] = 1
            ids = 2991 + np.arange(self.num_agents)
            self.action_mask[:] = np.arange(3000) == ids[:, None]
    vec = One((3000,), 9, 5, mask=True)
    native = make_native(vec=vec, path=path, hidden_size=4)
    native.rollout()
    out = native.rollout_tensors
    np.testing.assert_array_equal(out["actions"][..., 0], np.repeat(
        2991.0 + np.arange(9), 7).reshape(9, 7))
    np.testing.assert_array_equal(vec.actions[:, 0], 2991 + np.arange(9))
    assert (out["log_probs"] == 0).all()
    native.update()
    np.testing.assert_allclose(native.rollout_tensors["ratio_now"], 1, atol=1e-6)
    free = make_native((3000,), path=path, hidden_size=4, learning_rate=0.0, prio_alpha=0.0)
    free.rollout()
    actions = free.rollout_tensors["actions"]
    assert len(np.unique(actions)) > 50 and actions.max() > 2048 and (actions % 1 == 0).all()
    free.update()
    np.testing.assert_allclose(free.rollout_tensors["ratio_now"], 1, rtol=1e-5)


@every_path
def test_continuous_heads_use_their_own_logstd(path):
    """Dimension d of logstd belongs to the d-th head of width 1, whatever stands between them."""
    def spread(logstd):
        native = make_native(vec=Still((1, 3, 1), 64, 5), path=path, minibatch_size=7)
        tensors = native.state_tensors()
        native.load_state_tensors({**tensors, "logstd": np.array(logstd, np.float32)})
        native.rollout()
        return native.rollout_tensors["actions"].std((0, 1))
    wide, narrow = spread([1.0, -3.0]), spread([-3.0, 1.0])
    assert wide[0] == pytest.approx(np.e, rel=0.2) and wide[2] < 0.3
    assert narrow[2] == pytest.approx(np.e, rel=0.2) and narrow[0] < 0.3
    assert spread([9.0, -99.0])[0] == pytest.approx(np.exp(2), rel=0.2)     # clamped


def test_rewards_and_endings_share_the_row_of_the_action_that_caused_them():
    class Echo(FakeVec):
        def step(self):
            super().step()
            self.rewards[:] = self.actions[:, 0] + 10
            self.terminals[:] = self.actions[:, 0] == 2
            self.truncations[:] = 0
    native = make_native(vec=Echo((3,), 8, 5), minibatch_size=7)
    native.rollout()
    out = native.rollout_tensors
    np.testing.assert_array_equal(out["rewards"], out["actions"][..., 0] + 10)
    np.testing.assert_array_equal(out["ended"], out["actions"][..., 0] == 2)
    assert not out["truncated"].any() and 0 < out["ended"].mean() < 1


def test_the_last_row_has_an_advantage():
    """Its delta takes the value of the observation after it, from the state after it."""
    native = make_native(vec=dict(end_chance=0))
    native.rollout()
    out, t = native.rollout_tensors, native.settings
    actor = NativeActor(native.parameters, native.config, np.float32, 5, (3,), 1, 9)
    for tick in range(7):
        actor.act(out["obs"][:, tick])
    bootstrap = actor.forward(native.vec.observations)[2]
    np.testing.assert_allclose(out["bootstrap"], bootstrap, rtol=1e-5, atol=1e-6)
    want = out["rewards"][:, -1] + t.gamma * bootstrap - out["values"][:, -1]
    np.testing.assert_allclose(native.advantages()[:, -1], want, rtol=1e-5, atol=1e-6)
    assert np.abs(bootstrap).min() > 0
