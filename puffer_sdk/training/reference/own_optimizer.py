"""An optimiser of the user's own.  parameters -> a torch.optim.Optimizer, steps"""
from __future__ import annotations

from collections.abc import Callable, Mapping

import torch
from torch import Tensor, nn

from ...base.errors import UsageError
from ..own_calls import call, place_of
from .own_network import Network

MakeOptimizer = Callable[[list[nn.Parameter]], torch.optim.Optimizer]


class OwnOptimizer:
    """As Muon. Gradients are clipped to max_grad_norm; learning rates are the user's own.

    Raises UsageError for what is no optimiser, RunError for what the function raises.
    """

    def __init__(self, function: MakeOptimizer, policy: Network, max_grad_norm: float,
                 factors: Mapping[str, Tensor]):
        self.steps, self.tensors, self.max_grad_norm = 0, dict[str, Tensor](), max_grad_norm
        self.parameters = {name: p for name, p in policy.named_parameters() if p.requires_grad}
        self.factored = [(self.parameters[name], each) for name, each in factors.items()]
        made: object = call("optimizer", function, list(self.parameters.values()))
        if not isinstance(made, torch.optim.Optimizer):
            raise UsageError("optimizer must return a torch.optim.Optimizer",
                             where=place_of(function), actual=type(made).__name__,
                             expected="such as torch.optim.Adam(parameters, lr=1e-3)")
        self.optimizer = made

    @property
    def learning_rate(self) -> float:
        """Of its first group of parameters."""
        return float(self.optimizer.param_groups[0]["lr"])

    @torch.no_grad()
    def grad_norm(self) -> Tensor:
        """As Muon's: once a step, before any clipping."""
        for weight, factors in self.factored:
            if weight.grad is not None:
                weight.grad *= factors
        norm: Tensor = torch.stack([p.grad.norm() for p in self.parameters.values()
                                    if p.grad is not None]).norm()
        return norm

    def step(self, learning_rate: float, grad_norm: float) -> None:
        self.steps += 1
        if grad_norm > self.max_grad_norm:
            for weight in self.parameters.values():
                if weight.grad is not None:
                    weight.grad *= self.max_grad_norm / grad_norm
        before = [weight.detach().clone() for weight, _ in self.factored]
        call("optimizer.step", self.optimizer.step)
        with torch.no_grad():       # as if observations were multiplied by their factors
            for (weight, factors), old in zip(self.factored, before):
                weight.copy_(old + (weight - old) * factors)
