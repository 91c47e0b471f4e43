"""The text of the panel.  a game, the author's names -> lines as screen.h explains them

Where an enum names the elements of the observation, each is a line with its value; long fields
are strips of cells. Bytes without names are drawn as a board if their number is a square.
"""
from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ..checking.source.fields import Field, Names

LEAST = 420             # pixels of a window's height, as in screen.c
MARGIN = 14
INSIDE = 272            # pixels of a line
HEIGHTS = {"h": 26, "t": 24, "s": 16, "k": 16, "-": 10, "v": 52}
CELL = 16               # pixels of a cell, at most
BELOW = 6               # of free space below cells
SHORT = 14              # characters of a name of which two fit in a line
FEW = 12                # elements without names that are written, not drawn


def pages(top: Sequence[str], observed: np.ndarray, is_bytes: bool, fields: Sequence[Field],
          keys: Sequence[str], window: int) -> list[list[str]]:
    """What F1 shows in turn: all in one page, or two where the window is too low for the keys.

    top         lines above the observation
    observed    (D,), one agent's
    keys        lines about keys, below it
    window      its height in pixels
    """
    room = max(window, LEAST) - 2 * MARGIN
    whole = [*top, *observation(observed, is_bytes, fields, 1 << 20), "-", *keys]
    if height(whole) <= room:
        return [whole]
    more = "sF1 keys"
    left = room - height([*top, more])
    return [[*top, *observation(observed, is_bytes, fields, left), more], [top[0], "-", *keys]]


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


def actions(values: Sequence[float], names: Names, act_sizes: Sequence[int]) -> list[tuple]:
    """(head, action) of one agent; ids by name where they have one. values: one a head."""
    texts = [f"{value:.3f}" if size == 1 else f"{value:g}"
             for value, size in zip(values, act_sizes)]
    if len(values) == 1:
        known = names.ids and float(values[0]).is_integer() and 0 <= values[0] < len(names.ids)
        head = plain(names.heads[0]) if names.heads else "action"
        return [(head, plain(names.ids[int(values[0])]) if known else texts[0])]
    heads = [plain(name) for name in names.heads] or [f"head {i}" for i in range(len(values))]
    return list(zip(heads, texts))


def bounds(fields: Sequence[Field], low: np.ndarray, high: np.ndarray) -> tuple:
    """The range (low, high) of each element: as the comments promise, else as given."""
    low, high = low.astype(np.float32), high.astype(np.float32)
    for field in fields:
        if field.low is not None and math.isfinite(field.low) and math.isfinite(field.high):
            where = slice(field.first, field.last + 1)
            low[where], high[where] = field.low, field.high
    return low, high


def observation(observed: np.ndarray, is_bytes: bool, fields: Sequence[Field],
                room: int) -> list[str]:
    """Lines that show it in `room` pixels; the last one says what is left out.

    observed    (D,), one agent's
    """
    rest = _text(observed, is_bytes, fields) if fields or (len(observed) <= FEW and not is_bytes) \
        else _picture(len(observed), is_bytes, room)
    if height(rest) <= room:
        return rest
    kept: list[str] = []
    while rest and height([*kept, rest[0]]) + HEIGHTS["s"] <= room:
        kept.append(rest.pop(0))
    return [*kept, "sand more, for which the window is too low"]


def _text(observed: np.ndarray, is_bytes: bool, fields: Sequence[Field]) -> list[str]:
    shown = [f"{value:g}" if is_bytes else number(value) for value in observed.tolist()]
    lines: list[str] = []
    waiting: list[tuple[str, str]] = []         # elements of their own, two of which share a line
    for name, first, count in _parts(fields, len(shown)):
        if count == 1:
            waiting.append((name, shown[first]))
            continue
        lines += pairs(waiting)
        waiting = []
        values = "  ".join(shown[first:first + count])
        if len(name) + len(values) <= 40:
            lines.append(f"k{name}\t{values}")
        else:
            columns = min(count, INSIDE // 8)
            lines += [f"s{name}, {count}", f"o{first} {count} {columns} 8"]
    return lines + pairs(waiting)


def _parts(fields: Sequence[Field], size: int):
    """(name, first element, count) of the fields and of each element that has no name."""
    at = 0
    for field in [*fields, None]:
        for element in range(at, field.first if field else size):
            yield str(element), element, 1
        if field:
            yield plain(field.name), field.first, field.count
            at = field.last + 1


def _picture(count: int, is_bytes: bool, room: int) -> list[str]:
    side = math.isqrt(count)
    columns = side if is_bytes and side * side == count else CELL
    if columns > INSIDE // 2:
        columns = INSIDE // 2
    rows = -(-count // columns)
    pixels = max(2, min(CELL, INSIDE // columns, (room - BELOW) // rows))
    if pixels * rows + BELOW > room:                    # wider, so that more of it shows
        columns, pixels = INSIDE // 2, 2
        count = min(count, max(1, (room - BELOW) // pixels) * columns)
    return [f"o0 {count} {columns} {pixels}"]
