"""Make C++ for a GPU of an environment's C.  preprocessed C -> only the simulation, as C++

The text holds no macros any more, so that libclang's extents are exact. What the simulation does
not reach is left out, drawing above all. What C++ lacks is rewritten,
and each piece keeps the author's file and line.
"""
from __future__ import annotations

import bisect
import re
from graphlib import CycleError, TopologicalSorter
from typing import TYPE_CHECKING

from ...base import limited, paths
from ...base.errors import BuildError
from ...base.records import Json
from ...raylib import headers
from .rewrite import RECORDS, Piece, Rewriter
from .text_edits import Edits

if TYPE_CHECKING:
    from clang.cindex import Cursor

ROOTS = tuple(f"puffer_thread_{name}" for name in ("facts", "start", "step", "log", "close"))
CPU = "or train with the environments on the CPU: --vec.device cpu"
_ENDING = re.compile(r'"(?:\\.|[^"\\])*"' r"|'(?:\\.|[^'\\])*'" r"|[][(){};]")
_MARK = re.compile(r'^# (\d+) "((?:\\.|[^"\\])*)".*$', re.M)
_PACK = re.compile(r"^[ \t]*#[ \t]*pragma[ \t]+pack\b.*$", re.M)
_TYPES = {"TYPEDEF_DECL", "STRUCT_DECL", "UNION_DECL", "ENUM_DECL"}
_REASON = "puffer: "                # of an annotation: device/puffer_prelude.h


def translate(text: bytes) -> str:
    """The simulation within a preprocessed file, as C++ that has no includes.

    Raises BuildError with the author's file and line where it needs what a GPU lacks.
    """
    written: str = limited.call("puffer_sdk.env.gpu.translate:answer",
                                {"text": text.decode("latin-1")}, what="the preprocessed C")
    return written


def answer(request: Json) -> str:
    """For the child of limited.py."""
    return _Translator(request["text"]).run()


