"""Rewrites C constructs that C++ lacks.  libclang's cursors -> edits

Conversions of void* and enums, compound literals, designated initializers, jumps past
declarations, names inside structs, C++'s own words. What cannot be written otherwise is refused.
"""
from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ...base.errors import BuildError
from . import either
from .conversions import PLAIN, WORDS, conversion, renamed, unbound, unqualified
from .initializers import ListWriter, is_plain_table
from .text_edits import Edits

if TYPE_CHECKING:
    from typing import TypeAlias

    from clang.cindex import Cursor, Type

    Around: TypeAlias = tuple[Cursor, "Around"] | None      # a node's parent, and what is around it

_TEXT = re.compile(r'"((?:\\.|[^"\\])*)"')
_UNIT = re.compile(r"\\(?:x[0-9a-fA-F]+|[0-7]{1,3}|.)|[^\\]", re.S)
_BY_ZERO = re.compile(r"/\s*[(+-]*\s*0\.?0*[fF]?\b")     # INFINITY, to some
_MOST_CASES = 256
_TAGGED = re.compile(r"\b(struct|union|enum) (\w+)")
_GOTO = re.compile(r"\bgoto\b")
RECORDS = {"STRUCT_DECL", "UNION_DECL"}


@dataclass
class Piece:
    """A function, a variable or a type at file scope."""

    cursor: Cursor
    start: int                      # in the text
    end: int
    names: list[tuple[str, int, bool]] = field(default_factory=list)    # it needs: name, where,
                                                                        # whether it is called
    by_pointer: bool = False        # it calls what a pointer points to


