"""The native trainer against the reference: the same rollouts and segments give the same numbers.

Tolerances. Losses, V, w, advantages and gradients (seen through momentum) agree within 1e-5 after
one update from one state, and weights within 1e-3 after ten updates that nobody sets right. A
weight's step needs more than 1e-5: Newton-Schulz multiplies a direction in which the gradient all
but vanishes by up to 493 (the product of its five linear coefficients), and rounding errors of
1e-7 live there too, so a step may differ by 5e-5 of itself. Where the algorithm has a kink, a
rounding error decides on which side of it a row lies: see Reference.margin.
"""
import numpy as np
import pytest
import torch
from helpers.native_fixtures import (
    PATHS,
    VARIANTS,
    as_bytes,
    copy_rollout,
    distance,
    make_native,
    make_reference,
    pair,
    run,
    updates,
)
from helpers.ppo_fixtures import FakeVec, Recall, one_thread  # noqa: F401   one_thread is a fixture
from helpers.short_or_long import long_only, short_or_long, some_or_all

AT_A_KINK, NEAR_A_KINK = 1e-6, 1e-5
BYTES = dict(dtype=np.uint8)
CASES = {
    "discrete": dict(),
    "multi-discrete, masked, dense bytes": dict(
        sizes=(2, 3), vec=dict(mask=True, obs_size=7, **BYTES), hidden_size=33, num_layers=3,
        prio_alpha=0.0),
    "continuous, replayed": dict(sizes=(1, 1), num_layers=2, replay_ratio=2.0, warm=1),
    "mixed, masked, more outputs than lanes, scaled sparse bytes": dict(
        sizes=(1, 17, 3, 1), vec=dict(mask=True, obs_size=201, density=0.1, **BYTES),
        hidden_size=33, obs_scale="0.3 x 70, 1 x 31, 2.5 x 100"),
    "mixed, every clip at work, annealed": dict(
        sizes=(3, 1), vec=dict(end_chance=0.3), num_layers=2, clip_coef=0.01, vf_clip_coef=0.01,
        max_grad_norm=0.1, vtrace_rho_clip=0.99, vtrace_c_clip=0.9, reward_clip=0.5, norm_adv=0,
        replay_ratio=2.75, anneal_lr=1, anneal_ent_coef=1, ent_coef=0.1, min_lr_ratio=0.1, warm=2),
    "one tick, more segments than blocks hold": dict(
        vec=dict(num_agents=151), horizon=1, minibatch_size=149, total_timesteps=151 * 20),
    "ticks beyond a block, wide": dict(
        sizes=(5, 2), vec=dict(num_agents=3, obs_size=195, **BYTES), horizon=67,
        minibatch_size=134, hidden_size=70, num_layers=3, total_timesteps=201 * 20,
        prio_alpha=0.0, replay_ratio=1.5),
    "final observations": dict(
        vec=dict(end_chance=0.3, truncate_chance=0.8, finals=True), replay_ratio=2.0,
        obs_scale="0.1 x 3, 2 x 2"),
    "variable number of agents": dict(
        vec=dict(num_agents=17, alive=True, truncate_chance=0.8, finals=True), replay_ratio=2.0,
        num_layers=2, minibatch_size=7 * 6, total_timesteps=17 * 7 * 20),
    "variable number of agents, masked bytes, dealt": dict(
        sizes=(1, 3, 1), vec=dict(num_agents=11, alive=True, mask=True, **BYTES), prio_alpha=0.0,
        replay_ratio=1.7, minibatch_size=7 * 5, total_timesteps=11 * 7 * 20),
    "ints, final observations, variable number of agents": dict(
        vec=dict(num_agents=17, dtype=np.int32, alive=True, truncate_chance=0.8, finals=True),
        num_layers=2, minibatch_size=7 * 6, total_timesteps=17 * 7 * 20, obs_scale="0.02"),
    "waiting for turns": dict(
        sizes=(3, 2), vec=dict(num_agents=13, mask=True, waits=0.6, truncate_chance=0.6,
                               finals=True), horizon=11, minibatch_size=11 * 7, num_layers=2,
        replay_ratio=2.0, total_timesteps=13 * 11 * 20),
    "waiting for turns, variable number of agents": dict(
        sizes=(4,), vec=dict(num_agents=13, mask=True, waits=0.4, alive=True), horizon=11,
        minibatch_size=11 * 5, prio_alpha=0.0, total_timesteps=13 * 11 * 20),
    "rates and units that follow": dict(
        sizes=(3, 2), vec=dict(end_chance=0.3), norm_returns=1, target_kl=1e-4, reward_clip=1.5,
        replay_ratio=2.0, warm=3),
    "no carry": dict(replay_ratio=2.75, minibatch_carry=0, warm=1),
    "no carry, less than a minibatch": dict(replay_ratio=0.3, minibatch_carry=0, prio_alpha=0.0),
    "wide, by packed products": dict(
        sizes=(3,), vec=dict(num_agents=9, obs_size=30), horizon=5, minibatch_size=25,
        hidden_size=260, num_layers=1, total_timesteps=9 * 5 * 20),
    "image of bytes": dict(
        vec=dict(obs_size=15 * 13 * 2 + 3, density=0.4, **BYTES), num_layers=2,
        encoder="image 2 15x13x2: 9x4/2 17x3 5x2", obs_scale="0.5 x 2, 0.01 x 390, 2 x 1"),
    "image of planes, final observations": dict(
        vec=dict(obs_size=3 * 9 * 12, end_chance=0.3, finals=True),
        encoder="image 0 9x12x3 planes: 20x3 33x4/2", obs_scale="0.1 x 108, 1 x 108, 2 x 108",
        replay_ratio=2.0),
    "grid, ids and a list, masked": dict(
        sizes=(2, 3), vec=dict(obs_size=2 + 3 + 7 * 6 * 3 + 1 + 5 * 4, mask=True, **BYTES),
        encoder="ids 2 3 of 4 + grid 5 7x6x3 of 3,0,5: 8x3 16x2/2 + list 132 5x4 mask 1: 6 35"),
    "a list without a mask, alone": dict(
        vec=dict(obs_size=12), encoder="list 0 4x3: 7"),
    "one unit": dict(sizes=(2,), vec=dict(obs_size=1), hidden_size=1, learning_rate=0.1),
}
SHORT = 1, 2, 3, 4, 6, 8, 11, 13, 16, 19, 21
every_case = pytest.mark.parametrize("case", some_or_all(CASES.values(), *SHORT),
                                     ids=some_or_all(CASES, *SHORT))