class _Translator:
    """One file: what is where, what is reached, what is written otherwise."""

    def __init__(self, text: str):
        self.text = text
        self.marks = [(0, 1, "")]           # offset of a line, its number, its file
        for match in _MARK.finditer(text):
            self.marks.append((match.end() + 1, int(match[1]), match[2]))
        self.edits = Edits(text)
        self.rewriter = Rewriter(text, self.edits, self.refuse, self.resume)
        self.functions: dict[str, Piece] = {}          # definitions
        self.variables: dict[str, list[Piece]] = {}
        self.declared: dict[str, list[Cursor]] = {}     # functions that are declared only
        self.types: list[Piece] = []
        self.device_dir = str(paths.include_dir() / "device")
        self.raylib_dir = str(headers.headers())

    def run(self) -> str:
        self.parse()
        for match in _MARK.finditer(self.text):
            self.edits.replace(match.start(), match.end(), f'#line {match[1]} "{match[2]}"')
        for kind in self.types:
            if not self.is_library(kind.start):
                self.rewriter.visit(kind)
        ranges = self.merge([*self.reach(), *self.types])
        self.check_errors(ranges)
        parts, packings = [], [match.span() for match in _PACK.finditer(self.text)]
        for start, end in ranges:
            while packings and packings[0][0] < end:    # structs are laid out as they say
                at, to = packings.pop(0)
                if at < start:
                    parts.append(f"{self.text[at:to]}\n")
            file, line = self.origin(start)
            parts.append(f'#line {line} "{file}"\n{self.edits.render(start, end)}\n')
        parts.append(f"#define PUFFER_RECURSES {int(self.recurses())}\n")
        return "".join(parts)

    # -- reading -------------------------------------------------------------------

    def parse(self) -> None:
        from clang import cindex

        name = "program.i"
        self.unit = cindex.Index.create().parse(
            name, args=["-xcpp-output", "-std=gnu11", "-Wno-everything"],
            unsaved_files=[(name, self.text.encode("latin-1"))])
        for cursor in self.unit.cursor.get_children():
            kind = cursor.kind.name
            if kind == "FUNCTION_DECL":
                if cursor.is_definition():
                    extent = cursor.extent
                    self.functions[cursor.spelling] = Piece(cursor, extent.start.offset,
                                                             extent.end.offset)
                else:
                    self.declared.setdefault(cursor.spelling, []).append(cursor)
            elif kind == "VAR_DECL":
                self.variables.setdefault(cursor.spelling, []).append(self.declaration(cursor))
            elif kind in _TYPES and not _names_enum_again(cursor):
                self.types.append(self.declaration(cursor))
                if kind in RECORDS:
                    self.rewriter.take_nested(cursor, cursor.spelling)
            if kind == "TYPEDEF_DECL":
                for child in cursor.get_children():
                    if child.kind.name in RECORDS and child.is_definition():
                        self.rewriter.take_nested(child, cursor.spelling)

    def declaration(self, cursor: Cursor) -> Piece:
        """All of it, its semicolon too."""
        end, depth = cursor.extent.end.offset, 0
        for match in _ENDING.finditer(self.text, end):
            depth += (match[0] in "({[") - (match[0] in ")}]")
            end = match.end()
            if match[0] == ";" and depth == 0:
                break
        return Piece(cursor, cursor.extent.start.offset, end)

    # -- what is reached -----------------------------------------------------------

    def reach(self) -> list[Piece]:
        """What is kept besides types. What is called comes before what tables name."""
        kept, seen = [], set()
        waiting = [(name, 0, True) for name in reversed(ROOTS)]
        later = [name for kind in self.types for name in kind.names]
        for group in self.variables.values():           # struct { ... } table[]: is kept anyway
            later += [(piece.cursor.spelling, piece.start, False) for piece in group
                      if any(piece.start <= kind.start < piece.end for kind in self.types)]
        while waiting or later:
            name, offset, called = waiting.pop() if waiting else (*later.pop()[:2], False)
            if name in seen:
                continue
            seen.add(name)
            if name in self.functions:
                pieces = [self.functions[name],
                          *(self.declaration(cursor) for cursor in self.declared.get(name, ())
                            if not self.is_library(cursor.extent.start.offset))]
            elif name in self.variables:
                pieces = _defining(self.variables[name], self.text)
                starts = {piece.start for piece in pieces}          # int a, b = 3;
                later += [(other, piece.start, False) for other, group in self.variables.items()
                          for piece in group if piece.start in starts]
            else:
                kept += self.outside(name, offset, called)
                continue
            for piece in pieces:
                self.rewriter.visit(piece)
                kept.append(piece)
                for needed in reversed(piece.names):
                    (waiting if needed[2] and called else later).append(needed)
        return kept

    def recurses(self) -> bool:
        """Whether what is kept may call itself, perhaps by way of others: then no compiler knows
        how much stack a thread needs. A pointer may lead to any function that is named uncalled.
        """
        pieces = [*self.functions.values(), *self.types,
                  *(piece for group in self.variables.values() for piece in group)]
        pointed = {name for piece in pieces for name, _, called in piece.names if not called}
        calls = {function: {name for name, _, called in piece.names if called}
                 | (pointed if piece.by_pointer else set())
                 for function, piece in self.functions.items()}
        try:
            TopologicalSorter(calls).prepare()
        except CycleError:
            return True
        return False

    def outside(self, name: str, offset: int, called: bool) -> list[Piece]:
        """For a function that the author did not write: what stands in for it, if it is not there.

        One that a GPU lacks is refused where it is called; where only a table leads to it, for
        drawing perhaps, the env stops if it ever gets there.
        """
        declarations = self.declared.get(name, [])
        reason = next((child.spelling.removeprefix(_REASON) for cursor in declarations
                       for child in cursor.get_children() if child.kind.name == "ANNOTATE_ATTR"
                       and child.spelling.startswith(_REASON)), None)
        if reason:
            public = "va_start" if name == "puffer_no_varargs" else name
            message = f"{public} cannot be used on a GPU: {reason}"
            if called:
                raise self.refuse(offset, message,
                                  "leave it out of what init, c_reset, c_step and c_close call, "
                                  "with #ifndef PUFFER_DEVICE perhaps")
            return [self.stand_in(declarations[0], f'puffer_refuse("{message}")')]
        if name.startswith("__builtin_"):
            return []
        files = [self.file(cursor.extent.start.offset) for cursor in declarations]
        if any(file.startswith(self.device_dir) for file in files):
            return []
        if any(file.startswith(self.raylib_dir) for file in files):
            value = '""' if name == "TextFormat" else \
                f"puffer_nothing<{declarations[0].result_type.spelling}>()"
            return [self.stand_in(declarations[0], f"return {value}")]
        raise self.refuse(offset, f"{name} is called, and defined nowhere that a GPU could see",
                          "define it in the header, or include its definition")

    def stand_in(self, cursor: Cursor, body: str) -> Piece:
        """Takes the place of a declaration."""
        piece = self.declaration(cursor)
        self.edits.replace(piece.start, piece.end, "template <class... A> inline "
                           f"{cursor.result_type.spelling} {cursor.spelling}(A...) {{ {body}; }}")
        return piece

    def is_library(self, offset: int) -> bool:
        """Whether it is declared in a stub header, or in raylib's, and not by the author."""
        file = self.file(offset)
        return file.startswith((self.device_dir, self.raylib_dir)) and \
            not file.endswith("/vecenv.h")

    def merge(self, pieces: list[Piece]) -> list[tuple[int, int]]:
        """The ranges of text that are kept: ascending, apart from each other."""
        merged: list[tuple[int, int]] = []
        for start, end in sorted({(piece.start, piece.end) for piece in pieces}):
            if merged and start < merged[-1][1]:
                merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
            else:
                merged.append((start, end))
        return merged

    def check_errors(self, ranges: list[tuple[int, int]]) -> None:
        for diagnostic in self.unit.diagnostics:
            offset = diagnostic.location.offset
            if diagnostic.severity >= diagnostic.Error and any(
                    start <= offset < end for start, end in ranges):
                raise self.refuse(offset, f"the C compiler refuses this: {diagnostic.spelling}",
                                  "the header was preprocessed with PUFFER_DEVICE defined")

    # -- places ------------------------------------------------------------------------

    def origin(self, offset: int) -> tuple[str, int]:
        """The author's (file, line) of a place in the text; the file as a #line names it."""
        at = bisect.bisect_right(self.marks, (offset, 1 << 60, "")) - 1
        begin, line, file = self.marks[max(at, 0)]
        return file, line + self.text.count("\n", begin, offset)

    def file(self, offset: int) -> str:
        """The same file's path."""
        return re.sub(r"\\(.)", r"\1", self.origin(offset)[0]).encode("latin-1").decode(
            errors="replace")

    def resume(self, start: int, end: int) -> str:
        """What follows a range that was written on one line: the author's lines go on."""
        if "\n" not in self.text[start:end]:
            return ""
        file, line = self.origin(end)
        return f'\n#line {line} "{file}"\n'

    def refuse(self, offset: int, message: str, hint: str) -> BuildError:
        where = f"{paths.shown(self.file(offset))}:{self.origin(offset)[1]}"
        return BuildError(message, where=where,
                          hint=f"{hint}; {CPU}")


def _names_enum_again(cursor: Cursor) -> bool:
    """`enum Way`, or `typedef enum Way Way`, before what Way is: C++ allows neither, and knows an
    enum by its own name."""
    if cursor.kind.name == "ENUM_DECL":
        return not cursor.is_definition()
    return cursor.kind.name == "TYPEDEF_DECL" and not any(
        child.is_definition() for child in cursor.get_children()) and \
        cursor.underlying_typedef_type.spelling == f"enum {cursor.spelling}"


def _defining(pieces: list[Piece], text: str) -> list[Piece]:
    """Of a variable that C lets stand several times: what C++ wants."""
    extern = [piece for piece in pieces if piece.cursor.storage_class.name == "EXTERN"]
    rest = [piece for piece in pieces if piece not in extern]
    given = [piece for piece in rest if "=" in text[piece.cursor.location.offset:
                                                    piece.cursor.extent.end.offset]]
    return extern + (given or rest)[:1]
