"""A function or a variable of the author's, as a tree and what is asked of it."""
from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Protocol

from .....env import syntax
from .....env.syntax import Node, Pointers, Row

if TYPE_CHECKING:
    from ....core.finding import FileLine


class Program(Protocol):
    """What a Function asks of its Source."""

    functions: dict[str, Function]
    globals: dict[int, Variable]    # key -> at file scope

    @property
    def named(self) -> dict[str, set[int | None]]: ...

    @property
    def callers(self) -> dict[str, list[tuple[Function, Node]]]: ...


@dataclass(frozen=True)
class Call:
    """A call of a function that is not the author's."""

    name: str
    function: Function
    node: Node

    @property
    def at(self) -> FileLine:
        """file= and line=, to spread into a Finding."""
        return {"file": self.function.file, "line": self.node.line}


@dataclass(frozen=True)
class Parameter:
    """Of a function."""

    name: str
    key: int
    type: str
    points_to_struct: bool          # one of the author's
    pointee: str = ""               # the type of what it points to, typedefs resolved


@dataclass(eq=False)
class Function:
    """A function definition in one of the author's files."""

    name: str
    file: str               # relative to the env's folder
    line: int               # of its name
    body_line: int          # of its opening brace
    body: str               # its text, comments and strings blanked
    parameters: list[Parameter]
    rows: list[Row]         # of its tree
    source: Program

    @cached_property
    def tree(self) -> Node:
        return syntax.unpack(self.rows)

    @cached_property
    def nodes(self) -> list[Node]:
        """All of the tree, in the order of the source."""
        return list(self.tree.walk())

    @cached_property
    def pointers(self) -> Pointers:
        functions = self.source.functions
        return Pointers(self.nodes, lambda name: functions[name].pointers
                        if name in functions else None)

    def given(self, key: int | None) -> list[tuple[Function, Node]]:
        """What callers pass for the parameter of that key: (the caller, the argument)."""
        index = next((i for i, each in enumerate(self.parameters) if each.key == key), None)
        return [(caller, node.arguments[index])
                for caller, node in self.source.callers.get(self.name, ())
                if index is not None and index < len(node.arguments)]

    @cached_property
    def calls(self) -> set[str]:
        """The author's functions that it calls, or names: a function that is named may be called.

        A call through a pointer may be one of any function that is named somewhere; one through a
        field, of those alone that are named for no other field.
        """
        known, named = self.source.functions, self.source.named
        found = {node.name for node in self.names if node.name in known}
        for node in self.nodes:
            if node.kind == "call" and not node.name:
                through = node.children[0].bare() if node.children else None
                field = through.key if through and through.kind == "member" else None
                found |= {name for name, fields in named.items()
                          if None in (field, *fields) or field in fields}
        return found - {self.name}

    @cached_property
    def names(self) -> list[Node]:
        """All mentions of functions, those in the tables that it mentions among them."""
        found = []
        for node in self.nodes:
            if node.is_function:
                found.append(node)
            elif node.kind == "name" and node.key in self.source.globals:
                found += self.source.globals[node.key].functions
        return found

    @cached_property
    def library_calls(self) -> list[Call]:
        """Calls of functions that the author did not write."""
        return [Call(node.name, self, node) for node in self.nodes
                if node.kind == "call" and node.name and node.name not in self.source.functions]


@dataclass(eq=False)
class Variable:
    """State that outlives a call: at file scope, or static in a function."""

    name: str
    file: str
    line: int
    type: str                       # as it is written
    element: str                    # kind of the type, of an array its elements': "POINTER"
    is_mutable: bool                # whether it, or what it points to, may be stored to
    function: str | None = None     # that it is a local of
    rows: list[Row] | None = None   # of its tree; None of an array of numbers

    @cached_property
    def tree(self) -> Node | None:
        return syntax.unpack(self.rows) if self.rows else None

    @cached_property
    def functions(self) -> list[Node]:
        """Functions that its initial value names: a table of moves."""
        return [node for node in self.tree.walk() if node.is_function] if self.tree else []

    @property
    def at(self) -> FileLine:
        return {"file": self.file, "line": self.line}


@dataclass(frozen=True)
class Access:
    """One place where a Variable is read, or written."""

    variable: Variable
    function: Function
    node: Node                      # the mention, or the store
    is_write: bool

    @property
    def at(self) -> FileLine:
        return {"file": self.function.file, "line": self.node.line}
