"""The final observation of an episode: where it is written.  C source -> FinalObs

An env may have a field, and fill its row where it sets a truncation:

    float* final_observations;      // (num_agents, OBS_SIZE), of the type of observations

For one without, `build` looks for the function that writes the observations in every tick: the
library calls it once more when c_step calls c_reset (puffer_final.h, vecenv.h). That must change
nothing: it may store to observations, to its own variables, and to action_mask, alive and plain
fields of the env struct, which are put back, and to nothing else.
"""
from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from ..base import paths
from ..base.spec import NARROW, FinalObs
from . import syntax
from .syntax import Node, Pointers, Seen

if TYPE_CHECKING:
    from clang.cindex import Cursor, Type

FIELD = "final_observations"
MARKS = {"action_mask", "alive"}
TRUNCATIONS = "float *"         # of another type, which a binding by hand allows, nobody reads them
DICE = {"puffer_rand", "puffer_srand", "puffer_random_value"}     # rand(): its state is put back
STATEFUL = re.compile(r"(exit|abort|longjmp|[delmnj]rand48|[cm]alloc|realloc|f?put\w*|[a-z]*printf|"
                      r"Draw\w*|Init\w*|Close\w*|Load\w*)$")

_VECENV = re.compile(r'[ \t]*#[ \t]*include[ \t]*"(?:[^"]*/)?vecenv\.h"')


def wrong_field(types: Mapping[str, str]) -> str | None:
    """What is wrong with the field: a sentence, or None."""
    if FIELD not in types:
        return None
    if types.get("truncations") != TRUNCATIONS:
        return f"the field '{FIELD}' is for truncated episodes, and there is no field 'truncations'"
    if types[FIELD] == NARROW:
        return f"the field '{FIELD}' has 16 bits, and is read as floats"
    if types[FIELD] != types.get("observations"):
        return f"the field '{FIELD}' has another type than observations"
    return None


def find(functions: Mapping[str, Cursor], struct: str, types: Mapping[str, str]
         ) -> FinalObs | str:
    """The Spec's final_obs, or no_final_obs.

    functions   name -> cursor of its definition, the author's and those that headers define
    struct      canonical name of the env struct
    types       field -> type, of the env struct
    """
    if types.get("observations") == NARROW:
        return "observations of 16 bits are converted behind c_step"
    return FinalObs(None) if FIELD in types else look(functions, struct)


def look(functions: Mapping[str, Cursor], struct: str) -> FinalObs | str:
    """The function that can be called before c_reset; or why there is none."""
    reset = functions.get("c_reset")
    if reset is None:
        return "there is no c_reset"
    line = _line_of_definition(reset)
    if isinstance(line, str):
        return line
    reader = _Look(functions, struct)
    if "c_step" in functions and "c_reset" not in reader.reach("c_step"):
        return "c_step does not call c_reset"
    called = [node.name for node in reader.body("c_reset").nodes
              if node.kind == "call" and node.name in functions
              and reader.takes_env_alone(node.name)]
    writers = [name for name in dict.fromkeys(called) if reader.writes_observations(name)]
    if not writers:
        return "no function that takes the env alone writes the observations for c_reset"
    name = writers[-1]
    others = reader.reach("c_step", without=(name, "c_reset"))
    other = next((each for each in others if reader.writes_observations(each, closure=False)), None)
    if other:
        return f"{name} does not write all observations: {other} writes some besides"
    reason = reader.why_not(name)
    return reason or FinalObs(name, line)


def _line_of_definition(cursor: Cursor) -> int | str:
    """The line of c_reset's definition: it is whole there, and no other file of the author's
    names c_reset on a line of this number."""
    place = cursor.location
    try:
        lines = paths.text(place.file.name).splitlines()
    except OSError:
        return "c_reset cannot be read"
    text = lines[place.line - 1] if place.line <= len(lines) else ""
    if not re.search(r"\b(c|puf)_reset\s*\([^()]*\)", text):
        return "c_reset's definition is not written on one line"
    if any(_VECENV.match(each) for each in lines[:place.line]):
        return "c_reset is defined below vecenv.h"      # which calls it by its name
    for path in paths.c_files(Path(place.file.name).parent):
        if path.name == Path(place.file.name).name:
            continue
        others = paths.text(path).splitlines()
        if place.line <= len(others) and re.search(r"\b(c|puf)_reset\b", others[place.line - 1]):
            return f"{path.name} names c_reset on the same line"
    return int(place.line)


def _type_of(node: Node) -> Type:
    """As clang has it: trees that were just read know their cursors."""
    assert isinstance(node, Seen)
    return node.cursor.type.get_canonical()


