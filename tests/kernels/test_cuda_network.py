"""The CUDA kernels of a tick, of layers and of heads, against the CPU's generic kernels.

On the host they have the same bits, row by row; on a GPU, which fuses multiply-adds, they agree.
Sizes are multiples of nothing.
"""
import numpy as np
import pytest
from helpers import kernel_reference as reference
from helpers.cuda_calls import bf16_bits, blank, same, segments_of
from helpers.kernel_calls import heads_of
from helpers.kernel_library import wide
from helpers.kernel_reference import a_mask, normal

pytest_plugins = ["helpers.cuda_fixtures"]

NO_FAULT = np.uint64([2 ** 64 - 1])
BAD_OUTPUT, BAD_REWARD, BAD_MASK, BAD_FINAL = 1, 2, 3, 4
HEADS = {"two": (2,), "discrete": (5, 2, 7), "continuous": (1, 1, 1), "mixed": (3, 1, 4, 1),
         "continuous first": (1, 9), "wide": (41,)}
SIZES = ((1, 1), (7, 5), (37, 33), (131, 17))           # rows, H


def agree(cuda, got, want, tolerance=1e-5):
    want = np.asarray(want, np.float32)
    if cuda.exact:
        return same(got, want)
    return np.allclose(got, want, rtol=tolerance, atol=tolerance)


def tick(t=0, seed=5 << 32 | 7, step=3 << 32 | 11, greedy=0):
    return {"seed": seed, "step": step, "t": t, "greedy": greedy}


def fault(t, row, kind):
    return np.uint64([t << 40 | row << 8 | kind])


# ---- a tick -----------------------------------------------------------------------------------


def begin(cuda, t, dtype, *, rows=7, first=3, N=13, T=4, D=9, size=10, ldw=16, reset=0,
          rewards=None, products="both", seed=0, slots=0, has_final=None, counts=None,
          truncations=None, alive=None, live=None):
    random = np.random.default_rng(seed)
    obs = random.integers(0, 256, (rows, D)).astype(np.uint8) if dtype == "u8" \
        else normal(seed, rows, D)
    known = {"obs": obs, "rewards": normal(seed + 1, rows) if rewards is None else rewards,
             "terminals": (random.random(rows) < 0.4).astype(np.float32),
             "truncations": (random.random(rows) < 0.3).astype(np.float32),
             "state": normal(seed + 2, N, size), "state0": blank(N, size),
             "stored_obs": np.full((N, T, D), 99, obs.dtype), "stored_rewards": blank(N, T),
             "ended": blank(N, T), "truncated": blank(N, T), "has_final": has_final,
             "counts": counts, "alive": alive, "live": live}
    if truncations is not None:
        known["truncations"] = truncations
    got = cuda.tick_begin(
        **known, tick=tick(t), rows=rows, first=first, T=T, D=D, size=size,
        obs_dtype=int(dtype != "u8"), reset_state=reset, ldw=ldw, slots=slots, A=0, mask=None,
        moves=None, waits=None,
        wide=blank(rows, ldw) if products != "narrow" else None,
        narrow=blank(rows, ldw, dtype=np.uint16) if products != "wide" else None, fault=NO_FAULT)
    return known, got


def test_the_next_tick_is_counted(cuda):
    assert cuda.tick_next(tick=tick(3)).tick == {**tick(3), "t": 4, "step": tick(3)["step"] + 1}


@pytest.mark.parametrize("dtype", ["u8", "f32"])
@pytest.mark.parametrize("t", [0, 1, 3, 4])
def test_a_tick_begins(cuda, dtype, t):
    known, got = begin(cuda, t, dtype)
    mine, over = slice(3, 10), (known["terminals"] != 0) | (known["truncations"] != 0)
    want = {name: known[name].copy() for name in ("stored_obs", "stored_rewards", "ended",
                                                  "truncated", "state", "state0")}
    if t < 4:
        want["stored_obs"][mine, t] = known["obs"]
    if t:
        want["stored_rewards"][mine, t - 1] = known["rewards"]
        want["ended"][mine, t - 1] = over
        want["truncated"][mine, t - 1] = known["truncations"] != 0
        want["state"][mine][over] = 0
        assert over.any() and not over.all()
    else:
        want["state0"][mine] = known["state"][mine]
    for name, array in want.items():
        assert same(getattr(got, name), array), name
    assert same(got.wide, wide(known["obs"], 16, 0))
    assert same(got.narrow, bf16_bits(got.wide)) and same(got.fault, NO_FAULT)


