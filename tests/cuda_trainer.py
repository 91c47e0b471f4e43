"""A trainer made of the CUDA kernels: NumPy stands where a GPU has matrix products and copies.

It shows the order in which the kernels are meant to run, a slice of agents at a time in a rollout,
and holds arrays as cuda_kernels.h lays them out. Weights and moments come from a native trainer.
"""
from __future__ import annotations

from types import SimpleNamespace

import kernel_reference as reference
import numpy as np
from cuda_calls import Cuda
from kernel_calls import heads_of

LANES, ROWS, CHUNK = 256, 128, 4096         # CUDA_LANES, CUDA_ROWS, CUDA_CHUNK


def product(A, B):
    """A B in float32, summed as the CPU's generic kernels do."""
    return reference.products_in_order(np.ascontiguousarray(A), np.ascontiguousarray(B), None,
                                       False)


class CudaTrainer:
    """rollout(vec) and update(schedule) over `native`'s sizes, weights and settings."""

    def __init__(self, cuda: Cuda, native, vec):
        self.cuda, self.settings, self.vec = cuda, native.settings, vec
        self.sizes = tuple(vec.act_sizes)
        self.heads = heads_of(self.sizes)
        self.total_epochs = native.total_epochs
        self.N, self.T, self.D = vec.num_agents, native.horizon, vec.obs_size
        self.K, self.A, self.dims = len(self.sizes), sum(self.sizes), self.sizes.count(1)
        self.S = self.settings.minibatch_size // self.T
        self.u8 = vec.observations.dtype == np.uint8
        state = native.state_tensors()
        self.names = [name for name in state if not name.startswith(("muon", "adam"))]
        layers = [name for name in self.names if name.startswith("layers.")]
        self.H, self.L = state["encoder"].shape[0], len(layers)
        self.lay_out([name for name in self.names if name != "logstd"], state)
        N, T, L, H = self.N, self.T, self.L, self.H
        self.state = np.array(native.rollout_tensors["state"])
        floats = {name: (N, T) for name in (
            "rewards", "ended", "truncated", "log_probs", "values", "values_now", "ratio_now",
            "advantages", "returns")} | {"actions": (N, T, self.K), "bootstrap": (N,),
                                         "state0": (N, L, H)}
        self.r = SimpleNamespace(**{name: np.zeros(shape, np.float32)
                                    for name, shape in floats.items()})
        self.r.obs = np.zeros((N, T, self.D), vec.observations.dtype)
        self.r.masks = None if vec.action_mask is None else np.zeros((N, T, self.A), np.uint8)
        self.sums, self.cdf = np.zeros((N, 5)), np.zeros(N)
        self.priorities = np.zeros(N)

    def lay_out(self, names, state):
        """All weights one behind another: the encoder transposed, and logstd behind the rest."""
        def stored(name, array):
            return array.T if name.endswith("encoder") else array

        self.matrix, self.chunk, offset = [], [], 0
        for number, name in enumerate(names):
            rows, cols = stored(name, state[name]).shape
            fan_out, fan_in = state[name].shape
            first = len(self.chunk)
            self.chunk += [{"first": offset + at, "count": min(CHUNK, rows * cols - at),
                            "matrix": number} for at in range(0, rows * cols, CHUNK)]
            self.matrix.append({"offset": offset, "rows": rows, "cols": cols,
                                "first_chunk": first, "chunks": len(self.chunk) - first,
                                "ratio": max(1.0, fan_out / fan_in) ** 0.5})
            offset += rows * cols
        self.vectors = offset
        if self.dims:
            self.chunk.append({"first": offset, "count": self.dims, "matrix": -1})

        def flat(prefix, vector):
            parts = [stored(name, state[prefix + name]).ravel() for name in names]
            vectors = [state[vector]] if self.dims else []
            return np.concatenate([*parts, *vectors], dtype=np.float32)

        self.weights, self.momentum = flat("", "logstd"), flat("muon.", "adam.m.logstd")
        self.adam_v = state.get("adam.v.logstd", np.zeros(0, np.float32)).copy()
        self.matrix_names = names

    def view(self, flat, number):
        one = self.matrix[number]
        return flat[one["offset"]:one["offset"] + one["rows"] * one["cols"]].reshape(
            one["rows"], one["cols"])

    @property
    def logstd(self):
        return self.weights[self.vectors:]

    def tensors(self) -> dict[str, np.ndarray]:
        """As state_tensors() of the native trainer."""
        out = {}
        for prefix, flat in ("", self.weights), ("muon.", self.momentum):
            for number, name in enumerate(self.matrix_names):
                mine = self.view(flat, number)
                out[prefix + name] = mine.T if name == "encoder" else mine
        if self.dims:
            out |= {"logstd": self.logstd, "adam.m.logstd": self.momentum[self.vectors:],
                    "adam.v.logstd": self.adam_v}
        return out

    # -- rollout

    def rollout(self, slices, first_tick: int) -> None:
        """T ticks of all agents, then the value of what comes next. slices: [(first, last)]"""
        self.fault = np.uint64([2 ** 64 - 1])
        for t in range(self.T + 1):
            now = {"seed": self.settings.seed, "step": first_tick + t, "t": t, "greedy": 0}
            for first, last in slices:
                self.tick(now, first, last)
            if t < self.T:
                self.vec.step()

    def tick(self, now, first, last):
        vec, rows, H, size = self.vec, last - first, self.H, self.L * self.H
        mine, common = slice(first, last), {"tick": now, "rows": rows, "T": self.T}
        got = self.cuda.tick_begin(
            **common, first=first, D=self.D, size=size, obs_dtype=int(not self.u8),
            scale_obs=self.settings.scale_obs, reset_state=0, obs=vec.observations[mine].copy(),
            rewards=vec.rewards[mine].copy(), terminals=vec.terminals[mine].copy(),
            truncations=vec.truncations[mine].copy(), state=self.state, state0=self.r.state0,
            stored_obs=self.r.obs, stored_rewards=self.r.rewards, ended=self.r.ended,
            truncated=self.r.truncated, ldw=self.D + 3,
            wide=np.zeros((rows, self.D + 3), np.float32), narrow=None, fault=self.fault)
        self.fault, self.r.state0, self.r.obs = got.fault, got.state0, got.stored_obs
        self.r.rewards, self.r.ended, self.r.truncated = (got.stored_rewards, got.ended,
                                                          got.truncated)
        state = np.array(got.state).ravel()
        x = product(got.wide[:, :self.D], self.view(self.weights, 0))
        for layer in range(self.L):
            at = first * size + layer * H
            step = self.cuda.gates_step(
                **common, H=H, lds=size, products=product(x, self.view(self.weights, 1 + layer).T),
                x=x, state=state[at:].copy(), out=np.zeros_like(x), narrow=None)
            state[at:], x = step.state, step.out
        self.state = state.reshape(self.state.shape)
        mask = None if vec.action_mask is None else vec.action_mask[mine].copy()
        got = self.cuda.heads_sample(
            **common, heads=self.heads, first=first, ldo=self.A + 1, first_agent=first,
            out=product(x, self.view(self.weights, 1 + self.L).T), logstd=self.logstd, mask=mask,
            actions=vec.actions[mine].copy(), stored_actions=self.r.actions,
            logprobs=self.r.log_probs, values=self.r.values, stored_masks=self.r.masks,
            bootstrap=self.r.bootstrap, fault=self.fault)
        vec.actions[mine] = got.actions
        self.fault, self.r.actions, self.r.log_probs = got.fault, got.stored_actions, got.logprobs
        self.r.values, self.r.masks, self.r.bootstrap = got.values, got.stored_masks, got.bootstrap

    # -- update

    def update(self, epoch: int, steps: int, minibatches: int):
        """-> the verdict after all of them. epoch and optimizer steps: done before"""
        t, laps = self.settings, minibatches * self.S // self.N + 1
        beta = t.prio_beta0 + (1 - t.prio_beta0) * epoch / self.total_epochs
        self.verdict = {"clip": 1.0}
        self.r.values_now = self.r.values.copy()
        self.r.ratio_now = np.ones_like(self.r.values)
        self.schedule = {"seed": t.seed, "epoch": epoch, "ent_coef": t.ent_coef,
                         "learning_rate": t.learning_rate, "prio_beta": beta}
        self.decks, self.laps = None, laps
        if t.prio_alpha == 0:
            self.decks = self.cuda.deck_shuffle(schedule=self.schedule, N=self.N, laps=laps,
                                                decks=np.zeros((laps, self.N), np.int32)).decks
        for number in range(minibatches):
            steps += 1
            self.schedule |= {"number": number, "first_bias": 1 - 0.9 ** steps,
                              "second_bias": 1 - t.beta2 ** steps}
            self.pick(number)
            self.move(*self.gradients())
        return self.verdict

    def judge(self, which=None, repeated=None):
        t, r = self.settings, self.r
        got = self.cuda.segments_judge(
            count=self.N if which is None else self.S, T=self.T, which=which, repeated=repeated,
            rewards=r.rewards, values=r.values_now, ratio=r.ratio_now, ended=r.ended,
            truncated=r.truncated, bootstrap=r.bootstrap, gamma=t.gamma, gae_lambda=t.gae_lambda,
            rho_clip=t.vtrace_rho_clip, c_clip=t.vtrace_c_clip, reward_clip=t.reward_clip,
            prio_alpha=t.prio_alpha, advantages=r.advantages, returns=r.returns, sums=self.sums,
            weights=self.priorities)
        r.advantages, r.returns, self.sums = got.advantages, got.returns, got.sums
        self.priorities = got.weights

    def pick(self, number):
        cuda, drawn = self.cuda, self.decks is None
        if number == 0 or drawn:
            self.judge()
        if drawn:
            self.cdf = cuda.priorities_sum(N=self.N, weights=self.priorities, cdf=self.cdf).cdf
        got = cuda.segments_pick(
            schedule=self.schedule, N=self.N, S=self.S, laps=self.laps, decks=self.decks,
            weights=self.priorities, cdf=self.cdf, rows=np.zeros(self.S, np.int32),
            q=np.zeros(self.S, np.float32))
        self.rows, self.q = got.rows, got.q
        self.repeated = cuda.repeats_find(S=self.S, rows=self.rows,
                                          repeated=np.zeros(self.S, np.uint8)).repeated
        if number and not drawn:
            self.judge(self.rows, self.repeated)
        self.verdict = cuda.batch_measure(S=self.S, T=self.T, norm_adv=self.settings.norm_adv,
                                          rows=self.rows, sums=self.sums,
                                          verdict=self.verdict).verdict

    def gradients(self):
        """-> gradient, laid out as weights; sums of the losses"""
        cuda, r, t, H, R = self.cuda, self.r, self.settings, self.H, self.S * self.T
        wide = cuda.obs_gather(
            S=self.S, T=self.T, D=self.D, ldw=self.D + 3, obs_dtype=int(not self.u8),
            scale_obs=t.scale_obs, rows=self.rows, obs=r.obs,
            wide=np.zeros((R, self.D + 3), np.float32), narrow=None).wide
        x, h, products = [product(wide[:, :self.D], self.view(self.weights, 0))], [], []
        shared = {"S": self.S, "T": self.T, "H": H, "stride": self.L * H, "rows": self.rows,
                  "ended": r.ended}
        before = [r.state0.ravel()[layer * H:].copy() for layer in range(self.L)]
        for layer in range(self.L):
            products.append(product(x[-1], self.view(self.weights, 1 + layer).T))
            got = cuda.scan_forward(**shared, before=before[layer], products=products[-1], x=x[-1],
                                    h=np.zeros_like(x[0]), out=np.zeros_like(x[0]), narrow=None)
            h.append(got.h)
            x.append(got.out)
        decoder, parts = self.view(self.weights, 1 + self.L), -(-R // ROWS)
        got = cuda.heads_loss(
            schedule=self.schedule, verdict=self.verdict, heads=self.heads, S=self.S, T=self.T,
            ldo=self.A + 1, rows=self.rows, q=self.q, repeated=self.repeated,
            out=product(x[-1], decoder.T), logstd=self.logstd, masks=r.masks, actions=r.actions,
            logprobs=r.log_probs, values=r.values, advantages=r.advantages, returns=r.returns,
            clip_coef=t.clip_coef, vf_coef=t.vf_coef, vf_clip_coef=t.vf_clip_coef,
            values_now=r.values_now, ratio_now=r.ratio_now,
            dout=np.zeros((R, self.A + 1), np.float32), narrow=None,
            slopes=np.zeros((R, self.dims), np.float32), parts=np.zeros((parts, 6)),
            dlogstd_parts=np.zeros((parts, self.dims)))
        r.values_now, r.ratio_now = got.values_now, got.ratio_now
        gradient = np.zeros_like(self.weights)
        if self.dims:
            gradient[self.vectors:] = cuda.columns_sum(
                parts_count=parts, columns=self.dims, parts=got.dlogstd_parts, sums=None,
                floats=np.zeros(self.dims, np.float32)).floats
        losses = cuda.columns_sum(parts_count=parts, columns=6, parts=got.parts,
                                  sums=np.zeros(6), floats=None).sums
        self.view(gradient, 1 + self.L)[...] = product(got.dout.T, x[-1])
        dx = product(got.dout, decoder)
        for layer in reversed(range(self.L)):
            back = cuda.scan_backward(**shared, before=before[layer], products=products[layer],
                                      x=x[layer], h=h[layer], dx=dx, dproducts=products[layer],
                                      narrow=None)
            dproducts = back.dproducts
            self.view(gradient, 1 + layer)[...] = product(dproducts.T, x[layer])
            dx = back.dx + product(dproducts, self.view(self.weights, 1 + layer))
        self.view(gradient, 0)[...] = product(wide[:, :self.D].T, dx)
        return gradient, losses

    def move(self, gradient, losses):
        cuda, t, count = self.cuda, self.settings, len(self.chunk)
        common = {"chunks": count, "chunk": self.chunk}
        parts = cuda.squares_sum(**common, x=gradient, parts=np.zeros(count)).parts
        squares = cuda.columns_sum(parts_count=count, columns=1, parts=parts, sums=np.zeros(1),
                                   floats=None).sums
        self.verdict = cuda.update_decide(
            rows=float(self.S * self.T), max_grad_norm=t.max_grad_norm, squares=squares,
            losses=losses, verdict=self.verdict).verdict
        got = cuda.muon_momentum(**common, verdict=self.verdict, mu=t.beta1, gradient=gradient,
                                 momentum=self.momentum, update=np.zeros_like(self.weights),
                                 parts=np.zeros(count))
        momentum = np.array(got.momentum)
        matrices = len(self.matrix)
        factors = cuda.muon_measure(matrices=matrices, matrix=self.matrix, parts=got.parts,
                                    factors=np.zeros(matrices, np.float32)).factors
        X = np.array(cuda.muon_normalise(**common, factors=factors, update=got.update,
                                         wide=np.zeros_like(self.weights), narrow=None).wide)
        for number in range(matrices):
            self.orthogonalise(self.view(X, number))
        weights = np.array(cuda.muon_apply(
            schedule=self.schedule, verdict=self.verdict, **common, matrix=self.matrix, X=X,
            weights=self.weights, narrow=None).weights)
        if self.dims:
            adam = cuda.adam_step(
                schedule=self.schedule, verdict=self.verdict, count=self.dims, beta2=t.beta2,
                eps=t.eps, gradient=gradient[self.vectors:].copy(),
                m=self.momentum[self.vectors:].copy(), v=self.adam_v,
                weights=self.logstd.copy())
            momentum[self.vectors:], self.adam_v = adam.m, adam.v
            weights[self.vectors:] = adam.weights
        self.weights, self.momentum = weights, momentum

    @staticmethod
    def orthogonalise(X):
        """Newton-Schulz in place, on whichever side is the smaller: products, two with an addend"""
        for a, b, c in reference.ppo.COEFFICIENTS:
            G = X.T @ X if X.shape[0] > X.shape[1] else X @ X.T
            P = c * (G @ G) + b * G
            X[...] = a * X + (X @ P if X.shape[0] > X.shape[1] else P @ X)
