"""Choose a GIF's colours.  frames (h, w) of packed colours -> up to 256, and the nearest of each

A packed colour is 0xRRGGBB in a uint32.
"""
from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

PIXELS = 1 << 22            # pixels to choose colours from
NEAR = 2.0                  # colours at less than this distance (see _points) look the same


def pack(frame: NDArray[np.uint8]) -> NDArray[np.uint32]:
    """(h, w, 3) uint8 as (h, w) 0xRRGGBB."""
    wide = np.zeros((*frame.shape[:2], 4), np.uint8)
    for channel in range(3):            # one by one: five times as fast as all three at once
        wide[..., 2 - channel] = frame[..., channel]
    packed: NDArray[np.uint32] = wide.view("<u4")[..., 0]
    return packed


def unpack(packed: NDArray[np.uint32]) -> NDArray[np.uint8]:
    """The inverse of pack."""
    wide = np.ascontiguousarray(packed, "<u4").view(np.uint8).reshape(*packed.shape, 4)
    frame = np.empty((*packed.shape, 3), np.uint8)
    for channel in range(3):
        frame[..., channel] = wide[..., 2 - channel]
    return frame


class Table:
    """Maps packed colours to palette entries. A colour always gets the same entry.

    The palette's own colours are exact. Other colours are grouped by four values in each channel,
    and a group shares an entry.
    """

    COARSE = 0xFCFCFC

    def __init__(self, colours: np.ndarray):
        self._near = np.zeros(1 << 24, np.uint8)
        self._known = np.zeros(1 << 24, bool)
        self._near[colours], self._known[colours] = np.arange(len(colours)), True
        self._points = _points(colours)

    def indices(self, packed: NDArray[np.uint32]) -> NDArray[np.uint8]:
        """Packed colours of any shape -> uint8 of that shape."""
        unknown = ~self._known[packed]
        if unknown.any():
            self._assign(distinct(packed[unknown]))
        found: NDArray[np.uint8] = self._near[packed]
        return found

    def _assign(self, colours: np.ndarray) -> None:
        cells, place = np.unique(colours & self.COARSE, return_inverse=True)
        norms, near = (self._points ** 2).sum(1), np.empty(len(cells), np.uint8)
        for start in range(0, len(cells), 1 << 14):
            some = slice(start, start + (1 << 14))
            middle = _points(cells[some] + np.uint32(0x020202))
            near[some] = (norms - 2 * middle @ self._points.T).argmin(1)
        self._near[colours], self._known[colours] = near[place], True

    def distances(self, colours: NDArray[np.uint32]) -> NDArray[np.float32]:
        """The squared distance of each from its entry."""
        nearest = self._points[self.indices(colours)]
        found: NDArray[np.float32] = ((_points(colours) - nearest) ** 2).sum(1)
        return found


def distinct(packed: NDArray[np.uint32]) -> NDArray[np.uint32]:
    """As np.unique, which takes ten times as long for many values."""
    line = np.sort(packed, axis=None)
    found: NDArray[np.uint32] = line[np.concatenate([[True], line[1:] != line[:-1]])]
    return found


def _points(colours: NDArray[np.uint32]) -> NDArray[np.float32]:
    """Packed colours as (n, 3) floats, whose distances are roughly those that eyes see."""
    weights = np.array([0.55, 0.77, 0.33], np.float32)
    return unpack(colours).astype(np.float32) * weights


class Frames(Protocol):
    """Packed frames of one size (h, w), each with the box that changed."""

    shape: tuple[int, int]

    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[tuple[np.ndarray, object]]: ...


def sample(spool: Frames) -> tuple[np.ndarray, np.ndarray]:
    """The colours of some frames, spread evenly, and how many pixels each has."""
    height, width = spool.shape
    frames = min(24, max(4, PIXELS // (height * width)))
    wanted = {round(i * (len(spool) - 1) / (frames - 1)) for i in range(frames)}
    found = [np.unique(packed, return_counts=True)
             for i, (packed, _) in enumerate(spool) if i in wanted]
    colours, place = np.unique(np.concatenate([c for c, _ in found]), return_inverse=True)
    return colours, np.bincount(place, np.concatenate([n for _, n in found]))


def best_colours(colours: np.ndarray, counts: np.ndarray, number: int) -> np.ndarray:
    """`number` packed colours, or fewer, for these colours and counts of pixels.

    First the flat ones, exactly: those that many pixels have. Then median cut over the others and
    a few rounds of k-means, with the square roots of the counts as weights: so small things keep
    their colours next to a large background.
    """
    flat = _flat_colours(colours, counts, number // 2)
    rest = Table(flat).distances(colours) > NEAR ** 2
    if not rest.any():
        return flat
    cells, weights = _cells(colours[rest], counts[rest])
    found = _median_cut(cells, weights, number - len(flat))
    for _ in range(6):
        nearest = Table(found).indices(pack(cells[None])[0])
        totals = np.bincount(nearest, weights, len(found))
        means = [np.bincount(nearest, weights * cells[:, c], len(found)) for c in range(3)]
        used = totals > 0
        moved = np.stack(means, 1)[used] / totals[used, None]
        found = np.unique(pack(np.rint(moved).astype(np.uint8)[None])[0])
    return np.union1d(flat, found)


def _flat_colours(colours: np.ndarray, counts: np.ndarray, number: int) -> np.ndarray:
    """The most common colours; no two of them look alike."""
    order = np.argsort(-counts, kind="stable")
    order = order[counts[order] * 5000 > counts.sum()][:4096]
    chosen: list[int] = []
    points = _points(colours[order])
    apart = np.full(len(order), np.inf)
    for i, colour in enumerate(colours[order]):
        if apart[i] > (3 * NEAR) ** 2 or not chosen:
            chosen.append(colour)
            apart = np.minimum(apart, ((points - points[i]) ** 2).sum(1))
            if len(chosen) == number:
                break
    return np.sort(np.array(chosen, np.uint32))


def _cells(colours: np.ndarray, counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """At most 2^15 colours (n, 3) uint8 that stand for all of them, and their weights."""
    _, place = np.unique(colours & 0xF8F8F8, return_inverse=True)
    totals = np.bincount(place, counts)
    parts = unpack(colours)
    means = [np.bincount(place, counts * parts[:, c]) / totals for c in range(3)]
    return np.rint(np.stack(means, 1)).astype(np.uint8), np.sqrt(totals)


def _median_cut(cells: np.ndarray, weights: np.ndarray, number: int) -> np.ndarray:
    from PIL import Image

    repeats = np.ceil(weights * min(1.0, (1 << 18) / weights.sum())).astype(int)
    line = Image.fromarray(np.repeat(cells, repeats, axis=0)[None])
    entries = line.quantize(number, Image.Quantize.MEDIANCUT).getpalette()
    return np.unique(pack(np.array(entries, np.uint8).reshape(1, -1, 3))[0])
