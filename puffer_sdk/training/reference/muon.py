"""Muon, and Adam for vectors.  gradients, learning rate -> weights"""
from __future__ import annotations

import math
from collections.abc import Mapping

import torch
from torch import Tensor

from .own_network import Network

VECTOR_LR = 1.0                     # Adam's share of the learning rate, for vectors
NEWTON_SCHULZ = ((4.0848, -6.8946, 2.9270), (3.9505, -6.3029, 2.6377), (3.7418, -5.5913, 2.3037),
                 (2.8769, -3.1427, 1.2046), (2.8366, -3.0525, 1.2012))


def orthogonalise(update: Tensor) -> Tensor:
    """Five Newton-Schulz steps: the same row and column spaces, singular values near 1."""
    if update.shape[0] > update.shape[1]:
        return orthogonalise(update.T).T
    x: Tensor = update / update.norm().clamp(min=1e-7)
    for a, b, c in NEWTON_SCHULZ:
        gram = x @ x.T
        x = a * x + (b * gram + c * gram @ gram) @ x
    return x


class Muon:
    """Updates matrices along their orthogonalised Nesterov momentum, and vectors by Adam.

    Adam's betas are (0.9, beta2): beta2 and eps act on vectors only, mu on matrices only.
    """

    def __init__(self, policy: Network, mu: float, beta2: float, eps: float,
                 max_grad_norm: float, factors: Mapping[str, Tensor] | None = None):
        """factors  {matrix: (columns,)} it learns as if its inputs were multiplied by these"""
        self.factors = factors or {}
        self.parameters = {name: p for name, p in policy.named_parameters() if p.requires_grad}
        self.mu, self.beta2, self.eps, self.max_grad_norm = mu, beta2, eps, max_grad_norm
        self.steps = 0
        self.tensors: dict[str, Tensor] = {}
        for name, parameter in self.parameters.items():
            for kind in (("muon",) if parameter.dim() > 1 else ("adam.m", "adam.v")):
                self.tensors[f"{kind}.{name}"] = torch.zeros_like(parameter)

    @torch.no_grad()
    def grad_norm(self) -> Tensor:
        """Over all parameters together, before any clipping; once a step: gradients get their
        factors."""
        for name, factors in self.factors.items():
            if (gradient := self.parameters[name].grad) is not None:
                gradient *= factors
        norms = [p.grad.norm() for p in self.parameters.values() if p.grad is not None]
        norm: Tensor = torch.stack(norms).norm()
        return norm

    @torch.no_grad()
    def step(self, learning_rate: float, grad_norm: float) -> None:
        self.steps += 1
        scale = min(1.0, self.max_grad_norm / grad_norm) if grad_norm > 0 else 1.0
        for name, weight in self.parameters.items():
            if weight.grad is None:
                continue
            gradient = weight.grad * scale
            if weight.dim() == 1:
                self._adam(name, weight, gradient, VECTOR_LR * learning_rate)
                continue
            momentum = self.tensors[f"muon.{name}"]
            momentum.mul_(self.mu).add_(gradient)
            update = gradient.add(momentum, alpha=self.mu).flatten(1)       # Nesterov
            rows, columns = update.shape
            rate = learning_rate * math.sqrt(max(1.0, rows / columns))
            update = orthogonalise(update).view_as(weight)
            weight.sub_(update * self.factors.get(name, 1.0), alpha=rate)

    def _adam(self, name: str, weight: Tensor, gradient: Tensor, rate: float) -> None:
        first, second = self.tensors[f"adam.m.{name}"], self.tensors[f"adam.v.{name}"]
        first.lerp_(gradient, 1 - 0.9)
        second.mul_(self.beta2).addcmul_(gradient, gradient, value=1 - self.beta2)
        deviation = (second / (1 - self.beta2 ** self.steps)).sqrt_().add_(self.eps)
        weight.addcdiv_(first, deviation, value=-rate / (1 - 0.9 ** self.steps))