def test_formats_are_written_alone(cuda):
    known, both = begin(cuda, 2, "u8")
    assert same(both.wide[:, :9], known["obs"].astype(np.float32))
    for products, other in ("wide", "narrow"), ("narrow", "wide"):
        alone = begin(cuda, 2, "u8", products=products)[1]
        assert same(getattr(alone, products), getattr(both, products))
        assert getattr(alone, other) is None
    assert begin(cuda, 2, "f32", ldw=9)[1].wide.shape == (7, 9)


def test_a_state_may_start_at_zero(cuda):
    known, got = begin(cuda, 0, "u8", reset=1)
    assert not got.state[3:10].any() and not got.state0[3:10].any()
    assert same(got.state[:3], known["state"][:3])
    assert same(begin(cuda, 1, "u8", reset=1)[1].state, begin(cuda, 1, "u8")[1].state)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_the_first_bad_reward_is_named(cuda, value):
    rewards = np.zeros(7, np.float32)
    rewards[[2, 5]] = value
    assert same(begin(cuda, 3, "u8", rewards=rewards)[1].fault, fault(2, 3 + 2, BAD_REWARD))
    assert same(begin(cuda, 0, "u8", rewards=rewards)[1].fault, NO_FAULT)


@pytest.mark.parametrize("dtype", ["u8", "f32"])
@pytest.mark.parametrize("t", [0, 1, 4])
def test_rows_without_an_agent_begin_with_zeros(cuda, dtype, t):
    """Whatever the env left there; who was there and is gone has come to an end."""
    alive, live = np.uint8([1, 0, 1, 0, 1, 1, 0]), blank(N, 4)
    lived = np.bool_([1, 1, 0, 0, 1, 0, 1])
    live[3:10, t - 1] = lived
    rewards = np.where(lived, normal(1, 7), np.float32(np.nan))
    known, got = begin(cuda, t, dtype, rewards=rewards, alive=alive, live=live, slots=SLOTS,
                       has_final=HAS_FINAL, counts=COUNTS, truncations=TRUNCATIONS)
    _, full = begin(cuda, t, dtype, slots=SLOTS, has_final=HAS_FINAL, counts=COUNTS,
                    truncations=TRUNCATIONS)
    assert same(got.fault, NO_FAULT) and same(got.live, live)
    here = alive == 1
    assert same(got.wide[here], full.wide[here]) and not got.wide[~here].any()
    assert same(got.narrow, bf16_bits(got.wide))
    if t < 4:
        assert not got.stored_obs[3:10, t][~here].any()
        assert same(got.stored_obs[3:10, t][here], known["obs"][here])
    if t == 0:
        assert same(got.state, full.state) and same(got.state0, full.state0)
        assert same(got.counts, COUNTS) and same(got.ended, full.ended)
        return
    over = (full.ended[3:10, t - 1] == 1) | ~lived | ~here
    assert same(got.ended[3:10, t - 1], over.astype(np.float32)) and not over.all()
    assert same(got.stored_rewards[3:10, t - 1], np.where(lived, rewards, np.float32(0)))
    assert same(got.truncated[3:10, t - 1], full.truncated[3:10, t - 1] * lived)
    assert same(got.counts[3:10], np.where(lived, full.counts[3:10], COUNTS[3:10]))
    assert not got.state[3:10][over].any() and same(got.state[3:10][~over],
                                                    known["state"][3:10][~over])


# ---- final observations -----------------------------------------------------------------------

