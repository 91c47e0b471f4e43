"""What the network sees of a row.  observations (..., D), parts, their weights -> (..., E)

The parts are those of settings/encoder.py. Plain numbers come first, as they are; then the features
of each part, by row, column, filter.

Sizes: n rows, D observation, C channels of a cell, E numbers that the network sees.
"""
from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import torch
import torch.nn.functional as F
from torch import Tensor

from ...settings.encoder import Part, plain_numbers

GAIN = math.sqrt(6)         # of first weights, uniform: half of what a filter gives is cut off

Weights = Iterable[Iterable[Tensor]]        # of each part, of each convolution: (filters, columns)


def see(obs: Tensor, parts: Sequence[Part], weights: Weights) -> Tensor:
    """(..., D) -> (..., E), both floating-point; the observations themselves without parts."""
    if not parts:
        return obs
    rows = obs.reshape(-1, obs.shape[-1])
    seen = [rows[:, plain] for plain in plain_numbers(parts, obs.shape[-1])]
    seen += [features(rows[:, part.first:part.first + part.count], part, each)
             for part, each in zip(parts, weights, strict=True)]
    return torch.cat(seen, 1).reshape(*obs.shape[:-1], -1)


def features(elements: Tensor, part: Part, weights: Iterable[Tensor]) -> Tensor:
    """(n, elements of the part) -> (n, its features)."""
    raw = elements.reshape(-1, part.channels, part.height, part.width).permute(0, 2, 3, 1) \
        if part.planes else elements.reshape(-1, part.height, part.width, part.channels)
    cells = one_hot(raw, part.ids).permute(0, 3, 1, 2)              # (n, C, height, width)
    for layer, weight in zip(part.layers, weights, strict=True):
        kernel = weight.reshape(layer.filters, layer.kernel, layer.kernel, -1)
        cells = torch.relu(F.conv2d(cells, kernel.permute(0, 3, 1, 2), stride=layer.stride))
    cells = cells.permute(0, 2, 3, 1)
    if part.pooled:
        if part.mask is not None:
            cells = torch.where(raw[..., part.mask, None] != 0, cells, 0)
        return cells.flatten(1, 2).max(1).values        # the gradient is the first largest one's
    return cells.flatten(1)


def one_hot(cells: Tensor, ids: Sequence[int]) -> Tensor:
    """(..., C) -> (..., inputs): a channel of `count` ids becomes that many numbers, 1 at the id;
    one of 0 ids is the number itself. Zeros for any value that is no id."""
    if not any(ids):
        return cells
    pieces = []
    for channel, count in enumerate(ids):
        values = cells[..., channel, None]
        pieces.append((values == torch.arange(count, device=cells.device)).to(cells.dtype)
                      if count else values)
    return torch.cat(pieces, -1)
