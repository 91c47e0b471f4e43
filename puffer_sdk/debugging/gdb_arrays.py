"""What gdb prints of arrays.  a value in gdb's own Python -> numbers, a line for each row

gdb takes arrays of bytes for text: "\\000\\001". It loads this file before the session's script.
"""
from __future__ import annotations

import gdb

MOST = 400              # elements that are shown
SCALARS = (gdb.TYPE_CODE_INT, gdb.TYPE_CODE_FLT, gdb.TYPE_CODE_ENUM, gdb.TYPE_CODE_BOOL)


class Numbers:
    """Prints an array; gdb calls to_string."""

    def __init__(self, value: gdb.Value):
        self.value = value

    def to_string(self) -> str:
        word = _word(self.value)
        if word:
            return f'"{word}"'
        rows: list[list[str]] = []
        cut = [MOST]
        _add_rows(self.value, rows, cut)
        width = max((len(item) for row in rows for item in row), default=0) if len(rows) > 1 else 0
        lines = [", ".join(item.rjust(width) for item in row) for row in rows]
        end = ", ..." if cut[0] < 0 else ""
        if len(lines) == 1:
            return f"{{{lines[0]}{end}}}"
        return "{\n    {" + "},\n    {".join(lines) + f"}}{end}}}"


def _add_rows(value: gdb.Value, rows: list[list[str]], left: list[int]) -> None:
    """Rows of an array of any depth, innermost dimension across; left[0]: elements to go."""
    low, high = value.type.strip_typedefs().range()
    deep = value.type.strip_typedefs().target().strip_typedefs().code == gdb.TYPE_CODE_ARRAY
    row: list[str] = []
    for at in range(low, high + 1):
        if left[0] <= 0:
            left[0] = -1
            break
        if deep:
            _add_rows(value[at], rows, left)
            continue
        left[0] -= 1
        byte = value[at].type.sizeof == 1
        row.append(str(int(value[at])) if byte else value[at].format_string())
    if row:
        rows.append(row)


def _word(value: gdb.Value) -> str:
    """What a char array spells, if it holds a word and zeros behind it; else \"\"."""
    kind = value.type.strip_typedefs()
    if kind.target().strip_typedefs().name != "char":
        return ""
    low, high = kind.range()
    found = bytes(int(value[at]) & 255 for at in range(low, min(high, low + MOST) + 1))
    word = found.rstrip(b"\0").decode("latin-1")
    return word if word.isascii() and word.isprintable() else ""


def look(value: gdb.Value) -> Numbers | None:
    """Arrays of bytes, and arrays of arrays of numbers."""
    kind = value.type.strip_typedefs()
    if kind.code != gdb.TYPE_CODE_ARRAY:
        return None
    inner, deep = kind.target().strip_typedefs(), False
    while inner.code == gdb.TYPE_CODE_ARRAY:
        inner, deep = inner.target().strip_typedefs(), True
    byte = inner.code == gdb.TYPE_CODE_INT and inner.sizeof == 1
    return Numbers(value) if byte or deep and inner.code in SCALARS else None


gdb.pretty_printers.append(look)
