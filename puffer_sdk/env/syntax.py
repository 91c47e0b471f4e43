"""Function bodies as trees that rules can walk.  libclang cursors -> Node <-> rows

A Node leaves out what C adds without being asked (parentheses, implicit conversions); macros are
expanded, and stand on the line that names them. In the child that reads a header a Node asks its
cursor; `pack` makes rows of JSON of it, and `unpack` Nodes that need no libclang.
"""
from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache, cached_property
from typing import TYPE_CHECKING, NamedTuple

from .probe import evaluate

if TYPE_CHECKING:
    from ctypes import CDLL

    from clang.cindex import Cursor, Type

# clang's numbers of operators (CXBinaryOperatorKind, CXUnaryOperatorKind)
BINARY = dict(enumerate(
    "? .* ->* * / % + - << >> <=> < > <= >= == != & ^ | && || = *= /= %= += -= <<= >>= &= ^= |= ,"
    .split()))
UNARY = dict(enumerate("? x++ x-- ++x --x & * + - ~ ! real imag ext".split()))
ASSIGNMENTS = {op for op in BINARY.values() if op.endswith("=")} - {"<=", ">=", "==", "!=", "<=>"}
STEPS = {"x++", "x--", "++x", "--x"}
Row = list[object]      # of a Node, as JSON
DEEPEST = 200           # expressions within expressions that are kept

_KINDS = {"DECL_REF_EXPR": "name", "MEMBER_REF_EXPR": "member", "CALL_EXPR": "call",
          "ARRAY_SUBSCRIPT_EXPR": "index", "CSTYLE_CAST_EXPR": "cast", "VAR_DECL": "variable",
          "BINARY_OPERATOR": "binary", "COMPOUND_ASSIGNMENT_OPERATOR": "binary",
          "UNARY_OPERATOR": "unary", "CONDITIONAL_OPERATOR": "choice", "IF_STMT": "if",
          "CASE_STMT": "case", "SWITCH_STMT": "switch", "INIT_LIST_EXPR": "list",
          "STRING_LITERAL": "string", "COMPOUND_STMT": "block", "RETURN_STMT": "return",
          "MEMBER_REF": "designator", "COMPOUND_LITERAL_EXPR": "literal"}
_NUMBERS = {"BOOL", "CHAR_U", "CHAR_S", "UCHAR", "SCHAR", "SHORT", "USHORT", "INT", "UINT", "LONG",
            "ULONG", "LONGLONG", "ULONGLONG", "FLOAT", "DOUBLE", "LONGDOUBLE", "ENUM"}
_HIDDEN = {"UNEXPOSED_EXPR", "PAREN_EXPR"}
_TYPES = {"TYPE_REF", "STRUCT_DECL", "UNION_DECL", "ENUM_DECL"}


class Static(NamedTuple):
    """The type of a variable that outlives a call."""

    type: str               # as it is written
    element: str            # kind of the type, of an array its elements': "POINTER"
    is_mutable: bool        # whether it, or what it points to, may be stored to


class Node:
    """One expression, statement or declaration; `children` are in the order of the source.

    kind    "name", "member", "call", "index", "cast", "binary", "unary", "choice", "if", ...
    name    of what it refers to or declares; of a direct call, the function's
    op      of a binary or unary: "+=", "==", "x++"
    key     tells apart variables of the same name; None where nothing is named
    is_function     whether it is the name of a function
    line, last_line
    start, end      bytes of its file
    type            the C type as clang spells it, typedefs resolved
    is_pointer      whether it is a pointer, or an array
    value           of a constant expression; else None
    more            what only some kinds have; `text`, `owner`, `through` and `static` tell it
    """

    __slots__ = ("around", "children", "end", "is_function", "is_pointer", "key", "kind",
                 "last_line", "line", "more", "name", "op", "start", "type", "value")

    line: int
    last_line: int
    start: int
    end: int
    type: str
    is_pointer: bool
    value: int | float | None
    more: str | Static | list[int] | None

    def __init__(self, kind: str, parent: Node | None):
        self.kind, self.around = kind, parent
        self.name, self.op, self.is_function = "", "", False
        self.key: int | None = None
        self.children: list[Node] = []

    @property
    def parent(self) -> Node:
        """The node around this one. Raises ValueError at the root, whose `around` is None."""
        if self.around is None:
            raise ValueError("nothing is around the root of a tree")
        return self.around

    @property
    def text(self) -> str:
        """Of a string, quotes included; "" of anything else."""
        return self.more if self.kind == "string" and isinstance(self.more, str) else ""

    @property
    def owner(self) -> str | None:
        """Of a member, the struct's type."""
        return self.more if self.kind != "string" and isinstance(self.more, str) else None

    @property
    def through(self) -> list[int]:
        """Of a call, the indices of the pointers that the callee's type lets it store through."""
        return self.more if isinstance(self.more, list) else []

    @property
    def static(self) -> Static | None:
        """Of a static local."""
        return self.more if isinstance(self.more, Static) else None

    def walk(self) -> Iterator[Node]:
        stack = [self]
        while stack:
            node = stack.pop()
            yield node
            stack += reversed(node.children)

    def up(self) -> Iterator[Node]:
        """The nodes around this one, the nearest first."""
        node = self.around
        while node is not None:
            yield node
            node = node.around

    @property
    def arguments(self) -> list[Node]:
        """Of a call."""
        return self.children[1:]

    @property
    def writes(self) -> bool:
        """An assignment, or ++ or --."""
        return self.op in ASSIGNMENTS or self.op in STEPS

    def bare(self) -> Node:
        """Without the casts around it."""
        node = self
        while node.kind == "cast" and node.children:
            node = node.children[-1]
        return node

    def is_within(self, other: Node) -> bool:
        return self is other or any(node is other for node in self.up())