N, SLOTS = 13, 3
COUNTS = np.int32([9] * 3 + [0, 2, 3, 1, 0, 2, 0] + [9] * 3)    # the third and last slot is next
HAS_FINAL = np.uint8([1, 1, 1, 0, 1, 1, 0])
TRUNCATIONS = np.float32([1, 1, 1, 1, 0, 1, 0])
KEPT = {3: 0, 4: 2, 8: 2}                               # agent: slot; one has none left


@pytest.mark.parametrize("dtype", [np.uint8, np.float32])
@pytest.mark.parametrize("t", [0, 1, 4])
@pytest.mark.parametrize("gone", [(), (4, 9)])
def test_final_observations_are_kept_with_their_state(cuda, dtype, t, gone):
    finals, state = (100 * normal(1, 7, 9) ** 2).clip(0, 255).astype(dtype), normal(2, N, 10)
    kept = {"kept_obs": np.full((SLOTS, N, 9), 77, dtype), "kept_state": blank(SLOTS, N, 10),
            "kept_ticks": blank(SLOTS, N, dtype=np.int32)}
    live = np.ones((N, 4), np.float32)
    live[list(gone), t - 1] = 0                         # it had no agent in that tick
    got = cuda.final_obs_keep(tick=tick(t), rows=7, first=3, N=N, T=4, D=9, size=10, slots=SLOTS,
                           ended=None, moves=None,
                           live=live if gone else None, obs_dtype=int(dtype == np.float32),
                           final_obs=finals, truncations=TRUNCATIONS, has_final=HAS_FINAL,
                           counts=COUNTS, state=state, **kept)
    want = {name: array.copy() for name, array in kept.items()}
    for agent, slot in KEPT.items() if t else ():
        if agent in gone:
            continue
        want["kept_obs"][slot, agent] = finals[agent - 3]
        want["kept_state"][slot, agent] = state[agent]
        want["kept_ticks"][slot, agent] = t - 1
    for name, array in want.items():
        assert same(getattr(got, name), array), name


@pytest.mark.parametrize("t", [0, 1, 4])
def test_a_tick_counts_what_was_kept(cuda, t):
    known, got = begin(cuda, t, "u8", slots=SLOTS, has_final=HAS_FINAL, counts=COUNTS,
                       truncations=TRUNCATIONS)
    counts, truncated = COUNTS.copy(), known["truncated"].copy()
    if t:
        truncated[3:10, t - 1] = TRUNCATIONS
        counts[list(KEPT)] += 1
        truncated[list(KEPT), t - 1] = 2
    assert same(got.counts, counts) and same(got.truncated, truncated)
    without = begin(cuda, t, "u8", truncations=TRUNCATIONS)[1]
    for name in ("state", "state0", "stored_obs", "stored_rewards", "ended", "wide"):
        assert same(getattr(got, name), getattr(without, name)), name


@pytest.mark.parametrize("slot", [0, 1, 2])
@pytest.mark.parametrize("value", [0, np.nan, -np.inf])
def test_values_of_final_observations_are_stored(cuda, slot, value):
    out, ticks = normal(1, 7, 8), np.arange(N, dtype=np.int32) % 4
    out[[5, 0, 2], 6] += value                          # agents 8, 3 and 5; 3 has no slot in use
    got = cuda.final_values_store(rows=7, first=3, T=4, A=6, ldo=8, slot=slot, out=out,
                                  counts=COUNTS, ticks=ticks, final_values=blank(N, 4),
                                  fault=NO_FAULT)
    mine, want = [agent for agent in range(3, 10) if COUNTS[agent] > slot], blank(N, 4)
    want[mine, ticks[mine]] = out[np.array(mine) - 3, 6]
    assert same(got.final_values, want) and 3 not in mine
    first = 8 if slot < 2 else 5                        # of the earliest tick: 0, and 1
    assert same(got.fault, NO_FAULT if value == 0 else fault(first % 4, first, BAD_FINAL))


# ---- gates --------------------------------------------------------------------------------------

