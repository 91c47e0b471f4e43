"""Make C++ for a GPU of an environment's C.  preprocessed C -> the simulation alone, as C++

The text holds no macros any more, so that libclang's extents are exact. What the simulation does
not reach is left out, drawing above all. What C has and C++ has not is written in another way,
and each piece keeps the author's file and line.
"""
from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from .. import paths, raylib
from ..errors import BuildError
from .device_edits import Edits
from .device_lists import ListWriter

ROOTS = tuple(f"puffer_thread_{name}" for name in ("facts", "start", "step", "log", "close"))
CPU = "or train with the environments on the CPU: --vec.device cpu"
# What C++ keeps for itself, and a C program may call its variables
KEYWORDS = """and and_eq bitand bitor bool catch char16_t char32_t char8_t class compl concept
    const_cast consteval constexpr constinit co_await co_return co_yield decltype delete
    dynamic_cast explicit export false friend mutable namespace new noexcept not not_eq nullptr
    operator or or_eq private protected public reinterpret_cast requires static_cast template this
    throw true try typeid typename using virtual wchar_t xor xor_eq""".split()

_WORDS = re.compile(r'"(?:\\.|[^"\\])*"' r"|'(?:\\.|[^'\\])*'" rf"|\b({'|'.join(KEYWORDS)})\b")
_MARK = re.compile(r'^# (\d+) "((?:\\.|[^"\\])*)".*$', re.M)
_TYPES = {"TYPEDEF_DECL", "STRUCT_DECL", "UNION_DECL", "ENUM_DECL"}
_RECORDS = {"STRUCT_DECL", "UNION_DECL"}
_REASON = "puffer: "                # of an annotation: device/puffer_prelude.h


def translate(text: bytes) -> str:
    """The simulation within a preprocessed file, as C++ that has no includes.

    Raises BuildError with the author's file and line where it needs what a GPU has not.
    """
    return _Translator(text.decode("latin-1")).run()


@dataclass
class _Piece:
    """A function, a variable or a type at file scope."""

    cursor: object
    start: int                      # in the text
    end: int
    names: list[tuple[str, int]] = field(default_factory=list)  # it needs them, and where


