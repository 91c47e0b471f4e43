"""What the author's C consists of: functions, variables, calls, and who calls whom.

read.py fills a Source; the other modules of this package ask it. Nothing needs to compile: what
libclang could not read is missing here.
"""
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from .....env import syntax
from .....env.syntax import Node
from .fields import BOUND, FILLS, Fields, field_of, is_written, is_zero
from .functions import Call, Function, Variable
from .layout import Layout


@dataclass(eq=False)
class Source(Fields):
    """The author's C files, and what the compiler's front end made of them."""

    folder: Path
    binding: str = "binding.c"                  # the file with my_init
    files: dict[str, str] = field(default_factory=dict)         # name -> text
    functions: dict[str, Function] = field(default_factory=dict)
    globals: dict[int, Variable] = field(default_factory=dict)  # key -> at file scope
    statics: dict[int, Variable] = field(default_factory=dict)  # key -> in functions, as met
    layout: Layout | None = None    # of the env struct, None where it could not be read

    @property
    def binding_text(self) -> str:
        """Of a hand-written binding; "" without."""
        return self.files.get(self.binding, "")

    # -- who calls whom

    @cached_property
    def named(self) -> dict[str, set[int | None]]:
        """The author's functions that are named other than to call them -> the fields of structs
        that they are stored to there, None for anything else."""
        found: dict[str, set[int | None]] = {}
        mentions = [node for variable in self.globals.values() for node in variable.functions]
        mentions += [node for function in self.functions.values() for node in function.nodes
                     if node.is_function and not (
                         node.parent.kind == "call" and node.parent.children[0] is node)]
        for node in mentions:
            if node.name in self.functions:
                found.setdefault(node.name, set()).add(field_of(node))
        return found

    def batch_steps(self) -> list[str]:
        """A hand-written binding's MY_VEC_STEP functions: they take all envs at once."""
        return [function.name for function in self.functions.values()
                if any("StaticVec" in each.type for each in function.parameters)]

    def calls(self, *starts: str, without: tuple[str, ...] = ()) -> list[Call]:
        """Library calls reachable from these functions."""
        return [call for function in self.reach(*starts, without=without)
                for call in function.library_calls]

    @cached_property
    def float_divisions(self) -> set[tuple[str, int]]:
        """(file, line) of the author's divisions of floating-point numbers, each of their lines."""
        return {(function.file, line) for function in self.functions.values()
                for node in function.nodes
                if node.op in ("/", "/=") and node.type in ("float", "double", "long double")
                for line in range(node.line, node.last_line + 1)}

    # -- observations and the log

    def stores(self, function: Function, field: str = "observations"
               ) -> Iterator[tuple[Node, Node]]:
        """(target, value) of each assignment to an element of the observations, or of another
        field of the env struct that is an array."""
        for node in function.nodes:
            if node.op in syntax.ASSIGNMENTS and node.kind == "binary":
                target, value = node.children
                if (target.kind == "index" or target.op == "*") and (
                        self.leads_to(function, target, field)):
                    yield target, value

    def always_sets(self, field: str) -> bool:
        """Whether each step stores a number but 0 to elements of the env struct's field, without
        any test before it."""
        return any(value.bare().value and self.is_certain(function, target)
                   for function in self.stepping()
                   for target, value in self.stores(function, field))

    def is_certain(self, function: Function, node: Node, within: tuple[str, ...] = ()) -> bool:
        """Whether c_step always reaches a node; a loop is taken to have a pass."""
        if function.name in within or any(up.kind in TESTS for up in node.up()) or any(
                one.kind == "return" and one.start < node.start for one in function.nodes):
            return False
        return function.name == "c_step" or any(
            self.is_certain(caller, call, (*within, function.name))
            for caller, call in self.callers.get(function.name, ()))

    def clears_observations(self) -> bool:
        """Whether stepping stores to observations what c_reset fills them with, or 0, or fills
        them itself."""
        filled: set[int | float | None] = {0}
        for function in self.reach("c_reset"):
            for target, value in self.stores(function):
                if any(up.kind in LOOPS for up in target.up()) \
                        and target.parent.op == "=" and target.parent.parent.op != "=":
                    filled.add(value.bare().value)
        for function in self.stepping():
            if any(value.bare().value is not None and value.bare().value in filled
                   for _, value in self.stores(function)):
                return True
            if any(call.name in FILLS and call.node.arguments and
                   self.leads_to(function, call.node.arguments[0], "observations")
                   for call in function.library_calls):
                return True
        return False

    def shows_what_stays(self) -> bool:
        """Whether each store of a step to the observations goes with one to an array of the struct,
        by the same variable, that no other line of a step writes: stones that stay on a board."""
        stores = [(function, target) for function in self.stepping()
                  for target, _ in self.stores(function)]
        return bool(stores) and all(self._has_a_board(*one) for one in stores)

    def _has_a_board(self, function: Function, target: Node) -> bool:
        if target.kind != "index":
            return False
        places = {node.key for node in target.children[1].walk() if node.kind == "name"}
        for node in function.nodes:
            cell = node.children[0] if node.op == "=" and node.children else None
            if cell is not None and cell.kind == "index" and \
                    cell.children[1].bare().key in places and \
                    cell.children[0].kind == "member" and cell.children[0].name not in BOUND and \
                    self._writers[cell.children[0].key] == 1:
                return True
        return False

    @cached_property
    def _writers(self) -> Counter[int | None]:
        """Field -> how many lines of a step store to it, to its elements, or hand it on."""
        return Counter(node.key for function in self.stepping() for node in function.nodes
                       if node.kind == "member" and is_written(node))

    def literal_stores(self) -> dict[int, int | float]:
        """Elements of the observation to which nothing but one number is stored, as in
        `obs[OBS_BIAS] = 1.0f` -> that number."""
        found: dict[int, set[int | float | None]] = {}
        for function in self.reach("c_reset", "c_step"):
            for target, value in self.stores(function):
                element = target.children[1].value if target.kind == "index" else None
                if isinstance(element, int):
                    is_literal = target.parent.op == "=" and value.bare().kind in LITERALS
                    found.setdefault(element, set()).add(value.value if is_literal else None)
        only = {element: values.pop() for element, values in found.items() if len(values) == 1}
        return {element: value for element, value in only.items() if value is not None}

    def changes_of(self, element: int) -> set[tuple[str, int]]:
        """(file, line) of the stores of c_step to fields that the observation's element is made
        from."""
        return {place for key in self._shown.get(element, ())
                for place in self._changes.get(key, ())}

    @cached_property
    def _shown(self) -> dict[int, set[int | None]]:
        """Element of the observation -> the fields that are stored to it."""
        found: dict[int, set[int | None]] = {}
        for function in self.reach("c_reset", "c_step"):
            for target, value in self.stores(function):
                element = target.children[1].value if target.kind == "index" else None
                if isinstance(element, int):
                    found.setdefault(element, set()).update(
                        inner.key for inner in value.walk() if inner.kind == "member")
        return found

    @cached_property
    def _changes(self) -> dict[int | None, set[tuple[str, int]]]:
        """Field -> (file, line) of each store to it that steps run."""
        found: dict[int | None, set[tuple[str, int]]] = {}
        for function in self.stepping():
            for node in function.nodes:
                if node.writes and node.children[0].kind == "member":
                    found.setdefault(node.children[0].key, set()).add((function.file, node.line))
        return found

    def assigned_logs(self) -> list[tuple[str, str, int]]:
        """(field, file, line) of each env->log.field = ... that steps run."""
        return [(node.children[0].name, function.file, node.children[0].line)
                for function in self.reach("c_step") for node in function.nodes
                if node.kind == "binary" and node.op == "=" and self.stores_column(function, node)]

    def cleared_logs(self) -> Iterator[tuple[str, str, int]]:
        """("log", or a field of it, file, line) of what steps set back to 0 in env->log."""
        for function in self.reach("c_step"):
            for node in function.nodes:
                if node.kind == "binary" and node.op == "=":
                    target, value = node.children
                    if self.is_field(target, "log"):
                        if is_zero(function, value):
                            yield "log", function.file, target.line
                    elif value.bare().value == 0 and self.stores_column(function, node):
                        yield target.name, function.file, target.line
            for call in function.library_calls:
                if call.name in FILLS and any(
                        self.is_field(inner, "log") for argument in call.node.arguments[:1]
                        for inner in argument.walk()):
                    yield "log", function.file, call.node.line

    def integer_divisions(self) -> Iterator[tuple[int, str, int, str]]:
        """(element, file, line, text) of stores to one element that divide integers."""
        for function in self.stepping():
            for target, value in self.stores(function):
                element = target.children[1].value if target.kind == "index" else None
                for node in value.walk():
                    if isinstance(element, int) and node.op == "/" and node.kind == "binary" \
                            and INTEGER.fullmatch(node.type):
                        yield element, function.file, target.line, self.text(function.file, node)
                        break

    def reset_only_stores(self) -> list[tuple[str, int, str, str, bool]]:
        """Stores to observations that only c_reset makes, of fields that a step changes.

        (file, line, index text, field name, whether the index is a constant)
        """
        stepping = self.stepping()
        names = {function.name for function in stepping}
        stored, changed = set(), set()
        for function in stepping:
            stored |= {_squeeze(self.index_text(function, target))
                       for target, _ in self.stores(function)}
            changed |= {node.children[0].key for node in function.nodes
                        if node.writes and node.children[0].kind == "member"}
        found = []
        for function in self.reach("c_reset"):
            if function.name in names:
                continue
            for target, value in self.stores(function):
                index = self.index_text(function, target)
                read = {node.name for node in value.walk()
                        if node.kind == "member" and node.key in changed}
                if read and index and _squeeze(index) not in stored:
                    found.append((function.file, target.line, index, sorted(read)[0],
                                  target.children[1].value is not None))
        return found

    def index_text(self, function: Function, target: Node) -> str:
        """The text in the brackets; "" without brackets."""
        return self.text(function.file, target.children[1]) if target.kind == "index" else ""

    def text(self, file: str, node: Node) -> str:
        """An expression as the author wrote it, on one line."""
        data = self.files.get(file, "").encode()
        return " ".join(data[node.start:node.end].decode(errors="replace").split())


TESTS = {"if", "switch", "choice", "while_stmt", "do_stmt"}
LOOPS = ("for_stmt", "while_stmt", "do_stmt")
LITERALS = {"integer_literal", "floating_literal"}
INTEGER = re.compile(r"(?:const )?(?:(?:un)?signed |long |short )*(?:int|char|long|short)")


def _squeeze(text: str) -> str:
    return re.sub(r"\s+", "", text)