@pytest.mark.parametrize("rows, H", SIZES)
def test_gates_of_a_tick(cuda, generic, rows, H):
    x, W, state = normal(1, rows, H), 1.5 * normal(2, 3 * H, H) / np.sqrt(H), normal(3, rows, H)
    products = generic.product("nn", x, wide(W.T, generic.padded(3 * H), 0))[:, :3 * H].copy()
    out, new = generic.layer_step(x, W, state)
    args = {"rows": rows, "H": H, "T": 5, "lds": H + 3, "products": products, "x": x,
            "state": wide(state, H + 3), "out": blank(rows, H), "waits": None,
            "narrow": blank(rows, H, dtype=np.uint16)}
    got = cuda.gates_step(tick=tick(4), **args)
    assert agree(cuda, got.out, out) and agree(cuda, got.state, wide(new, H + 3))
    assert same(got.narrow, bf16_bits(got.out))
    last = cuda.gates_step(tick=tick(5), **args)            # only the value is wanted
    assert same(last.out, got.out) and same(last.state, args["state"])
    waits = np.uint8(np.arange(rows) % 2)
    some = cuda.gates_step(tick=tick(4), **{**args, "waits": waits})
    assert same(some.state, np.where(waits[:, None], args["state"], got.state))
    exact = reference.layer_scan(x, reference.layer_products(x, W), dict(enumerate(state)),
                                 np.ones(rows))
    assert np.allclose(got.out, exact.out, rtol=3e-6, atol=3e-6)


# ---- layers over segments ---------------------------------------------------------------------


def scan_case(S, T, H, N=11, L=3):
    random = np.random.default_rng(S + T)
    x, W = normal(S, S * T, H), 1.5 * normal(T, 3 * H, H) / np.sqrt(H)
    ended = (random.random((N, T)) < 0.2).astype(np.float32)
    rows = random.integers(0, N, S).astype(np.int32)
    state0, layer = normal(9, N, L, H), 1
    keep = np.ones((S, T), np.float32)
    keep[:, 1:] = 1 - ended[rows, :-1]
    before = {s * T: state0[rows[s], layer] for s in range(S)}
    # before: the array from the layer's first float on
    shared = {"S": S, "T": T, "H": H, "stride": L * H, "rows": rows, "ended": ended,
              "before": state0.ravel()[layer * H:].copy(), "x": x}
    return x, W, before, keep.ravel(), shared


@pytest.mark.parametrize("S, T, H", [(1, 1, 1), (3, 7, 5), (5, 8, 33), (7, 13, 17), (2, 65, 21)])
def test_a_scan_and_its_gradient(cuda, generic, S, T, H):
    x, W, before, keep, shared = scan_case(S, T, H)
    products = generic.product("nn", x, wide(W.T, generic.padded(3 * H), 0))[:, :3 * H].copy()
    want = generic.layer_scan(x, W, before, keep)
    got = cuda.scan_forward(**shared, products=products, h=blank(S * T, H), out=blank(S * T, H),
                            narrow=blank(S * T, H, dtype=np.uint16))
    assert agree(cuda, got.h, want.h) and agree(cuda, got.out, want.out)
    assert same(got.narrow, bf16_bits(got.out))
    exact = reference.layer_scan(x, reference.layer_products(x, W), before, keep)
    assert np.allclose(got.out, exact.out, rtol=4e-6, atol=4e-6)

    dout = normal(20, S * T, H)
    slopes = want.backward(dout)
    by_products = np.ascontiguousarray(np.concatenate(list(slopes.products), 1))
    args = {**shared, "products": products, "h": want.h, "dx": dout}
    got = cuda.scan_backward(**args, dproducts=blank(S * T, 3 * H),
                             narrow=blank(S * T, 3 * H, dtype=np.uint16))
    assert agree(cuda, got.dx, slopes.highway) and agree(cuda, got.dproducts, by_products)
    assert same(got.narrow, bf16_bits(got.dproducts))
    over = cuda.scan_backward(**args, dproducts=products, narrow=None)      # in the same place
    assert same(over.products, got.dproducts) and same(over.dx, got.dx)
    alone = cuda.scan_backward(**args, dproducts=None,
                               narrow=blank(S * T, 3 * H, dtype=np.uint16))
    assert same(alone.narrow, got.narrow)


