"""check --fix: fix what is mechanical.  CheckResult -> fixes -> a diff -> files, all or none."""
import difflib
import os
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from ...base import files
from ...base.errors import RunError
from ..core import registry
from ..core.finding import Finding
from ..core.registry import FixFunction
from ..core.result import CheckResult
from ..report import watching
from .edits import Edit, Fix

STYLES = {"+": "green", "-": "red", "@": "cyan"}


def propose(result: CheckResult) -> list[Fix]:
    """The fixes for a result's findings, as edits of the files that were checked."""
    texts = {name: _text(data) for name, data in result.files.items()}
    taken: list[Edit] = []
    fixes = []
    for fix in _offered(result, texts):     # of two that touch the same text, the first
        if fix.edits and not any(one.overlaps(other) for one in fix.edits for other in taken):
            taken += fix.edits
            fixes.append(fix)
    return fixes


def _offered(result: CheckResult, texts: dict[str, str]) -> Iterator[Fix]:
    """What the rules offer; first what several rules fix together."""
    known = registry.load()
    groups: dict[FixFunction, list[Finding]] = {}
    for finding in result.findings:
        fix = known[finding.code].fix
        if fix is not None and finding.remedy is not None:
            groups.setdefault(fix, []).append(finding)
    shared = Counter(rule.fix for rule in known.values())
    for fix in sorted(groups, key=lambda fix: -shared[fix]):
        yield from fix(groups[fix], texts)


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
    places = {name: Path(os.path.normpath(folder / name)) for name in new}
    waiting: dict[str, Path] = {}
    done: list[str] = []
    name = ""
    try:
        for name, place in places.items():
            if files.read(place) != old[name]:
                raise RunError(f"{name} has changed since it was checked; nothing was written",
                               where=place, hint="run check --fix again")
            waiting[name] = files.beside(place, new[name])
        for name, place in places.items():
            files.rename(waiting[name], place)
            done.append(name)
    except BaseException as error:
        for finished in done:
            with suppress(OSError):
                files.rename(files.beside(places[finished], old[finished]), places[finished])
        if isinstance(error, OSError):
            raise RunError(f"cannot write {name}; nothing was changed", where=places[name],
                           detail=error.strerror or str(error)) from None
        raise
    finally:
        for path in waiting.values():
            files.remove(path)


def _text(data: bytes) -> str:
    """A file's text; bytes that are not UTF-8 survive the way back."""
    return data.decode("utf-8", "surrogateescape")
