"""Learning from a minibatch.  a rollout's advantages -> segments; segments -> updated weights

Sizes as in reference_ppo.py.
"""
from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
import torch
from torch import Tensor

from ...base import philox
from ...base.errors import RunError
from ...base.philox import Purpose
from ...distributed.group import Alone
from ...settings.table import Train
from ..schedules import FIRST_FACTOR, SCALE_HINT
from .action_heads import ActionHeads, apply_mask
from .finite import raise_if_bad, weights_of
from .formulas import (
    draw_segments,
    follow_returns,
    importance_weights,
    next_rate_factor,
    ppo_loss,
    segment_probabilities,
)
from .means import Means
from .muon import Muon
from .own_loss import Batch, Outputs, OwnLoss
from .own_network import Network, call
from .own_optimizer import OwnOptimizer


class Minibatches:
    """What an update does with each minibatch, and after all of them."""

    agents: int                 # N
    horizon: int                # T
    epoch: int
    settings: Train
    device: torch.device
    group: Alone
    means: Means
    policy: Network
    heads: ActionHeads
    muon: Muon | OwnOptimizer
    own_loss: OwnLoss | None
    return_rms: float
    rate_factor: float
    highest_return: float
    _alive: np.ndarray          # segments with an agent, to pick from

    @property
    def highest_value(self) -> float:
        """The most that a value at a time limit counts for, in the unit of values."""
        return float(np.float32(self.highest_return / (self.return_rms or 1.0)))

    def _follow(self, square: float, kl: float, earned: float) -> None:
        self.highest_return = max(self.highest_return, earned)
        if self.settings.target_kl:
            self.rate_factor = next_rate_factor(self.rate_factor or FIRST_FACTOR,
                                                self.settings.target_kl, kl)
        if self.settings.norm_returns:
            self.return_rms = follow_returns(self.return_rms, square, self.epoch)

    def _pick(self, advantage: Tensor, number: int, beta: float) -> tuple[np.ndarray, np.ndarray]:
        """The S segments of this epoch's minibatch `number`, and their weights q."""
        t, size = self.settings, self.settings.minibatch_size // self.horizon
        if not len(self._alive):    # other ranks learn: rows without an agent add nothing
            return np.arange(size) % self.agents, np.ones(size, np.float32)
        if t.prio_alpha == 0:       # deal from shuffled orders of all segments
            places, segments = np.arange(number * size, (number + 1) * size), len(self._alive)
            passes = (places // segments).tolist()
            first = self.group.rank * self.agents
            orders = {one: philox.permutation(t.seed, segments, self.epoch, one, first)
                      for one in set(passes)}
            rows = np.array([orders[one][place % segments] for one, place in zip(passes, places)])
            return self._alive[rows], np.ones(size, np.float32)
        places = self.group.rank * size + np.arange(size)
        uniforms = philox.uniform((t.seed, Purpose.PRIORITY), places, self.epoch, number)
        probabilities = segment_probabilities(advantage[self._alive], t.prio_alpha)
        rows = draw_segments(probabilities, uniforms)
        return self._alive[rows], importance_weights(probabilities, rows, beta)

    def _learn(self, batch: Mapping[str, Tensor], mask: Tensor | None, learning_rate: float,
               ent_coef: float) -> tuple[Tensor, float, Tensor, Tensor]:
        """One minibatch: forward, loss, backward, Muon. Returns parts, gradient norm, V and w."""
        logits, value, *extra = call(self.policy, "sequence", batch["obs"], batch["state0"],
                                     batch["ended"])
        legal = apply_mask(logits, mask)
        log_prob, entropy = self.heads.log_prob_and_entropy(
            legal, getattr(self.policy, "logstd", None), batch["actions"])
        loss, parts, ratio = ppo_loss(log_prob, entropy, value, batch, self.settings, ent_coef,
                                      self.means)
        if self.own_loss is not None:
            loss = self.own_loss(Batch.of(batch, mask), Outputs(
                legal, value, log_prob, entropy, loss, extra[0] if extra else None))
        self.policy.zero_grad(set_to_none=True)
        torch.autograd.backward(loss)
        loss = loss.detach()
        self.means.add_up([loss, parts, *(p.grad for p in self.policy.parameters()
                                          if p.grad is not None)])
        loss_now, norm = torch.stack([loss, self.muon.grad_norm()]).tolist()
        if not math.isfinite(loss_now + norm):      # before the step: the weights stay as they were
            gradients = [(f"gradient of {name}", p.grad)
                         for name, p in self.policy.named_parameters() if p.grad is not None]
            forward = [("logits", logits), ("values", value), ("log-probabilities", log_prob),
                       ("entropy", entropy), ("ratio", ratio), ("loss", loss)]
            raise_if_bad([*batch.items(), *weights_of(self.policy), *forward, *gradients],
                         where=f"epoch {self.epoch}")
            raise RunError("the gradient norm overflows", where=f"epoch {self.epoch}",
                           hint=SCALE_HINT)
        self.muon.step(learning_rate, norm)
        if "live" in batch:
            value = value * batch["live"]
        return parts, norm, value.detach(), ratio
