"""What tests of the native trainer share: the reference and it, over the same rollouts.

    reference, natives = pair((3, 1), dict(num_agents=9), horizon=7)      # a native of each path
    for epoch, path, want, got in updates(reference, natives, 10): ...
"""
from __future__ import annotations

import os
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from helpers.cuda_calls import HAS_DRIVER
from helpers.ppo_fixtures import FakeVec, settings

from puffer_sdk.toolchain import gpu
from puffer_sdk.training.native.native_ppo import NativePPO
from puffer_sdk.training.native.trainer_library import available_paths, has_bf16
from puffer_sdk.training.reference import formulas, policy, reference_ppo

# Odd on purpose: nothing here is a multiple of a register, a tile or a cache line
SIZES = dict(hidden_size=20, num_layers=1, horizon=7, minibatch_size=21, total_timesteps=63 * 20)
VEC = dict(num_agents=9, obs_size=5)
BUFFERS = ("obs", "actions", "masks", "log_probs", "values", "rewards", "ended", "truncated",
           "bootstrap", "state0", "live")


# What make_native takes: instruction sets and the CUDA trainer, each in bf16 where it has that.
# Without a driver the GPU is emulated
if not HAS_DRIVER:
    os.environ["PUFFER_CUDA"] = "emulated"
PATHS = [*available_paths(), "cuda"]
VARIANTS = {path: dict(path=path) for path in PATHS}
VARIANTS["cuda bf16"] = dict(path="cuda", precision="bf16")
if has_bf16():
    VARIANTS["bf16"] = dict(path="avx512", precision="bf16")


class Reference(reference_ppo.TorchPPO):
    """The reference, remembering what each minibatch saw and said.

    Where the algorithm has a kink (a candidate's product at 0, a ratio or a value at its clip),
    a rounding error decides which of two slopes a row gets. `margin` says how near the last
    update came to one: products relative to the largest of their layer, the others as they are.
    """

    def update(self):
        self.seen, self.margin = [], 1.0
        return super().update()

    def _learn(self, batch, *rest):
        self._measure_products(batch)
        got = super()._learn(batch, *rest)
        self.seen.append((batch, got))
        t, (_, _, value, ratio) = self.settings, got
        for moved, clip in ((ratio - 1, t.clip_coef), (value - batch["value_old"], t.vf_clip_coef)):
            self.margin = min(self.margin, float((moved.abs() - clip).abs().min()))
        return got

    @torch.no_grad()
    def _measure_products(self, batch) -> None:
        x = self.policy._encode(batch["obs"])
        keep = torch.ones(batch["ended"].shape)
        keep[:, 1:] -= batch["ended"][:, :-1].float()
        for number, weight in enumerate(self.policy.layers):
            products = torch.nn.functional.linear(x, weight)
            hid = products[..., :x.shape[-1]].abs()[batch.get("live", ...)]
            if hid.numel():         # none where nobody lives
                self.margin = min(self.margin, float(hid.min() / hid.max()))
            x = policy.LayerScan.apply(products, x, batch["state0"][:, number], keep)

    def _scaled_rewards(self):
        self.learned_from, clipped = super()._scaled_rewards()
        self.limit = self.highest_value
        return self.learned_from, clipped

    def rows_now(self) -> dict[str, np.ndarray]:
        """values_now, ratio_now, advantages (N, T) after an update, as the native trainer has them.

        A row's advantage is that of the last minibatch that took it; of the first one if none did.
        """
        t, values, ratio = self.settings, self.values.clone(), torch.ones_like(self.values)
        advantages = formulas.advantages(
            self.learned_from, values, self.bootstrap, self.ended, self.truncated, ratio,
            t.gamma, t.gae_lambda, t.vtrace_rho_clip, t.vtrace_c_clip, self.final_values,
            self.live, self.limit).clone()
        for (rows, _), (batch, (_, _, value, new_ratio)) in zip(self.picks, self.seen):
            once = np.unique(rows, return_index=True)[1]
            values[rows[once]], ratio[rows[once]] = value[once], new_ratio[once]
            advantages[rows[once]] = batch["advantage"][once]
        return {name: tensor.numpy() for name, tensor in
                (("values_now", values), ("ratio_now", ratio), ("advantages", advantages))}


