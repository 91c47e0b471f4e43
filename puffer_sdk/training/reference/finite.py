"""Checks for NaN and infinity.  named tensors -> an error that names the first bad one"""
from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import Tensor, nn

from ...base.errors import RunError
from ..schedules import BAD_HINT


def weights_of(policy: nn.Module) -> list[tuple[str, Tensor]]:
    return [(f"weights of {name}", p.detach()) for name, p in policy.named_parameters()]


def raise_if_bad(named: Iterable[tuple[str, Tensor]], where: str, hint: str | None = None) -> None:
    """Raises RunError for the first tensor that holds a NaN or an infinity, with its place."""
    for name, tensor in named:
        if not tensor.is_floating_point() or bool(torch.isfinite(tensor).all()):
            continue
        place = (~torch.isfinite(tensor.detach())).nonzero()[0].tolist()
        value = float(tensor.detach()[tuple(place)])
        raise RunError(f"{name} went bad: {value} at {place} of {list(tensor.shape)}", where=where,
                       hint=hint or BAD_HINT)
