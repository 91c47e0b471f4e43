"""Checks for NaN and infinity.  named tensors -> an error that names the first bad one"""
from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import Tensor

from ...base.errors import BadNumber
from ..schedules import BAD_HINT, ENV_HINT
from .own_network import Network


def weights_of(policy: Network) -> list[tuple[str, Tensor]]:
    return [(f"weights of {name}", p.detach()) for name, p in policy.named_parameters()]


def raise_if_bad(named: Iterable[tuple[str, Tensor]], where: str, *, of_env: bool = False) -> None:
    """Raises BadNumber for the first tensor that holds a NaN or an infinity, with its place.

    of_env   the env wrote it: (agents,) or (agents, elements)
    """
    for name, tensor in named:
        if not tensor.is_floating_point() or bool(torch.isfinite(tensor).all()):
            continue
        place = (~torch.isfinite(tensor.detach())).nonzero()[0].tolist()
        value = float(tensor.detach()[tuple(place)])
        row, element = [*place, -1][:2] if of_env else (-1, -1)
        raise BadNumber(f"{name} not finite: {value} at {place} of {list(tensor.shape)}",
                        where=where, hint=ENV_HINT if of_env else BAD_HINT, row=row,
                        element=element, value=value if of_env else None)
