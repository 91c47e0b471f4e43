"""kernels/common: the errors that its comments state, and the same bits everywhere."""
import numpy as np
import pytest
from helpers import reference_ppo as ppo
from helpers.philox_answers import KNOWN_ANSWERS, from_hex
from helpers.short_or_long import long_only

from puffer_sdk.base import philox

pytest_plugins = ["helpers.kernel_fixtures"]

SMALLEST = 2.0 ** -126              # of normal floats
LARGEST = float(np.finfo(np.float32).max)


def points(*ranges, count=200_000):
    random = np.random.default_rng(0)
    return np.concatenate([random.uniform(low, high, count) for low, high in ranges]
                          + [np.linspace(low, high, count) for low, high in ranges]
                          ).astype(np.float32)


def error(got, want):
    """Relative, the largest."""
    return (np.abs(got.astype(float) - want) / np.abs(want)).max()


@long_only
def test_exp2(math):
    t = points((-126, 126), (-0.5, 0.5))
    assert error(math("exp2", t), np.exp2(t.astype(float))) < 2e-7
    whole = np.arange(-126, 127, dtype=np.float32)
    assert np.array_equal(math("exp2", whole), np.exp2(whole))


def test_exp(math):
    x = points((-87.33, 87.33), (-1, 1), (-1e-6, 1e-6))
    got, want = math("exp", x).astype(float), np.exp(x.astype(float))
    assert (np.abs(got / want - 1) <= 2e-7 + 8e-8 * np.abs(x)).all()
    assert math("exp", [0.0, -0.0, 1e-40, -1e-40]).tolist() == [1] * 4
    below = [-87.34, -88, -104, -1e4, -1e30, -LARGEST, -np.inf]
    assert math("exp", below).tolist() == [0] * 7
    above = [87.34, 88.7, 89, 1e4, LARGEST, np.inf]
    assert math("exp", above).tolist() == [2.0 ** 126] * 6
    assert np.isnan(math("exp", np.nan))
    ordered = math("exp", np.linspace(-90, 90, 100_000))
    assert (np.diff(ordered) >= 0).all()


def test_a_masked_logit_has_exactly_no_share(math):
    """ILLEGAL_LOGIT less the largest legal one, however small that is."""
    illegal = np.float32(-1e30)
    most = np.array([0, -1e4, -1e20, 3e38], np.float32)
    assert math("exp", illegal - most).tolist() == [0] * 4


def test_log(math):
    x = np.exp(points((np.log(SMALLEST), 88.7)).astype(float)).astype(np.float32)
    x = np.concatenate([x, points((0.5, 2), (0.999, 1.001)),
                        np.float32([SMALLEST, LARGEST, 1 - 2 ** -24, 1 + 2 ** -23, 2 ** -24])])
    x = x[(x >= SMALLEST) & (x <= LARGEST) & (x != 1)]
    assert error(math("log", x), np.log(x.astype(float))) < 2e-7
    assert math("log", 1.0) == 0
    assert np.isfinite(math("log", [0, 1e-40])).all()       # out of its range, and harmless


def test_cos(math):
    """Of every 61st number that philox can give, and both ends."""
    u = np.concatenate([np.arange(0, 2 ** 24, 61), [2 ** 24 - 1]]).astype(np.float32) / 2 ** 24
    got = math("cos_turns", u)
    assert np.abs(got - np.cos(2 * np.pi * u.astype(float))).max() < 8e-7


def test_sigmoid(math):
    x = points((-100, 100), (-3, 3))
    want = 1 / (1 + np.exp(-x.astype(float)))
    got = math("sigmoid", x)
    assert np.abs(got - want).max() < 2e-7 and got.max() <= 1
    low = x > -87
    assert (np.abs(got / want - 1)[low] < 3e-7 + 8e-8 * np.abs(x[low])).all()
    assert np.allclose(math("sigmoid", [17.5, 100, 1e30, np.inf]), 1, atol=2e-7)
    assert np.allclose(math("sigmoid", [-88, -1e30, -np.inf]), SMALLEST, rtol=1e-6, atol=0)
    assert np.allclose(math("sigmoid", [0.0, -0.0, 1e-40]), 0.5, rtol=2e-7, atol=0)


def test_reciprocal(math):
    x = np.exp(points((-87, 87)).astype(float)).astype(np.float32)
    assert error(math("reciprocal", x), 1 / x.astype(float)) < 2.0 ** -23
    assert error(math("reciprocal", -x), -1 / x.astype(float)) < 2.0 ** -23


def test_the_candidate_and_its_slope(math):
    u = points((-20, 20), (-0.01, 0.01), count=2000)
    g = math("candidate", u)
    want = np.array([ppo.candidate(float(one)) for one in u])
    assert np.allclose(g, want, rtol=5e-7, atol=5e-7)
    u = u[np.abs(u) > 1e-3]
    h = 1e-4
    want = [(ppo.candidate(one + h) - ppo.candidate(one - h)) / (2 * h) for one in u.astype(float)]
    assert np.allclose(math("candidate_slope", math("candidate", u)), want, rtol=1e-5, atol=1e-5)
    assert math("candidate", 0.0) == 0.5 and math("candidate_slope", 0.5) == 1


