"""The kernels of the network and the optimiser, each against float64 and by differences.

Every instruction set of this CPU is tested, and the drivers made of single floats; at sizes that
are multiples of nothing.
"""
import ast
import re

import numpy as np
import pytest
from helpers import kernel_reference as reference
from helpers.kernel_library import KERNELS, PATHS, TABLES, wide
from helpers.kernel_reference import normal
from helpers.short_or_long import some_or_all

pytest_plugins = ["helpers.kernel_fixtures"]

ROWS = (1, 3, 7, 13, 65)
HIDDEN = (1, 5, 17, 33, 64)
LONGDOUBLE = np.finfo(np.longdouble).nmant >= 63


def bytes_with_gaps(seed, rows, D, full=0.2):
    random = np.random.default_rng(seed)
    obs = random.integers(1, 256, (rows, D)).astype(np.uint8)
    obs[random.random(obs.shape) > full] = 0
    obs[0] = 0
    return obs


def same(first, second):
    """Equal bit for bit."""
    first, second = (np.ascontiguousarray(one, np.float32) for one in (first, second))
    return first.shape == second.shape and (first.view(np.int32) == second.view(np.int32)).all()


# ---- products ---------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["panels", "nn", "tn"])
@pytest.mark.parametrize("M", ROWS)
def test_products_are_sums_in_the_order_of_k(table, kind, M):
    for K, vectors in (1, 3), (9, 1), (121, 2), (193, 1), (400, 1):     # a product is cut at 192
        n = 2 * table.lanes * vectors
        A, B, start = normal(K, M, K), normal(K + 1, K, n), normal(K + 2, M, n)
        for before in (None, start):
            got = table.product(kind, A, B, before)
            want = A.astype(float) @ B + (0 if before is None else before)
            allowed = np.abs(A).astype(float) @ np.abs(B) + np.abs(start)
            assert (np.abs(got - want) <= (K + 1) * 2.0 ** -24 * allowed).all()
            if LONGDOUBLE or not table.fused:
                assert same(got, reference.products_in_order(A, B, before, table.fused))


@pytest.mark.parametrize("kind", ["panels", "nn", "tn"])
def test_a_products_bits_do_not_depend_on_the_range_asked_for(table, kind):
    """Tiles of other heights, other first rows and columns, packed and not: the same sums."""
    two = 2 * table.lanes
    n = two + 256                   # from 256 columns on, tiles read packed copies
    A, B, start = normal(1, 125, 230), normal(2, 230, n), normal(3, 125, n)
    whole = table.product(kind, A, B, start)
    for first, last in (0, 1), (0, 4), (1, 6), (3, 16), (7, 20), (40, 65), (64, 65), (99, 125):
        assert same(table.product(kind, A[first:last], B, start[first:last]), whole[first:last])
    right = table.product(kind, A, B[:, two:], start[:, two:])
    assert same(right, whole[:, two:])
    last = table.product(kind, A, B[:, -two:], start[:, -two:])
    assert same(last, whole[:, -two:])
    assert same(table.product(kind, A[:5], B, start[:5], extra=0), whole[:5])