class Rewriter:
    """Edits the pieces of one text, and notes what they need.

    refuse    an error for a place in the text
    resume    what follows a range that was written on one line: back to the author's lines
    """

    def __init__(self, text: str, edits: Edits, refuse: Callable[[int, str, str], BuildError],
                 resume: Callable[[int, int], str]):
        self.text, self.edits, self.refuse, self.resume = text, edits, refuse, resume
        self.lists = ListWriter(text, edits, refuse, resume)
        self.nested: dict[str, str] = {}            # tag inside a struct -> the struct's
        self.enumerators: dict[str, str] = {}       # of an enum inside a struct -> the struct's
        self.boxes = 0
        self.constants: set[int] = set()            # starts of declarations that are constexpr
        self.jumping: dict[int, bool] = {}          # start of a function -> whether it has a goto
        for match in WORDS.finditer(text):
            if match[1]:
                edits.replace(match.start(), match.end(), match[1] + "_")

    def take_nested(self, record: Cursor, outer: str) -> None:
        """C puts what is defined inside a struct beside it; C++ leaves it in there."""
        outer = "" if "(" in outer else outer           # it has no name
        for child in record.get_children():
            kind = child.kind.name
            if kind == "ENUM_DECL":
                self.enumerators |= {one.spelling: outer for one in child.get_children()}
            if kind in RECORDS or kind == "ENUM_DECL":
                name = "" if "(" in child.spelling else child.spelling
                if name:
                    self.nested[name] = outer
                if kind in RECORDS:
                    self.take_nested(child, f"{outer}::{name}")

    def visit(self, piece: Piece) -> None:
        """Collects what a piece needs, and edits what C++ does not take."""
        # node, parent, statement of a block
        stack: list[tuple[Cursor, Around, Cursor | None]] = [(piece.cursor, None, None)]
        while stack:
            cursor, parent, statement = stack.pop()
            if is_plain_table(cursor, self.text):
                continue                                # a hundred thousand weights
            children = either.children(cursor, self.text, self.edits)
            self.edit(piece, cursor, children, parent, statement)
            is_block = cursor.kind.name == "COMPOUND_STMT"
            stack += [(child, (cursor, parent), child if is_block else statement)
                      for child in reversed(children)]

    def edit(self, piece: Piece, cursor: Cursor, children: list[Cursor],
             parent: Around, statement: Cursor | None) -> None:
        kind = cursor.kind.name
        start, end = cursor.extent.start.offset, cursor.extent.end.offset
        if kind == "UNEXPOSED_EXPR" and len(children) == 1 and parent:
            words = conversion(cursor, children[0], parent[0])
            if words:
                self.edits.around(start, end, self.spell(words[0]), words[1])
        elif kind == "DECL_REF_EXPR":
            self.take_name(piece, cursor, parent, start, end)
        elif kind == "CALL_EXPR":
            called = cursor.referenced
            piece.by_pointer |= called is None or called.kind.name != "FUNCTION_DECL"
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
        elif kind == "UNARY_OPERATOR" and parent:
            self.count_truth(cursor, children, parent[0], start, end)
        elif kind == "CASE_STMT":
            self.case_range(children, start)
        elif kind == "STRING_LITERAL":
            self.characters(cursor, parent, start, end)
        elif kind == "CHARACTER_LITERAL":               # an int in C, a char in C++
            self.edits.around(start, end, "((int)", ")")
        elif kind == "DECL_STMT":
            self.jumped_over(piece, children, parent, start, end)
        elif kind == "PARM_DECL" and cursor.spelling:
            size = re.compile(r"\w+\s*(\[[^]]*\])").match(self.text, cursor.location.offset)
            if size:                                    # a pointer, whatever stands in there
                self.edits.replace(*size.span(1), "[]")
            if _is_sized_late(cursor.type):
                raise self.refuse(start, f"the size of {cursor.spelling}'s rows is known only when "
                                         "it runs: that cannot be compiled for a GPU",
                                  "give them a size that is a number, or hand over a pointer to "
                                  "the first element")
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

    def take_name(self, piece: Piece, cursor: Cursor, parent: Around, start: int, end: int) -> None:
        declared = cursor.referenced
        kind = declared.kind.name if declared is not None else ""
        if kind == "FUNCTION_DECL" or (kind == "VAR_DECL" and declared.semantic_parent is not None
                                       and declared.semantic_parent.kind.name
                                       == "TRANSLATION_UNIT"):
            around = parent                             # name -> pointer to it -> call
            while around is not None and around[0].kind.name in ("UNEXPOSED_EXPR", "PAREN_EXPR"):
                around = around[1]
            called = around is not None and around[0].kind.name == "CALL_EXPR" and \
                around[0].extent.start.offset == start
            piece.names.append((cursor.spelling, start, called))
        elif kind == "ENUM_CONSTANT_DECL" and cursor.spelling in self.enumerators:
            self.qualify_constant(declared, start, end)

    def qualify_constant(self, declared: Cursor, start: int, end: int) -> None:
        around, outer = declared.semantic_parent, self.enumerators[declared.spelling]
        around = around.lexical_parent if around is not None else None
        if around is None or around.kind.name not in RECORDS:
            return                                      # of the same name, and outside
        if not around.extent.start.offset <= start < around.extent.end.offset:
            known = all(outer.split("::"))
            self.edits.replace(start, end, f"{outer}::{declared.spelling}" if known else
                               f"({declared.enum_value})")

    def qualify(self, cursor: Cursor, start: int, end: int) -> None:
        """struct Inner, defined inside struct Outer: Outer::Inner."""
        name = self.text[start:end]
        outer = self.nested.get(name)
        declared = cursor.referenced
        if outer is None or declared is None:
            return
        around = declared.lexical_parent
        if around is None or around.kind.name not in RECORDS or \
                around.extent.start.offset <= start < around.extent.end.offset:
            return
        self.edits.replace(start, end, f"{outer}::{name}")

    def spell(self, kind: str) -> str:
        """enum Mode, defined inside struct World, is enum World::Mode in a type of clang's."""
        return _TAGGED.sub(lambda match: f"{match[1]} {self.nested[match[2]]}::{match[2]}"
                           if self.nested.get(match[2]) else match[0], kind)

    def variable(self, cursor: Cursor, children: list[Cursor], start: int) -> None:
        if cursor.type.kind.name == "VARIABLEARRAY" and not _has_constant_size(children):
            raise self.refuse(start, f"the size of the array {cursor.spelling} is known only when "
                                     "it runs: that cannot be compiled for a GPU",
                              "give it the largest size that it may have, or malloc it in init")
        if start not in self.constants and self.is_real_constant(cursor, children):
            self.constants.add(start)                   # others are computed of it: G * 2.0f
            self.edits.before(start, "constexpr ")
        if children and children[-1].kind.name == "INIT_LIST_EXPR":
            self.lists.write(children[-1], cursor.type)

    def is_real_constant(self, cursor: Cursor, children: list[Cursor]) -> bool:
        """const float G = 9.81f; at file scope, of which C computes others, G * 2.0f."""
        around = cursor.semantic_parent
        return around is not None and around.kind.name == "TRANSLATION_UNIT" and bool(children) \
            and cursor.type.is_const_qualified() \
            and cursor.type.get_canonical().kind.name in ("FLOAT", "DOUBLE") \
            and not any(one.kind.name == "CALL_EXPR" for one in _walk(children)) \
            and not _BY_ZERO.search(self.text, cursor.location.offset, cursor.extent.end.offset)

    def count_truth(self, cursor: Cursor, children: list[Cursor], parent: Cursor,
                    start: int, end: int) -> None:
        """done++ and done-- of a bool, which C++ lacks; where the old value is unused."""
        inner = children[0]
        if cursor.type.get_canonical().kind.name != "BOOL":
            return
        first, last = inner.extent.start.offset, inner.extent.end.offset
        before, behind = self.text[start:first].strip(), self.text[last:end].strip()
        unused = before or parent.kind.name in ("COMPOUND_STMT", "IF_STMT", "CASE_STMT",
                                                   "DEFAULT_STMT", "FOR_STMT")
        if {before, behind} == {"++", ""} and unused:
            self.edits.replace(start, end, lambda: f"({self.edits.flat(first, last)} = true)")
        elif {before, behind} == {"--", ""} and unused:
            self.edits.replace(start, end, lambda: f"({self.edits.flat(first, last)} ^= true)")

    def case_range(self, children: list[Cursor], start: int) -> None:
        """case 1 ... 3: is case 1: case 2: case 3:"""
        from ..probe import evaluate

        first, last = children[0], children[1]
        end = self.text.find(":", last.extent.end.offset)
        if len(children) < 3 or not re.match(r"\s*\.\.\.", self.text[first.extent.end.offset:end]):
            return
        low, high = evaluate(first), evaluate(last)
        if not isinstance(low, int) or not isinstance(high, int) or high - low > _MOST_CASES:
            raise self.refuse(start, "a range of cases as long as this cannot be compiled for a "
                                     "GPU", "write it as an if")
        cases = " ".join(f"case {value}:" for value in range(low, high + 1))
        self.edits.replace(start, end + 1, cases + self.resume(start, end))

    def characters(self, cursor: Cursor, parent: Around, start: int, end: int) -> None:
        """char row[3] = "abc" has no room for the zero at the end: C++ wants {'a', 'b', 'c'}."""
        kind = cursor.type
        if kind.kind.name != "CONSTANTARRAY" or parent is None or \
                parent[0].kind.name not in ("VAR_DECL", "INIT_LIST_EXPR", "UNEXPOSED_EXPR"):
            return
        units = [unit for text in _TEXT.findall(self.text, start, end)
                 for unit in _UNIT.findall(text)]
        if not self.text[start:end].startswith('"') or len(units) < kind.element_count:
            return
        values = ", ".join("'\\''" if unit == "'" else f"'{unit}'"
                           for unit in units[:kind.element_count])
        around = parent[0].type.get_canonical()
        if parent[0].kind.name == "INIT_LIST_EXPR" and around.kind.name == "CONSTANTARRAY" and \
                around.element_type.kind.name != "CONSTANTARRAY":
            self.edits.replace(start, end, values)      # { "abc" } of one row
        else:
            self.edits.replace(start, end, f"{{{values}}}{self.resume(start, end)}")

    def jumped_over(self, piece: Piece, children: list[Cursor], parent: Around,
                    start: int, end: int) -> None:
        """goto and case may go past `int x = 3;` in C; in C++ only past `int x; x = 3;`."""
        around = parent
        while around is not None and around[0].kind.name in ("CASE_STMT", "DEFAULT_STMT",
                                                             "LABEL_STMT"):
            around = around[1]
        if around is None or around[0].kind.name != "COMPOUND_STMT" or not (
                (around[1] is not None and around[1][0].kind.name == "SWITCH_STMT")
                or self.jumps(piece)):
            return
        if any(child.kind.name != "VAR_DECL" or child.storage_class.name == "STATIC"
               or child.type.get_canonical().kind.name not in PLAIN
               or "(" in child.type.spelling for child in children):
            return
        self.edits.replace(start, end, lambda: " ".join(map(self.in_two, children))
                           + self.resume(start, end))

    def jumps(self, piece: Piece) -> bool:
        if piece.start not in self.jumping:
            self.jumping[piece.start] = bool(_GOTO.search(self.text, piece.start, piece.end))
        return self.jumping[piece.start]

    def in_two(self, variable: Cursor) -> str:
        """A local variable, declared and then given its value."""
        from ..probe import evaluate

        kind, name = variable.type, renamed(variable.spelling)
        values = [child for child in variable.get_children() if child.kind.is_expression()]
        text = "".join(self.edits.flat(one.extent.start.offset, one.extent.end.offset)
                       for one in values[-1:])
        if kind.is_const_qualified() and isinstance(evaluate(variable), int):
            return f"static {self.spell(renamed(kind.spelling))} {name} = {text};"
        written = f"puffer_type<{self.spell(renamed(unbound(kind.spelling)))}>"
        if text.startswith("{"):
            text = written + text
        return f"{written} {name};" + (f" {name} = {text};" if text else "")

    def literal(self, piece: Piece, cursor: Cursor, children: list[Cursor],
                parent: Around, statement: Cursor | None) -> None:
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
        kind = f"puffer_box<{self.spell(renamed(unqualified(cursor.type.spelling)))}>"
        end = cursor.extent.end.offset
        if statement is None:                           # at file scope: it lives for ever
            self.edits.before(piece.start, lambda: f"static {kind} {name} = {{"
                              f"{self.edits.flat(middle, end - 1)}}}}}; ")
            self.edits.replace(start, end, f"{name}.value" + self.resume(start, end))
        else:
            self.edits.before(statement.extent.start.offset, f"{kind} {name}; ")
            self.edits.replace(start, middle, f"({name} = {kind}{{")
            self.edits.after(end, "}).value")


def _wants_address(cursor: Cursor, parent: Around) -> bool:
    if cursor.type.get_canonical().kind.name in ("CONSTANTARRAY", "INCOMPLETEARRAY"):
        return True
    while parent is not None and parent[0].kind.name == "PAREN_EXPR":
        parent = parent[1]
    return parent is not None and parent[0].kind.name == "UNARY_OPERATOR"


def _is_sized_late(kind: Type) -> bool:
    """A parameter int rows[h][w] or int (*rows)[w]; the first size of all is never looked at."""
    arrays = ("CONSTANTARRAY", "INCOMPLETEARRAY", "VARIABLEARRAY")
    if kind.kind.name in arrays:
        kind = kind.element_type
    while kind.kind.name in ("POINTER", *arrays):
        if kind.kind.name == "VARIABLEARRAY":
            return True
        kind = kind.get_pointee() if kind.kind.name == "POINTER" else kind.element_type
    return False


def _has_constant_size(children: list[Cursor]) -> bool:
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


def _walk(nodes: list[Cursor]) -> Iterator[Cursor]:
    stack = list(nodes)
    while stack:
        node = stack.pop()
        yield node
        stack += node.get_children()
