"""An environment's C as libclang reads it.  NAME.h, or a binding.c -> functions, structs, macros"""
from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ..base import paths
from ..base.errors import BuildError, PufferError
from ..base.spec import CField, Enumerator, Remark
from . import contract, probe, pufferlib5

if TYPE_CHECKING:
    from clang.cindex import Cursor, TranslationUnit

PATIENCE = 20           # seconds that the compiler may take over what libclang refuses
UNDECLARED = "-Werror=implicit-function-declaration"
_HIDDEN = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.DOTALL)


def hide(text: str, *, strings: bool = True) -> str:
    """C's text, comments and (unless strings is False) strings blanked; every offset and line
    stays."""
    return _HIDDEN.sub(lambda m: re.sub(r"[^\r\n]", " ", m[0])
                       if strings or m[0][0] == "/" else m[0], text)


def closing(hidden: str, at: int) -> int:
    """Where the brace closes that was opened just before `at`."""
    depth = 1
    while depth and at < len(hidden):
        depth += {"{": 1, "}": -1}.get(hidden[at], 0)
        at += 1
    return at - 1


@dataclass
class Source:
    """One environment's files: what they define, and where."""

    folder: Path
    unit: TranslationUnit = None        # once it is read
    flags: list[str] | None = None      # of probe.clang_flags, if somebody has asked for them

    def find_files(self) -> None:
        """header; binding, or None where none was written by hand."""
        self.name = self.folder.name
        self.header = paths.header_of(self.folder)
        self.is_form5 = paths.is_form5(self.header)
        binding = self.header if self.is_form5 else self.folder / "binding.c"
        self.binding = binding if binding.is_file() else None

    def texts(self) -> dict[str, str]:
        """The header's and the binding's text, by file name."""
        return {path.name: paths.text(path)
                for path in (self.header, self.binding) if path}

    def warnings(self) -> list[Remark]:
        """What clang warns of in the author's files: PUF117. Nothing where it refuses what the C
        compiler takes: it has misread these lines."""
        if any(diag.severity >= diag.Error for diag in self.unit.diagnostics):
            return []
        return [Remark("PUF117", diag.spelling, self.relative(file.name)
                       + f":{diag.location.line}", actual=diag.option,
                       expected=f"no warning of the compiler ({diag.option})",
                       hint=contract.WARNINGS[diag.option])
                for diag in self.unit.diagnostics for file in [diag.location.file]
                if diag.severity == diag.Warning and diag.option in contract.WARNINGS and file
                and self.folder in Path(file.name).resolve().parents]

    def place_of_include(self) -> str | None:
        """The author's line that includes vecenv.h or pufferenv.h."""
        for name, text in self.texts().items():
            if found := re.search(r'(?m)^\s*#\s*include\s*"(?:vecenv|pufferenv)\.h"', text):
                return f"{name}:{1 + text.count(chr(10), 0, found.end())}"
        return None

    def parse(self) -> None:
        from clang import cindex

        main = str(self.folder / ".puffer_probe.c")
        source = self.binding or self.header
        text = f'#include "{source.name}"\n' + probe.SOURCE
        self.flags = [*(self.flags or probe.clang_flags(self.folder)), "-DPUFFER_PROBE",
                      "-DPUFFER_LIBRARY", "-include",
                      str(paths.include_dir() / "puffer_prelude.h")]

        def parsed(flags: list[str]) -> TranslationUnit:
            return cindex.Index.create().parse(
                main, args=[*flags, "-Wno-everything", *contract.WARNINGS, UNDECLARED],
                unsaved_files=[(main, text)],
                options=cindex.TranslationUnit.PARSE_DETAILED_PROCESSING_RECORD)

        unit = parsed(self.flags)
        if self.is_form5:
            unit, self.flags = pufferlib5.as_it_compiles(unit, main, self.flags, parsed)
        self.unit, self.main = unit, main
        self.shown: dict[str, str] = {}                         # for relative()
        self.macros: dict[str, tuple[str, str, int]] = {}       # name -> text, file, line
        self.binding_macros: dict[str, str] = {}                # MY_VEC_INIT -> "binding.c:7"
        self.structs: dict[str, Cursor] = {}                    # by canonical name
        self.funcs: dict[str, Cursor] = {}
        self.probes: dict[str, Cursor] = {}
        self.log_names = {"Log"}                                # and what a macro makes of it
        self.logs: list[str] = []                               # what these are typedefs of
        self.obs_type = ""                                      # what obs_t is a typedef of
        self.enumerators: dict[str, str] = {}                   # OBS_SIZE -> "game.h:11"
        kinds = cindex.CursorKind
        self.declared = list(unit.cursor.get_children())
        for cursor in self.declared:
            kind = cursor.kind
            if kind == kinds.MACRO_DEFINITION:
                self.take_macro(cursor)
            elif kind == kinds.FUNCTION_DECL and cursor.is_definition():
                self.funcs[cursor.spelling] = cursor
            elif kind == kinds.STRUCT_DECL and cursor.is_definition():
                self.structs[cursor.type.get_canonical().spelling] = cursor
            elif kind == kinds.ENUM_DECL:
                self.enumerators |= {child.spelling: self.place(child)
                                     for child in cursor.get_children()
                                     if child.spelling in contract.MACROS}
            elif kind == kinds.TYPEDEF_DECL and cursor.spelling in self.log_names:
                self.logs.append(cursor.underlying_typedef_type.get_canonical().spelling)
            elif kind == kinds.TYPEDEF_DECL and cursor.spelling == "obs_t":
                self.obs_type = cursor.underlying_typedef_type.get_canonical().spelling
            elif kind == kinds.VAR_DECL and cursor.spelling.startswith("puffer_probe_"):
                self.probes[cursor.spelling] = cursor

    def log_reads_state(self) -> bool:
        """Whether my_log mentions a pointer at file scope that may change: none before my_init."""
        cursor = self.funcs.get("my_log")
        for node in cursor.walk_preorder() if cursor is not None else ():
            variable = node.referenced if node.kind.name == "DECL_REF_EXPR" else None
            if variable is not None and variable.kind.name == "VAR_DECL" and (
                    variable.semantic_parent.kind.name == "TRANSLATION_UNIT"):
                kind = variable.type.get_canonical()
                if kind.kind.name == "POINTER" and not kind.is_const_qualified():
                    return True
        return False

    def as_compiled(self, errors: list[PufferError]) -> list[PufferError]:
        """Of libclang's errors, those that hold for the C compiler: none where it takes the file,
        and its own where libclang only tripped over headers of gcc's, such as immintrin.h."""
        from ..toolchain import compilers

        source = self.binding or self.header
        flags = [flag for flag in self.flags or () if not flag.startswith("-isystem")]
        command = [*compilers.find_compiler().command, *flags, UNDECLARED, "-fsyntax-only", "-"]
        text = f'#include "{source.name}"\n'
        try:
            done = subprocess.run(command, input=text.encode(), capture_output=True,
                                  timeout=PATIENCE, env={**os.environ, "LC_ALL": "C"})
        except subprocess.TimeoutExpired:
            return errors
        said = re.findall(r"(?m)^([^:\n]+):(\d+):(?:\d+:)? (?:fatal )?error: (.+)$",
                          done.stderr.decode(errors="replace"))
        own: list[PufferError] = [
            BuildError(f"the C compiler refuses this: {sentence}",
                       where=f"{self.relative(file)}:{line}")
            for file, line, sentence in said if self.folder in Path(file).resolve().parents]
        authors = [each for each in errors if not Path(each.where or "").is_absolute()]
        return [] if done.returncode == 0 else authors or own or errors

    def files(self) -> list[str]:
        """The files that were read."""
        return sorted({each.include.name for each in self.unit.get_includes()}) \
            if self.unit else []

    def enums(self) -> Iterator[tuple[Enumerator, ...]]:
        """The author's enums: (name, value, file, line, column) of each enumerator. One of more
        than MOST_NAMES names no elements of a row."""
        from clang.cindex import CursorKind

        for cursor in self.declared:
            place = cursor.location.file if cursor.kind == CursorKind.ENUM_DECL else None
            if place and self.folder in Path(place.name).resolve().parents:
                names = [c for c in cursor.get_children() if c.kind.name == "ENUM_CONSTANT_DECL"]
                if len(names) <= contract.MOST_NAMES:
                    yield tuple((c.spelling, c.enum_value,
                                 str(Path(c.location.file.name).resolve()),
                                 c.location.line, c.location.column) for c in names)

    def take_macro(self, cursor: Cursor) -> None:
        name = cursor.spelling
        if name == "Log":
            self.log_names.add(" ".join(token.spelling for token in cursor.get_tokens())[4:])
        if name not in contract.MACROS and not name.startswith("MY_"):
            return                      # of the thousands, without asking where they are
        file = cursor.location.file
        if name in contract.MACROS and file:
            tokens = [t.spelling for t in cursor.get_tokens()][1:]
            self.macros[name] = (" ".join(tokens), file.name, cursor.location.line)
        elif file and self.folder in Path(file.name).resolve().parents:
            self.binding_macros[name] = self.place(cursor)

    def relative(self, name: str) -> str:
        if name not in self.shown:
            path = Path(name).resolve()
            inside = self.folder in path.parents
            self.shown[name] = str(path.relative_to(self.folder) if inside else path)
        return self.shown[name]

    def place(self, cursor: Cursor) -> str:
        location = cursor.location
        return f"{self.relative(location.file.name)}:{location.line}"

    def macro_place(self, name: str) -> str | None:
        if name not in self.macros:
            return None
        return f"{self.relative(self.macros[name][1])}:{self.macros[name][2]}"

    def evaluate(self, name: str) -> int | None:
        cursor = self.probes.get(name)
        children = list(cursor.get_children()) if cursor is not None else []
        return probe.integer(children[-1]) if children else None

    @staticmethod
    def struct_fields(struct: Cursor) -> tuple[CField, ...]:
        bases = [each.type.get_declaration() for each in struct.get_children()
                 if each.kind.name == "CXX_BASE_SPECIFIER"]
        inherited = tuple(field for base in bases for field in Source.struct_fields(base))
        return inherited + tuple(CField(c.spelling, c.type.get_canonical().spelling,
                                        c.location.line) for c in struct.type.get_fields())

    def find_log(self) -> Cursor | None:
        """The cursor of struct Log."""
        for name in (*self.logs, "Log", "struct Log"):
            if name in self.structs:
                return self.structs[name]
        return None
