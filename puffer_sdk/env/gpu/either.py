"""GNU C's `a ?: b` for C++.  a cursor -> its children, and edits that compute a once"""
from __future__ import annotations

import re
from typing import TYPE_CHECKING

from .text_edits import Edits

if TYPE_CHECKING:
    from clang.cindex import Cursor

_MARKS = re.compile(r"\s*\?\s*:\s*")


def children(cursor: Cursor, text: str, edits: Edits) -> list[Cursor]:
    """What to visit below a cursor. libclang lists the first part of `a ?: b` three times."""
    found = list(cursor.get_children())
    if len(found) != 4 or cursor.kind.name != "UNEXPOSED_EXPR":
        return found
    marks = _MARKS.fullmatch(text, found[0].extent.end.offset, found[3].extent.start.offset)
    if not marks:
        return found
    edits.around(cursor.extent.start.offset, cursor.extent.end.offset,
                 "[&] { auto puffer_either = (", "); }()")
    edits.replace(*marks.span(), "); return puffer_either ? puffer_either : (")
    return [found[0], found[3]]