class Seen(Node):
    """A Node that asks its cursor, when somebody asks for the first time."""

    __slots__ = ("cursor",)

    def __init__(self, kind: str, parent: Node | None, cursor: Cursor):
        super().__init__(kind, parent)
        self.cursor = cursor

    def __getattr__(self, name: str) -> object:     # of a slot that is empty
        if name not in _ANSWERS:
            raise AttributeError(name)
        value = _ANSWERS[name](self.kind, self.cursor)
        setattr(self, name, value)
        return value


def _value(kind: str, cursor: Cursor) -> int | float | None:
    if kind in ("variable", "string") or cursor.type.get_canonical().kind.name not in _NUMBERS:
        return None                     # libclang crashes on some of what is no number
    return evaluate(cursor)


def _more(kind: str, cursor: Cursor) -> str | Static | list[int] | None:
    if kind == "variable":
        return facts_of(cursor.type) if cursor.storage_class.name == "STATIC" else None
    if kind == "call":
        return stored_through(cursor.referenced)
    if kind in ("member", "designator"):
        around = cursor.referenced and cursor.referenced.semantic_parent
        return str(around.type.spelling) if around is not None else None
    return str(cursor.spelling) if kind == "string" else None


_ANSWERS: dict[str, Callable[[str, Cursor], object]] = {
    "line": lambda kind, cursor: cursor.extent.start.line,
    "last_line": lambda kind, cursor: cursor.extent.end.line,
    "start": lambda kind, cursor: cursor.extent.start.offset,
    "end": lambda kind, cursor: cursor.extent.end.offset,
    "type": lambda kind, cursor: cursor.type.get_canonical().spelling,
    "is_pointer": lambda kind, cursor: cursor.type.get_canonical().kind.name in (
        "POINTER", "CONSTANTARRAY", "INCOMPLETEARRAY", "VARIABLEARRAY"),
    "value": _value, "more": _more}


def facts_of(kind: Type) -> Static:
    spelling, kind = kind.spelling, kind.get_canonical()
    while kind.kind.name in ("CONSTANTARRAY", "INCOMPLETEARRAY"):
        kind = kind.element_type.get_canonical()
    points = kind.kind.name == "POINTER" and not kind.get_pointee().is_const_qualified()
    return Static(spelling, kind.kind.name, points or not kind.is_const_qualified())


def stored_through(declared: Cursor | None) -> list[int]:
    """Indices of a function's parameters that are pointers to what is not const."""
    kind = declared.type.get_canonical() if declared is not None else None
    if kind is None or kind.kind.name != "FUNCTIONPROTO":
        return []
    kinds = [each.get_canonical() for each in kind.argument_types()]
    return [index for index, each in enumerate(kinds) if each.kind.name == "POINTER"
            and not each.get_pointee().is_const_qualified()]


_ROW = ("kind", "name", "op", "key", "is_function", "line", "last_line", "start", "end", "type",
        "is_pointer", "value", "more")


def pack(root: Node) -> list[Row]:
    """A row of each node and the number of its children, in the order of `walk`.

    What lies deeper than DEEPEST is left out: who walks a tree may do so by recursion.
    """
    rows: list[Row] = []
    waiting = [(root, 0)]
    while waiting:
        node, depth = waiting.pop()
        below = node.children if depth < DEEPEST or not _nests(node) else []
        rows.append([*(getattr(node, name) for name in _ROW), len(below)])
        waiting += [(child, depth + 1 if _nests(node) else 0) for child in reversed(below)]
    return rows


def _nests(node: Node) -> bool:
    """An expression within an expression; statements are not followed by recursion."""
    return node.kind not in ("block", "if", "switch", "case") and not node.kind.endswith("stmt")


def unpack(rows: list[Row]) -> Node:
    """The tree that `pack` took."""
    root: Node | None = None
    open_nodes: list[tuple[Node, int]] = []         # and how many children they will have
    for kind, *values, count in rows:
        node = Node(str(kind), open_nodes[-1][0] if open_nodes else None)
        for name, value in zip(_ROW[1:], values):
            setattr(node, name, value)
        if node.kind == "variable" and isinstance(node.more, list):
            node.more = Static._make(node.more)
        root = root or node
        if node.around is not None:
            node.around.children.append(node)
        assert isinstance(count, int)
        open_nodes.append((node, count))
        while open_nodes and len(open_nodes[-1][0].children) == open_nodes[-1][1]:
            open_nodes.pop()
    if root is None:
        raise ValueError("a tree has at least one row")
    return root