def test_gates_at_their_ends(math):
    """z = 1 takes the candidate, z = 0 keeps the state, s = 0 and 1 choose x and h: exactly."""
    g, before, x = np.random.default_rng(0).normal(size=(3, 64)).astype(np.float32)
    assert np.array_equal(math("mingru", g, 1.0, 0.0, before), g)
    assert np.array_equal(math("mingru", g, 0.0, 1.0, before), before)
    assert np.array_equal(math("highway", 0.0, g, x), x)
    assert np.allclose(math("highway", 1.0, g, x), g, rtol=1e-6, atol=2e-7)


def test_rounding_and_scaling(math):
    """To the nearest whole number, ties to even; and powers of 2 of numbers near 1."""
    x = points((-126, 126), (-2, 2))
    assert np.array_equal(math("round", x), np.round(x))
    assert math("round", [-2.5, -0.5, 0.5, 1.5, 126.4]).tolist() == [-2, 0, 0, 2, 126]
    n = np.arange(-126, 127, dtype=np.float32)
    for v in 1.0, 1.25, 0.75:
        n = n[n > -126] if v < 1 else n
        assert np.array_equal(math("scale", v, n), np.float32(v) * np.exp2(n))


@pytest.mark.parametrize("name, more", [
    ("exp2", ()), ("exp", ()), ("sigmoid", ()), ("reciprocal", ()), ("round", ()), ("scale", (3,)),
    ("candidate", ()), ("mingru", (0.5, 0.5, 0.5)), ("highway", (0.5, 0.5))])
def test_a_nan_stays_one_whatever_its_bits(math, name, more):
    """A CPU makes 0x7fc00000 of 0/0, a GPU 0x7fffffff, and memory set to 0xff holds another."""
    bits = np.uint32([0x7fc00000, 0x7fffffff, 0xffffffff, 0xffc00000, 0x7fc00001, 0x7f800001])
    assert np.isnan(math(name, bits.view(np.float32), *more)).all()


def test_the_candidate_tells_its_sides_apart(math):
    """Also where sigmoid(u) rounds to 0.5: the slope is 1 from 0 on, and 1/4 just below."""
    u = np.float32([-1e-30, -1e-9, -1e-7, -0.0, 0.0, 1e-9])
    slopes = math("candidate_slope", math("candidate", u))
    assert np.allclose(slopes, [0.25, 0.25, 0.25, 1, 1, 1], rtol=1e-6)


INPUTS = {"exp2": 1, "exp": 1, "log": 1, "cos_turns": 1, "sigmoid": 1, "reciprocal": 1,
          "round": 1,
          "candidate": 1, "candidate_slope": 1, "mingru": 4, "highway": 3, "mingru_backward": 8,
          "delta": 9, "policy_loss": 3, "value_loss": 4}
RESULTS = {"mingru_backward": 5, "policy_loss": 2, "value_loss": 2}


@pytest.mark.parametrize("name", INPUTS)
def test_one_float_has_the_bits_of_four(kernels, name):
    """simd_scalar.h, which CUDA threads use, and simd_generic.h: one formula."""
    random = np.random.default_rng(1)
    inputs = random.normal(size=(INPUTS[name], 4096)).astype(np.float32)
    inputs[:, ::3] *= 40
    if name == "log":
        inputs = np.abs(inputs)
    elif name == "cos_turns":
        inputs = random.integers(0, 2 ** 24, inputs.shape).astype(np.float32) / 2 ** 24
    elif name == "delta":
        inputs[3:5] = inputs[3:5] > 0
        inputs[4] += inputs[4] * (inputs[5] > 0)        # 0, 1 or 2
    elif name == "exp2":
        inputs = np.clip(inputs, -126, 126)
    one, four = (kernels.math[path](name, *inputs, results=RESULTS.get(name, 1))
                 for path in ("scalar", "generic"))
    assert np.array_equal(np.float32(one).view(np.int32), np.float32(four).view(np.int32))


@pytest.mark.parametrize("counter, key, answer", KNOWN_ANSWERS)
def test_philox_gives_the_known_answers(kernels, counter, key, answer):
    index, low, high, head = from_hex(counter)
    first, second = from_hex(key)
    seed, purpose = (second >> 8) << 32 | first, second & 0xFF
    words = kernels.philox((seed, purpose), [index], high << 32 | low, head)
    assert tuple(words[0].tolist()) == from_hex(answer)


def test_philox_in_c_is_philox_in_python(kernels):
    index = np.random.default_rng(0).integers(0, 2 ** 32, 500)
    for seed, step, head in (0, 0, 0), (philox.MAX_SEED, 2 ** 64 - 1, 63), (3 << 40 | 5, 7, 2):
        for purpose in philox.Purpose:
            got = kernels.philox((seed, purpose), index, step, head)
            want = philox.words((seed, purpose), index, step, head)
            assert np.array_equal(got, np.stack(want, 1))


def test_a_table_knows_its_path(kernels):
    for number in (-1, kernels.lib.KERNELS_PATHS + 2, 99):
        assert not kernels.find(number)
    *_, fastest = (table.c for name, table in kernels.tables.items()
                   if name not in ("scalar", "bf16"))
    assert kernels.find(0) == fastest
    assert {name: table.lanes for name, table in kernels.tables.items()}.items() <= {
        "generic": 4, "scalar": 1, "avx2": 8, "avx512": 16, "neon": 4, "bf16": 16}.items()
