"""What the author's C does, read with libclang: who calls whom, and what is stored where.

header.py checks declarations; here are the bodies. Nothing needs to compile: what libclang could
not read is simply not there.
"""
from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from ...base import paths
from ...base.spec import Spec
from ...env import header
from ...raylib import headers
from . import syntax
from .layout import Layout, layout
from .syntax import Node, Pointers

_COMMENT = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.DOTALL)
_EMPTY = re.compile(r"\w*(?:EMPTY|NONE|FREE|CLEAR)\w*$")


@dataclass(frozen=True)
class Call:
    """A call of a function that is not the author's."""

    name: str
    function: Function
    node: Node

    @property
    def at(self) -> dict:
        """file= and line=, to spread into a Finding."""
        return {"file": self.function.file, "line": self.node.line}


@dataclass(eq=False)
class Function:
    """A function definition in one of the author's files."""

    name: str
    file: str               # relative to the env's folder
    line: int               # of its name
    body_line: int          # of its opening brace
    body: str               # its text, comments and strings blanked
    cursor: object
    source: Source

    @cached_property
    def tree(self) -> Node:
        return syntax.tree(self.cursor)

    @cached_property
    def nodes(self) -> list[Node]:
        """All of the tree, in the order of the source."""
        return list(self.tree.walk())

    @cached_property
    def pointers(self) -> Pointers:
        functions = self.source.functions
        return Pointers(self.nodes, lambda name: functions[name].pointers
                        if name in functions else None)

    @cached_property
    def parameters(self) -> list[tuple[str, int]]:
        """(name, key) of each."""
        return [(a.spelling, a.canonical.hash) for a in self.cursor.get_arguments()]

    @cached_property
    def calls(self) -> set[str]:
        """The author's functions that it calls, or names: a function that is named may be called.

        A call through a pointer may be one of any function that is named somewhere.
        """
        known = self.source.functions
        found = {node.name for node in self.names if node.name in known}
        if any(node.kind == "call" and not node.name for node in self.nodes):
            found |= self.source.named
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
    cursor: object
    function: str | None            # that it is a local of

    @cached_property
    def element(self):
        """The type, of an array its elements' type."""
        kind = self.cursor.type.get_canonical()
        while kind.kind.name in ("CONSTANTARRAY", "INCOMPLETEARRAY"):
            kind = kind.element_type.get_canonical()
        return kind

    @cached_property
    def is_mutable(self) -> bool:
        """Whether it, or what it points to, may be stored to."""
        kind = self.element
        if kind.kind.name == "POINTER" and not kind.get_pointee().is_const_qualified():
            return True
        return not kind.is_const_qualified()

    @cached_property
    def functions(self) -> list[Node]:
        """Functions that its initial value names: a table of moves."""
        if self.element.kind.name not in ("POINTER", "RECORD"):
            return []               # 100,000 weights are no functions
        return [node for node in syntax.tree(self.cursor).walk() if node.is_function]

    @property
    def at(self) -> dict:
        return {"file": self.file, "line": self.line}


@dataclass(frozen=True)
class Access:
    """One place where a Variable is read, or written."""

    variable: Variable
    function: Function
    node: Node                      # the mention, or the store
    is_write: bool

    @property
    def at(self) -> dict:
        return {"file": self.function.file, "line": self.node.line}