def test_a_scan_repeats_the_ticks_bit_for_bit(cuda):
    """What training computes from a stored rollout is what the rollout computed."""
    S, T, H = 3, 19, 7
    x, _, before, keep, shared = scan_case(S, T, H)
    products = normal(5, S * T, 3 * H)
    scan = cuda.scan_forward(**shared, products=products, h=blank(S * T, H),
                             out=blank(S * T, H), narrow=None)
    state = np.array([before[s * T] for s in range(S)])
    for t in range(T):
        at = np.arange(S) * T + t
        state = state * keep[at, None]
        step = cuda.gates_step(tick=tick(t), rows=S, H=H, T=T, lds=H, products=products[at],
                               x=x[at], state=state, out=blank(S, H), narrow=None,
                               waits=None)
        state = step.state
        assert same(step.out, scan.out[at]) and same(state, scan.h[at])


# ---- sampling ---------------------------------------------------------------------------------


def sample(cuda, out, sizes, *, logstd=(), mask=None, t=2, first=4, N=80, T=3, ldo=None,
           first_agent=1000, store_masks=True, alive=None, **now):
    rows, A, K = len(out), sum(sizes), len(sizes)
    ldo = ldo or A + 4
    return cuda.heads_sample(
        tick=tick(t, **now), heads=heads_of(sizes), rows=rows, first=first, T=T, ldo=ldo,
        first_agent=first_agent, out=wide(out, ldo, np.nan),
        logstd=np.asarray([*logstd], np.float32), mask=mask, actions=blank(rows, K),
        stored_actions=blank(N, T, K), logprobs=blank(N, T), values=blank(N, T),
        stored_masks=blank(N, T, A, dtype=np.uint8) if mask is not None and store_masks else None,
        alive=alive, live=None if alive is None else blank(N, T), bootstrap=blank(N),
        moves=None, waits=None, fault=NO_FAULT)


@pytest.mark.parametrize("kind", HEADS)
@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("greedy", [0, 1])
def test_actions_are_the_cpus(cuda, generic, kind, masked, greedy):
    sizes, rows = HEADS[kind], 65
    out, logstd = 2 * normal(rows, rows, sum(sizes) + 1), np.linspace(-1, 0.5, sizes.count(1))
    mask = a_mask(rows, rows, sizes) if masked else None
    want = generic.sample(out, sizes, logstd=logstd, mask=mask, seed=5 << 32 | 7,
                          step=3 << 32 | 11, first_agent=1000, greedy=greedy)
    got = sample(cuda, out, sizes, logstd=logstd, mask=mask, greedy=greedy)
    mine = slice(4, 4 + rows)
    assert agree(cuda, got.actions, want.actions) and same(got.stored_actions[mine, 2], got.actions)
    assert agree(cuda, got.logprobs[mine, 2], want.logprobs)
    assert same(got.values[mine, 2], out[:, -1].copy()) and same(got.fault, NO_FAULT)
    assert not masked or same(got.stored_masks[mine, 2], mask)
    for stored in got.stored_actions, got.logprobs, got.values:
        rest = stored.copy()
        rest[mine, 2] = blank(1)[0]
        assert same(rest, blank(*rest.shape))               # nothing anywhere else
    assert same(got.bootstrap, blank(80))


