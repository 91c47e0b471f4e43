"""What a compiler said.  its text -> the author's file:line, and the lines to show"""
from __future__ import annotations

import re
from pathlib import Path

from ..base import paths

DETAIL_LINES = 20       # lines of the compiler's text that an error shows

_ERROR = re.compile(r"^(?P<file>(?:[A-Za-z]:)?[^:\n]+):(?P<line>\d+)(?::\d+)?: (?:fatal )?error: ")
_INCLUDED = re.compile(r"(?:In file included from|^\s+from) (?P<file>[^:\n]+):(?P<line>\d+)")
_MENTION = re.compile(r"^(?P<file>[^:\n]+):(?P<line>\d+)(?::\d+)?: ")
_LINKER = re.compile(r"(?P<file>[^:\s]+):(?P<line>\d+): undefined reference")


def find_location(text: str, source: Path) -> str | None:
    """The "file:line" in a compiler's text that the author can act on.

    The first error in the folder of `source` (build products there come second), else an
    include line or a note that leads there, else the first error anywhere.
    """
    folder = source.resolve().parent
    lines = text.splitlines()
    errors = [match for line in lines if (match := _ERROR.match(line) or _LINKER.search(line))]
    leads = [match for line in lines if (match := _INCLUDED.search(line) or _MENTION.match(line))]

    def own(match: re.Match[str]) -> bool:
        file = Path(match["file"]).resolve()
        return folder in file.parents and "build" not in file.relative_to(folder).parts

    def near(match: re.Match[str]) -> bool:
        return folder in Path(match["file"]).resolve().parents

    for chosen in (filter(own, errors), filter(own, leads), filter(near, errors), iter(errors)):
        match = next(chosen, None)
        if match:
            return f"{paths.shown(match['file'])}:{match['line']}"
    return None


def shorten(text: str) -> str:
    """At most DETAIL_LINES lines, beginning with the first error's, and a count of the rest."""
    lines = text.strip().splitlines()
    if len(lines) <= DETAIL_LINES:
        return "\n".join(lines)
    first = next((number for number, line in enumerate(lines) if _ERROR.match(line)), 0)
    while first and re.match(r"In file included|\s+from |\S+: In function", lines[first - 1]):
        first -= 1
    shown = lines[first:first + DETAIL_LINES]
    errors = sum(1 for line in lines if _ERROR.match(line))
    note = f"... {len(lines) - len(shown)} more lines"
    return "\n".join([*shown, note + (f", {errors} errors in all" if errors > 1 else "")])