def check_update(want, got, about) -> None:
    for name, value in want.metrics.items():        # means of terms of size 1, which may cancel
        assert got.metrics[name] == pytest.approx(value, rel=1e-5, abs=1e-6), (about, name)
    for name, value in want.rows.items():
        assert distance(got.rows[name], value) < 1e-5, (about, name)
    for name, value in want.tensors.items():
        limit = 1e-5 if name.startswith(("muon", "adam")) else 5e-5
        assert distance(got.tensors[name], value) < limit, (about, name)
    for name in ("epoch", "minibatch_carry", "optimizer_steps"):
        assert got.counters[name] == want.counters[name], (about, name)
    for name in ("return_rms", "rate_factor", "highest_return"):
        assert got.counters[name] == pytest.approx(want.counters[name], rel=1e-4), (about, name)


@every_case
def test_an_update_equals_the_references(case):
    """Ten times, each from the reference's weights and optimiser state."""
    reference, natives = pair(**case)
    compared = 0
    for epoch, path, want, got in updates(reference, natives, 10, together=True):
        if reference.margin > AT_A_KINK:
            check_update(want, got, (path, epoch))
            compared += 1
    assert compared >= 5 * len(natives)


def test_bf16_learns_the_same_to_its_precision():
    """Products of eight bits: more rows cross kinks, but the gradient as a whole hardly turns."""
    for variant in VARIANTS.values():
        if "precision" not in variant:
            continue
        reference, _ = pair(warm=1, hidden_size=33)
        native = make_native(hidden_size=33, **variant)
        native.load_counters(reference.counters)
        for epoch, _, want, got in updates(reference, {"bf16": native}, 5, together=True):
            assert distance(got.rows["values_now"], want.rows["values_now"]) < 0.01, epoch
            for name in ("muon.encoder", "muon.layers.0", "muon.decoder"):
                change = np.linalg.norm(got.tensors[name] - want.tensors[name])
                assert 1e-5 < change / np.linalg.norm(want.tensors[name]) < 0.08, (epoch, name)


def test_segments_are_picked_anew_for_each_minibatch():
    """From the V and w that the minibatch before left behind, as the reference does.

    A pick is a uniform among partial sums: one in 100,000 is decided by rounding, so that the same
    segments may be expected here.
    """
    for epoch, path, want, got in updates(*pair(learning_rate=0.1, replay_ratio=3.0, warm=1), 5,
                                          together=True, replayed=False):
        for name in ("values_now", "ratio_now"):
            assert distance(got.rows[name], want.rows[name]) < 1e-5, (path, epoch, name)