@pytest.mark.parametrize("kind", HEADS)
@pytest.mark.parametrize("t", [2, 3])
def test_rows_without_an_agent_act_with_zeros(cuda, kind, t):
    sizes, rows = HEADS[kind], 65
    out, alive = normal(rows, rows, sum(sizes) + 1), np.uint8(np.arange(rows) % 3 > 0)
    mask = a_mask(rows, rows, sizes)
    mask[alive == 0] = 0
    out[alive == 0] = np.nan
    args = {"logstd": np.linspace(-1, 0.5, sizes.count(1)), "t": t}
    got = sample(cuda, out, sizes, mask=mask, alive=alive, **args)
    some = np.flatnonzero(alive)
    full = sample(cuda, np.where(alive[:, None], out, np.float32(0)), sizes, **args,
                  mask=np.where(alive[:, None], mask, np.uint8(1)))
    assert same(got.fault, NO_FAULT)
    if t == 3:
        assert same(got.bootstrap[4 + some], out[some, -1]) and same(got.live, blank(80, 3))
        assert not got.bootstrap[4:69][alive == 0].any() and same(got.actions, full.actions)
        return
    assert same(got.live[4:69, 2], alive.astype(np.float32))
    assert same(got.stored_masks, full.stored_masks) and same(got.actions[some], full.actions[some])
    for name in "actions", "stored_actions", "logprobs", "values":
        mine, want = (getattr(one, name) for one in (got, full))
        if name != "actions":
            mine, want = mine[4:69, 2], want[4:69, 2]
        assert same(mine[some], want[some]) and not mine[alive == 0].any(), name


def test_after_the_last_tick_only_the_value_is_kept(cuda):
    out = normal(1, 13, 6)
    got = sample(cuda, out, (5,), t=3)
    assert same(got.bootstrap[4:17], out[:, -1].copy())
    for stored in got.actions, got.stored_actions, got.logprobs, got.values, got.bootstrap[17:]:
        assert same(stored, blank(*stored.shape))
    out[6, :5] = np.nan                                     # nobody reads these
    assert same(sample(cuda, out, (5,), t=3).fault, NO_FAULT)
    out[6, 5] = out[9, 5] = np.nan
    assert same(sample(cuda, out, (5,), t=3).fault, fault(3, 4 + 6, BAD_OUTPUT))


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("column", [0, 3, 5])
def test_the_first_row_that_is_not_finite_is_named(cuda, value, column):
    out = normal(1, 65, 6)
    out[[20, 33, 64], column] = value
    assert same(sample(cuda, out, (3, 2)).fault, fault(2, 4 + 20, BAD_OUTPUT))


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_envs_are_given_no_action_that_is_not_finite(cuda, value):
    """What is stored stays what was drawn; a discrete action is always a number of its head."""
    out = normal(1, 33, 7)
    out[[5, 20], 3] = value                                 # the mean of the second head
    out[9, :3] = value
    got = sample(cuda, out, (3, 1, 1, 1), logstd=[-1.0, 0.0, 0.5])
    stored = got.stored_actions[4:4 + 33, 2]
    assert np.argwhere(~np.isfinite(stored)).tolist() == [[5, 1], [20, 1]]
    assert same(got.actions, np.where(np.isfinite(stored), stored, np.float32(0)))
    assert set(got.actions[:, 0]) <= {0, 1, 2} and same(got.fault, fault(2, 4 + 5, BAD_OUTPUT))


def test_an_infinite_distance_is_a_fault_too(cuda):
    """A log-probability that overflows, from numbers that are finite."""
    out, logstd = np.zeros((3, 2), np.float32), np.float32([np.nan])
    assert same(sample(cuda, out, (1,), logstd=logstd).fault, fault(2, 4, BAD_OUTPUT))


def test_a_head_without_a_legal_action_is_named(cuda):
    out, mask = normal(1, 13, 6), np.ones((13, 5), np.uint8)
    mask[7, 3:] = mask[11, :3] = 0
    assert same(sample(cuda, out, (3, 2), mask=mask).fault, fault(2, 4 + 7, BAD_MASK))
    mask[7, 3] = mask[11, 0] = 1
    assert same(sample(cuda, out, (3, 2), mask=mask, store_masks=False).fault, NO_FAULT)


def test_the_ends_of_the_uniform_numbers(cuda):
    """Agents that draw 0 and the largest number of all, with nothing legal at either end."""
    out = 3 * normal(1, 1, 12)
    mask = np.uint8([[0, 0, 1, 0, 1, 1, 0, 1, 1, 0, 0]])
    for agent, action in (4882029, 2), (13317277, 8):
        got = sample(cuda, out, (11,), mask=mask, seed=1, step=0, first_agent=agent)
        assert got.actions[0, 0] == action


