"""In the child that reads an author's C: all that rules ask of it, as data.  a request -> JSON"""
from __future__ import annotations

import os
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from .....base import paths
from .....env import answers, syntax
from .....env.source import hide
from .layout import layout
from .rows import Collected, FunctionRow, ParameterRow, ProgramRequest, Request, VariableRow

if TYPE_CHECKING:
    from clang.cindex import Cursor, TranslationUnit

    from .....env.syntax import Row, Static

FRAMES = 600            # the reader of the answer may recurse that much deeper


def of_env(request: Request) -> dict[str, object]:
    """env/answers.py's answer, and what source/read.py makes a Source of."""
    sys.setrecursionlimit(FRAMES)
    reader, said = answers.read(request)
    struct = said["spec"] and said["spec"]["struct"]
    return {**said, "source": _collected(reader.unit, request, struct)}


def of_program(request: ProgramRequest) -> Collected:
    """The same of another file, read with other flags, without the env struct."""
    from clang import cindex

    sys.setrecursionlimit(FRAMES)
    unit = cindex.Index.create().parse(request["main"], args=request["flags"],
                                       unsaved_files=list(request["unsaved"].items()),
                                       options=request["options"])
    return _collected(unit, request, None)


def _collected(unit: TranslationUnit | None, request: Request, struct: str | None
               ) -> Collected:
    """Functions and file-scope variables of the author's files; the env struct's layout."""
    functions: dict[str, FunctionRow] = {}
    variables: dict[int, VariableRow] = {}
    own = Own(request)
    for cursor in unit.cursor.get_children() if unit is not None else ():
        kind = syntax.kind_of(cursor)
        # the thousands of functions that others only declare are not asked where they are
        told = kind == "VAR_DECL" or kind == "FUNCTION_DECL" and cursor.is_definition()
        file = own.name(cursor) if told else None
        if file is None:
            continue
        if kind == "VAR_DECL":
            key = cursor.canonical.hash
            if key not in variables:
                variables[key] = (key, cursor.spelling, file, cursor.location.line,
                                  *_variable(cursor))
        else:
            block = next((c for c in cursor.get_children() if c.kind.name == "COMPOUND_STMT"),
                         None)
            if block is not None:
                begin, end = block.extent.start, block.extent.end
                functions[cursor.spelling] = (
                    cursor.spelling, file, cursor.location.line, begin.line,
                    own.plain(file)[begin.offset:end.offset],
                    [_parameter(each) for each in cursor.get_arguments()],
                    syntax.pack(syntax.tree(cursor)))
    found = layout(unit, struct) if struct else None
    return {"functions": list(functions.values()), "variables": list(variables.values()),
            "layout": found and asdict(found)}


def _variable(cursor: Cursor) -> tuple[Static, list[Row] | None]:
    """Its type and its tree; none for an array of numbers, such as 100,000 weights."""
    kind = syntax.facts_of(cursor.type)
    is_array = cursor.type.get_canonical().kind.name in ("CONSTANTARRAY", "INCOMPLETEARRAY")
    return kind, None if is_array and kind.element not in ("POINTER", "RECORD") else \
        syntax.pack(syntax.tree(cursor))


def _parameter(cursor: Cursor) -> ParameterRow:
    """As Parameter has it."""
    kind = cursor.type.get_canonical()
    pointee = kind.get_pointee().get_canonical() if kind.kind.name == "POINTER" else None
    return (cursor.spelling, cursor.canonical.hash, cursor.type.spelling,
            pointee is not None and pointee.kind.name == "RECORD"
            and "Dict" not in pointee.spelling, pointee.spelling if pointee else "")


class Own:
    """Which files are the author's, and how they are called in findings."""

    def __init__(self, request: Request):
        self.folder = Path(request["folder"])
        self.names: dict[str, str | None] = {}
        self.texts: dict[str, str] = {}
        included = (flag[2:] for flag in request["flags"] if flag.startswith("-I"))
        self.ours = tuple(each for each in included     # a checkout's root holds the author's, too
                          if not self.folder.is_relative_to(each))

    def name(self, cursor: Cursor) -> str | None:
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
                os.path.relpath(path, self.folder)
        return self.names[file.name]

    def plain(self, name: str) -> str:
        """A file's text, a character a byte, comments and strings blanked."""
        if name not in self.texts:
            try:
                data = paths.content(self.folder / name)
            except OSError:
                data = b""
            self.texts[name] = hide(data.decode("latin-1"))
        return self.texts[name]
