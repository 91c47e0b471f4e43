"""Read an ini strictly.  path -> entries with line numbers, and every fault in it.

    # a comment is a line that begins with # or ;
    [section]
    key = value          everything after the = is the value; % and $ mean themselves

UTF-8, with or without a byte order mark, LF or CRLF. Duplicate sections or keys, indented
(continuation) lines and anything else are faults.
"""
from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..base import paths
from ..base.errors import UsageError, nearest


@dataclass(frozen=True)
class Entry:
    """One 'key = value' of an ini."""

    section: str
    key: str
    text: str       # the value, stripped
    line: int


def where(path: Path, line: int | None = None) -> str:
    """'squared/squared.ini:14': relative to the current folder when inside it."""
    try:
        shown = os.path.relpath(path)
    except (OSError, ValueError):
        shown = str(path)
    return (str(path) if shown.startswith("..") else shown) + (f":{line}" if line else "")


def labels(paths: Sequence[Path]) -> list[str]:
    """A short name for each file that is read: its own, or where two have the same, with its
    folder, or as `where` has it."""
    forms: tuple[Callable[[Path], str], ...] = (
        lambda path: path.name, lambda path: f"{path.parent.name}/{path.name}", where)
    for form in forms:
        names = [form(path) for path in paths]
        if len(set(names)) == len(names):
            break
    return names


def read(path: Path) -> tuple[list[Entry], dict[str, int], list[UsageError]]:
    """Entries in order, the line of each section's header, and the faults.

    Raises UsageError when the file cannot be read or is not UTF-8.
    """
    try:
        data = paths.content(path)
    except OSError as error:
        raise UsageError(f"cannot read {path.name}", where=path,
                         detail=error.strerror or str(error)) from None
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data[:error.start].count(b"\n") + 1
        raise UsageError(f"{path.name} is not UTF-8 text", where=where(path, line),
                         expected="UTF-8", actual=f"the byte 0x{data[error.start]:02x}",
                         hint="save the file as UTF-8") from None
    return parse(text, path)


def without_comment(text: str) -> str:
    """A value of PufferLib's inis, where comments may stand behind values: "64 # 128" -> "64"."""
    return re.sub(r"(^|\s+)[#;].*", "", text)


def parse(text: str, path: Path) -> tuple[list[Entry], dict[str, int], list[UsageError]]:
    """The same for a text; path is only for messages."""
    entries: list[Entry] = []
    sections: dict[str, int] = {}
    seen: dict[tuple[str, str], int] = {}
    faults: list[UsageError] = []
    section = None

    def fault(message: str, expected: str | None = None, actual: str | None = None,
              hint: str | None = None) -> None:
        faults.append(UsageError(message, where=where(path, number), expected=expected,
                                 actual=actual, hint=hint))

    for number, raw in enumerate(text.split("\n"), 1):
        line = raw.removesuffix("\r")
        body = line.strip()
        if not body or body[0] in "#;":
            continue

        odd = re.search(r"[\x00-\x08\x0a-\x1f\x7f]", line)
        if odd:
            fault("this line contains a control character", "text",
                  f"the character U+{ord(odd[0]):04X}")
        elif line[0].isspace():
            fault("a line begins with a space: continuation lines are not read",
                  "key = value at the start of the line", repr(line),
                  "write the value on one line, without indentation")
        elif body[0] == "[":
            section = body[1:-1].strip() if body[-1] == "]" else ""
            if not section or "[" in section or "]" in section:
                fault("this is not a section", "[section] and nothing else", repr(body),
                      "a comment stands on a line of its own" if "]" in body else None)
                section = section or "?"
            elif section in sections:
                fault(f"the section [{section}] is given twice", "one of each", "a second one",
                      f"the first is on line {sections[section]}: move these keys there")
            else:
                sections[section] = number
        elif "=" not in body:
            fault("this line is neither a section nor a setting", "key = value", repr(body),
                  f"write {body.replace(':', ' =', 1)}" if ":" in body else None)
        else:
            key, _, value = (part.strip() for part in body.partition("="))
            if not key:
                fault("this setting has no name", "key = value", repr(body))
            elif section is None:
                fault(f"'{key}' stands before the first section", "[section] above it", "none")
            elif (section, key) in seen:
                fault(f"[{section}] {key} is given twice", "one of each", "a second one",
                      f"the first is on line {seen[section, key]}")
            else:
                seen[section, key] = number
                entries.append(Entry(section, key, value, number))
    return entries, sections, faults


def listing(folder: Path, name: str) -> Path | None:
    """The ini in a folder whose [base] env_name has this name among others."""
    for path in sorted(folder.glob("*.ini")):
        if path.is_file():
            entries, _, _ = read(path)
            if any((entry.section, entry.key) == ("base", "env_name")
                   and name in without_comment(entry.text).split() for entry in entries):
                return path
    return None


def raise_all(faults: list[UsageError]) -> None:
    """Raise the first fault, with the others named below it. Nothing if there are none."""
    if not faults:
        return
    first, others = faults[0], faults[1:]
    if others:
        lines = [f"{fault.where}: {fault.message}" + (f" ({fault.hint})" if fault.hint else "")
                 for fault in others[:20]]
        if len(others) > 20:
            lines.append(f"and {len(others) - 20} more")
        first.detail = "\n".join(filter(None, [first.detail, "also refused:", *lines]))
    raise first


def section_hint(name: str, known: Sequence[str]) -> str:
    """The nearest section, or all of them."""
    close = nearest(name.lower(), known)
    return f"did you mean [{close}]?" if close else \
        "sections are " + " ".join(f"[{section}]" for section in known)


def keep(text: str, wanted: Callable[[str, str | None], bool]) -> tuple[list[str], list[str]]:
    """An ini's lines without some of its settings, and "section.key" of each that was left out.

    wanted(section, key) tells whether to keep a setting, wanted(section, None) a section. Comments
    stay, whole blocks and settings that are commented out as well; only those right above a setting
    or a section go with it.
    """
    lines: list[str] = []
    dropped: list[str] = []
    waiting: list[str] = []             # comments and empty lines, until it is known what follows
    section = ""
    for line in text.splitlines():
        bare = line.strip()
        if not bare or bare[0] in "#;":
            waiting.append(line)
            continue
        gap = max((n for n, each in enumerate(waiting, 1) if not each.strip()), default=0)
        lines += waiting[:gap]
        above, waiting, key = waiting[gap:], [], None
        if bare.startswith("["):
            section = bare.strip("[]")
        else:
            key = bare.partition("=")[0].strip()
        if wanted(section, None) and wanted(section, key):
            lines += [*above, line]
        else:
            lines += [each for each in above if re.match(r"\s*[#;]\s*(\[|\w+\s*=)", each)]
            dropped += [f"{section}.{key}"] if key is not None else []
    return lines + waiting, dropped