class _Translator:
    """One file: what is where, what is reached, what is written otherwise."""

    def __init__(self, text: str):
        self.text = text
        self.marks = [(0, 1, "")]           # offset of a line, its number, its file
        for match in _MARK.finditer(text):
            self.marks.append((match.end() + 1, int(match[1]), match[2]))
        self.edits = Edits(text)
        self.lists = ListWriter(text, self.edits, self.refuse)
        self.functions: dict[str, _Piece] = {}          # definitions
        self.variables: dict[str, list[_Piece]] = {}
        self.declared: dict[str, list[object]] = {}     # functions that are declared only
        self.types: list[_Piece] = []
        self.nested: dict[str, str] = {}                # tag inside a struct -> the struct's
        self.enumerators: dict[str, str] = {}           # of an enum inside a struct -> the struct's
        self.boxes = 0
        self.device_dir = str(paths.include_dir() / "device")
        self.raylib_dir = str(raylib.headers())

    def run(self) -> str:
        self.parse()
        for match in _MARK.finditer(self.text):
            self.edits.replace(match.start(), match.end(), f'#line {match[1]} "{match[2]}"')
        for match in _WORDS.finditer(self.text):
            if match[1]:
                self.edits.replace(match.start(), match.end(), match[1] + "_")
        for kind in self.types:
            if not self.is_library(kind.start):
                self.visit(kind)
        kept, stand_ins = self.reach()
        ranges = self.merge([*kept, *self.types])
        self.check_errors(ranges)
        parts = []
        for start, end in ranges:
            file, line = self.origin(start)
            parts.append(f'#line {line} "{file}"\n{self.edits.render(start, end)}\n')
        # Types first: what stands in for raylib returns some of them, and functions call it
        first = min((piece.start for piece in self.functions.values()), default=0)
        where = next((i for i, (start, _) in enumerate(ranges) if start >= first), len(parts))
        return "".join([*parts[:where], *stand_ins, *parts[where:]])

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
                    self.functions[cursor.spelling] = _Piece(cursor, extent.start.offset,
                                                             extent.end.offset)
                else:
                    self.declared.setdefault(cursor.spelling, []).append(cursor)
            elif kind == "VAR_DECL":
                self.variables.setdefault(cursor.spelling, []).append(self.declaration(cursor))
            elif kind in _TYPES:
                self.types.append(self.declaration(cursor))
                if kind in _RECORDS:
                    self.take_nested(cursor, "" if "(" in cursor.spelling else cursor.spelling)
            if kind == "TYPEDEF_DECL":
                for child in cursor.get_children():
                    if child.kind.name in _RECORDS and child.is_definition():
                        self.take_nested(child, cursor.spelling)

    def declaration(self, cursor) -> _Piece:
        """All of it, its semicolon too."""
        end, depth = cursor.extent.end.offset, 0
        while end < len(self.text):
            letter = self.text[end]
            depth += (letter in "({[") - (letter in ")}]")
            end += 1
            if letter == ";" and depth == 0:
                break
        return _Piece(cursor, cursor.extent.start.offset, end)

    def take_nested(self, record, outer: str) -> None:
        """C puts what is defined inside a struct beside it; C++ leaves it in there."""
        for child in record.get_children():
            kind = child.kind.name
            if kind == "ENUM_DECL":
                self.enumerators |= {one.spelling: outer for one in child.get_children()}
            if kind in _RECORDS or kind == "ENUM_DECL":
                name = "" if "(" in child.spelling else child.spelling
                if name:
                    self.nested[name] = outer
                if kind in _RECORDS:
                    self.take_nested(child, f"{outer}::{name}")

    # -- what is reached -----------------------------------------------------------

    def reach(self) -> tuple[list[_Piece], list[str]]:
        """What is kept besides types, and functions that stand in for raylib's."""
        kept, stand_ins, seen = [], [], set()
        waiting = [(name, 0) for name in reversed(ROOTS)]
        for group in self.variables.values():           # struct { ... } table[]: is kept anyway
            waiting += [(piece.cursor.spelling, piece.start) for piece in group
                        if any(piece.start <= kind.start < piece.end for kind in self.types)]
        waiting += [name for kind in self.types for name in kind.names]
        while waiting:
            name, offset = waiting.pop()
            if name in seen:
                continue
            seen.add(name)
            if name in self.functions:
                pieces = [self.functions[name],
                          *(self.declaration(cursor) for cursor in self.declared.get(name, ())
                            if not self.is_library(cursor.extent.start.offset))]
            elif name in self.variables:
                pieces = _defining(self.variables[name])
                starts = {piece.start for piece in pieces}          # int a, b = 3;
                waiting += [(other, piece.start) for other, group in self.variables.items()
                            for piece in group if piece.start in starts]
            else:
                stand_ins += self.outside(name, offset)
                continue
            for piece in pieces:
                self.visit(piece)
                kept.append(piece)
                waiting += reversed(piece.names)
        return kept, stand_ins

    def outside(self, name: str, offset: int) -> list[str]:
        """What to write for a function that the author did not: mostly nothing, for it is there."""
        declarations = self.declared.get(name, [])
        for cursor in declarations:
            for child in cursor.get_children():
                if child.kind.name == "ANNOTATE_ATTR" and child.spelling.startswith(_REASON):
                    called = "va_start" if name == "puffer_no_varargs" else name
                    raise self.refuse(offset, f"{called} cannot be used on a GPU: "
                                              f"{child.spelling.removeprefix(_REASON)}",
                                      "leave it out of what init, c_reset, c_step and c_close "
                                      "call, with #ifndef PUFFER_DEVICE perhaps")
        if name.startswith("__builtin_"):
            return []
        files = [self.origin(cursor.extent.start.offset)[0] for cursor in declarations]
        if any(file.startswith(self.device_dir) for file in files):
            return []
        if any(file.startswith(self.raylib_dir) for file in files):
            returns = declarations[0].result_type.spelling
            value = 'return "";' if name == "TextFormat" else f"return puffer_nothing<{returns}>();"
            return [f"template <class... A> inline {returns} {name}(A...) {{ {value} }}\n"]
        raise self.refuse(offset, f"{name} is called, and defined nowhere that a GPU could see",
                          "define it in the header, or include what does")

    def is_library(self, offset: int) -> bool:
        """Whether it is declared in a stub header, or in raylib's, and not by the author."""
        file = self.origin(offset)[0]
        return file.startswith((self.device_dir, self.raylib_dir)) and \
            not file.endswith("/vecenv.h")

    def merge(self, pieces: list[_Piece]) -> list[tuple[int, int]]:
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

    # -- what C++ wants otherwise ----------------------------------------------------

    def visit(self, piece: _Piece) -> None:
        """Collects what a piece needs, and edits what C++ does not take."""
        stack = [(piece.cursor, None, None)]            # node, parent, statement of a block
        while stack:
            cursor, parent, statement = stack.pop()
            children = list(cursor.get_children())
            self.edit(piece, cursor, children, parent, statement)
            is_block = cursor.kind.name == "COMPOUND_STMT"
            stack += [(child, (cursor, parent), child if is_block else statement)
                      for child in reversed(children)]

    def edit(self, piece: _Piece, cursor, children: list, parent, statement) -> None:
        kind = cursor.kind.name
        start, end = cursor.extent.start.offset, cursor.extent.end.offset
        if kind == "UNEXPOSED_EXPR" and len(children) == 1:
            words = _conversion(cursor, children[0], parent)
            if words:
                self.edits.around(start, end, *words)
        elif kind == "DECL_REF_EXPR":
            self.take_name(piece, cursor, start, end)
        elif kind == "TYPE_REF":
            self.qualify(cursor, start, end)
        elif kind == "BINARY_OPERATOR" and cursor.type.spelling.endswith("void *"):
            for child in children:                      # GNU C counts void* in bytes
                if re.fullmatch(r"(const )?void \*", child.type.get_canonical().spelling) and \
                        re.search(r"^\s*[+-](?!=)", self.text[children[0].extent.end.offset:]):
                    self.edits.around(child.extent.start.offset, child.extent.end.offset,
                                      f"(({'const ' if 'const' in child.type.spelling else ''}"
                                      "char*)(", "))")
        elif kind == "COMPOUND_LITERAL_EXPR":
            self.literal(piece, cursor, children, parent, statement)
        elif kind == "DECL_STMT":
            self.jumped_over(piece, children, parent, start, end)
        elif kind == "FIELD_DECL" and cursor.type.kind.name == "INCOMPLETEARRAY":
            self.edits.replace(self.text.rindex("[", start, end), end, "[1]")
        elif kind == "VAR_DECL":
            self.variable(cursor, children, start)
        elif kind == "StmtExpr":
            raise self.refuse(start, "an expression in ({ }) cannot be compiled for a GPU",
                              "make a function of it")
        elif kind == "GENERIC_SELECTION_EXPR":
            raise self.refuse(start, "_Generic cannot be compiled for a GPU",
                              "call the function that it chooses")

    def take_name(self, piece: _Piece, cursor, start: int, end: int) -> None:
        declared = cursor.referenced
        kind = declared.kind.name if declared is not None else ""
        if kind == "FUNCTION_DECL" or (kind == "VAR_DECL" and declared.semantic_parent is not None
                                       and declared.semantic_parent.kind.name
                                       == "TRANSLATION_UNIT"):
            piece.names.append((cursor.spelling, start))
        elif kind == "ENUM_CONSTANT_DECL" and cursor.spelling in self.enumerators:
            self.qualify_constant(declared, start, end)

    def qualify_constant(self, declared, start: int, end: int) -> None:
        around, outer = declared.semantic_parent, self.enumerators[declared.spelling]
        around = around.lexical_parent if around is not None else None
        if around is None or around.kind.name not in _RECORDS:
            return                                      # of the same name, and outside
        if not around.extent.start.offset <= start < around.extent.end.offset:
            known = all(outer.split("::"))
            self.edits.replace(start, end, f"{outer}::{declared.spelling}" if known else
                               f"({declared.enum_value})")

    def qualify(self, cursor, start: int, end: int) -> None:
        """struct Inner, defined inside struct Outer: Outer::Inner."""
        name = self.text[start:end]
        outer = self.nested.get(name)
        declared = cursor.referenced
        if outer is None or declared is None:
            return
        around = declared.lexical_parent
        if around is None or around.kind.name not in _RECORDS or \
                around.extent.start.offset <= start < around.extent.end.offset:
            return
        self.edits.replace(start, end, f"{outer}::{name}")

    def variable(self, cursor, children: list, start: int) -> None:
        if cursor.type.kind.name == "VARIABLEARRAY" and not _has_constant_size(children):
            raise self.refuse(start, f"the size of the array {cursor.spelling} is known only when "
                                     "it runs: that cannot be compiled for a GPU",
                              "give it the largest size that it may have, or malloc it in init")
        if children and children[-1].kind.name == "INIT_LIST_EXPR":
            self.lists.write(children[-1], cursor.type)

    def jumped_over(self, piece: _Piece, children: list, parent, start: int, end: int) -> None:
        """goto and case may go past `int x = 3;` in C; in C++ past `int x; x = 3;` alone."""
        around = parent
        while around is not None and around[0].kind.name in ("CASE_STMT", "DEFAULT_STMT",
                                                             "LABEL_STMT"):
            around = around[1]
        if around is None or around[0].kind.name != "COMPOUND_STMT" or not (
                (around[1] is not None and around[1][0].kind.name == "SWITCH_STMT")
                or re.search(r"\bgoto\b", self.text[piece.start:piece.end])):
            return
        if any(child.kind.name != "VAR_DECL" or child.storage_class.name == "STATIC"
               or child.type.get_canonical().kind.name not in _PLAIN
               or "(" in child.type.spelling for child in children):
            return

        def words() -> str:
            return " ".join(map(self.in_two, children)) + "\n" * self.text.count("\n", start, end)

        self.edits.replace(start, end, words)

    def in_two(self, variable) -> str:
        """A local variable, declared and then given its value."""
        from ..header import evaluate

        kind, name = variable.type, _renamed(variable.spelling)
        values = [child for child in variable.get_children() if child.kind.is_expression()]
        text = "".join(self.edits.render(one.extent.start.offset, one.extent.end.offset)
                       for one in values[-1:]).replace("\n", " ")
        if kind.is_const_qualified() and isinstance(evaluate(variable), int):
            return f"static {_renamed(kind.spelling)} {name} = {text};"
        written = f"puffer_type<{_renamed(_unbound(kind.spelling))}>"
        if text.startswith("{"):
            text = written + text
        return f"{written} {name};" + (f" {name} = {text};" if text else "")

    def literal(self, piece: _Piece, cursor, children: list, parent, statement) -> None:
        """(T){1, 2} is puffer_type<T>{1, 2}; or a box where its address is taken."""
        values = children[-1]
        start, middle = cursor.extent.start.offset, values.extent.start.offset
        self.lists.write(values, cursor.type)
        if not _wants_address(cursor, parent):
            inside = self.text.index("(", start) + 1
            close = self.text.rindex(")", inside, middle)
            self.edits.replace(start, middle, lambda: "puffer_type<"
                               f"{self.edits.render(inside, close)}>")
            return
        self.boxes += 1
        name = f"puffer_box_{self.boxes}"
        kind = f"puffer_box<{_renamed(_unqualified(cursor.type.spelling))}>"
        end = cursor.extent.end.offset
        if statement is None:                           # at file scope: it lives for ever
            self.edits.before(piece.start, lambda: f"static {kind} {name} = {{"
                              f"{self.edits.render(middle, end - 1)}}}}}; ".replace("\n", " "))
            self.edits.replace(start, end, f"{name}.value")
        else:
            self.edits.before(statement.extent.start.offset, f"{kind} {name}; ")
            self.edits.replace(start, middle, f"({name} = {kind}{{")
            self.edits.after(end, "}).value")

    # -- places ------------------------------------------------------------------------

    def origin(self, offset: int) -> tuple[str, int]:
        """The author's (file, line) of a place in the text."""
        import bisect

        at = bisect.bisect_right(self.marks, (offset, 1 << 60, "")) - 1
        begin, line, file = self.marks[max(at, 0)]
        return file, line + self.text.count("\n", begin, offset)

    def refuse(self, offset: int, message: str, hint: str) -> BuildError:
        file, line = self.origin(offset)
        return BuildError(message, where=f"{paths.shown(Path(file))}:{line}",
                          hint=f"{hint}; {CPU}")


