"""Edits of the author's files, and what a place in a text looks like.  -> Fix, Edit"""
from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from ...env.source import hide
from ..core.finding import Finding


@dataclass(frozen=True)
class Edit:
    """Characters start to end of a file's text become `text`."""

    file: str
    start: int
    end: int
    text: str

    def overlaps(self, other: Edit) -> bool:
        return self.file == other.file and self.start <= other.end and other.start <= self.end


@dataclass(frozen=True)
class Fix:
    """Edits that fix one finding, or several that share a place. No edits: nothing is safe."""

    codes: tuple[str, ...]
    title: str
    edits: tuple[Edit, ...]

    @classmethod
    def of(cls, findings: Iterable[Finding], title: str, edits: Iterable[Edit]) -> Fix:
        return cls(tuple(sorted({finding.code for finding in findings})), title, tuple(edits))


def newline_of(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def indent_unit(text: str) -> str:
    """A tab, or as many blanks as the first indented line has."""
    match = re.search(r"(?m)^(\t| +)(?=[^\s*])", hide(text))
    return match[1] if match and len(match[1]) in (1, 2, 3, 4, 8) else "    "


def start_of_line(text: str, line: int) -> int:
    offset = 0
    for _ in range(line - 1):
        offset = text.find("\n", offset) + 1
        if not offset:
            return len(text)
    return offset


def end_of_line(text: str, at: int) -> int:
    """Offset of the line's end, before its newline."""
    end = text.find("\n", at)
    end = len(text) if end < 0 else end
    return end - 1 if text[end - 1:end] == "\r" else end
