"""The text of the panel.  a game, the author's names -> lines as screen.h explains them

If an enum names the elements of the observation, each is a line with its value; long parts are
strips of cells, and grids are boards. Undescribed bytes are drawn as a board if their number is a
square.
"""
from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from ..env.obs_spec import ObsField, ObsSpec

LEAST = 420             # pixels of a window's height, as in screen.c
MARGIN = 14
INSIDE = 272            # pixels of a line
HEIGHTS = {"h": 26, "t": 24, "s": 16, "k": 16, "-": 10, "v": 52}
CELL = 16               # pixels of a cell, at most
BELOW = 6               # of free space below cells
SHORT = 14              # characters of a name of which two fit in a line
FEW = 12                # elements without names that are written, not drawn


def pages(top: Sequence[str], observed: np.ndarray, is_bytes: bool, row: ObsSpec,
          keys: Sequence[str], window: int) -> list[list[str]]:
    """What F1 shows in turn: all in one page, or two where the window is too low for the keys.

    top         lines above the observation
    observed    (D,), one agent's
    keys        lines about keys, below it
    window      its height in pixels
    """
    room = max(window, LEAST) - 2 * MARGIN
    whole = [*top, *observation(observed, is_bytes, row, 1 << 20), "-", *keys]
    if height(whole) <= room:
        return [whole]
    more = "sF1 keys"
    left = room - height([*top, more])
    return [[*top, *observation(observed, is_bytes, row, left), more], [top[0], "-", *keys]]


def height(lines: Sequence[str]) -> int:
    """The pixels that lines need."""
    return sum(_cells_height(line) if line[0] == "o" else HEIGHTS[line[0]] for line in lines)


def _cells_height(line: str) -> int:
    _, count, columns, side = map(int, line[1:].split())
    return -(-count // columns) * side + BELOW


def pairs(items: Sequence[tuple[str, str]]) -> list[str]:
    """Lines of names and values, two pairs in a line where both names are short."""
    lines, todo = [], [(name, value) for name, value in items]
    while todo:
        row = [todo.pop(0)]
        if todo and all(len(name) <= SHORT and len(value) <= 9 for name, value in (*row, todo[0])):
            row.append(todo.pop(0))
        lines.append("k" + "\t".join(text for pair in row for text in pair))
    return lines


def number(value: float) -> str:
    """As in the panel: "0.250", "1234.5"; NaN and infinities by name."""
    return f"{value:.3f}" if abs(value) < 100 else f"{value:.5g}"


def plain(name: str) -> str:
    """OBS_BALL_VX as "ball vx"."""
    return name.partition("_")[2].replace("_", " ").lower()


def actions(values: Sequence[float], row: ObsSpec, act_sizes: Sequence[int]
            ) -> list[tuple[str, str]]:
    """(head, action) of one agent; ids by name where they have one. values: one a head."""
    texts = [f"{value:.3f}" if size == 1 else f"{value:g}"
             for value, size in zip(values, act_sizes)]
    if len(values) == 1:
        known = row.ids and float(values[0]).is_integer() and 0 <= values[0] < len(row.ids)
        head = plain(row.heads[0]) if row.heads else "action"
        return [(head, plain(row.ids[int(values[0])]) if known else texts[0])]
    heads = [plain(name) for name in row.heads] or [f"head {i}" for i in range(len(values))]
    return list(zip(heads, texts))


def bounds(row: ObsSpec, low: np.ndarray, high: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The range (low, high) of each element: as the comments promise, else as given."""
    low, high = low.astype(np.float32), high.astype(np.float32)
    for part in row.described:
        for elements, limits in part.promises:
            if all(map(math.isfinite, limits)):
                low[elements], high[elements] = limits
    return low, high


def observation(observed: np.ndarray, is_bytes: bool, row: ObsSpec, room: int) -> list[str]:
    """Lines that show it in `room` pixels; the last one says what is left out.

    observed    (D,), one agent's
    """
    if row.parts or (row.whole is None and len(observed) <= FEW and not is_bytes):
        rest = _text(observed, is_bytes, row.parts)
    else:
        rest = _picture(len(observed), _columns(row.whole, len(observed), is_bytes), room)
    if height(rest) <= room:
        return rest
    kept: list[str] = []
    while rest and height([*kept, rest[0]]) + HEIGHTS["s"] <= room:
        kept.append(rest.pop(0))
    return [*kept, "sand more, for which the window is too low"]


def _columns(part: ObsField | None, count: int, is_bytes: bool) -> int:
    """Cells in a row of the picture of these elements."""
    if part and part.fits and len(part.shape) > 1:
        return part.shape[-1] if part.kind == "list" else math.prod(part.shape[1:])
    side = math.isqrt(count)
    return side if is_bytes and side * side == count and part is None else CELL


def _text(observed: np.ndarray, is_bytes: bool, parts: Sequence[ObsField]) -> list[str]:
    shown = [f"{value:g}" if is_bytes else number(value) for value in observed.tolist()]
    lines: list[str] = []
    waiting: list[tuple[str, str]] = []         # elements of their own, two of which share a line
    for name, part, first, count in _runs(parts, len(shown)):
        if count == 1:
            waiting.append((name, shown[first]))
            continue
        lines += pairs(waiting)
        waiting = []
        values = "  ".join(shown[first:first + count])
        if len(name) + len(values) <= 40:
            lines.append(f"k{name}\t{values}")
            continue
        columns = _columns(part, count, False) if part and part.shape else INSIDE // 8
        columns = min(count, columns, INSIDE // 2)
        lines += [f"s{name}, {part.described if part and part.shape else count}",
                  f"o{first} {count} {columns} {max(2, min(8, INSIDE // columns))}"]
    return lines + pairs(waiting)


def _runs(parts: Sequence[ObsField], size: int) -> Iterator[tuple[str, ObsField | None, int, int]]:
    """(name, part, first element, count) of the parts, and of each element that has no name."""
    at = 0
    for part in [*parts, None]:
        for element in range(at, part.first if part else size):
            yield str(element), None, element, 1
        if part:
            yield plain(part.name), part, part.first, part.count
            at = part.last + 1


def _picture(count: int, columns: int, room: int) -> list[str]:
    columns = min(columns, INSIDE // 2)
    rows = -(-count // columns)
    pixels = max(2, min(CELL, INSIDE // columns, (room - BELOW) // rows))
    if pixels * rows + BELOW > room:                    # wider, so that more of it shows
        columns, pixels = INSIDE // 2, 2
        count = min(count, max(1, (room - BELOW) // pixels) * columns)
    return [f"o0 {count} {columns} {pixels}"]
