"""Comparisons of actions with ids that no agent can choose.  Source + Spec -> Impossible

    #define ACT_SIZES {5}
    switch ((int)env->actions[0]) { case 5: ... }       // ids are 0 to 4

Casts, local variables, pointers into the row and parameters are followed. Anything else, such
as arithmetic on the id, is ignored.
"""
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from .....base.spec import Spec
from .....env.syntax import Node
from .functions import Function
from .model import LOOPS, Source

DEEPEST = 50        # calls through which an action is followed
_LEAVING = {"return", "break_stmt", "continue_stmt", "goto_stmt"}
_ENDING = {"abort", "exit", "_exit", "__assert_fail", "__assert_rtn", "__builtin_unreachable"}


@dataclass(frozen=True)
class Impossible:
    """A comparison that is always false, or always true."""

    file: str
    line: int
    head: int
    width: int
    id: int             # that it compares with
    text: str           # "case 5", "== 5"


class Actions:
    """The heads of the action values in what c_step runs."""

    def __init__(self, source: Source, spec: Spec, functions: list[Function]):
        self.source, self.functions = source, functions
        self.widths = spec.act_widths or ()
        self.locals: dict[int | None, int | None] = {}
        self.depth = 0                      # of parameters that come from parameters

    def impossible(self) -> Iterator[Impossible]:
        for function in self.functions:
            for node in function.nodes:
                if node.kind == "switch" and node.children:
                    yield from self.cases(function, node)
                elif node.kind == "binary" and node.op in ("==", "!=", ">", ">="):
                    yield from self.comparison(function, node, *_sides(node), node.op)
                elif node.kind == "binary" and node.op in ("<", "<="):
                    mirrored = {"<": ">", "<=": ">="}[node.op]
                    one, other = _sides(node)
                    yield from self.comparison(function, node, other, one, mirrored)

    def cases(self, function: Function, switch: Node) -> Iterator[Impossible]:
        head = self.head(function, switch.children[0])
        width = self.width(head)
        if head is None or not width:
            return
        for node in switch.walk():
            if node.kind != "case" or next(
                    up for up in node.up() if up.kind == "switch") is not switch:
                continue
            last = 1 if len(node.children) == 3 else 0      # case 4 ... 6:
            values = [child.value for child in node.children[:last + 1]]
            for id in values:
                if isinstance(id, int) and not 0 <= id < width:
                    yield Impossible(function.file, node.line, head, width, id, f"case {id}")
                    break

    def comparison(self, function: Function, node: Node, one: Node, other: Node,
                   op: str) -> Iterator[Impossible]:
        """`one op other`, where either may be the action."""
        head, id = self.head(function, one), _whole(other)
        head = self.head_so_far(function, one) if head is None else head
        if head is None and op in ("==", "!="):
            head, id = self.head(function, other), _whole(one)
        width = self.width(head)
        if head is None or not width or id is None:
            return
        leaves = _only_guards(node)
        if op == "==":
            wrong = id >= width or (id < 0 and not leaves)
        elif op == "!=":
            wrong = id >= width             # `!= -1` asks whether there is an action at all
        else:                               # at the width itself it is a guard
            wrong = id >= width + (op == ">=") and not leaves
        if wrong:
            yield Impossible(function.file, node.line, head, width, id, f"{op} {id}")

    def width(self, head: int | None) -> int:
        """Of a discrete head; 0 where nothing is known, or the action is continuous."""
        if head is None or head >= len(self.widths) or self.widths[head] == 1:
            return 0
        return self.widths[head]

    # -- which head

    def head(self, function: Function, node: Node) -> int | None:
        """Of the action that this expression is, unchanged; None if it is not, or unknown."""
        node = node.bare()
        if node.kind == "name":
            return self.of_variable(function, node.key)
        if node.kind == "index" or node.op == "*" and node.kind == "unary":
            offset = self.offset(function, node.children[0], frozenset())
            if offset is None:
                return None
            heads = len(self.widths)
            if heads == 1:
                return 0
            more = self.terms(node.children[1]) if node.kind == "index" else 0
            return None if more is None or offset == "?" else (offset + more) % heads
        return None

    def offset(self, function: Function, node: Node, seen: frozenset[int | None]
               ) -> int | Literal["?"] | None:
        """Elements from the start of an agent's row; "?" if unknown, None if no actions."""
        node = node.bare()
        if node.kind == "member":
            return 0 if self.source.is_field(node, "actions") else None
        if node.kind == "name" and node.key not in seen:
            given = function.pointers.given.get(node.key, ())
            found = {self.offset(function, one, seen | {node.key}) for one in given}
            moved = any(n.writes and n.op != "=" and n.children[0].key == node.key
                        for n in function.nodes)
            if None in found or not found:
                return None
            return found.pop() if len(found) == 1 and not moved else "?"
        if node.op == "&" and node.kind == "unary" and node.children[0].kind == "index":
            base, index = node.children[0].children
        elif node.op == "+" and node.kind == "binary":
            base, index = node.children
            if not base.is_pointer:
                base, index = index, base
        else:
            return None
        start = self.offset(function, base, seen)
        if start is None or start == "?":
            return start
        more = self.terms(index)
        return "?" if more is None else start + more

    def terms(self, node: Node) -> int | None:
        """An index modulo the number of heads: of `i * 2 + 1` with two heads, 1."""
        node, heads = node.bare(), len(self.widths)
        value = node.value
        if isinstance(value, int):
            return value
        if node.kind == "binary" and node.op == "+":
            parts = [self.terms(child) for child in node.children]
            known = [part for part in parts if part is not None]
            return sum(known) if len(known) == len(parts) else None
        if node.kind == "binary" and node.op == "*":
            factors = [child.bare().value for child in node.children]
            if any(isinstance(f, int) and f and f % heads == 0 for f in factors):
                return 0
        return None

    def of_variable(self, function: Function, key: int | None) -> int | None:
        """The head of a variable that holds nothing but an action of that head."""
        if key in self.locals:
            return self.locals[key]
        self.locals[key] = None             # until it is known; and for loops of assignments
        for index, parameter in enumerate(function.parameters):
            if parameter.key == key:
                self.depth += 1
                if self.depth < DEEPEST:
                    self.locals[key] = self.of_parameter(function, index, key)
                self.depth -= 1
                return self.locals[key]
        given = _given(function, key)
        if given:
            heads = {self.head(function, value) for value in given}
            if len(heads) == 1:
                self.locals[key] = heads.pop()
        return self.locals[key]

    def head_so_far(self, function: Function, node: Node) -> int | None:
        """The head of a variable that is given an action first, and something else further on."""
        node = node.bare()
        if node.kind != "name":
            return None
        here = node.start
        heads = {self.head(function, value) for value in _given(function, node.key) or ()
                 if value.start < here}
        return heads.pop() if len(heads) == 1 else None

    def of_parameter(self, function: Function, index: int, key: int) -> int | None:
        """All calls must pass an action of one head, and the function must not change it."""
        if _given(function, key) != [] or function.name in self.source.named:
            return None
        heads = set()
        for caller, node in self.source.callers.get(function.name, ()):
            if caller not in self.functions or index >= len(node.arguments):
                return None
            heads.add(self.head(caller, node.arguments[index]))
        return heads.pop() if len(heads) == 1 else None


