"""check --fix: mend what is mechanical.  CheckResult -> fixes -> a diff -> files, all or none."""
from __future__ import annotations

import difflib
import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from ...base import files
from ...base.errors import RunError
from ..check import CheckResult
from ..facts import Finding
from ..report import watching
from . import remedies
from .remedies import Edit

STYLES = {"+": "green", "-": "red", "@": "cyan"}


@dataclass(frozen=True)
class Fix:
    """One remedy, for one finding or for several that share a place."""

    codes: tuple[str, ...]
    title: str
    edits: tuple[Edit, ...]


def propose(result: CheckResult) -> list[Fix]:
    """The fixes for a result's findings, as edits of the files that were checked."""
    texts = {name: _text(data) for name, data in result.files.items()}
    found = [*_cleared(result, texts), *_single(result, texts)]
    taken: list[Edit] = []
    fixes = []
    for fix in found:               # of two that touch the same text, the first
        if not any(_overlap(one, other) for one in fix.edits for other in taken):
            taken += fix.edits
            fixes.append(fix)
    return fixes


def _cleared(result: CheckResult, texts: dict[str, str]) -> Iterator[Fix]:
    """PUF311 and PUF321 together: the head of c_step."""
    stale = [f for f in result.findings if f.code in ("PUF311", "PUF321") and f.remedy and f.line]
    if not stale:
        return
    arrays = [a for a in ("rewards", "terminals", "truncations")
              if any(f.remedy == a for f in stale)]
    edits = remedies.clear_arrays(texts, stale[0].file, stale[0].line, arrays)
    if edits:
        yield Fix(tuple(sorted({f.code for f in stale})),
                  f"clear {' and '.join(arrays)} at the top of c_step", tuple(edits))


def _single(result: CheckResult, texts: dict[str, str]) -> Iterator[Fix]:
    """A fix for each of the other findings that has one."""
    for finding in result.findings:
        if not finding.remedy:
            continue
        title, edits = _remedy(finding, texts)
        if edits:
            yield Fix((finding.code,), title, tuple(edits))


def _remedy(finding: Finding, texts: dict[str, str]) -> tuple[str, list[Edit]]:
    if finding.code == "PUF105":
        key = str(finding.actual).strip("'")
        return (f"rename {key} to {finding.remedy}",
                remedies.rename_key(texts, finding.file, finding.line, key, finding.remedy))
    if finding.code == "PUF112":
        return ("take NUM_ATNS from ACT_SIZES",
                remedies.drop_num_atns(texts, finding.file, finding.line, finding.remedy))
    if finding.code == "PUF302":
        first, _, last = str(finding.element).partition("-")
        return ("clear the one-hot before it is set",
                remedies.clear_one_hot(texts, int(first), int(last or first)))
    return "", []


def _overlap(one: Edit, other: Edit) -> bool:
    return one.file == other.file and one.start <= other.end and other.start <= one.end


# -- showing ---------------------------------------------------------------------------


def diff_lines(result: CheckResult, fixes: list[Fix]) -> Iterator[tuple[str, str | None]]:
    """What the fixes do: a line each, then a unified diff; texts and their styles."""
    for fix in fixes:
        yield f"{', '.join(fix.codes)}: {fix.title}", "bold"
    for name, new in edited(result, fixes).items():
        old = _text(result.files[name])
        lines = difflib.unified_diff(old.splitlines(), new.splitlines(), f"a/{name}", f"b/{name}",
                                     lineterm="")
        for line in lines:
            yield (_shown(line), "bold" if line.startswith(("---", "+++"))
                   else STYLES.get(line[:1]))


def _shown(line: str) -> str:
    """A line that may hold bytes which are not UTF-8."""
    return line.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def edited(result: CheckResult, fixes: list[Fix]) -> dict[str, str]:
    """The new text of each file that changes."""
    edits = [edit for fix in fixes for edit in fix.edits]
    texts = {}
    for name in sorted({edit.file for edit in edits}):
        text = _text(result.files[name])
        for edit in sorted((e for e in edits if e.file == name), key=lambda e: -e.start):
            text = text[:edit.start] + edit.text + text[edit.end:]
        texts[name] = text
    return texts


def summary(before: CheckResult, after: CheckResult) -> str:
    """What has come of the fixes, in one line."""
    return f"--fix: {watching.changes(before, after)}"


# -- writing ---------------------------------------------------------------------------


def apply(result: CheckResult, fixes: list[Fix]) -> None:
    """Write all files that change, or none.

    Raises RunError, with nothing changed, when a file is no longer what was checked or cannot
    be written.
    """
    new = {name: text.encode("utf-8", "surrogateescape")
           for name, text in edited(result, fixes).items()}
    _replace(result.folder, {name: result.files[name] for name in new}, new)


def restore(result: CheckResult, fixes: list[Fix]) -> None:
    """Undo apply: the files as they were checked."""
    new = {name: text.encode("utf-8", "surrogateescape")
           for name, text in edited(result, fixes).items()}
    _replace(result.folder, new, {name: result.files[name] for name in new})


def _replace(folder: Path, old: dict[str, bytes], new: dict[str, bytes]) -> None:
    """Files that hold `old` hold `new` afterwards; on any failure they all hold `old`."""
    places = {name: (folder / name).resolve() for name in new}      # a link stays a link
    waiting: dict[str, Path] = {}
    done: list[str] = []
    name = ""
    try:
        for name, place in places.items():
            if place.read_bytes() != old[name]:
                raise RunError(f"{name} has changed since it was checked; nothing was written",
                               where=place, hint="run check --fix again")
            waiting[name] = files.beside(place, new[name])
        for name, place in places.items():
            os.replace(waiting[name], place)
            done.append(name)
    except BaseException as error:
        for finished in done:
            with suppress(OSError):
                os.replace(files.beside(places[finished], old[finished]), places[finished])
        if isinstance(error, OSError):
            raise RunError(f"cannot write {name}; nothing was changed", where=places[name],
                           detail=error.strerror or str(error)) from None
        raise
    finally:
        for path in waiting.values():
            path.unlink(missing_ok=True)


def _text(data: bytes) -> str:
    """A file's text; bytes that are not UTF-8 survive the way back."""
    return data.decode("utf-8", "surrogateescape")