@long_only
@every_case
def test_ten_updates_stay_with_the_reference(case):
    reference, natives = pair(**case)
    start, nearest = reference.state_tensors(), 1.0
    for epoch, path, want, got in updates(reference, natives, 10):        # noqa: B007
        nearest = min(nearest, reference.margin)
        if epoch < 9:
            continue
        apart = max(distance(got.tensors[name], value) for name, value in want.tensors.items())
        assert apart < 1e-3 or nearest < NEAR_A_KINK, path
    assert distance(want.tensors["decoder"], start["decoder"]) > 0.01


def replay_one(reference, natives, rows) -> None:
    """One update of each from these rows, in place of what they would pick."""
    rows, q = np.array(rows), np.linspace(0.5, 1.5, np.size(rows), dtype=np.float32)
    q = q.reshape(rows.shape)
    reference._pick = lambda advantage, number, beta: (rows[number], q[number])
    reference.rollout()
    metrics = reference.update()
    for path, native in natives.items():
        copy_rollout(reference, native)
        native.replay(rows, q)
        got = native.update()
        assert got["loss/value"] == pytest.approx(metrics["loss/value"], rel=1e-5), path
        for name, value in reference.state_tensors().items():
            assert distance(native.state_tensors()[name], value) < 5e-4, (path, name)
        for name, value in reference.rows_now().items():
            assert distance(native.rollout_tensors[name], value) < 1e-5, (path, name)


def test_a_segment_drawn_twice_has_one_target():
    """R is made of the V before the minibatch, whichever copy of a segment is computed first."""
    replay_one(*pair(num_layers=2, learning_rate=0.05, warm=1), [[4, 4, 0], [4, 0, 4], [0, 0, 0]])


def test_products_within_rounding_of_zero_have_the_slope_of_their_side():
    """g(u) just below u = 0 rounds to g(0) = 0.5, where the slope is another."""
    class Faint(FakeVec):
        def observe(self):
            super().observe()
            self.observations *= 1e-7
    vecs = [Faint((3,), 9, 5) for _ in range(1 + len(PATHS))]
    reference = make_reference(vec=vecs[0])
    natives = {path: make_native(vec=vec, path=path)
               for path, vec in zip(PATHS, vecs[1:])}
    replay_one(reference, natives, [[0, 1, 2], [3, 4, 5], [6, 7, 8]])


def test_a_logstd_beyond_its_clamp_has_no_gradient():
    reference, natives = pair((1, 3, 1))
    tensors = {**reference.state_tensors(), "logstd": np.array([2.5, -0.3], np.float32)}
    for trainer in (reference, *natives.values()):
        trainer.load_state_tensors(tensors)
    replay_one(reference, natives, [[0, 1, 2], [3, 4, 5], [6, 7, 8]])
    moments = [native.state_tensors()["adam.m.logstd"] for native in natives.values()]
    assert all(first == 0 and second != 0 for first, second in moments)


def test_the_first_weights_are_the_references():
    changes = dict(sizes=(3, 1), hidden_size=33, num_layers=3, seed=2**50 + 7)
    want = make_reference(**changes).state_tensors()
    for path in PATHS:
        got = make_native(path=path, **changes).state_tensors()
        assert set(got) == set(want)
        assert all(np.array_equal(got[name], want[name]) for name in want)


# ---- selection: on equal advantages -----------------------------------------------------------