@dataclass(eq=False)
class Source:
    """The author's C files, and what the compiler's front end made of them."""

    folder: Path
    files: dict[str, str] = field(default_factory=dict)         # name -> text
    functions: dict[str, Function] = field(default_factory=dict)
    globals: dict[int, Variable] = field(default_factory=dict)  # key -> at file scope
    statics: dict[int, Variable] = field(default_factory=dict)  # key -> in functions, as met
    unit: object = None             # libclang's translation unit, None if there is nothing

    # -- who calls whom

    @cached_property
    def named(self) -> set[str]:
        """The author's functions that are named other than to call them."""
        found = {node.name for variable in self.globals.values() for node in variable.functions}
        for function in self.functions.values():
            for node in function.nodes:
                if node.is_function and not (
                        node.parent.kind == "call" and node.parent.children[0] is node):
                    found.add(node.name)
        return found & set(self.functions)

    def reach(self, *starts: str, without: tuple[str, ...] = ()) -> list[Function]:
        """The functions of `starts` and those they may call, not going through `without`."""
        seen, stack = {}, list(reversed(starts))
        while stack:
            name = stack.pop()
            function = self.functions.get(name)
            if function is None or name in seen or name in without:
                continue
            seen[name] = function
            stack += sorted(function.calls, reverse=True)
        return list(seen.values())

    def stepping(self) -> list[Function]:
        """What c_step runs besides c_reset."""
        return self.reach("c_step", without=("c_reset",))

    def batch_steps(self) -> list[str]:
        """A hand-written binding's MY_VEC_STEP functions: they take all envs at once."""
        return [function.name for function in self.functions.values()
                if any("StaticVec" in a.type.spelling for a in function.cursor.get_arguments())]

    def calls(self, *starts: str, without: tuple[str, ...] = ()) -> list[Call]:
        """Library calls reachable from these functions."""
        return [call for function in self.reach(*starts, without=without)
                for call in function.library_calls]

    # -- state beside the struct

    def accesses(self, functions: list[Function]) -> list[Access]:
        """Where these functions read and write file-scope variables and static locals."""
        from .effects import accesses

        return accesses(self, functions)

    # -- observations

    def stores(self, function: Function) -> Iterator[tuple[Node, Node]]:
        """(target, value) of each assignment to an element of the observations."""
        for node in function.nodes:
            if node.op in syntax.ASSIGNMENTS and node.kind == "binary":
                target, value = node.children
                if (target.kind == "index" or target.op == "*") and (
                        _is_observation(function, target)):
                    yield target, value

    def clears_observations(self) -> bool:
        """Whether stepping holds a store of zero to observations, or a memset of them."""
        for function in self.stepping():
            for _, value in self.stores(function):
                if value.bare().value == 0 or _EMPTY.match(value.bare().name):
                    return True
            for call in function.library_calls:
                if "memset" in call.name and any(_is_observation(function, argument)
                                                 for argument in call.node.arguments):
                    return True
        return False

    def reset_only_stores(self) -> list[tuple[str, int, str, str]]:
        """Stores to observations that only c_reset makes, of fields that a step changes.

        (file, line, index text, field name)
        """
        stepping = self.stepping()
        names = {function.name for function in stepping}
        stored, changed = set(), set()
        for function in stepping:
            stored |= {_squeeze(self.index_text(function, target))
                       for target, _ in self.stores(function)}
            changed |= {node.children[0].name for node in function.nodes
                        if node.writes and node.children[0].kind == "member"}
        found = []
        for function in self.reach("c_reset"):
            if function.name in names:
                continue
            for target, value in self.stores(function):
                index = self.index_text(function, target)
                read = {node.name for node in value.walk() if node.kind == "member"} & changed
                if read and index and _squeeze(index) not in stored:
                    found.append((function.file, target.line, index, sorted(read)[0]))
        return found

    def index_text(self, function: Function, target: Node) -> str:
        """What stands in the brackets; "" without any."""
        return self.text(function.file, target.children[1]) if target.kind == "index" else ""

    def text(self, file: str, node: Node) -> str:
        """An expression as the author wrote it, on one line."""
        extent = node.cursor.extent
        data = self.files.get(file, "").encode()
        return " ".join(data[extent.start.offset:extent.end.offset].decode().split())

    # -- memory

    def layout(self, spec: Spec) -> Layout | None:
        """Where each scalar of the env struct lies; None if it could not be read."""
        return layout(self.unit, spec.struct)


def _is_observation(function: Function, node: Node) -> bool:
    """Whether an lvalue or pointer lies in the observations, or in what is called like them."""
    return any("obs" in origin.name for origin in function.pointers.origins(node))


def read(folder: Path, unit=None) -> Source:
    """The C files of an environment's folder, its build products left out.

    unit    libclang's, where header.examine has read it already
    """
    folder = Path(folder).resolve()
    source = Source(folder)
    for path in sorted(folder.glob("*.[ch]")):
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
            self.texts[name] = _COMMENT.sub(_blank, data.decode("latin-1"))
        return self.texts[name]


def _blank(match: re.Match) -> str:
    """Comments and strings become spaces; lines stay lines."""
    return re.sub(r"[^\n]", " ", match.group())


def _squeeze(text: str) -> str:
    return re.sub(r"\s+", "", text)
