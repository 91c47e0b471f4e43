"""The kernels of each instruction set, called with NumPy arrays packed as kernels.h states."""
from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import numpy as np
from helpers.kernel_library import (
    ROWS_PADDED,
    RUBBISH,
    Out,
    ffi,
    per_row,
    pointer,
    pointers,
    round_up,
    wide,
)

from puffer_sdk.training.native.trainer_library import PATHS

NAMES = (*PATHS, "scalar", "bf16")  # of probe_find()
FUSED = ("avx2", "avx512", "neon", "bf16")      # tables with fused multiply-adds
LOSSES = 6                          # KERNEL_LOSSES
SUMS = 5                            # KERNEL_SUMS


def open_library(path: Path) -> SimpleNamespace:
    """.tables {name: Table} of this CPU, .math {name: call}, .philox"""
    lib = ffi().dlopen(str(path))
    tables = {}
    for number, name in enumerate(NAMES):
        found = lib.probe_find(number)
        if number and found != ffi().NULL:
            tables[name] = Table(found)
            assert tables[name].name == name
    return SimpleNamespace(tables=tables, lib=lib, find=lib.probe_find,
                           math={name: _math(lib, name) for name in tables if name != "bf16"},
                           philox=lambda *args: _philox(lib, *args))


def _math(lib, path):
    """function("f_name without f_", inputs, results=1) -> float32 arrays"""
    def call(name, *inputs, results=1):
        arrays = np.broadcast_arrays(*(np.asarray(one, np.float32) for one in inputs))
        count = arrays[0].size
        padded = [np.resize(one.ravel(), round_up(count, 16)) for one in arrays]
        out = [np.empty(len(padded[0]), np.float32) for _ in range(results)]
        known = getattr(lib, f"probe_math_{path}")(name.encode(), len(padded[0]),
                                                   pointers(padded), pointers(out))
        assert known, name
        shaped = [one[:count].reshape(arrays[0].shape) for one in out]
        return shaped[0] if results == 1 else shaped
    return call


def _philox(lib, key, index, step=0, head=0):
    index = np.ascontiguousarray(index, np.uint32)
    words = np.empty((len(index), 4), np.uint32)
    lib.probe_philox(len(index), *key, pointer(index), step, head, pointer(words))
    return words


def heads_of(sizes):
    """A Heads struct; the i-th head of width 1 is continuous and has logstd i."""
    heads = ffi().new("Heads*")
    heads.count, heads.outputs = len(sizes), sum(sizes)
    heads.continuous = sum(width == 1 for width in sizes)
    column = index = 0
    for number, width in enumerate(sizes):
        heads.width[number], heads.column[number] = width, column
        heads.logstd_index[number] = index if width == 1 else -1
        column, index = column + width, index + (width == 1)
    return heads


# ---- one table --------------------------------------------------------------------------------