# ---- loss -------------------------------------------------------------------------------------

SETTINGS = {"clip_coef": 0.2, "vf_coef": 2.0, "vf_clip_coef": 0.3, "ent_coef": 0.05}


def loss_case(kind, S, T, masked, N=9):
    """A rollout so far from the policy that both clips bite on either side."""
    sizes, random = HEADS[kind], np.random.default_rng(S + T)
    A, K, R = sum(sizes), len(sizes), S * T
    rows = random.integers(0, N, S).astype(np.int32)
    at = segments_of(T, rows)
    rollout = {"actions": np.zeros((N * T, K)), "logprobs": normal(1, N * T) - 2,
               "values": normal(2, N * T), "advantages": normal(3, N * T),
               "returns": normal(4, N * T)}
    mask = a_mask(S, N * T, sizes) if masked else None
    first = 0
    for head, width in enumerate(sizes):
        for row in range(N * T):
            legal = np.arange(width) if mask is None else np.flatnonzero(
                mask[row, first:first + width])
            rollout["actions"][row, head] = random.choice(legal) if width > 1 else random.normal()
        first += width
    rollout["actions"] = rollout["actions"].astype(np.float32)
    out, logstd = normal(7, R, A + 1), np.linspace(-1, 0.5, sizes.count(1)).astype(np.float32)
    q, results = np.float32(0.5 + random.random(S)), {"mean": 0.1, "scale": 0.7, "live": R}
    advantage = np.repeat(q, T) * ((rollout["advantages"][at] - np.float32(0.1)) * np.float32(0.7))
    batch = {"actions": rollout["actions"][at], "advantage": advantage,
             "logprob_old": rollout["logprobs"][at], "value_old": rollout["values"][at],
             "returns": rollout["returns"][at]}
    repeated = np.array([row in rows[:s] for s, row in enumerate(rows)], np.uint8)
    return sizes, rows, at, out, logstd, mask, batch, {
        **rollout, "rows": rows, "importance": q, "repeated": repeated, "results": results,
        "masks": mask, "logstd": logstd, "live": None}


