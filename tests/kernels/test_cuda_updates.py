"""The CUDA kernels that pick segments, add up and move weights: the CPU's numbers.

Where the CPU trainer adds in another order the sums agree to the last bits of a double.
"""
import re
import subprocess

import numpy as np
import pytest
from helpers import kernel_reference as reference
from helpers import reference_ppo as ppo
from helpers.cuda_calls import Cuda, bf16_bits, blank, find_cpp, same
from helpers.kernel_library import KERNELS, wide
from helpers.kernel_reference import normal

from puffer_sdk.base import philox

pytest_plugins = ["helpers.cuda_fixtures"]

NOWHERE = np.uint64([2 ** 64 - 1])
BUCKET, BIN = (int(re.search(rf"#define {name} +(\d+)",
                             (KERNELS / "cuda" / "contract.h").read_text())[1])
               for name in ("CUDA_BUCKET", "CUDA_BIN"))


def schedule(**known):
    return {"seed": 5 << 32 | 7, "epoch": 3 << 32 | 2, "number": 0, "ent_coef": 0.0,
            "learning_rate": 0.015, "prio_beta": 0.4, "reward_scale": 0.5,
            "highest_value": 0.25, "first_bias": 1 - 0.9 ** 3, "second_bias": 1 - 0.999 ** 3,
            **known}


def results(**known):
    return {"mean": 0.25, "scale": 0.5, "clip": 0.5, **known}