def _given(function: Function, key: int | None) -> list[Node] | None:
    """What a variable is given; None if it is changed in place, or its address is taken."""
    found = []
    for node in function.nodes:
        if node.kind == "variable" and node.key == key and node.children:
            found.append(node.children[-1])
        elif node.children and node.children[0].kind == "name" and node.children[0].key == key:
            if node.op == "=":
                found.append(node.children[1])
            elif node.writes or (node.op == "&" and node.kind == "unary"):
                return None
    return found


def _sides(node: Node) -> tuple[Node, Node]:
    return node.children[0], node.children[1]


def _whole(node: Node) -> int | None:
    value = node.bare().value
    return int(value) if value is not None and value == int(value) else None


def _only_guards(node: Node) -> bool:
    """Whether the comparison only keeps strange ids out.

    In an assert, in a `?:` or before a branch that leaves or that stores the id again; or as
    one side of a range, `a < 0 || a > 7`.
    """
    inner = node
    for up in node.up():
        if up.kind == "binary" and up.op in ("||", "&&") or up.op == "!":
            other = [child for child in up.children if child is not inner]
            if up.op == "||" and any(child.op in ("<", "<=", ">", ">=") for child in other):
                return True
        elif up.kind == "choice":
            return True
        elif up.kind == "if":
            if len(up.children) < 2 or up.children[0] is not inner:
                return False
            compared = {n.key for n in node.walk() if n.key is not None}
            return any(n.kind in _LEAVING or (n.writes and n.children[0].key in compared)
                       for n in up.children[1].walk()) or any(
                n.kind == "call" and n.name in _ENDING      # else: so assert() is written
                for branch in up.children[1:] for n in branch.walk())
        elif up.kind in ("block", *LOOPS):
            return False
        inner = up
    return False


def impossible(source: Source, spec: Spec) -> list[Impossible]:
    """All of them, in order of their lines."""
    if not spec.act_widths:
        return []
    functions = source.reach("c_step", *source.batch_steps(), without=("c_render", "c_close"))
    found = set(Actions(source, spec, functions).impossible())
    return sorted(found, key=lambda one: (one.file, one.line, one.id))