class Table:
    """The kernels of one instruction set."""

    def __init__(self, table):
        self.c = table
        self.name = ffi().string(table.name).decode()
        self.lanes = table.lanes
        self.fused = self.name in FUSED
        self.bf16 = self.name == "bf16"

    def padded(self, H):
        return round_up(H, 2 * self.lanes)

    def panels(self, B):
        """(K, n) -> (n / 2 lanes, K, 2 lanes)"""
        K, n = B.shape
        full = wide(B, self.padded(n), 0)
        return np.ascontiguousarray(
            full.reshape(K, -1, 2 * self.lanes).transpose(1, 0, 2), np.float32)

    def layer_panels(self, W):
        """(3 H, H) -> (Hp / lanes, H, 3, lanes)"""
        H = W.shape[1]
        full = np.zeros((3, self.padded(H), H), np.float32)
        full[:, :H] = W.reshape(3, H, H)
        return np.ascontiguousarray(full.reshape(3, -1, self.lanes, H).transpose(1, 3, 0, 2))

    def pairs(self, panels):
        """(blocks, K, width) -> (blocks, K / 2 rounded up, width) words; as they are in fp32"""
        if not self.bf16:
            return panels
        blocks, K, width = panels.shape
        words = np.zeros((blocks, (K + 1) // 2, width), np.uint32)
        for block, out in zip(panels, words):
            self.c.pack_pairs(K, width, pointer(block), pointer(out))
        return words

    def layer_weights(self, W):
        """(3 H, H) -> the panels of a layer, or their pairs"""
        panels = self.layer_panels(W)
        return self.pairs(panels.reshape(len(panels), W.shape[1], 3 * self.lanes))

    def gate_rows(self, W):
        """(3 H, n) -> (3 Hp, n), rows in the order of the gates buffer"""
        H = len(W) // 3
        full = np.zeros((3, self.padded(H), W.shape[1]), np.float32)
        full[:, :H] = W.reshape(3, H, -1)
        return np.ascontiguousarray(full.reshape(3, -1, self.lanes, W.shape[1])
                                    .transpose(1, 0, 2, 3)).reshape(-1, W.shape[1])

    def from_gates(self, gates, H):
        """(.., 3 Hp) in the order of the gates buffer -> (3, .., H)"""
        apart = gates.reshape(*gates.shape[:-1], -1, 3, self.lanes)
        return np.moveaxis(apart, -2, 0).reshape(3, *gates.shape[:-1], -1)[..., :H].copy()

    def product(self, kind, A, B, start=None, extra=3):
        """A B in the way of `kind`, added to `start` if it is there. extra: lda, ldc beyond n."""
        K, n = B.shape
        assert n % (2 * self.lanes) == 0
        A = np.asarray(A, np.float32)
        M = len(A)
        stored = wide(A.T if kind == "tn" else A, (M if kind == "tn" else K) + extra, np.nan)
        C = Out(M, n + extra, n, start)
        common = [M, n, K, pointer(stored), stored.shape[1]]
        if kind == "panels":
            packed = self.panels(B)
            self.c.product_panels(*common, pointer(packed), K, C.pointer, n + extra,
                                  start is not None)
        else:
            rows = wide(B, n + extra, np.nan)
            getattr(self.c, f"product_{kind}")(*common, pointer(rows), n + extra, C.pointer,
                                               n + extra, start is not None)
        return C.done()

    def narrow(self, A, B, extra=3):
        (M, K), lanes = A.shape, self.lanes
        stored, packed = wide(A, K + extra, np.nan), wide(B, lanes, 0)
        C = Out(M, lanes + extra, lanes)
        self.c.product_narrow(M, K, pointer(stored), K + extra, pointer(packed), C.pointer,
                              lanes + extra)
        return C.done(B.shape[1])

    def nonzero(self, row):
        where = np.full(len(row) + 1, -7, np.int32)
        found = self.c.nonzero(len(row), pointer(row), pointer(where))
        assert (where[max(found, 0):] == -7).all()
        return where[:found]

    def widen(self, obs, extra=3):
        out = Out(len(obs), obs.shape[1] + extra, obs.shape[1])
        self.c.widen(*obs.shape, pointer(obs), out.pointer, obs.shape[1] + extra)
        return out.done()

    def encode_sparse(self, obs, W):
        """obs (R, D) bytes, W (D, H) -> (R, H)"""
        packed, Hp = self.panels(W), self.padded(W.shape[1])
        x = Out(len(obs), Hp, Hp)
        for r, row in enumerate(obs):
            where = self.nonzero(row)
            value = row[where].astype(np.float32)
            self.c.encode_sparse(len(where), pointer(where), pointer(value), len(row), Hp,
                                 pointer(packed), pointer(x.array[r]))
        return x.done(W.shape[1])

    def encode_sparse_backward(self, obs, dx, start):
        """dW (D, H) = start + obs^T dx"""
        Hp = self.padded(dx.shape[1])
        dW, wide_dx = Out(obs.shape[1], Hp, Hp, wide(start, Hp)), wide(dx, Hp)
        for r, row in enumerate(obs):
            where = self.nonzero(row)
            value = row[where].astype(np.float32)
            self.c.encode_sparse_backward(len(where), pointer(where), pointer(value), Hp,
                                          pointer(wide_dx[r]), dW.pointer)
        return dW.done(dx.shape[1])

    def layer_step(self, x, W, state, keep_state=True, in_place=False, extra=5):
        """-> out, new state (None unless keep_state)"""
        rows, H = x.shape
        Hp = self.padded(H)
        ldx, lds, packed = Hp + extra, Hp + 2 * extra, self.layer_weights(W)
        wide_x, old = wide(x, ldx), Out(rows, lds, Hp, wide(state, Hp))
        new, out = old if in_place else Out(rows, lds, Hp), Out(rows, ldx, Hp)
        self.c.layer_step(rows, H, pointer(wide_x), ldx, pointer(packed), old.pointer,
                          new.pointer if keep_state else ffi().NULL, lds, out.pointer)
        return out.done(H), new.done(H) if keep_state else None

    def layer_scan(self, x, W, before, keep, extra=5):
        """x (R, H), before {row: (H,)} where segments begin, keep [R].

        -> .out, .h (R, H), .gates (3, R, H), and .backward(dout) -> the three gradients
        """
        rows, H = x.shape
        Hp = self.padded(H)
        ldx, ldg, packed = Hp + extra, 3 * Hp + extra, self.layer_weights(W)
        starts = [wide(before[row][None], Hp) if row in before else None for row in range(rows)]
        places = pointers(starts)
        wide_x, keep = wide(x, ldx), np.asarray(keep, np.float32)
        h, out = Out(rows, Hp, Hp), Out(rows, ldx, Hp)
        gates = Out(rows, ldg, 3 * Hp, np.full((rows, 3 * Hp), RUBBISH))
        self.c.layer_scan(rows, H, pointer(wide_x), ldx, pointer(packed), places, pointer(keep),
                          h.pointer, Hp, gates.pointer, ldg, out.pointer)
        known = SimpleNamespace(out=out.done(H), h=h.done(H), gates=self.from_gates(
            gates.done(), H))

        def backward(dout, held=starts):                    # pointers hold nothing
            dx, carry = Out(rows, ldx, Hp, wide(dout, Hp)), Out(1, Hp, Hp)
            self.c.layer_scan_backward(rows, H, pointer(wide_x), ldx, places, pointer(keep),
                                       h.pointer, Hp, gates.pointer, ldg, dx.pointer,
                                       carry.pointer)
            carry.done()
            highway, products = dx.done(H), gates.done()
            dW = self.product("tn", products.T, wide(x, Hp), extra=0)
            return SimpleNamespace(highway=highway, products=self.from_gates(products, H),
                                   dx=self.layer_dx(products, W, highway),
                                   dW=self.from_gates(dW[:, :H].T, H).transpose(0, 2, 1)
                                   .reshape(3 * H, H))

        known.backward = backward
        return known

    def layer_dx(self, gates, W, start, extra=3):
        """gates (R, 3 Hp) in their own order -> start + gates W (R, H)"""
        Hp = self.padded(W.shape[1])
        weights = self.pairs(self.panels(wide(self.gate_rows(W), Hp, 0)))
        stored, dx = wide(gates, 3 * Hp + extra, np.nan), Out(len(gates), Hp + extra, Hp,
                                                              wide(start, Hp))
        self.c.layer_dx(len(gates), Hp, pointer(stored), 3 * Hp + extra, pointer(weights),
                        dx.pointer, Hp + extra)
        return dx.done(W.shape[1])

    def sample(self, out, sizes, *, logstd=(), mask=None, seed=1, step=0, first_agent=0,
               greedy=False, extra=3):
        """out (R, A + 1) -> .bad, .actions (R, K), .logprobs, .values"""
        rows, A = len(out), sum(sizes)
        padded = round_up(rows, ROWS_PADDED)
        stored, heads = wide(out, A + 1 + extra), heads_of(sizes)
        logstd = np.asarray([*logstd, np.nan], np.float32)
        ld = padded + extra
        columns, actions = Out(A + 2, ld, ld), Out(rows, len(sizes), len(sizes))
        logprobs, values = Out(1, padded, padded), Out(1, padded, padded)
        args = ffi().new("SampleArgs*", {
            "rows": rows, "heads": heads, "out": pointer(stored), "ldo": stored.shape[1],
            "logstd": pointer(logstd), "mask": pointer(mask), "seed": seed, "step": step,
            "first_agent": first_agent, "greedy": greedy, "columns": columns.pointer, "ld": ld,
            "actions": actions.pointer, "logprobs": logprobs.pointer, "values": values.pointer})
        bad = self.c.sample(args)
        columns.done()
        return SimpleNamespace(bad=bad, actions=actions.done(), logprobs=logprobs.done(rows)[0],
                               values=values.done(rows)[0])

    def loss(self, out, sizes, batch, settings, *, logstd=(), mask=None, extra=3):
        """out (R, A + 1), batch {actions, logprob_old, value_old, advantage, returns, live?}

        -> .dout (R, A + 1), .dlogstd, .sums [LOSSES], .values, .ratio
        """
        rows, A = len(out), sum(sizes)
        padded = round_up(rows, ROWS_PADDED)
        stored, heads = wide(out, A + 1 + extra), heads_of(sizes)
        logstd = np.asarray([*logstd, np.nan], np.float32)
        ld = padded + extra
        columns, scratch = Out(A + 1, ld, padded), Out(A + 1, ld, padded)
        values, ratio = Out(1, padded, padded), Out(1, padded, padded)
        vectors, sums = heads.continuous, np.full(LOSSES + 1, 3.0)
        dlogstd = Out(1, vectors, vectors, np.ones((1, vectors)))
        arrays = {name: per_row(batch[name])
                  for name in ("logprob_old", "value_old", "advantage", "returns", "live")
                  if name in batch}
        arrays["actions"] = np.asarray(batch["actions"], np.float32).reshape(rows, len(sizes))
        args = ffi().new("LossArgs*", {
            "rows": rows, "heads": heads, "out": pointer(stored), "ldo": stored.shape[1],
            "logstd": pointer(logstd), "mask": pointer(mask), "scale": 1 / rows,
            "dcolumns": columns.pointer, "scratch": scratch.pointer, "ld": ld,
            "values": values.pointer, "ratio": ratio.pointer, "dlogstd": dlogstd.pointer,
            "sums": pointer(sums), **settings,
            **{name: pointer(array) for name, array in arrays.items()}})
        self.c.loss(args)
        scratch.done()
        assert sums[LOSSES] == 3
        return SimpleNamespace(dout=columns.done(rows).T, dlogstd=dlogstd.done()[0] - 1,
                               sums=sums[:LOSSES] - 3, values=values.done(rows)[0],
                               ratio=ratio.done(rows)[0])

    def advantage(self, rewards, values, ratio, ended, truncated, final_values=None,
                  highest_value=np.inf, **settings):
        """Of one segment: [T] each; bootstrap, gamma, gae_lambda, rho_clip, c_clip, reward_clip,
        reward_scale"""
        T = len(rewards)
        names = ("rewards", "values", "ratio", "ended", "truncated", "final_values")
        arrays = [None if one is None else np.asarray(one, np.float32)
                  for one in (rewards, values, ratio, ended, truncated, final_values)]
        scratch, out = Out(1, T, T), Out(1, T, T)
        args = ffi().new("AdvantageArgs*", {
            "horizon": T, "highest_value": highest_value, **settings,
            **dict(zip(names, map(pointer, arrays)))})
        self.c.advantage(args, scratch.pointer, out.pointer)
        scratch.done()
        return out.done()[0]

    def segment_sums(self, advantages, values):
        """-> returns [T], sums [SUMS]"""
        T = len(values)
        returns, sums = Out(1, T, T), np.full(SUMS + 1, 3.0)
        self.c.segment_sums(T, pointer(advantages), pointer(values), returns.pointer,
                            pointer(sums))
        assert sums[SUMS] == 3
        return returns.done()[0], sums[:SUMS]

    def add_up(self, parts, offset, count):
        out = Out(1, count, count)
        self.c.add_up(count, len(parts), pointers(parts), offset, out.pointer)
        return out.done()[0]

    def square_sum(self, x):
        return self.c.square_sum(len(x), pointer(x))

    def nesterov(self, mu, scale, gradient, momentum):
        """-> momentum, update"""
        n = len(gradient)
        m, u = Out(1, n, n, momentum[None]), Out(1, n, n)
        self.c.nesterov(n, mu, scale, pointer(gradient), m.pointer, u.pointer)
        return m.done()[0], u.done()[0]

    def add_scaled(self, factor, x, y):
        out = Out(1, len(x), len(x), y[None])
        self.c.add_scaled(len(x), factor, pointer(x), out.pointer)
        return out.done()[0]

    def muon_polynomial(self, coefficients, G, P, rows=None):
        """b G + c P, and a on the diagonal, in the first rows; the others as they were"""
        out, (all_rows, n) = Out(*P.shape, P.shape[1], P), P.shape
        self.c.muon_polynomial(all_rows if rows is None else rows, n, n, *coefficients, pointer(G),
                               out.pointer)
        return out.done()