def some_of(N, seed=0):
    """A third of N segments, ascending, and the ticks in which the agent of each of N lives."""
    random = np.random.default_rng(seed)
    living = np.sort(random.choice(N, max(1, N // 3), replace=False)).astype(np.int32)
    ticks = np.zeros(N, np.int32)
    ticks[living] = random.integers(1, 4, len(living))
    return living, ticks


# ---- the start of an epoch --------------------------------------------------------------------


@pytest.mark.parametrize("N, T", [(1, 1), (5, 131), (300, 7)])
def test_ticks_with_an_agent_are_counted(cuda, N, T):
    live = (np.random.default_rng(N).random((N, T)) < 0.3).astype(np.float32)
    live[N // 2] = 0
    got = cuda.live_count(N=N, T=T, live=live, ticks=blank(N, dtype=np.int32))
    assert same(got.ticks, live.sum(1).astype(np.int32))


@pytest.mark.parametrize("count, T", [(1, 1), (77, 7), (5000, 100)])
@pytest.mark.parametrize("clip", [0.0, 0.5, 1.0])
def test_an_epoch_begins(cuda, count, T, clip):
    rewards, values = 2 * normal(1, count), normal(2, count)
    rewards[:5] = [1.0, -1.0, 0.5, -0.5, np.nan][:count]    # at the limits: not beyond
    random = np.random.default_rng(count)
    ended = (random.random(count) < 0.1).astype(np.float32)
    cut = ended * (random.random(count) < 0.5).astype(np.float32)
    got = cuda.epoch_begin(count=count, T=T, gamma=0.97, reward_clip=clip, values=values,
                           rewards=rewards, ended=ended, truncated=cut, values_now=blank(count),
                           ratio_now=blank(count), clipped=np.uint64([2 ** 40]),
                           highest=NOWHERE.copy())
    bounded = np.clip(rewards, -clip, clip) if clip else rewards
    want = ppo.earned_return(*(each.reshape(-1, T) for each in (bounded, ended, cut)), 0.97)
    assert (~got.highest).astype(np.uint32).view(np.float32) == pytest.approx(want, rel=1e-5)
    beyond = int((np.abs(rewards) > clip).sum()) if clip else 0
    assert same(got.clipped, np.uint64([2 ** 40 + beyond])) and (beyond or not clip or count == 1)
    assert same(got.values_now, values) and same(got.ratio_now, np.ones(count, np.float32))


# ---- advantages -------------------------------------------------------------------------------


def compute_advantages(cuda, N, T, *, which=None, repeated=None, clip=0.0, alpha=0.7,
                       rho_clip=1.1, c_clip=0.9, results=None, finals=False):
    random = np.random.default_rng(N + T)
    ended = (random.random((N, T)) < 0.15).astype(np.float32)
    known = {"rewards": 2 * normal(1, N, T), "values": normal(2, N, T),
             "ratio": np.exp(0.5 * normal(3, N, T)), "ended": ended,
             "truncated": ended * (random.random((N, T)) < 0.5).astype(np.float32),
             "bootstrap": normal(4, N), "final_values": None}
    if finals:                          # what is no 2 has none, whatever stands there
        known["truncated"] *= 1 + (random.random((N, T)) < 0.6)
        known["truncated"] = known["truncated"].astype(np.float32)
        known["final_values"] = np.where(known["truncated"] == 2, normal(5, N, T),
                                         np.float32(np.nan))
    settings = {"gamma": 0.97, "gae_lambda": 0.9, "rho_clip": rho_clip, "c_clip": c_clip,
                "reward_clip": clip}
    got = cuda.advantages_compute(
        **known, **settings, schedule=schedule(), count=N if which is None else len(which), T=T,
        which=which, repeated=repeated, live=None, prio_alpha=alpha, results=results,
        advantages=blank(N, T), returns=blank(N, T), sums=blank(N, 5, dtype=np.float64),
        weights=blank(N, dtype=np.float64))
    return known, {**settings, "reward_scale": 0.5, "highest_value": 0.25}, got


def expected(generic, known, settings, segment):
    rows = {name: known[name][segment]
            for name in ("rewards", "values", "ratio", "ended", "truncated")}
    rows["final_values"] = None if known["final_values"] is None else known["final_values"][segment]
    advantages = generic.advantage(**rows, bootstrap=known["bootstrap"][segment], **settings)
    return advantages, *generic.segment_sums(advantages, known["values"][segment])


@pytest.mark.parametrize("stop", [0, 1])
def test_after_a_stop_no_advantage_moves(cuda, stop):
    """What went bad is to be found where it was."""
    *_, got = compute_advantages(cuda, 9, 5, results={"stop": stop})
    untouched = blank(9, 5)
    for array in (got.advantages, got.returns):
        assert same(array, untouched) == bool(stop)


@pytest.mark.parametrize("N, T", [(1, 1), (33, 7), (70, 32), (37, 33), (5, 131)])
@pytest.mark.parametrize("clip", [0.0, 0.5])
@pytest.mark.parametrize("finals", [False, True])
def test_advantages_and_their_sums_are_the_cpus(cuda, generic, N, T, clip, finals):
    known, settings, got = compute_advantages(cuda, N, T, clip=clip, finals=finals)
    for segment in range(N):
        advantages, returns, sums = expected(generic, known, settings, segment)
        if cuda.exact:
            assert same(got.advantages[segment], advantages)
            assert same(got.returns[segment], returns) and same(got.sums[segment], sums)
        else:
            assert np.allclose(got.advantages[segment], advantages, rtol=1e-5, atol=1e-5)
            assert np.allclose(got.sums[segment], sums, rtol=1e-5, atol=1e-5)
    assert np.allclose(got.weights, got.sums[:, 2] ** 0.7 + 1e-6, rtol=1e-14)
    if not clip:
        want = ppo.advantages(0.5 * known["rewards"].astype(float), *(
            known[name].astype(float) for name in (
                "values", "bootstrap", "ended", "truncated", "ratio")), 0.97, 0.9, 1.1, 0.9,
            known["final_values"], 0.25)
        assert np.allclose(got.advantages, want, rtol=1e-5, atol=4e-6)


def test_only_picked_segments_get_advantages_and_each_once(cuda):
    N, T = 50, 40
    which = np.int32([7, 3, 7, 49, 0, 3, 20])
    repeated = np.uint8([0, 0, 1, 0, 0, 1, 1])              # 20 is left out: it is marked
    everything = compute_advantages(cuda, N, T)[2]
    some = compute_advantages(cuda, N, T, which=which, repeated=repeated, alpha=0.0)[2]
    for name in "advantages", "returns", "sums":
        want = blank(*getattr(everything, name).shape, dtype=getattr(everything, name).dtype)
        want[[0, 3, 7, 49]] = getattr(everything, name)[[0, 3, 7, 49]]
        assert same(getattr(some, name), want), name
    assert same(some.weights, blank(N, dtype=np.float64))


# ---- picking ----------------------------------------------------------------------------------


@pytest.mark.parametrize("N", [1, 5, 128, 129, 256, 700])
def test_orders_are_the_cpus(cuda, N):
    got = cuda.segments_shuffle(schedule=schedule(), N=N, passes=3, first=0, living=None,
                                orders=blank(3, N, dtype=np.int32))
    for each in range(3):
        assert got.orders[each].tolist() == philox.permutation(5 << 32 | 7, N, 3 << 32 | 2,
                                                             each).tolist()


@pytest.mark.parametrize("N, S", [(5, 7), (256, 20), (700, 300)])
def test_orders_hold_segments_in_which_somebody_lives(cuda, N, S):
    """Shorter passes, as many as there is room for."""
    living, _ = some_of(N)
    n = len(living)
    now = {"living": living, "first": 0, "N": N, "passes": 3}
    orders = cuda.segments_shuffle(schedule=schedule(segments=n),
                                   orders=blank(3, N, dtype=np.int32), **now).orders
    passes = 3 * N // n
    for each in range(passes):
        order = philox.permutation(5 << 32 | 7, n, 3 << 32 | 2, each)
        assert orders.ravel()[each * n:][:n].tolist() == living[order].tolist()
    assert same(orders.ravel()[passes * n:], blank(3 * N - passes * n, dtype=np.int32))
    seen = [row for number in range(passes * n // S) for row in cuda.segments_pick(
        schedule=schedule(number=number, segments=n), S=S, orders=orders, weights=None, cdf=None,
        rows=blank(S, dtype=np.int32), importance=blank(S), **now).rows]
    assert seen == orders.ravel()[:len(seen)].tolist() and len(seen) > passes * n - S


@pytest.mark.parametrize("drawn", [False, True])
def test_where_nobody_lives_some_segment_is_taken_all_the_same(cuda, drawn):
    """By a GPU whose agents are all gone, while others learn."""
    now = {"schedule": schedule(number=3, segments=0), "N": 5, "passes": 2, "first": 0,
           "living": np.zeros(5, np.int32)}
    orders = None if drawn else cuda.segments_shuffle(
        orders=blank(2, 5, dtype=np.int32), **now).orders
    assert drawn or same(orders, blank(2, 5, dtype=np.int32))
    weights, cdf = (np.ones(5), blank(5, dtype=np.float64)) if drawn else (None, None)
    if drawn:
        cdf = cuda.priorities_sum(schedule=now["schedule"], N=5, living=now["living"],
                                  weights=weights, cdf=cdf).cdf
    got = cuda.segments_pick(S=7, orders=orders, weights=weights, cdf=cdf,
                             rows=blank(7, dtype=np.int32), importance=blank(7), **now)
    assert got.rows.tolist() == [0, 1, 2, 3, 4, 0, 1] and (got.importance == 1).all()


def test_large_buckets_are_put_in_order_a_part_at_a_time(cuda):
    """Of 3,000 keys, one bucket at least is larger than what a block looks at together."""
    N = 3000
    keys = philox.words((5 << 32 | 7, philox.Purpose.SHUFFLE), np.arange(N), 3 << 32 | 2)[0]
    assert np.bincount(keys.astype(np.uint64) * -(-N // BUCKET) >> 32).max() > BIN
    got = cuda.segments_shuffle(schedule=schedule(), N=N, passes=1, first=0, living=None,
                                orders=blank(1, N, dtype=np.int32))
    assert got.orders[0].tolist() == philox.permutation(5 << 32 | 7, N, 3 << 32 | 2).tolist()


CROWDED = """
#include "kernels/common/philox.h"
static PhiloxBlock crowded(uint64_t, uint32_t, uint32_t index, uint64_t, uint32_t epoch_pass) {
    return {{((index + 977 * epoch_pass) * 2654435761u >> 24) << 22, 0, 0, 0}};
}
#define philox_block crowded
#include "kernels/cuda/kernels.cu"
"""


def test_keys_that_crowd_into_one_bucket_are_put_in_order(tmp_path):
    """Random ones never do: it takes chosen keys to need a third part, which replaces the second.

    All are below 2^30 of 2^32, so that the first of five buckets holds four fifths, and many of
    them are equal: by number, as a stable sort has them.
    """
    N, (source, made) = 600, (tmp_path / name for name in ("crowded.cc", "crowded.so"))
    source.write_text(CROWDED)
    subprocess.run([find_cpp(), "-std=c++17", "-fPIC", "-shared", "-w", f"-I{KERNELS.parent}",
                    source, "-o", made], check=True, timeout=60)
    got = Cuda(made).segments_shuffle(schedule=schedule(), N=N, passes=3, first=0, living=None,
                                      orders=blank(3, N, dtype=np.int32))
    for each in range(3):
        keys = (np.arange(N, dtype=np.uint32) + np.uint32(977 * each)) * np.uint32(2654435761) >> 24
        buckets = (keys << 22).astype(np.uint64) * -(-N // BUCKET) >> 32
        assert np.bincount(buckets).max() > 3 * BIN
        assert same(got.orders[each], np.argsort(keys, kind="stable").astype(np.int32))


def test_ranks_shuffle_and_draw_by_numbers_of_their_own(cuda):
    orders = [cuda.segments_shuffle(schedule=schedule(), N=300, passes=2, first=first, living=None,
                                    orders=blank(2, 300, dtype=np.int32)).orders
              for first in (0, 300)]
    assert (np.sort(orders) == np.arange(300)).all() and (orders[0] != orders[1]).any(1).all()
    weights = np.ones(1000)
    whole, later = (cuda.segments_pick(
        schedule=schedule(), N=1000, S=S, passes=1, first=first, living=None, orders=None,
        weights=weights, cdf=np.cumsum(weights), rows=blank(S, dtype=np.int32),
        importance=blank(S)).rows
        for first, S in ((0, 100), (60, 40)))
    assert same(whole[60:], later) and len(set(later)) > 1


@pytest.mark.parametrize("N, S", [(5, 3), (300, 70)])
def test_minibatches_are_dealt_from_orders(cuda, N, S):
    passes = 3
    orders = np.stack([np.random.default_rng(each).permutation(N) for each in range(passes)])
    flat, seen = orders.ravel(), []
    for number in range(passes * N // S):
        got = cuda.segments_pick(
            schedule=schedule(number=number), N=N, S=S, passes=passes, first=0, living=None,
            orders=orders.astype(np.int32), weights=None, cdf=None, rows=blank(S, dtype=np.int32),
            importance=blank(S))
        seen += got.rows.tolist()
        assert (got.importance == 1).all()
    assert seen == flat[:len(seen)].tolist()


@pytest.mark.parametrize("N, S", [(1, 3), (5, 7), (256, 33), (1000, 130)])
@pytest.mark.parametrize("some", [False, True])
def test_picks_by_priority_are_the_cpus(cuda, N, S, some):
    given = np.abs(normal(N, N).astype(float)) ** 3 + 1e-6
    living = some_of(N)[0] if some else None
    weights = given[living] if some else given
    n, now = len(weights), {"schedule": schedule(number=6, segments=len(weights) * some),
                            "N": N, "living": living, "weights": given}
    sums = cuda.priorities_sum(cdf=blank(N, dtype=np.float64), **now)
    assert np.allclose(sums.cdf[:n], np.cumsum(weights), rtol=1e-13)
    assert same(sums.cdf[n:], blank(N - n, dtype=np.float64))
    got = cuda.segments_pick(S=S, passes=1, first=0, orders=None, cdf=sums.cdf,
                             rows=blank(S, dtype=np.int32), importance=blank(S), **now)
    uniform = philox.uniform((5 << 32 | 7, philox.Purpose.PRIORITY), np.arange(S), 3 << 32 | 2, 6)
    total = np.cumsum(weights)[-1]
    rows = np.searchsorted(np.cumsum(weights), uniform.astype(float) * total, side="right")
    assert got.rows.tolist() == (living[rows] if some else rows).tolist()
    assert np.allclose(got.importance, (n * weights[rows] / total) ** -0.4, rtol=1e-6)
    assert n == 1 or len(set(rows)) > 1


def test_a_pick_is_the_first_whose_sum_is_above_the_number(cuda):
    number = float(philox.uniform((5 << 32 | 7, philox.Purpose.PRIORITY), 0, 3 << 32 | 2, 0))
    weights = np.array([number, 1 - number])                # the first sum is the number itself
    got = cuda.segments_pick(schedule=schedule(), N=2, S=1, passes=1, first=0, living=None,
                             orders=None, weights=weights, cdf=np.cumsum(weights),
                             rows=blank(1, dtype=np.int32), importance=blank(1))
    assert got.rows[0] == 1 and np.isclose(got.importance[0], (2 * weights[1]) ** -0.4)


@pytest.mark.parametrize("S", [1, 7, 300])
def test_repeated_picks_are_found(cuda, S):
    rows = np.random.default_rng(S).integers(0, 50, S).astype(np.int32)
    got = cuda.repeats_find(S=S, rows=rows, repeated=blank(S, dtype=np.uint8))
    assert got.repeated.tolist() == [int(row in rows[:s]) for s, row in enumerate(rows)]


@pytest.mark.parametrize("S, T", [(1, 1), (7, 3), (300, 5), (600, 2)])
@pytest.mark.parametrize("norm_adv", [0, 1])
def test_a_minibatch_is_measured(cuda, S, T, norm_adv):
    N = 200
    advantages = normal(1, N, T).astype(float)
    sums = np.zeros((N, 5))
    sums[:, 0], sums[:, 1] = advantages.sum(1), (advantages ** 2).sum(1)
    rows = np.random.default_rng(S).integers(0, N, S).astype(np.int32)
    got = cuda.batch_measure(S=S, T=T, norm_adv=norm_adv, rows=rows, sums=sums, ticks=None,
                             totals=None, results=results(norm=4.5))
    assert got.results["live"] == S * T
    mine = advantages[rows]
    mean, scale = (mine.mean(), 1 / (mine.std() + 1e-8)) if norm_adv else (0, 1)
    assert np.isclose(got.results["mean"], mean, rtol=1e-6, atol=1e-9)
    assert np.isclose(got.results["scale"], scale, rtol=1e-6) or S * T == 1
    assert got.results["norm"] == 4.5 and got.results["clip"] == 0.5


@pytest.mark.parametrize("S", [7, 300])
def test_ticks_without_an_agent_are_not_measured(cuda, S):
    N, T = 60, 3
    ticks = some_of(N)[1]
    advantages = normal(1, N, T).astype(float) * (np.arange(T) < ticks[:, None])
    sums = np.zeros((N, 5))
    sums[:, 0], sums[:, 1] = advantages.sum(1), (advantages ** 2).sum(1)
    rows = np.random.default_rng(S).integers(0, N, S).astype(np.int32)
    now = {"S": S, "T": T, "norm_adv": 1, "sums": sums, "ticks": ticks}
    got = cuda.batch_measure(rows=rows, totals=None, results=results(), **now).results
    mine = np.concatenate([advantages[row, :ticks[row]] for row in rows])
    assert got["live"] == len(mine) < S * T
    assert np.isclose(got["mean"], mine.mean()) and np.isclose(got["scale"], 1 / mine.std())
    parts = [cuda.batch_measure(rows=part, totals=blank(3, dtype=np.float64), results=results(),
                                **{**now, "S": len(part)}).totals for part in (rows[:2], rows[2:])]
    again = cuda.ranks_measure(ranks=2, norm_adv=1, totals=np.array(parts),
                               results=results()).results
    assert again["live"] == len(mine) and np.isclose(again["scale"], got["scale"])
    empty = np.full(S, np.flatnonzero(ticks == 0)[0], np.int32)     # as a caller may want it
    got = cuda.batch_measure(rows=empty, totals=None, results=results(), **now).results
    assert got["live"] == 1 and got["mean"] == 0


@pytest.mark.parametrize("ranks", [1, 2, 5])
@pytest.mark.parametrize("norm_adv", [0, 1])
def test_minibatches_of_several_ranks_are_measured_as_one(cuda, ranks, norm_adv):
    S, T = 30, 4
    advantages = normal(2, ranks, S, T).astype(float) + np.arange(ranks)[:, None, None]
    totals = []
    for mine in advantages:
        sums = np.zeros((S, 5))
        sums[:, 0], sums[:, 1] = mine.sum(1), (mine ** 2).sum(1)
        got = cuda.batch_measure(S=S, T=T, norm_adv=norm_adv, rows=np.arange(S, dtype=np.int32),
                                 sums=sums, ticks=None, totals=blank(3, dtype=np.float64),
                                 results=results())
        assert same(got.results["mean"], results()["mean"])     # decided by the next
        totals.append(got.totals)
    got = cuda.ranks_measure(ranks=ranks, norm_adv=norm_adv, totals=np.array(totals),
                             results=results(norm=4.5))
    assert got.results["live"] == ranks * S * T
    mean, scale = (advantages.mean(), 1 / (advantages.std() + 1e-8)) if norm_adv else (0, 1)
    assert np.isclose(got.results["mean"], mean, rtol=1e-6, atol=1e-9)
    assert np.isclose(got.results["scale"], scale, rtol=1e-6) and got.results["norm"] == 4.5


def test_equal_advantages_have_no_spread(cuda):
    sums = np.tile([3 * 0.1, 3 * 0.1 ** 2, 0.3, 0, 0], (4, 1))
    got = cuda.batch_measure(S=4, T=3, norm_adv=1, rows=np.arange(4, dtype=np.int32), sums=sums,
                             ticks=None, totals=None, results=results())
    assert 1e7 < got.results["scale"] <= np.float32(1e8)


@pytest.mark.parametrize("dtype", [np.uint8, np.float32])
def test_observations_are_gathered(cuda, dtype):
    N, S, T, D, ldw = 6, 5, 3, 9, 16
    obs = (100 * np.abs(normal(1, N, T, D))).clip(0, 255).astype(dtype)
    rows = np.int32([5, 0, 2, 5, 1])
    got = cuda.obs_gather(S=S, T=T, D=D, ldw=ldw, obs_dtype=int(dtype == np.float32),
                          rows=rows, obs=obs, wide=blank(S * T, ldw),
                          narrow=blank(S * T, ldw, dtype=np.uint16))
    want = obs[rows].reshape(S * T, D).astype(np.float32)
    assert same(got.wide, wide(want, ldw, 0)) and same(got.narrow, bf16_bits(got.wide))
    args = dict(S=S, T=T, D=D, ldw=ldw, obs_dtype=int(dtype == np.float32),
                obs=obs, wide=blank(S * T, ldw), narrow=None)
    in_order = cuda.obs_gather(rows=np.arange(S, dtype=np.int32), **args)
    assert same(cuda.obs_gather(rows=None, **args).wide, in_order.wide)


# ---- sums -------------------------------------------------------------------------------------


@pytest.mark.parametrize("parts, columns", [(1, 1), (7, 6), (300, 5), (1000, 3)])
def test_columns_are_added_up(cuda, parts, columns):
    x = normal(1, parts, columns).astype(float)
    got = cuda.columns_sum(parts_count=parts, columns=columns, parts=x,
                           sums=blank(columns, dtype=np.float64), floats=blank(columns))
    assert np.allclose(got.sums, x.sum(0), rtol=1e-12, atol=1e-12)
    assert same(got.floats, got.sums.astype(np.float32))
    for name in "sums", "floats":
        alone = {"sums": None, "floats": None, name: blank(
            columns, dtype=np.float64 if name == "sums" else np.float32)}
        again = cuda.columns_sum(parts_count=parts, columns=columns, parts=x, **alone)
        assert same(getattr(again, name), getattr(got, name))


@pytest.mark.parametrize("count, parts", [(1, 1), (77, 3), (5000, 8)])
def test_parts_are_added_in_order(cuda, count, parts):
    source = normal(1, parts, count + 3)
    got = cuda.parts_add(count=count, parts=parts, stride=count + 3, source=source, D=0, H=0,
                         obs_scale=None, sums=blank(count))
    want = source[0, :count].copy()
    for part in source[1:, :count]:
        want = want + part
    assert same(got.sums, want)
    assert parts == 1 or not same(want, source[::-1, :count].sum(0, dtype=np.float32))
    D, H = (1, 1) if count == 1 else (9, 8)         # the first sums are of the encoder (D, H)
    factors = np.float32([0.3, 1, 7] * 3)[:D]
    got = cuda.parts_add(count=count, parts=parts, stride=count + 3, source=source, D=D, H=H,
                         obs_scale=factors, sums=blank(count))
    want[:D * H] *= np.repeat(factors, H)
    assert same(got.sums, want)


def layout(*shapes, vectors=3):
    """Matrices one behind another and a vector: (matrices, chunks), as the trainer cuts them."""
    matrices, chunks, offset = [], [], 0
    for number, (rows, cols) in enumerate(shapes):
        first = len(chunks)
        for at in range(0, rows * cols, 4096):
            chunks.append({"first": offset + at, "count": min(4096, rows * cols - at),
                           "matrix": number})
        matrices.append({"offset": offset, "rows": rows, "cols": cols, "first_chunk": first,
                         "chunks": len(chunks) - first, "ratio": max(1, rows / cols) ** 0.5})
        offset += rows * cols
    chunks.append({"first": offset, "count": vectors, "matrix": -1})
    return matrices, chunks, offset, offset + vectors


SHAPES = ((9, 33), (99, 65), (5, 33))


def test_squares_of_a_gradient(cuda):
    matrices, chunks, _, size = layout(*SHAPES)
    x = normal(1, size)
    x[100] = 300                        # among many small ones
    got = cuda.squares_sum(chunks=len(chunks), chunk=chunks, x=x,
                           parts=blank(len(chunks), dtype=np.float64))
    for chunk, part in zip(chunks, got.parts):
        mine = x[chunk["first"]:chunk["first"] + chunk["count"]].astype(float)
        assert np.isclose(part, (mine ** 2).sum(), rtol=1e-6)
    assert np.isclose(got.parts.sum(), (x.astype(float) ** 2).sum(), rtol=1e-6)


# ---- decisions --------------------------------------------------------------------------------


def decide(cuda, squares, losses, **before):
    return cuda.update_decide(max_grad_norm=1.5, squares=np.float64([squares]),
                              losses=np.asarray(losses, np.float64),
                              results=results(live=50, **before)).results


LOSSES = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]


@pytest.mark.parametrize("squares, clip", [(1.0, 1.0), (2.25, 1.0), (9.0, 0.5)])
def test_a_norm_is_clipped_and_losses_are_averaged(cuda, squares, clip):
    got = decide(cuda, squares, LOSSES, minibatches=4, loss_sums=[10.0] * 7)
    assert got["clip"] == clip and got["norm"] == squares ** 0.5
    assert got["stop"] == 0 and got["minibatches"] == 5
    assert np.allclose(got["losses"], np.array(LOSSES) / 50)
    assert np.allclose(got["loss_sums"], 10 + np.array([*np.array(LOSSES) / 50, squares ** 0.5]))
    assert got["mean"] == 0.25 and got["scale"] == 0.5


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_what_is_not_finite_stops_for_good(cuda, bad):
    cases = [(abs(bad), LOSSES)] + [(1.0, [*LOSSES[:k], bad, *LOSSES[k + 1:]]) for k in range(6)]
    for squares, losses in cases:
        got = decide(cuda, squares, losses, minibatches=4, loss_sums=[10.0] * 7)
        assert got["stop"] == 1 and got["minibatches"] == 4 and got["loss_sums"] == [10.0] * 7
    assert decide(cuda, 1.0, LOSSES, stop=1, minibatches=4)["stop"] == 1
    assert decide(cuda, 1.0, LOSSES, stop=1, minibatches=4)["minibatches"] == 4


# ---- Muon and Adam ----------------------------------------------------------------------------


def test_momentum_and_normalisation(cuda, generic):
    matrices, chunks, vectors, size = layout(*SHAPES)
    gradient, momentum = normal(1, size), normal(2, size)
    common = {"chunks": len(chunks), "chunk": chunks}
    got = cuda.muon_momentum(**common, results=results(), mu=0.95, gradient=gradient,
                             momentum=momentum, update=blank(size),
                             parts=blank(len(chunks), dtype=np.float64))
    want_m, want_u = generic.nesterov(0.95, 0.5, gradient[:vectors], momentum[:vectors])
    if cuda.exact:
        assert same(got.momentum[:vectors], want_m) and same(got.update[:vectors], want_u)
    assert np.allclose(got.update[:vectors], want_u, rtol=1e-6, atol=1e-6)
    assert same(got.momentum[vectors:], momentum[vectors:])         # vectors are Adam's
    assert same(got.update[vectors:], blank(3)) and np.isnan(got.parts[-1])

    measured = cuda.muon_measure(matrices=3, matrix=matrices, parts=got.parts, factors=blank(3))
    X = cuda.muon_normalise(**common, factors=measured.factors, update=got.update,
                            wide=blank(size), narrow=blank(size, dtype=np.uint16))
    for matrix, factor in zip(matrices, measured.factors):
        mine = slice(matrix["offset"], matrix["offset"] + matrix["rows"] * matrix["cols"])
        norm = np.sqrt((got.update[mine].astype(float) ** 2).sum())
        assert np.isclose(factor, 1 / norm, rtol=1e-6)
        assert np.isclose((X.wide[mine].astype(float) ** 2).sum(), 1, rtol=1e-5)
        assert same(X.wide[mine], got.update[mine] * factor)
    assert same(X.narrow[:vectors], bf16_bits(X.wide[:vectors]))
    assert same(X.wide[vectors:], blank(3)) and same(X.narrow[vectors:], blank(3, dtype=np.uint16))


def test_no_update_has_the_factor_of_a_tiny_one(cuda):
    matrices, chunks, *_ = layout(*SHAPES)
    got = cuda.muon_measure(matrices=3, matrix=matrices, parts=np.zeros(len(chunks)),
                            factors=blank(3))
    assert same(got.factors, np.full(3, 1e7, np.float32))


def apply(cuda, narrow=True, **known):
    matrices, chunks, vectors, size = layout(*SHAPES)
    X, weights = normal(1, size), normal(2, size)
    got = cuda.muon_apply(schedule=schedule(), results=results(**known), chunks=len(chunks),
                          chunk=chunks, matrix=matrices, D=0, H=0, obs_scale=None, X=X,
                          weights=weights,
                          narrow=blank(size, dtype=np.uint16) if narrow else None)
    return matrices, vectors, X, weights, got


def test_weights_move(cuda, generic):
    matrices, vectors, X, weights, got = apply(cuda)
    for matrix in matrices:
        mine = slice(matrix["offset"], matrix["offset"] + matrix["rows"] * matrix["cols"])
        rate = np.float32(-0.015 * matrix["ratio"])
        want = generic.add_scaled(float(rate), X[mine].copy(), weights[mine].copy())
        if cuda.exact:
            assert same(got.weights[mine], want)
        assert np.allclose(got.weights[mine], want, rtol=1e-6, atol=1e-6)
        assert not np.allclose(got.weights[mine], weights[mine], atol=1e-3)
    assert same(got.weights[vectors:], weights[vectors:])
    assert same(got.narrow[:vectors], bf16_bits(got.weights[:vectors]))
    assert same(apply(cuda, narrow=False)[-1].weights, got.weights)


def test_rows_of_the_encoder_move_by_their_factors(cuda):
    matrices, chunks, vectors, size = layout(*SHAPES)
    (D, H), X, weights = SHAPES[0], normal(1, size), normal(2, size)
    factors = np.linspace(0.1, 3, D, dtype=np.float32)
    got = cuda.muon_apply(schedule=schedule(), results=results(), chunks=len(chunks), chunk=chunks,
                          matrix=matrices, D=D, H=H, obs_scale=factors, X=X, weights=weights,
                          narrow=None).weights
    plain = apply(cuda, narrow=False)[-1].weights
    moved = (got - weights)[:D * H], np.repeat(factors, H) * (plain - weights)[:D * H]
    assert np.allclose(*moved, rtol=1e-3, atol=1e-6) and abs(moved[0]).max() > 1e-3
    assert same(got[D * H:], plain[D * H:])


def test_after_a_stop_nothing_moves(cuda):
    _, _, _, weights, got = apply(cuda, stop=1)
    assert same(got.weights, weights) and same(got.narrow, blank(len(weights), dtype=np.uint16))
    matrices, chunks, _, size = layout(*SHAPES)
    momentum = normal(2, size)
    moved = cuda.muon_momentum(chunks=len(chunks), chunk=chunks, results=results(stop=1), mu=0.95,
                               gradient=blank(size), momentum=momentum, update=blank(size),
                               parts=blank(len(chunks), dtype=np.float64))
    assert same(moved.momentum, momentum)
    m, v, w = (normal(seed, 3) for seed in range(3))
    got = cuda.adam_step(schedule=schedule(), results=results(stop=1), count=3, beta2=0.999,
                         eps=1e-12, gradient=blank(3), m=m, v=v, weights=w)
    assert same(got.m, m) and same(got.v, v) and same(got.weights, w)


@pytest.mark.parametrize("count", [1, 5, 70])
def test_adam(cuda, count):
    class Settings:
        max_grad_norm, beta2, eps = 1e9, 0.999, 1e-12

    weights, moments = {"logstd": normal(1, count).astype(float)}, {}
    w, m, v = (normal(1, count), np.zeros(count, np.float32), np.zeros(count, np.float32))
    for step in 1, 2, 3:
        gradient = normal(step + 5, count)
        ppo.muon(weights, {"logstd": 0.5 * gradient.astype(float)}, moments, 0.015, Settings, step)
        got = cuda.adam_step(
            schedule=schedule(first_bias=1 - 0.9 ** step, second_bias=1 - 0.999 ** step),
            results=results(), count=count, beta2=0.999, eps=1e-12, gradient=gradient, m=m, v=v,
            weights=w)
        w, m, v = got.weights, got.m, got.v
    assert np.allclose(w, weights["logstd"], rtol=1e-6, atol=1e-7)
    assert np.allclose(m, moments["adam.m.logstd"], rtol=1e-5, atol=1e-8)


# ---- formats, bad numbers ---------------------------------------------------------------------


def test_floats_become_bf16(cuda):
    x = np.concatenate([normal(1, 1000) * 10.0 ** np.arange(-30, 30).repeat(17)[:1000],
                        [0, -0.0, np.inf, -np.inf, 3.4e38, 1e-45],
                        1 + np.arange(-3, 4) * 2.0 ** -8]).astype(np.float32)
    got = cuda.floats_narrow(count=len(x), x=x, narrow=blank(len(x), dtype=np.uint16))
    assert same(got.narrow, bf16_bits(x))
    assert same(got.narrow.astype(np.uint32) << 16, reference.bf16(x).view(np.uint32))
    bad = np.uint32([0x7f800001, 0x7fffffff, 0xffffffff, 0xff80ffff]).view(np.float32)
    got = cuda.floats_narrow(count=4, x=bad, narrow=blank(4, dtype=np.uint16))
    assert np.isnan((got.narrow.astype(np.uint32) << 16).view(np.float32)).all()


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_the_first_bad_number_is_found(cuda, value):
    x = normal(1, 5001)
    assert same(cuda.bad_find(count=5001, x=x, where=NOWHERE).where, NOWHERE)
    for places in [5000], [4097, 77, 300], [0, 5000]:
        y = x.copy()
        y[places] = value
        assert cuda.bad_find(count=5001, x=y, where=NOWHERE).where[0] == min(places)
    assert cuda.bad_find(count=5001, x=y, where=np.uint64([0])).where[0] == 0
