"""Means over a minibatch, whoever holds its rows.  tensors of one rank -> means over all ranks

A loss is a mean over the whole minibatch. Each rank has the part of it that its own rows add, and
these parts, and their gradients, add up over the ranks.
"""
from __future__ import annotations

import torch
from torch import Tensor

from ...distributed.group import Alone


def mean(x: Tensor) -> Tensor:
    """The mean of all elements, summed in an order that does not depend on the number of threads.

    PyTorch splits one sum of 32768 numbers or more among its threads, but never a row of a matrix.
    """
    count, x = x.numel(), x.flatten()
    while len(x) > 4096:
        whole = len(x) // 256 * 256
        x = torch.cat([x[:whole].view(-1, 256).sum(1), x[whole:]])
    return x.sum() / count


class Means:
    """Of one process, or of the ranks of a group."""

    def __init__(self, group: Alone | None = None):
        self.group = group or Alone()

    def part(self, x: Tensor) -> Tensor:
        """What this rank's elements add to the mean over all ranks'."""
        if self.group.size == 1:
            return mean(x)
        count = float(self.total(float(x.numel())))
        return mean(x) * (x.numel() / count) if x.numel() else x.sum()

    def whole(self, x: Tensor) -> Tensor:
        """The mean over the elements of all ranks, of which no gradient is wanted."""
        part = self.part(x)
        if self.group.size > 1:
            part = part.detach().clone().reshape(1)
            self.group.sum(part)
            return part[0]
        return part

    def total(self, number: float) -> float:
        """The sum over all ranks."""
        if self.group.size == 1:
            return number
        all_ranks = torch.tensor([number], dtype=torch.float64)
        self.group.sum(all_ranks)
        return float(all_ranks)

    def highest(self, number: float) -> float:
        """The highest of all ranks', each of which adds its own to zeros."""
        if self.group.size == 1:
            return number
        found = torch.zeros(self.group.size, dtype=torch.float64)
        found[self.group.rank] = number
        self.group.sum(found)
        return float(found.max())

    def add_up(self, tensors: list[Tensor]) -> None:
        """Each becomes the sum over all ranks, in place."""
        if self.group.size == 1 or not tensors:
            return
        flat = torch.cat([tensor.detach().flatten() for tensor in tensors])
        self.group.sum(flat)
        for tensor, summed in zip(tensors, torch.split(flat, [each.numel() for each in tensors])):
            tensor.copy_(summed.view_as(tensor))
