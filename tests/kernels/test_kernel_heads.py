"""Sampling, the PPO loss and advantages of kernels/, on every instruction set of this CPU."""
from functools import cache

import numpy as np
import pytest
from helpers import kernel_reference as reference
from helpers import reference_ppo as ppo
from helpers.kernel_reference import a_mask, normal
from helpers.short_or_long import some_or_all

from puffer_sdk.base import philox

pytest_plugins = ["helpers.kernel_fixtures"]

ROWS = (1, 3, 7, 13, 65)
HEADS = {"two": (2,), "twenty": (20,), "discrete": (5, 2, 7), "continuous": (1,),
         "several continuous": (1, 1, 1), "mixed": (3, 1, 4, 1), "continuous first": (1, 9)}


def log_probs(out, sizes, actions, logstd, mask):
    A = sum(sizes)
    return [ppo.log_prob_and_entropy(row[:A], actions[r], sizes, logstd,
                                     None if mask is None else mask[r])[0]
            for r, row in enumerate(out.astype(float))]


# ---- sampling ---------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", HEADS)
@pytest.mark.parametrize("rows", some_or_all(ROWS, 0, 4))
@pytest.mark.parametrize("masked", [False, True])
def test_actions_come_from_the_numbers_that_philox_gives(table, kind, rows, masked):
    sizes, seed, step, first_agent = HEADS[kind], 5 << 32 | 7, 3 << 32 | 11, 1000
    out = 2 * normal(rows, rows, sum(sizes) + 1)
    logstd = np.linspace(-1, 0.5, sizes.count(1))
    mask = a_mask(rows, rows, sizes) if masked else None
    got = table.sample(out, sizes, logstd=logstd, mask=mask, seed=seed, step=step,
                       first_agent=first_agent)
    assert got.bad == -1 and np.array_equal(got.values, out[:, -1])
    noise = philox.action_noise(seed, np.arange(first_agent, first_agent + rows),
                                np.array([step]), sizes)[0]
    first = dimension = 0
    for head, width in enumerate(sizes):
        mine, action = out[:, first:first + width].astype(float), got.actions[:, head]
        if width == 1:
            want = mine[:, 0] + np.exp(logstd[dimension]) * noise[:, head]
            assert np.allclose(action, want, rtol=1e-5, atol=2e-5)
            dimension += 1
        else:
            legal = None if mask is None else mask[:, first:first + width]
            chances, row = reference.choices(mine, legal), np.arange(rows)
            action = action.astype(int)
            above = chances[row, action]
            below = np.where(action > 0, chances[row, action - 1], 0)
            assert ((below - 1e-6 <= noise[:, head]) & (noise[:, head] <= above + 1e-6)).all()
            assert legal is None or legal[row, action].all()
        first += width
    assert np.allclose(got.logprobs, log_probs(out, sizes, got.actions, logstd, mask),
                       rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("kind", HEADS)
def test_greedy_actions_are_the_likeliest(table, kind):
    sizes, rows = HEADS[kind], 13
    out, mask = normal(1, rows, sum(sizes) + 1), a_mask(2, rows, sizes)
    out[3, :-1] = out[3, 0]                     # all alike: the first legal one
    for legal in None, mask:
        got = table.sample(out, sizes, logstd=[0.3] * sizes.count(1), mask=legal, greedy=True)
        again = table.sample(out, sizes, logstd=[0.3] * sizes.count(1), mask=legal, greedy=True,
                             seed=9, step=9, first_agent=9)
        assert np.array_equal(got.actions, again.actions)
        first = 0
        for head, width in enumerate(sizes):
            logits = out[:, first:first + width]
            if width == 1:
                assert np.array_equal(got.actions[:, head], logits[:, 0])
            else:
                if legal is not None:
                    logits = np.where(legal[:, first:first + width], logits, -np.inf)
                assert np.array_equal(got.actions[:, head], logits.argmax(1))
            first += width
        assert np.allclose(got.logprobs, log_probs(out, sizes, got.actions, [0.3] * 3, legal),
                           rtol=1e-5, atol=1e-5)


def test_a_row_is_sampled_alike_alone_and_among_others(table):
    """The number of an agent counts, not where its block begins; nor what lies beyond the rows."""
    sizes, out = (3, 1, 4), normal(1, 65, 9)
    mask = a_mask(3, 65, sizes)
    whole = table.sample(out, sizes, logstd=[0.1], mask=mask, step=4)
    for first, last in (0, 1), (5, 12), (33, 65):
        part = table.sample(out[first:last], sizes, logstd=[0.1], mask=mask[first:last], step=4,
                            first_agent=first, extra=0)
        assert np.array_equal(part.actions, whole.actions[first:last])
        assert np.array_equal(part.logprobs, whole.logprobs[first:last])


def test_an_illegal_action_is_never_drawn_and_has_no_share(table):
    """One legal action in twenty, hugely unlikely by its logit: always that, at probability 1."""
    out, mask = normal(1, 65, 21), np.zeros((65, 20), np.uint8)
    legal = np.random.default_rng(0).integers(0, 20, 65)
    out[np.arange(65), legal] = -5e4
    mask[np.arange(65), legal] = 1
    for step in range(20):
        got = table.sample(out, (20,), mask=mask, step=step)
        assert np.array_equal(got.actions[:, 0], legal) and not got.logprobs.any()


@pytest.mark.parametrize("agent, number", [(4882029, 0), (13317277, 1 - 2.0 ** -24)])
def test_the_ends_of_the_uniform_numbers(table, agent, number):
    """Agents that draw 0 and the largest number of all, with nothing legal at either end."""
    assert philox.uniform((1, philox.Purpose.ACTION), agent) == number
    for seed in range(20):
        out = 3 * normal(seed, 1, 12)
        mask = np.uint8([[0, 0, 1, 0, 1, 1, 0, 1, 1, 0, 0]])
        got = table.sample(out, (11,), mask=mask, first_agent=agent)
        assert got.actions[0, 0] == (8 if number else 2)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_the_first_row_that_is_not_finite_is_named(table, value):
    for rows, bad, column in (1, 0, 0), (13, 12, 4), (65, 20, 5), (65, 64, 0):
        out = normal(1, rows, 6)
        out[bad, column] = value
        assert table.sample(out, (5,)).bad == bad
        assert table.sample(out, (5,), mask=np.eye(5, dtype=np.uint8)[[2] * rows]).bad == bad
    out[7, 5] = out[9, 1] = value
    assert table.sample(out, (5,)).bad == 7


def test_extreme_logits(table):
    """Of a network that is sure: no overflow, and probabilities that add up."""
    out = np.array([[3e4, -3e4, 0, 1], [-3e38, 3e38, 0, 1], [-80, 0, 3, 1]], np.float32)
    got = table.sample(out, (3,), step=3)
    assert got.bad == -1 and got.actions[:2, 0].tolist() == [0, 1]
    assert not got.logprobs[:2].any() and np.isfinite(got.logprobs).all()


@pytest.mark.parametrize("logstd, used", [(-30, -20), (-20, -20), (2, 2), (7, 2)])
def test_logstd_is_clamped_when_acting(table, logstd, used):
    out = normal(1, 7, 2)
    got, want = (table.sample(out, (1,), logstd=[one]) for one in (logstd, used))
    assert np.array_equal(got.actions, want.actions)
    assert np.array_equal(got.logprobs, want.logprobs)
    if used > 0:
        noise = philox.action_noise(1, np.arange(7), np.array([0]), (1,))[0]
        assert np.allclose(got.actions, out[:, :1] + np.exp(used) * noise, rtol=1e-4, atol=1e-4)


# ---- loss -------------------------------------------------------------------------------------

SETTINGS = {"clip_coef": 0.2, "vf_coef": 2.0, "vf_clip_coef": 0.3, "ent_coef": 0.05}


def loss_case(kind, rows, masked, seed=0):
    """Logits, and a rollout so far from them that both clips bite on either side."""
    random, sizes = np.random.default_rng(seed), HEADS[kind]
    out, logstd = normal(seed + rows, rows, sum(sizes) + 1), np.linspace(-1, 0.5, sizes.count(1))
    mask = a_mask(seed, rows, sizes) if masked else None
    actions = np.zeros((rows, len(sizes)))
    first = 0
    for head, width in enumerate(sizes):
        for r in range(rows):
            legal = np.arange(width) if mask is None else np.flatnonzero(
                mask[r, first:first + width])
            actions[r, head] = random.choice(legal) if width > 1 else random.normal()
        first += width
    moved = 0.4 * random.normal(size=rows)
    batch = {"actions": actions, "advantage": random.normal(size=rows),
             "logprob_old": np.array(log_probs(out, sizes, actions, logstd, mask)) - moved,
             "value_old": out[:, -1] + 0.5 * random.normal(size=rows),
             "returns": random.normal(size=rows)}
    return sizes, out, logstd, mask, {name: value.astype(np.float32)
                                      for name, value in batch.items()}


@cache
def expected_loss(kind, rows, masked):
    """What every table must give, from the slow reference: worked out once for all of them."""
    sizes, out, logstd, mask, batch = loss_case(kind, rows, masked)
    exact = {name: value.astype(float) for name, value in batch.items()}

    def objective(out, logstd=logstd):
        return reference.loss(out, sizes, exact, SETTINGS, logstd, mask)[0]

    _, sums, ratios = reference.loss(out.astype(float), sizes, exact, SETTINGS, logstd, mask)
    slope = reference.gradient(objective, out) if rows <= 13 else None
    along = [normal(seed, *out.shape).astype(float) for seed in range(3)]
    slopes = [(one, reference.slope(objective, out.astype(float), one)) for one in along]
    dlogstd = reference.gradient(lambda logstd: objective(out.astype(float), logstd), logstd) \
        if sizes.count(1) else None
    return sums, ratios, slope, slopes, dlogstd


@pytest.mark.parametrize("kind", HEADS)
@pytest.mark.parametrize("rows", ROWS)
@pytest.mark.parametrize("masked", [False, True])
def test_the_loss_and_its_gradient(table, kind, rows, masked):
    sizes, out, logstd, mask, batch = loss_case(kind, rows, masked)
    got = table.loss(out, sizes, batch, SETTINGS, logstd=logstd, mask=mask)
    sums, ratios, gradient, slopes, dlogstd = expected_loss(kind, rows, masked)
    assert np.allclose(got.sums, sums, rtol=2e-5, atol=2e-5 * rows)
    assert np.allclose(got.ratio, ratios, rtol=2e-5) and np.array_equal(got.values, out[:, -1])
    if gradient is not None:
        assert np.allclose(got.dout * rows, gradient * rows, rtol=3e-5, atol=1e-5)
    for along, slope in slopes:
        assert abs((got.dout * along).sum() - slope) <= 2e-5 * np.abs(got.dout * along).sum()
    if dlogstd is not None:
        assert np.allclose(got.dlogstd, dlogstd, rtol=3e-5, atol=1e-5)


def test_the_cases_of_the_loss_reach_all_branches():
    """Both clips, open and closed on either side: what the test above stands on."""
    sizes, out, logstd, mask, batch = loss_case("discrete", 65, False)
    _, _, ratios = reference.loss(out.astype(float), sizes, batch, SETTINGS, logstd, mask)
    up = batch["advantage"] > 0
    for side in ratios > 1.2, ratios < 0.8, np.abs(ratios - 1) < 0.2:
        assert (side & up).any() and (side & ~up).any()
    moved, error = out[:, -1] - batch["value_old"], out[:, -1] - batch["returns"]
    bound = batch["value_old"] + np.clip(moved, -0.3, 0.3) - batch["returns"]
    for side in moved > 0.3, moved < -0.3:
        assert (side & (bound ** 2 > error ** 2)).any() and (side & (bound ** 2 < error ** 2)).any()


def test_a_clip_that_bites_stops_the_gradient(table):
    """Two actions; the ratio is 1.5 or 0.5 and the advantage wants more of the same."""
    out = np.zeros((4, 3), np.float32)
    batch = {"actions": np.zeros((4, 1)), "advantage": np.array([1, -1, -1, 1]),
             "logprob_old": np.log(0.5 / np.array([1.5, 0.5, 1.5, 0.5])),
             "value_old": np.array([-1, 1, -1, 1.0]), "returns": np.array([1, -1, -1, 1.0])}
    got = table.loss(out, (2,), batch, {**SETTINGS, "ent_coef": 0})
    assert not got.dout[:2, :2].any() and got.dout[2:, :2].all()
    assert not got.dout[:2, 2].any() and got.dout[2:, 2].all()
    assert np.allclose(got.ratio, [1.5, 0.5, 1.5, 0.5])
    assert got.sums[5] == 4


@pytest.mark.parametrize("logstd, passes", [(-20.5, False), (-20, True), (2, True), (2.5, False)])
def test_a_clamped_logstd_has_no_gradient(table, logstd, passes):
    sizes, out, _, _, batch = loss_case("several continuous", 13, False)
    used = min(max(logstd, -20), 2)
    batch["actions"][:, 1] = out[:, 1] + np.float32(np.exp(used)) * batch["actions"][:, 1]
    got = table.loss(out, sizes, batch, SETTINGS, logstd=[0.1, logstd, -0.3])
    want = table.loss(out, sizes, batch, SETTINGS, logstd=[0.1, used, -0.3])
    assert bool(got.dlogstd[1]) == passes and got.dlogstd[0] and got.dlogstd[2]
    assert np.array_equal(got.sums, want.sums) and np.array_equal(got.dout, want.dout)


def test_an_illegal_logit_has_exactly_no_gradient(table):
    sizes, out, logstd, mask, batch = loss_case("mixed", 65, True)
    got = table.loss(out, sizes, batch, SETTINGS, logstd=logstd, mask=mask)
    discrete = np.repeat([width > 1 for width in sizes], sizes)
    illegal = (mask == 0) & discrete
    assert illegal.any() and not got.dout[:, :-1][illegal].any()
    assert got.dout[:, :-1][:, ~discrete].any(0).all()


@pytest.mark.parametrize("kind", HEADS)
@pytest.mark.parametrize("rows", ROWS)
def test_rows_without_an_agent_add_nothing_to_a_loss(table, kind, rows):
    """Whatever finite advantages and outputs stand there; the others have the bits they had."""
    sizes, out, logstd, mask, batch = loss_case(kind, rows, True)
    live = np.random.default_rng(rows).random(rows) < 0.6
    kept = {name: value[live] for name, value in batch.items()}
    got = table.loss(out, sizes, {**batch, "live": live}, SETTINGS, logstd=logstd, mask=mask)
    whole = table.loss(out, sizes, batch, SETTINGS, logstd=logstd, mask=mask)
    assert not got.dout[~live].any() and np.array_equal(got.dout[live], whole.dout[live])
    assert np.array_equal(got.values, np.where(live, whole.values, 0))
    assert np.array_equal(got.ratio, np.where(live, whole.ratio, 1))
    if not live.any():
        assert not got.sums.any() and not got.dlogstd.any()
        return
    want = table.loss(out[live], sizes, kept, SETTINGS, logstd=logstd, mask=mask[live])
    share = live.sum() / rows                   # the scale is 1 / rows
    assert np.allclose(got.sums, want.sums, rtol=1e-5, atol=1e-5)
    assert np.allclose(got.dlogstd, want.dlogstd * share, rtol=1e-5, atol=1e-6)


def test_a_loss_adds_to_what_is_there_and_pads_weigh_nothing(table):
    """Blocks of a minibatch: three calls give the sums and gradients of one."""
    sizes, out, logstd, mask, batch = loss_case("mixed", 65, True)
    whole = table.loss(out, sizes, batch, SETTINGS, logstd=logstd, mask=mask)
    sums, dlogstd = np.zeros(6), np.zeros(2)
    for first, last in (0, 7), (7, 48), (48, 65):
        part = table.loss(out[first:last], sizes,
                          {name: value[first:last] for name, value in batch.items()}, SETTINGS,
                          logstd=logstd, mask=mask[first:last])
        share = (last - first) / 65             # the scale is 1 / rows
        assert np.allclose(part.dout * share, whole.dout[first:last], rtol=1e-6, atol=1e-8)
        assert np.array_equal(part.ratio, whole.ratio[first:last])
        sums, dlogstd = sums + part.sums, dlogstd + part.dlogstd * share
    assert np.allclose(sums, whole.sums, rtol=1e-5, atol=1e-5)
    assert np.allclose(dlogstd, whole.dlogstd, rtol=1e-5, atol=1e-6)


# ---- advantage --------------------------------------------------------------------------------

GAE = {"gamma": 0.97, "gae_lambda": 0.9, "rho_clip": 1.0, "c_clip": 1.0, "reward_clip": 0.0,
       "reward_scale": 1.0}


def segment(T, seed=0):
    random = np.random.default_rng(seed + T)
    ended = (random.random(T) < 0.2).astype(np.float32)
    cut = ended * (random.random(T) < 0.5)
    if T > 6:
        ended[[2, T - 1]] = cut[2] = 1          # a truncation, and an ending on the last tick
        cut[T - 1] = 0
    rewards, values = random.normal(size=(2, T)).astype(np.float32)
    ratio = np.exp(0.5 * random.normal(size=T)).astype(np.float32)
    return rewards, values, ratio, ended, cut.astype(np.float32)


def final_segment(T):
    """(cut, finals): of the truncations of segment(T), every other one has a final observation."""
    cut = segment(T)[-1]
    cut[np.flatnonzero(cut)[::2]] = 2
    return cut, np.random.default_rng(T).normal(size=T).astype(np.float32)


def batched(*arrays):
    return [np.asarray(one, float)[None] for one in arrays]


@pytest.mark.parametrize("T", [1, 2, 3, 7, 13, 16, 17, 33, 64, 65])
@pytest.mark.parametrize("rho_clip, c_clip", [(1.0, 1.0), (2.0, 0.7), (0.5, 1.5)])
def test_advantages(table, T, rho_clip, c_clip):
    rewards, values, ratio, ended, cut = segment(T)
    settings = {**GAE, "rho_clip": rho_clip, "c_clip": c_clip}
    got = table.advantage(rewards, values, ratio, ended, cut, bootstrap=0.6, **settings)
    want = ppo.advantages(*batched(rewards, values), np.array([0.6]),
                          *batched(ended, cut, ratio), 0.97, 0.9, rho_clip, c_clip)[0]
    assert np.allclose(got, want, rtol=1e-5, atol=2e-6)
    cut, finals = final_segment(T)
    for highest in np.inf, 0.5, 0.0:
        got = table.advantage(rewards, values, ratio, ended, cut, finals, highest, bootstrap=0.6,
                              **settings)
        want = ppo.advantages(*batched(rewards, values), np.array([0.6]),
                              *batched(ended, cut, ratio), 0.97, 0.9, rho_clip, c_clip,
                              finals[None], highest)[0]
        assert np.allclose(got, want, rtol=1e-5, atol=2e-6)


@pytest.mark.parametrize("T", [1, 7, 16, 65])
def test_advantages_are_plain_gae_where_nothing_is_clipped(table, T):
    rewards, values, _, ended, cut = segment(T)
    got = table.advantage(rewards, values, np.ones(T), ended, 0 * cut, bootstrap=0.6, **GAE)
    want = ppo.plain_gae(*batched(rewards, values), np.array([0.6]), ended[None], 0.97, 0.9)[0]
    assert np.allclose(got, want, rtol=1e-5, atol=2e-6)


def test_a_truncation_counts_only_where_an_episode_ended(table):
    rewards, values, ratio, _, _ = segment(13)
    none = np.zeros(13)
    with_cut, without = (table.advantage(rewards, values, ratio, none, cut, bootstrap=0.6, **GAE)
                         for cut in (none + 1, none))
    assert np.array_equal(with_cut, without)


@pytest.mark.parametrize("limit", [0.0, 0.5, 1.0])
def test_rewards_are_clipped_if_asked_then_scaled(table, limit):
    rewards, values, ratio, ended, cut = segment(33)
    rewards *= 3
    got = table.advantage(rewards, values, ratio, ended, cut, bootstrap=0.6,
                          **{**GAE, "reward_clip": limit, "reward_scale": 0.25})
    bounded = 0.25 * (np.clip(rewards, -limit, limit) if limit else rewards)
    want = table.advantage(bounded, values, ratio, ended, cut, bootstrap=0.6, **GAE)
    assert np.array_equal(got, want) and np.abs(rewards).max() > 1


@pytest.mark.parametrize("T", [1, 7, 8, 13, 64, 65])
def test_sums_over_a_segment(table, T):
    """A, A^2, |A|, R, R^2, in eight lanes on every machine: the same bits everywhere."""
    advantages, values = normal(T, 2, T)
    returns, sums = table.segment_sums(advantages, values)
    assert np.array_equal(returns, advantages + values)
    A, R = advantages.astype(float), returns.astype(float)
    want = np.zeros((5, 8))
    for t in range(T):
        want[:, t % 8] += A[t], A[t] * A[t], abs(A[t]), R[t], R[t] * R[t]
    in_order = np.zeros(5)
    for lane in want.T:
        in_order = in_order + lane
    assert np.array_equal(sums, in_order)
    assert np.allclose(sums, [A.sum(), (A ** 2).sum(), np.abs(A).sum(), R.sum(), (R ** 2).sum()])