def loss(cuda, sizes, S, T, out, known, ldo=None, dout=True):
    A, dims, parts = sum(sizes), sizes.count(1), -(-S * T // 128)
    ldo = ldo or A + 3
    settings = {name: value for name, value in SETTINGS.items() if name != "ent_coef"}
    return cuda.heads_loss(
        **known, **settings, schedule={"ent_coef": SETTINGS["ent_coef"]}, heads=heads_of(sizes),
        S=S, T=T, ldo=ldo, out=wide(out, ldo, np.nan),
        values_now=blank(*known["values"].shape),
        ratio_now=blank(*known["values"].shape), dout=blank(S * T, ldo) if dout else None,
        narrow=blank(S * T, ldo, dtype=np.uint16), slopes=blank(S * T, dims),
        parts=blank(parts, 6, dtype=np.float64), dlogstd_parts=blank(parts, dims, dtype=np.float64))


@pytest.mark.parametrize("kind", HEADS)
@pytest.mark.parametrize("S, T", [(1, 1), (3, 7), (13, 21)])
@pytest.mark.parametrize("masked", [False, True])
def test_the_loss_is_the_cpus(cuda, generic, kind, S, T, masked):
    sizes, rows, at, out, logstd, mask, batch, known = loss_case(kind, S, T, masked)
    want = generic.loss(out, sizes, batch, SETTINGS, logstd=logstd,
                        mask=None if mask is None else mask[at].copy())
    got = loss(cuda, sizes, S, T, out, known)
    assert agree(cuda, got.dout[:, :sum(sizes) + 1].copy(), want.dout, 1e-5)
    assert not got.dout[:, sum(sizes) + 1:].any() and same(got.narrow, bf16_bits(got.dout))
    assert np.allclose(got.parts.sum(0), want.sums, rtol=1e-5, atol=1e-5)
    assert np.allclose(got.dlogstd_parts.sum(0), want.dlogstd, rtol=1e-5, atol=1e-6)
    first = np.repeat(known["repeated"] == 0, T)            # a repetition is not written, though
    values = blank(*known["values"].shape)                  # its rows have other logits here
    values[at[first]] = out[first, -1]
    assert same(got.values_now, values) and (S < 13 or not first.all())
    assert agree(cuda, got.ratio_now[at[first]], want.ratio[first])
    assert same(np.isnan(got.ratio_now), np.isnan(values))


@pytest.mark.parametrize("kind", HEADS)
def test_rows_without_an_agent_add_nothing_to_a_loss(cuda, kind):
    S, T = 13, 21
    sizes, rows, at, out, _, mask, _, known = loss_case(kind, S, T, True)
    live = (np.random.default_rng(1).random(known["values"].shape) < 0.6).astype(np.float32)
    empty = live[at] == 0
    whole = loss(cuda, sizes, S, T, out, known)
    known["advantages"], known["masks"] = known["advantages"].copy(), mask.copy()
    known["advantages"][live == 0], known["masks"][live == 0] = np.nan, 0
    got = loss(cuda, sizes, S, T, np.where(empty[:, None], np.float32(np.nan), out),
               {**known, "live": live})
    assert not got.dout[empty].any() and same(got.dout[~empty], whole.dout[~empty])
    assert same(got.narrow, bf16_bits(got.dout)) and not got.slopes[empty].any()
    assert same(got.slopes[~empty], whole.slopes[~empty])
    assert np.isfinite(got.parts).all() and np.isfinite(got.dlogstd_parts).all()
    assert not np.allclose(got.parts, whole.parts)
    first = np.repeat(known["repeated"] == 0, T)
    for name, rest in ("values_now", 0), ("ratio_now", 1):
        now, before = getattr(got, name), getattr(whole, name)
        assert (now[at[empty & first]] == rest).all()
        assert same(now[at[~empty & first]], before[at[~empty & first]])
    stopped = loss(cuda, sizes, S, T, out, {
        **known, "live": live, "results": {**known["results"], "stop": 1}})
    assert same(stopped.values_now, blank(*live.shape))


def test_gradients_of_a_rank_are_parts_of_the_mean_over_all(cuda):
    """Four ranks: a power of two, so that shares have the bits of whole gradients."""
    sizes, _, _, out, *_, known = loss_case("mixed", 3, 7, True)
    whole, share = (loss(cuda, sizes, 3, 7, out, {
        **known, "results": {**known["results"], "live": 21 * ranks}}) for ranks in (1, 4))
    assert same(share.dout, whole.dout / 4) and whole.dout.any()
    assert same(share.dlogstd_parts, whole.dlogstd_parts / 4) and same(share.parts, whole.parts)


def test_a_loss_for_products_in_bf16_alone(cuda):
    sizes, _, _, out, *_, known = loss_case("mixed", 3, 7, True)
    both, alone = (loss(cuda, sizes, 3, 7, out, known, dout=dout) for dout in (True, False))
    assert same(both.narrow, alone.narrow) and alone.dout is None


@pytest.mark.parametrize("logstd, passes", [(-20.5, False), (-20, True), (2, True), (2.5, False)])
def test_a_clamped_logstd_has_no_gradient(cuda, logstd, passes):
    sizes, _, at, out, _, _, _, known = loss_case("continuous", 3, 7, False)
    used = min(max(logstd, -20), 2)
    actions = known["actions"].copy()
    actions[at, 1] = out[:, 1] + np.float32(np.exp(used)) * actions[at, 1]
    got, want = (loss(cuda, sizes, 3, 7, out, {
        **known, "actions": actions, "logstd": np.float32([0.1, one, -0.3])})
        for one in (logstd, used))
    assert bool(got.dlogstd_parts[0, 1]) == passes
    assert got.dlogstd_parts[0, 0] and got.dlogstd_parts[0, 2]
    assert same(got.parts, want.parts) and same(got.dout, want.dout)