def advantages_of(kind: str, agents: int) -> np.ndarray:
    random = np.random.default_rng(0)
    advantage = random.normal(size=(agents, 7)) * random.exponential(size=(agents, 1))
    if kind == "zero":
        advantage[:] = 0
    if kind == "one":
        advantage[:agents // 2] = advantage[agents // 2 + 1:] = 0
    return advantage.astype(np.float32)


@pytest.mark.parametrize("alpha, beta0", [(0.8, 0.2), (0.3, 0.0), (1.0, 1.0), (1.7, 0.5)])
@pytest.mark.parametrize("kind", ["spread", "zero", "one"])
def test_prioritised_segments_are_the_references(alpha, beta0, kind):
    changes = dict(vec=dict(num_agents=101), prio_alpha=alpha, prio_beta0=beta0,
                   minibatch_size=7 * 23, total_timesteps=101 * 7 * 10)
    reference, native, advantage = make_reference(**changes), make_native(**changes), \
        advantages_of(kind, 101)
    drawn = set()
    for epoch in (0, 3, 9):
        for trainer in (reference, native):
            trainer.load_counters({**trainer.counters, "epoch": epoch})
        beta = beta0 + (1 - beta0) * epoch / 10
        for number in range(4):
            rows, q = native.pick(advantage, number)
            want_rows, want_q = reference._pick(torch.from_numpy(advantage), number, beta)
            np.testing.assert_array_equal(rows, want_rows)
            np.testing.assert_allclose(q, want_q, rtol=1e-6)
            drawn.add(tuple(rows))
    assert len(drawn) == (1 if kind == "one" else 12)


@pytest.mark.parametrize("agents, segments", [(9, 3), (9, 4), (10, 7), (1, 1), (1000, 300)])
def test_decks_are_the_referees_over_several_laps(agents, segments):
    changes = dict(vec=dict(num_agents=agents), prio_alpha=0.0, minibatch_size=7 * segments)
    reference, native = make_reference(**changes), make_native(**changes)
    advantage = np.zeros((agents, 7), np.float32)
    for epoch in (0, 1, 5):
        for trainer in (reference, native):
            trainer.load_counters({**trainer.counters, "epoch": epoch})
        dealt = []
        for number in (*range(8), 2):           # back to an earlier lap too
            rows, q = native.pick(advantage, number)
            np.testing.assert_array_equal(rows, reference._pick(torch.zeros(1), number, 1.0)[0])
            assert (q == 1).all()
            dealt += rows.tolist()
        assert sorted(dealt[:agents]) == list(range(agents)) or agents > 8 * segments


@pytest.mark.parametrize("alpha", [0.8, 0.0])
def test_an_update_takes_the_segments_that_pick_shows(alpha):
    own, told = (make_native(prio_alpha=alpha, replay_ratio=1 / 3) for _ in range(2))
    for _ in range(4):
        for trainer in (own, told):
            trainer.rollout()
        rows, q = told.pick(told.advantages())
        told.replay(rows[None], q[None])
        own.update()
        told.update()
        assert as_bytes(own) == as_bytes(told)


# ---- schedules and counters -------------------------------------------------------------------

@pytest.mark.parametrize("replay_ratio, steps", [(1.0, [3, 6, 9, 12]), (0.25, [0, 1, 2, 3]),
                                                 (0.1, [0, 0, 0, 1]), (2.5, [7, 15, 22, 30])])
def test_schedules_carry_and_counters_are_the_references(replay_ratio, steps):
    changes = dict(replay_ratio=replay_ratio, anneal_lr=1, anneal_ent_coef=1, min_lr_ratio=0.1,
                   min_ent_coef_ratio=0.3, ent_coef=0.2, total_timesteps=63 * 4 + 5)
    reference, native = make_reference(**changes), make_native(**changes)
    seen = []
    for _ in range(6):                          # two beyond the end
        assert native.counters == reference.counters
        assert (native.progress, native.finished) == (reference.progress, reference.finished)
        want, got = run(reference, 1), run(native, 1)
        assert set(got) == set(want) and ("loss/policy" in got) == bool(reference.picks)
        for name in ("train/learning_rate", "train/ent_coef"):
            assert got[name] == pytest.approx(want[name], rel=1e-12)
        seen.append(native.counters["optimizer_steps"])
    assert seen[:4] == steps and native.counters["global_step"] == 63 * 6
    assert got["train/learning_rate"] == pytest.approx(0.02 * 0.1)


def test_counters_can_be_loaded():
    counters = {"epoch": 7, "global_step": 2**40, "minibatch_carry": 0.7, "optimizer_steps": 11,
                "return_rms": 3.25, "rate_factor": 0.3, "highest_return": 8.5}
    native = make_native(total_timesteps=63 * 20)
    native.load_counters(counters)
    assert native.counters == counters


# ---- learning ---------------------------------------------------------------------------------

@pytest.mark.parametrize("sizes, masked, alpha", short_or_long(
    [((3, 1), True, 0.8)],
    [((3,), False, 0.8), ((2, 3), True, 0.0), ((1,), False, 0.0), ((3, 1), True, 0.8)]))
def test_recalls_a_cue(sizes, masked, alpha):
    """What the reference learns (test_reference_training.py) is learned here."""
    vec = Recall(sizes, mask=masked)
    native = make_native(sizes, vec, hidden_size=16, horizon=16, minibatch_size=256,
                         total_timesteps=64 * 16 * 60, prio_alpha=alpha, anneal_lr=1,
                         learning_rate=0.03, gamma=0.95)
    while not native.finished:
        run(native, 1)
    start, end = np.mean(vec.returns[:1000]), np.mean(vec.returns[-1000:])
    assert end > 0.85 > start + 0.15, (start, end)