def make_vec(sizes=(3,), vec=None):
    return vec if hasattr(vec, "step") else FakeVec(sizes, **{**VEC, **(vec or {})})


def make_native(sizes=(3,), vec=None, *, threads=1, path="auto", block_agents=0, first_agent=0,
                timed=False, gpus=None, program=None, group=None, **changes) -> NativePPO:
    if path == "cuda" and changes.get("precision") == "bf16" and not gpu.has_bf16():
        pytest.skip("this GPU has no bf16")
    where = dict(device="cuda", gpus=gpus, program=program) if path == "cuda" else dict(path=path)
    return NativePPO(make_vec(sizes, vec), settings(**{**SIZES, **changes}), threads=threads,
                     block_agents=block_agents, first_agent=first_agent, timed=timed, group=group,
                     **where)


def make_reference(sizes=(3,), vec=None, *, first_agent=0, group=None, **changes) -> Reference:
    return Reference(make_vec(sizes, vec), settings(**{**SIZES, **changes}),
                     first_agent=first_agent, group=group)


def pair(sizes=(3,), vec=None, warm=0, **changes) -> tuple[Reference, dict[str, NativePPO]]:
    """The reference after `warm` epochs, and natives of all paths in the same state."""
    reference = make_reference(sizes, vec, **changes)
    run(reference, warm)
    paths = [path for path in PATHS if path != "cuda" or "encoder" not in changes]
    natives = {path: make_native(sizes, vec, path=path, **changes) for path in paths}
    for native in natives.values():
        native.load_state_tensors(reference.state_tensors())
        native.load_counters(reference.counters)
    return reference, natives


def run(trainer, epochs: int):
    """Returns the metrics of the last epoch."""
    metrics = None
    for _ in range(epochs):
        trainer.rollout()
        metrics = trainer.update()
    return metrics


def copy_rollout(reference, native) -> None:
    """The reference's rollout into the native buffers."""
    out = native.rollout_tensors
    for name in BUFFERS:
        if getattr(reference, name) is not None:
            out[name][...] = getattr(reference, name).numpy()
    if reference.final_values is not None:
        out["truncated"][...], out["final_values"][...] = cut_off(reference)
    native.touch()


def cut_off(reference) -> tuple[np.ndarray, np.ndarray]:
    """truncated (N, T), 2 where there is a final observation, and finals (N, T), as the native
    trainer has them."""
    finals = np.zeros_like(reference.values) if reference.final_values is None \
        else reference.final_values.numpy()
    known = reference.truncated.numpy() & ~np.isnan(finals) & (reference.final_values is not None)
    return reference.truncated.numpy() + 1.0 * known, np.where(known, finals, 0)


def updates(reference: Reference, natives: dict[str, NativePPO], epochs: int, *, together=False,
            replayed=True):
    """Yields (epoch, path, what the reference has, what the native has) after each update.

    Both learn from the reference's rollouts, and from the segments that it picked unless they are
    not `replayed`. together: from the reference's weights and optimiser state, each time anew.
    """
    for epoch in range(epochs):
        reference.rollout()
        before = reference.state_tensors()
        want = result(reference, reference.update(), reference.rows_now())
        for path, native in natives.items():
            copy_rollout(reference, native)
            if together:
                native.load_state_tensors(before)
            if replayed and reference.settings.prio_alpha and reference.picks:
                native.replay(*map(np.stack, zip(*reference.picks)))
            metrics = native.update()
            tensors = native.rollout_tensors
            yield epoch, path, want, result(native, metrics, {n: tensors[n] for n in want.rows})


def result(trainer, metrics, rows) -> SimpleNamespace:
    return SimpleNamespace(metrics=metrics, rows=rows, tensors=trainer.state_tensors(),
                           counters=trainer.counters)


def distance(got: np.ndarray, want: np.ndarray) -> float:
    """The largest difference, relative to the largest element."""
    scale, difference = float(np.abs(want).max()), float(np.abs(got - want).max())
    return difference / scale if scale else difference


def as_bytes(trainer) -> dict[str, bytes]:
    """Weights and optimiser state."""
    return {name: array.tobytes() for name, array in trainer.state_tensors().items()}