class _Body:
    """One function's nodes and pointers."""

    def __init__(self, cursor: Cursor, returned: Callable[[str], Pointers | None]):
        self.cursor = cursor
        self.parameters = {argument.canonical.hash: index
                           for index, argument in enumerate(cursor.get_arguments())}
        self.nodes = list(syntax.tree(cursor).walk())
        self.pointers = Pointers(self.nodes, returned)

    @cached_property
    def own(self) -> set[int | None]:
        """Keys of its variables, parameters among them."""
        return set(self.parameters) | {
            node.key for node in self.nodes if node.kind == "variable"
            and node.static is None}


class _Look:
    """What functions store to."""

    def __init__(self, functions: Mapping[str, Cursor], struct: str):
        self.functions, self.struct = functions, struct
        self.bodies: dict[str, _Body] = {}
        self.busy: set[tuple[str, int]] = set()

    def body(self, name: str) -> _Body:
        if name not in self.bodies:
            self.bodies[name] = _Body(self.functions[name], lambda other: self.body(other).pointers
                                      if other in self.functions else None)
        return self.bodies[name]

    def reach(self, name: str, without: tuple[str, ...] = ()) -> list[str]:
        """The functions that it calls, itself among them; not going through `without`."""
        found, stack = [], [name]
        while stack:
            at = stack.pop()
            if at in found or at in without or at not in self.functions:
                continue
            found.append(at)
            stack += [node.name for node in self.body(at).nodes
                      if node.kind == "call" and node.name]
        return found

    def is_env(self, node: Node) -> bool:
        kind = _type_of(node)
        return kind.kind.name == "POINTER" and self.is_struct(kind.get_pointee())

    def is_struct(self, kind: Type) -> bool:
        spelling: str = kind.get_canonical().spelling
        return spelling.removeprefix("const ") == self.struct

    def takes_env_alone(self, name: str) -> bool:
        arguments = list(self.functions[name].get_arguments())
        return len(arguments) == 1 and self.is_struct(arguments[0].type.get_pointee())

    # -- stores

    def stores(self, name: str) -> Iterator[Node]:
        """The lvalues and pointers that a function stores to or through, calls of others aside
        that do so themselves."""
        for node in self.body(name).nodes:
            if node.writes and node.children:
                yield node.children[0].bare()
            elif node.kind == "call":
                for index, argument in enumerate(node.arguments):
                    if argument.is_pointer and not self.is_env(argument) and (
                            self.stores_through(node, index)):
                        yield argument

    def stores_through(self, call: Node, index: int) -> bool:
        if call.name in self.functions:
            here = (call.name, index)
            if here in self.busy:               # recursion adds nothing new
                return False
            self.busy.add(here)
            body = self.body(call.name)
            keys = [key for key, at in body.parameters.items() if at == index]
            found = any(origin.key in keys for target in self.stores(call.name)
                        if target.kind != "name"
                        for origin in body.pointers.origins(target))
            self.busy.discard(here)
            return found
        return index in call.through

    def writes_observations(self, name: str, closure: bool = True) -> bool:
        """Whether it, or (closure) what it calls, stores to env->observations."""
        for each in self.reach(name) if closure else [name]:
            pointers = self.body(each).pointers
            for target in self.stores(each):
                if target.kind != "name" and any(
                        origin.kind == "member" and origin.name == "observations"
                        for origin in pointers.origins(target)):
                    return True
        return False

    # -- whether calling it once more changes nothing

    def why_not(self, name: str) -> str | None:
        """What else it stores to, as a sentence; None if calling it is harmless."""
        for each in self.reach(name):
            if each in DICE:
                continue
            for target in self.stores(each):
                if reason := self.reason(each, target):
                    return f"{name} also {reason}"
            for node in self.body(each).nodes:
                if node.kind != "call" or node.name in self.functions or node.name in DICE:
                    continue
                if not node.name:
                    return f"{name} calls through a pointer"
                if STATEFUL.match(node.name):
                    return f"{name} calls {node.name}"
        return None

    def reason(self, function: str, target: Node) -> str | None:
        """Why this store would last; None where it is one to observations, or is put back."""
        own = self.body(function).own
        if target.kind == "name":
            return None if target.key in own else f"changes {target.name}"
        for origin in self.body(function).pointers.origins(target):
            if origin.kind == "name":           # what a variable was given is an origin as well
                if origin.key not in own:
                    return f"changes {origin.name}"
            elif origin.name not in {"observations", *MARKS} \
                    and _type_of(origin).kind.name == "POINTER":
                return f"changes what {origin.name} points to"
        return None
