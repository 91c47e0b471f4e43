"""Arrange pictures next to each other.  frames (h, w, 3) uint8 -> one picture of a fixed size

    sizes     pictures larger than LIMIT shrink by whole factors, so that edges stay sharp
    grid      tiles with a gap between them; a tile is dimmed after its last episode
    panes     side by side, each under its label
"""
from __future__ import annotations

from collections.abc import Sequence

import numpy as np

LIMIT = 1280                            # pixels on the longer side, unless --width says otherwise
GAP = 4                                 # pixels between tiles, and around them
LABEL = 34                              # pixels of height for a label above a pane
PAPER = (14, 18, 24)
FRAME = (62, 70, 82)                    # the gaps: distinct from dark games and from bright ones
INK = (226, 232, 240)


class Scale:
    """Scales frames from the size of an env's window to the size of its tile.

    tile    (h, w) of every tile
    """

    def __init__(self, native: tuple[int, int], rows: int, columns: int, panes: int,
                 width: int | None):
        """rows, columns    of tiles in each pane; width: of the whole picture, at most"""
        (height, wide), across = native, columns * panes
        self.native = native
        if width is None:
            divisor = -(-max(rows * height, across * wide) // LIMIT)
            self.tile = (-(-height // divisor), -(-wide // divisor))
        else:
            inside = (columns + 1) * panes if rows * columns > 1 else 0
            share = max(1, (width - GAP * (inside + panes - 1)) // across)
            factor = share / wide if share < wide else share // wide
            self.tile = (max(1, round(height * factor)), max(1, round(wide * factor)))

    def __call__(self, frame: np.ndarray) -> np.ndarray:
        """A frame as a tile. If the window has changed its size, the frame is fitted in."""
        if frame.shape[:2] != self.native:
            return self._fit(frame)
        return resize(frame, self.tile)

    def _fit(self, frame: np.ndarray) -> np.ndarray:
        factor = min(*(room / side for room, side in zip(self.tile, frame.shape)),
                     self.tile[1] / self.native[1])
        size = [max(1, round(side * factor)) for side in frame.shape[:2]]
        out = blank(self.tile)
        top, left = ((room - side) // 2 for room, side in zip(self.tile, size))
        out[top:top + size[0], left:left + size[1]] = resize(frame, size)
        return out


def resize(frame: np.ndarray, size: Sequence[int]) -> np.ndarray:
    """Resize; sharp for whole factors: repeats pixels to enlarge, averages them to shrink."""
    from PIL import Image

    if tuple(size) == frame.shape[:2]:
        return frame
    image = Image.fromarray(np.ascontiguousarray(frame))
    divisor = -(-frame.shape[0] // size[0])
    if [-(-side // divisor) for side in frame.shape[:2]] == list(size):
        return np.asarray(image.reduce(divisor))
    way = Image.Resampling.NEAREST if size[0] > frame.shape[0] else Image.Resampling.LANCZOS
    return np.asarray(image.resize((size[1], size[0]), way))


def blank(size: Sequence[int], colour: tuple[int, int, int] = PAPER) -> np.ndarray:
    """(h, w, 3) of one colour."""
    return np.full((*size, 3), colour, np.uint8)


def dim(frame: np.ndarray) -> np.ndarray:
    """The same picture, faint: its env is done."""
    return (frame * 0.45 + np.array(PAPER) * 0.55).astype(np.uint8)


class Grid:
    """rows x columns of tiles; a single tile has no frame around it.

    picture     (h, w, 3) uint8, with the tiles that were put so far
    """

    def __init__(self, tile: tuple[int, int], rows: int, columns: int):
        self.tile, self.columns = tile, columns
        self.gap = GAP if rows * columns > 1 else 0
        self.picture = blank([count * side + (count + 1) * self.gap
                              for count, side in zip((rows, columns), tile)], FRAME)

    def put(self, index: int, tile: np.ndarray) -> None:
        """Set tile number `index`, counted in reading order."""
        self.place(index)[:] = tile

    def place(self, index: int) -> np.ndarray:
        """The tile's part of the picture: a view."""
        top, left = (self.gap + at * (side + self.gap)
                     for at, side in zip(divmod(index, self.columns), self.tile))
        return self.picture[top:top + self.tile[0], left:left + self.tile[1]]


def beside(panes: Sequence[np.ndarray], labels: Sequence[np.ndarray]) -> np.ndarray:
    """Panes of one size from left to right, each under its label."""
    columns = [np.concatenate([label, pane]) for label, pane in zip(labels, panes)]
    gap = blank((columns[0].shape[0], GAP), FRAME)
    spaced = [part for column in columns for part in (column, gap)]
    return np.concatenate(spaced[:-1], axis=1)


def label(text: str, width: int) -> np.ndarray:
    """(LABEL, width, 3): a line of text."""
    from PIL import Image, ImageDraw, ImageFont

    image = Image.fromarray(blank((LABEL, width)))
    ImageDraw.Draw(image).text((10, LABEL // 2), text, INK, ImageFont.load_default(18),
                               anchor="lm")
    return np.asarray(image)
