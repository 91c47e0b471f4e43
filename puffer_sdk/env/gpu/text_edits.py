"""Changes to a text at places that are known by their offsets.  text + edits -> text"""
from __future__ import annotations

import bisect
import re
from collections.abc import Callable

_ON_ONE_LINE = re.compile(r"(?:^#line .*)?\n", re.M)
Words = str | Callable[[], str]

_AFTER, _BEFORE, _REPLACE = range(3)


class Edits:
    """Edits are made in the order of a walk from outside to inside, and none of them moves a place.

    At one place what closes comes first, the inner one before the outer; then what opens, the
    outer one first; then what is replaced.
    """

    def __init__(self, text: str):
        self.text = text
        self._edits: dict[tuple[int, int, int], tuple[int, Words]] = {}
        self._sorted: list[tuple[int, int, int]] | None = None
        self._count = 0

    def before(self, offset: int, words: Words) -> None:
        self._add(offset, _BEFORE, self._count, offset, words)

    def after(self, offset: int, words: Words) -> None:
        self._add(offset, _AFTER, -self._count, offset, words)

    def around(self, start: int, end: int, opening: str, closing: str) -> None:
        self.before(start, opening)
        self.after(end, closing)

    def replace(self, start: int, end: int, words: Words) -> None:
        """Of two that begin at one place, the later one holds."""
        self._add(start, _REPLACE, 0, end, words)

    def _add(self, start: int, kind: int, order: int, end: int, words: Words) -> None:
        self._edits[start, kind, order] = end, words
        self._count += 1
        self._sorted = None

    def flat(self, start: int, end: int) -> str:
        """The text from start to end, edited and on one line."""
        return _ON_ONE_LINE.sub(" ", self.render(start, end))

    def render(self, start: int, end: int) -> str:
        """The text from start to end, edited."""
        if self._sorted is None:
            self._sorted = sorted(self._edits)
        keys, parts, at = self._sorted, [], start
        for index in range(bisect.bisect_left(keys, (start, _BEFORE, -1 << 60)), len(keys)):
            key = keys[index]
            place, kind, _ = key
            if place > end or (place == end and kind != _AFTER):
                break
            stop, words = self._edits[key]
            if place < at or stop > end:
                continue
            parts += [self.text[at:place], words if isinstance(words, str) else words()]
            at = max(at, stop)
        parts.append(self.text[at:end])
        return "".join(parts)
