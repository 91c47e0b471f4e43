"""Reads an environment's C files with libclang.  Folder -> Source

header.py checks declarations; a Source holds the bodies.
"""
from __future__ import annotations

import os
from pathlib import Path

from ...base import paths
from ...env import header, syntax
from ...env.source import hide
from ...raylib import headers
from .model import Function, Source, Variable


def read(folder: Path, unit=None) -> Source:
    """The C files of an environment's folder, its build products left out.

    unit    libclang's, where header.examine has read it already
    """
    folder = Path(folder).resolve()
    source = Source(folder)
    for path in paths.c_files(folder):
        try:
            source.files[path.name] = path.read_bytes().decode("utf-8", "replace")
        except OSError:
            continue
    source.unit = unit if unit is not None else header.examine(folder)[2]
    if source.unit is not None:
        _take(source)
    return source


def _take(source: Source) -> None:
    """Functions and file-scope variables of the author's files."""
    own = Own(source)
    for cursor in source.unit.cursor.get_children():
        kind = syntax.kind_of(cursor)
        if kind not in ("FUNCTION_DECL", "VAR_DECL"):
            continue
        file = own.name(cursor)
        if file is None:
            continue
        if kind == "VAR_DECL":
            source.globals.setdefault(cursor.canonical.hash, Variable(
                cursor.spelling, file, cursor.location.line, cursor, None))
        elif cursor.is_definition():
            block = next((c for c in cursor.get_children() if c.kind.name == "COMPOUND_STMT"),
                         None)
            if block is None:
                continue
            begin, end = block.extent.start, block.extent.end
            plain = own.plain(file)[begin.offset:end.offset]
            source.functions[cursor.spelling] = Function(
                cursor.spelling, file, cursor.location.line, begin.line, plain, cursor, source)


class Own:
    """Which files are the author's, and how they are called in findings."""

    def __init__(self, source: Source):
        self.source = source
        self.names: dict[str, str | None] = {}
        self.texts: dict[str, str] = {}
        self.ours = (str(paths.include_dir()), str(headers.headers()))

    def name(self, cursor) -> str | None:
        """The file relative to the env's folder; None if it is ours, or the system's."""
        location = cursor.location
        file = location.file
        if file is None:
            return None
        if file.name not in self.names:
            path = os.path.abspath(file.name)
            ours = path.endswith("/.puffer_probe.c") or any(
                path.startswith(f"{folder}{os.sep}") for folder in self.ours)
            self.names[file.name] = None if ours or location.is_in_system_header else \
                os.path.relpath(path, self.source.folder)
        return self.names[file.name]

    def plain(self, name: str) -> str:
        """A file's text, a character a byte, comments and strings blanked."""
        if name not in self.texts:
            try:
                data = (self.source.folder / name).read_bytes()
            except OSError:
                data = b""
            self.texts[name] = hide(data.decode("latin-1"))
        return self.texts[name]