def _defining(pieces: list[_Piece]) -> list[_Piece]:
    """Of a variable that C lets stand several times: what C++ wants."""
    extern = [piece for piece in pieces if piece.cursor.storage_class.name == "EXTERN"]
    rest = [piece for piece in pieces if piece not in extern]
    given = [piece for piece in rest
             if any(child.kind.is_expression() and child.kind.name != "INTEGER_LITERAL"
                    for child in piece.cursor.get_children())]
    return extern + (given or rest)[:1]


def _conversion(cursor, child, parent) -> tuple[str, str] | None:
    """What has to stand around a value that C converts by itself and C++ does not."""
    to, given = cursor.type.get_canonical(), child.type.get_canonical()
    to_kind, from_kind = to.kind.name, given.kind.name
    if _unbound(to.spelling) == _unbound(given.spelling):
        return None                             # a value is read, no more
    spelling = _renamed(_unbound(cursor.type.spelling))
    named = "(unnamed" not in spelling and "(anonymous" not in spelling
    if to_kind == "POINTER" and (from_kind == "POINTER" or (
            from_kind in _INTEGERS and child.kind.name not in ("INTEGER_LITERAL", "PAREN_EXPR"))):
        return (f"(({spelling})(", "))") if named else ("puffer_pointer{(", ")}")
    if child.kind.name == "STRING_LITERAL" and to.spelling == "char *" and \
            parent[0].kind.name != "UNEXPOSED_EXPR":    # C's text may be written to
        return "((char *)(", "))"
    if to_kind == "ENUM":
        return (f"(({spelling})(", "))") if named else ("puffer_number{(long long)(", ")}")
    if from_kind == "ENUM" and to_kind == "UINT":       # without negatives it is unsigned in C
        return f"(({spelling})(", "))"
    return None


