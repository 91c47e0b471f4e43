"""What kernels/ should compute, slowly: NumPy, float64, from the formulas of the algorithm.

The parts that whole trainers share are in reference_ppo. Gradients are central differences.
"""
from types import SimpleNamespace

import numpy as np
from helpers import reference_ppo as ppo

sigmoid = np.vectorize(ppo.sigmoid, otypes=[float])
candidate = np.vectorize(ppo.candidate, otypes=[float])
STEP = 1e-5                     # of differences: their own error is about 1e-9


def normal(seed, *shape):
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


def a_mask(seed, rows, sizes):
    """Legal actions, one at least in each head; continuous heads are said to be illegal."""
    random = np.random.default_rng(seed)
    mask = (random.random((rows, sum(sizes))) < 0.5).astype(np.uint8)
    first = 0
    for width in sizes:
        mask[np.arange(rows), first + random.integers(0, width, rows)] = width > 1
        first += width
    return mask


def bf16(x):
    """float32 rounded to 8 bits, ties to even, as float32"""
    bits = np.asarray(x, np.float32).view(np.uint32).astype(np.uint64)
    bits = (bits + 0x7FFF + (bits >> 16 & 1)) >> 16 << 16
    return bits.astype(np.uint32).view(np.float32)


def layer_products(x, W, rounded=False):
    """x (R, H), W (3 H, H) -> hid, gate and proj of each row (R, 3 H)"""
    if rounded:
        x, W = bf16(x), bf16(W)
    return np.asarray(x, float) @ np.asarray(W, float).T


def layer_scan(x, products, before, keep):
    """x (R, H), products (R, 3 H), before {row: state} -> .out, .h (R, H), .gates (3, R, H)"""
    out, states, gates = np.zeros(x.shape), np.zeros(x.shape), np.zeros((3, *x.shape))
    for r, row in enumerate(x):
        hid, gate, proj = products[r].reshape(3, -1)
        g, z, s = gates[:, r] = candidate(hid), sigmoid(gate), sigmoid(proj)
        state = (before[r] if r in before else states[r - 1]) * keep[r]
        states[r] = (1 - z) * state + z * g
        out[r] = s * states[r] + (1 - s) * row
    return SimpleNamespace(out=out, h=states, gates=gates)


def loss(out, sizes, batch, settings, logstd=(), mask=None):
    """-> the minibatch's loss, [policy, value, entropy, old_kl, approx_kl, clipped] and ratios"""
    sums, ratios, A = np.zeros(6), [], sum(sizes)
    for r, row in enumerate(out):
        log_prob, entropy = ppo.log_prob_and_entropy(
            row[:A], batch["actions"][r], sizes, logstd, None if mask is None else mask[r])
        parts = ppo.row_loss(log_prob - batch["logprob_old"][r], batch["advantage"][r], row[A],
                             batch["value_old"][r], batch["returns"][r], settings["clip_coef"],
                             settings["vf_clip_coef"])
        sums += [parts["policy"], parts["value"], entropy, parts["old_kl"], parts["approx_kl"],
                 parts["clipped"]]
        ratios.append(parts["ratio"])
    total = (sums[0] + settings["vf_coef"] * sums[1] - settings["ent_coef"] * sums[2]) / len(out)
    return total, sums, np.array(ratios)


def choices(logits, mask=None):
    """One head: logits (R, width) -> cumulative chances (R, width), exactly 0 where illegal"""
    e = np.exp(logits - np.where(mask, logits, -np.inf).max(1, keepdims=True)
               if mask is not None else logits - logits.max(1, keepdims=True))
    if mask is not None:
        e = e * mask
    return np.cumsum(e, 1) / e.sum(1, keepdims=True)


def slope(function, point, direction):
    """Of function(array) at `point` along `direction`: a central difference."""
    return (function(point + STEP * direction) - function(point - STEP * direction)) / (2 * STEP)


def gradient(function, point):
    """Of function(array) at `point`, one number at a time."""
    return ppo.gradient(lambda weights: function(weights["x"]), {"x": np.array(point, float)},
                        STEP)["x"]


def products_in_order(A, B, start, fused):
    """A B + start in float32: one multiply-add per element, k upward, rounded as the CPU does.

    A longdouble holds a product of two floats exactly, and rounding twice differs from rounding
    once with chance 2^-40.
    """
    sums = np.zeros((len(A), B.shape[1]), np.float32) if start is None else start.copy()
    for k in range(len(B)):
        a, b = A[:, k, None], B[k]
        product = a.astype(np.longdouble) * b if fused else a * b
        sums = (product + sums).astype(np.float32)
    return sums