def tree(cursor: Cursor) -> Node:
    """The Node of a cursor, with all that is below it."""
    root, children = _node(cursor, None)
    waiting = [(root, children)]
    calls = []
    while waiting:                  # not by recursion: a chain of else-ifs may be long
        node, children = waiting.pop()
        if node.kind == "call":
            calls.append(node)
        for child in children:
            if kind_of(child) not in _TYPES:
                below, deeper = _node(child, node)
                node.children.append(below)
                waiting.append((below, deeper))
    for node in calls:
        if not (node.children and node.children[0].is_function):
            node.name = ""          # through a pointer
    return root


def kind_of(cursor: Cursor) -> str:
    """The name of a cursor's kind: "CALL_EXPR"."""
    kind = cursor.kind
    name = _KIND_NAMES.get(kind)
    if name is None:
        name = _KIND_NAMES[kind] = kind.name
    return name


_KIND_NAMES: dict[object, str] = {}     # clang looks a name up among all kinds, each time


def _node(cursor: Cursor, parent: Node | None) -> tuple[Node, list[Cursor]]:
    """A Node without its children, and their cursors."""
    kind, children = kind_of(cursor), list(cursor.get_children())
    while kind in _HIDDEN and len(children) == 1:
        cursor = children[0]
        kind, children = kind_of(cursor), list(cursor.get_children())
    node = Seen(_KINDS.get(kind, kind.lower()), parent, cursor)
    if node.kind in ("name", "member", "variable", "designator", "call"):
        node.name = cursor.spelling
        declared = cursor if node.kind == "variable" else cursor.referenced
        if declared is not None:
            node.key = declared.canonical.hash
            node.is_function = node.kind == "name" and kind_of(declared) == "FUNCTION_DECL"
    elif node.kind == "binary":
        node.op = BINARY.get(_operators().clang_getCursorBinaryOperatorKind(cursor), "?")
    elif node.kind == "unary":
        node.op = UNARY.get(_operators().clang_getCursorUnaryOperatorKind(cursor), "?")
    return node, children


@cache
def _operators() -> CDLL:
    from clang.cindex import Cursor, conf

    lib: CDLL = conf.lib
    lib.clang_getCursorBinaryOperatorKind.argtypes = [Cursor]
    lib.clang_getCursorUnaryOperatorKind.argtypes = [Cursor]
    return lib


class Pointers:
    """Which variables, or fields, the pointers of one function lead to.

    A light alias analysis: `int* p = table + 3; p[0] = 1;` writes `table`. Flow is left aside:
    a pointer leads to everything that it was ever given.
    """

    def __init__(self, nodes: list[Node], returned: Callable[[str], Pointers | None]):
        self.nodes = nodes              # of the function
        self.returned = returned        # the Pointers of an author's function

    @cached_property
    def given(self) -> dict[int | None, list[Node]]:
        """Local pointer -> the expressions it is given."""
        found: dict[int | None, list[Node]] = {}
        for node in self.nodes:
            if node.kind == "variable" and node.children and node.is_pointer:
                found.setdefault(node.key, []).append(node.children[-1])
            elif node.op in ASSIGNMENTS and node.children[0].kind == "name" and (
                    node.children[0].is_pointer):
                found.setdefault(node.children[0].key, []).append(node.children[1])
        return found

    @cached_property
    def results(self) -> list[Node]:
        """What the function returns."""
        return [node.children[0] for node in self.nodes
                if node.kind == "return" and node.children]

    def origins(self, node: Node, seen: frozenset[int | str | None] = frozenset()) -> list[Node]:
        """The names and members that an lvalue or a pointer starts from, aliases followed.

        `o[3]` after `o = env->observations + 6 * i` starts from o, observations and env.
        """
        node = node.bare()
        below = node.children
        if node.kind == "name":
            found = [node]
            if node.key not in seen:
                for source in self.given.get(node.key, ()):
                    found += self.origins(source, seen | {node.key})
            return found
        if node.kind == "member":
            return [node, *(self.origins(below[0], seen) if below else ())]
        if node.kind == "index" or node.op in ("&", "*", *STEPS) and node.kind == "unary":
            return self.origins(below[0], seen) if below else []
        if node.kind == "call" and node.name and node.name not in seen:
            callee = self.returned(node.name)
            return [] if callee is None else [
                origin for result in callee.results
                for origin in callee.origins(result, seen | {node.name})]
        if node.kind == "list":
            return [origin for child in below for origin in self.origins(child, seen)]
        if node.kind == "choice" and len(below) == 3:
            return self.origins(below[1], seen) + self.origins(below[2], seen)
        if node.kind == "binary" and node.op in ("+", "-", "+=", "-=", "="):
            return [origin for side in below if side.is_pointer
                    for origin in self.origins(side, seen)]
        return []