@pytest.mark.parametrize("M", ROWS)
def test_narrow_products(table, M):
    for K in (1, 5, 33, 121):
        A, B = normal(K, M, K), normal(K + 1, K, table.lanes)
        got = table.narrow(A, B)
        allowed = (K + 1) * 2.0 ** -24 * (np.abs(A).astype(float) @ np.abs(B))
        assert (np.abs(got - A.astype(float) @ B) <= allowed).all()
        assert same(got[M // 2:], table.narrow(A[M // 2:], B))
        if LONGDOUBLE or not table.fused:
            assert same(got, reference.products_in_order(A, B, None, table.fused))


# ---- encoder ----------------------------------------------------------------------------------


@pytest.mark.parametrize("D", [1, 9, 121])
def test_bytes_are_widened(table, D):
    obs = bytes_with_gaps(D, 7, D, full=0.9)
    assert same(table.widen(obs), obs)


@pytest.mark.parametrize("D", [1, 7, 8, 9, 121])
def test_nonzero_bytes_are_found_in_order(table, D):
    for full in (0, 0.1, 0.5, 1):
        row = bytes_with_gaps(D, 2, D, full)[1]
        assert table.nonzero(row).tolist() == np.flatnonzero(row).tolist()
    assert table.nonzero(np.full(D, 128, np.uint8)).tolist() == list(range(D))


@pytest.mark.parametrize("D", [1, 9, 121, 250])
@pytest.mark.parametrize("H", [5, 33])
def test_the_sparse_encoder_has_the_bits_of_the_dense_one(table, D, H):
    obs, W = bytes_with_gaps(D, 13, D), normal(1, D, H)
    sparse = table.encode_sparse(obs, W)
    dense = table.product("panels", table.widen(obs), wide(W, table.padded(H), 0))[:, :H]
    assert same(sparse, dense)
    assert np.allclose(sparse, obs.astype(float) @ W, rtol=1e-5, atol=1e-3)

    dx, start = normal(2, 13, H), normal(3, D, H)
    sparse = table.encode_sparse_backward(obs, dx, start)
    dense = table.product("tn", table.widen(obs).T, wide(dx, table.padded(H)),
                          wide(start, table.padded(H)))[:, :H]
    assert same(sparse, dense)
    assert np.allclose(sparse - start, obs.T.astype(float) @ dx, rtol=1e-5, atol=1e-3)
    along = normal(4, D, H).astype(float)
    slope = reference.slope(lambda W: (dx * (obs @ W)).sum(), W.astype(float), along)
    assert np.isclose(((sparse - start) * along).sum(), slope, rtol=1e-5, atol=1e-2)


# ---- layers -----------------------------------------------------------------------------------


def layer_case(rows, H, seed=0):
    """x, W, where segments begin, keep: three segments, endings inside and before one."""
    random = np.random.default_rng(seed)
    x, W = normal(seed, rows, H), 1.5 * normal(seed + 1, 3 * H, H) / np.sqrt(H)
    places = sorted({0, rows // 3, rows // 2 + 1} & set(range(rows)))
    before = {row: normal(seed + 2 + row, H) for row in places}
    keep = (random.random(rows) > 0.3).astype(np.float32)
    keep[0] = 1
    if rows > 4:
        keep[places[1] + 1] = 0             # inside a segment
        keep[places[2]] = 0                 # where one begins
    return x, W, before, keep


@pytest.mark.parametrize("rows", ROWS)
@pytest.mark.parametrize("H", HIDDEN)
def test_a_tick_of_a_layer(table, rows, H):
    x, W, _, _ = layer_case(rows, H)
    state = normal(9, rows, H)
    want = reference.layer_scan(x, reference.layer_products(x, W, table.bf16),
                                dict(enumerate(state)), np.ones(rows))
    out, new = table.layer_step(x, W, state)
    assert np.allclose(out, want.out, rtol=2e-6, atol=2e-6)
    assert np.allclose(new, want.h, rtol=2e-6, atol=2e-6)
    for options in {"keep_state": False}, {"in_place": True}, {"extra": 0}:
        again, state_again = table.layer_step(x, W, state, **options)
        assert same(again, out) and (state_again is None or same(state_again, new))
    for first, last in (0, 1), (rows // 2, rows), (rows - 1, rows):
        part, _ = table.layer_step(x[first:last], W, state[first:last])
        assert same(part, out[first:last])


@pytest.mark.parametrize("rows, H", [(rows, H) for rows in ROWS for H in HIDDEN] + [(7, 401)])
def test_a_scan_over_segments(table, rows, H):
    x, W, before, keep = layer_case(rows, H)
    got = table.layer_scan(x, W, before, keep)
    want = reference.layer_scan(x, reference.layer_products(x, W, table.bf16), before, keep)
    for name in ("out", "h", "gates"):
        assert np.allclose(getattr(got, name), getattr(want, name), rtol=4e-6, atol=4e-6), name


@pytest.mark.parametrize("rows, H", [(rows, H) for rows in ROWS for H in HIDDEN] + [(7, 401)])
def test_a_scan_repeats_the_ticks_bit_for_bit(table, rows, H):
    """What training computes from a stored rollout is what the rollout computed."""
    x, W, before, keep = layer_case(rows, H)
    scan = table.layer_scan(x, W, before, keep)
    state = np.zeros((1, H), np.float32)
    for r in range(rows):
        state = (before[r][None] if r in before else state) * keep[r]
        out, state = table.layer_step(x[r:r + 1], W, state)
        assert same(out[0], scan.out[r]) and same(state[0], scan.h[r])


@pytest.mark.parametrize("rows", some_or_all(ROWS, 0, 4))
@pytest.mark.parametrize("H", some_or_all(HIDDEN, 0, 2, 4))
def test_the_gradient_of_a_scan(table, rows, H):
    """Of sum(a out), as differences along random directions: by x, W, and the products alone."""
    x, W, before, keep = layer_case(rows, H)
    a = normal(20, rows, H)
    got = table.layer_scan(x, W, before, keep).backward(a)
    by_products = np.concatenate(list(got.products), 1)

    def objective(x, products):
        return (a * reference.layer_scan(x, products, before, keep).out).sum()

    def along(seed, gradient, function, point):
        way = normal(seed, *point.shape).astype(float)
        error = (gradient * way).sum() - reference.slope(function, point.astype(float), way)
        return abs(error) <= 5e-6 * np.abs(gradient * way).sum()

    def products(x, W):
        return reference.layer_products(x, W)

    fixed = reference.layer_products(x, W, table.bf16)
    for seed in range(3):
        assert along(30 + seed, by_products, lambda products: objective(x, products), fixed)
        assert along(40 + seed, got.highway, lambda x: objective(x, fixed), x)
        if not table.bf16:
            assert along(50 + seed, got.dx, lambda x: objective(x, products(x, W)), x)
            assert along(60 + seed, got.dW, lambda W: objective(x, products(x, W)), W)
    assert np.allclose(got.dW, by_products.T.astype(float) @ x, rtol=1e-5, atol=1e-5 * rows)


@pytest.mark.parametrize("table", PATHS, indirect=True)     # bf16 rounds: the test above is its
def test_the_gradient_of_a_scan_number_by_number(table):
    x, W, before, keep = layer_case(7, 5)
    a = normal(20, 7, 5)
    got = table.layer_scan(x, W, before, keep).backward(a)

    def objective(x, W):
        products = reference.layer_products(x, W)
        return (a * reference.layer_scan(x, products, before, keep).out).sum()

    assert np.allclose(got.dx, reference.gradient(lambda x: objective(x, W), x), atol=5e-6)
    assert np.allclose(got.dW, reference.gradient(lambda W: objective(x, W), W), atol=5e-6)


@pytest.mark.parametrize("rows, H", [(1, 5), (13, 17), (65, 33), (7, 150)])
def test_the_way_from_the_gates_back_to_x(table, rows, H):
    W, start, H_padded = normal(1, 3 * H, H), normal(2, rows, H), table.padded(H)
    gates = normal(3, rows, 3 * H_padded)
    mine = np.concatenate(list(table.from_gates(gates, H)), 1)
    got = table.layer_dx(gates, W, start)
    exact = (reference.bf16(mine), reference.bf16(W)) if table.bf16 else (mine, W)
    want = start + exact[0].astype(float) @ exact[1]
    assert np.allclose(got, want, rtol=1e-5, atol=2e-5)
    assert same(table.layer_dx(gates[rows // 2:], W, start[rows // 2:]), got[rows // 2:])


def test_pairs_hold_neighbours_rounded_to_bf16(kernels):
    if "bf16" not in TABLES:        # the CPU lacks it: the table must not be offered
        assert "bf16" not in kernels.tables
        return
    table = kernels.tables["bf16"]
    for K in (1, 2, 5, 8):
        panels = normal(K, 2, K, 32)
        panels[0, 0, :3] = 1 + 2.0 ** -8, 1 + 3 * 2.0 ** -8, -(1 + 2.0 ** -8)     # ties
        words = table.pairs(panels)
        low, high = (words << 16).view(np.float32), (words >> 16 << 16).view(np.float32)
        want = reference.bf16(panels)
        assert same(low, want[:, ::2])
        assert same(high[:, :K // 2], want[:, 1::2]) and not high[:, K // 2:].any()
    assert kernels.tables["avx512"].c.pack_pairs == kernels.tables["generic"].c.pack_pairs
    assert not kernels.tables["generic"].c.pack_pairs


def test_nothing_flows_back_across_an_ending_or_into_another_segment(table):
    H, rows = 5, 9
    x, W = normal(0, rows, H), normal(1, 3 * H, H)
    before, keep = {0: normal(2, H), 6: normal(3, H)}, np.ones(rows)
    keep[3] = 0
    for row, reached in (2, [0, 1, 2]), (5, [3, 4, 5]), (8, [6, 7, 8]):
        a = np.zeros((rows, H))
        a[row] = 1
        got = table.layer_scan(x, W, before, keep).backward(a)
        assert np.flatnonzero(np.abs(got.dx).sum(1)).tolist() == reached


# ---- updates ----------------------------------------------------------------------------------


@pytest.mark.parametrize("count", [1, 7, 33, 65])
def test_chunks_are_added_in_order(table, count):
    parts = [normal(seed, count + 10) * 10.0 ** (seed % 3) for seed in range(5)]
    want = parts[0][3:3 + count].copy()
    for part in parts[1:]:
        want += part[3:3 + count]
    assert same(table.add_up(parts, 3, count), want)
    assert same(table.add_up(parts[:1], 3, count), parts[0][3:3 + count])


@pytest.mark.parametrize("n", [0, 1, 3, 13, 65, 4099])
def test_elementwise_updates(table, n):
    g, m = normal(1, n), normal(2, n)
    square = (g.astype(float) ** 2).sum()
    assert np.isclose(table.square_sum(g), square, rtol=1e-6)
    if not n:
        return
    momentum, update = table.nesterov(0.95, 0.5, g, m)
    want = 0.95 * m.astype(float) + 0.5 * g
    assert np.allclose(momentum, want, rtol=1e-6, atol=1e-6)
    assert np.allclose(update, 0.5 * g + 0.95 * want, rtol=1e-6, atol=1e-6)
    assert np.allclose(table.add_scaled(0.3, g, m), m + 0.3 * g.astype(float), rtol=1e-6,
                       atol=1e-6)


def test_a_square_sum_holds_its_precision(table):
    """A gradient of a million small numbers and a large one."""
    x = np.full(1_000_003, 1e-3, np.float32)
    x[0] = 30
    assert np.isclose(table.square_sum(x), (x.astype(float) ** 2).sum(), rtol=1e-6)


@pytest.mark.parametrize("wide_side", [3, 17, 33])
def test_a_muon_polynomial_row_by_row(table, wide_side):
    ld = table.padded(wide_side)
    G, P = normal(1, wide_side, ld), normal(2, wide_side, ld)
    a, b, c = 3.0, -4.0, 1.5
    want = b * G.astype(float) + c * P + a * np.eye(wide_side, ld)
    whole = table.muon_polynomial((a, b, c), G, P)
    assert np.allclose(whole, want, rtol=1e-6, atol=1e-5)
    part = table.muon_polynomial((a, b, c), G, P, rows=2)
    assert same(part[:2], whole[:2]) and same(part[2:], P[2:])


@pytest.mark.parametrize("tall, wide_side", [(1, 1), (13, 5), (33, 33), (121, 17), (64, 64)])
def test_muons_steps_orthogonalise(table, tall, wide_side):
    """Singular values come to 1 as kernels.h says, and directions stay what they were."""
    left, _ = np.linalg.qr(np.random.default_rng(1).normal(size=(tall, wide_side)))
    right, _ = np.linalg.qr(np.random.default_rng(2).normal(size=(wide_side, wide_side)))
    values = np.geomspace(0.003, 1, wide_side) if wide_side > 1 else np.array([1.0])
    ld = table.padded(wide_side)
    X = wide(left * values @ right, ld, 0)
    for coefficients in reference.ppo.COEFFICIENTS:
        G = table.product("tn", X[:, :wide_side].T, X, extra=0)
        P = table.product("tn", G[:, :wide_side].T, G, extra=0)
        P = table.muon_polynomial(coefficients, G, P)
        X = table.product("nn", X[:, :wide_side], P, extra=0)
    assert not X[:, wide_side:].any()
    reached = np.diag(left.T @ X[:, :wide_side] @ right.T)
    assert np.abs(left * reached @ right - X[:, :wide_side]).max() < 3e-4
    assert ((reached > 0.97) & (reached < 1.15)).all()
    assert (np.abs(reached - 1)[values > 0.01] < 0.035).all()


def test_the_coefficients_are_the_algorithms():
    text = (KERNELS / "kernels.h").read_text().partition("MUON_COEFFICIENTS")[2]
    numbers = re.findall(r"-?\d\.\d+(?=f)", text.partition("typedef")[0])
    assert [float(one) for one in numbers] == list(np.ravel(reference.ppo.COEFFICIENTS))
    training = KERNELS.parent / "puffer_sdk" / "training"       # the PyTorch trainer's
    found = [re.search(r"^NEWTON_SCHULZ = (\(.*?\)\))$", path.read_text(), re.M | re.S)
             for path in training.rglob("*.py")]
    ours, = (ast.literal_eval(match[1]) for match in found if match)
    assert np.array_equal(ours, reference.ppo.COEFFICIENTS)
    values = np.geomspace(0.003, 1, 10_001)
    for a, b, c in reference.ppo.COEFFICIENTS:
        values = a * values + b * values ** 3 + c * values ** 5
    assert values.min() > 0.97 and values.max() < 1.15