_PLAIN = {"INT", "UINT", "LONG", "ULONG", "LONGLONG", "ULONGLONG", "SHORT", "USHORT", "CHAR_S",
          "UCHAR", "SCHAR", "BOOL", "FLOAT", "DOUBLE", "ENUM", "POINTER", "RECORD"}
_INTEGERS = _PLAIN - {"BOOL", "FLOAT", "DOUBLE", "ENUM", "POINTER", "RECORD"}


def _renamed(kind: str) -> str:
    """A type as clang spells it, with the names that are C++'s own written otherwise."""
    kind = kind.replace("_Bool", "\0")
    return _WORDS.sub(lambda match: match[1] + "_" if match[1] else match[0], kind
                      ).replace("\0", "_Bool")


def _unbound(kind: str) -> str:
    """The type of a value that is read: int *const -> int *, const enum Way -> enum Way."""
    kind = re.sub(r"(\s*\b(const|volatile|restrict))+$", "", kind)
    return kind if "*" in kind else re.sub(r"\b(const|volatile) ", "", kind)


def _unqualified(kind: str) -> str:
    """const int[3] -> int[3]: a box is assigned to."""
    return kind if "*" in kind else re.sub(r"\b(const|volatile) ", "", kind)


def _wants_address(cursor, parent) -> bool:
    if cursor.type.get_canonical().kind.name in ("CONSTANTARRAY", "INCOMPLETEARRAY"):
        return True
    while parent is not None and parent[0].kind.name == "PAREN_EXPR":
        parent = parent[1]
    return parent is not None and parent[0].kind.name == "UNARY_OPERATOR"


def _has_constant_size(children: list) -> bool:
    """Whether C++ takes it as a constant: `const int n = 5; int a[n];`."""
    for node in _walk(children):
        if node.kind.name != "DECL_REF_EXPR":
            continue
        declared = node.referenced
        if declared is None or declared.kind.name == "ENUM_CONSTANT_DECL":
            continue
        value = list(declared.get_children())
        if declared.kind.name != "VAR_DECL" or not declared.type.is_const_qualified() or \
                not value or any(one.kind.name == "CALL_EXPR" for one in _walk(value)):
            return False
        if not _has_constant_size(value):
            return False
    return True


def _walk(nodes: list) -> Iterator:
    stack = list(nodes)
    while stack:
        node = stack.pop()
        yield node
        stack += node.get_children()
