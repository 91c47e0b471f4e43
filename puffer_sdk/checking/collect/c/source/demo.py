"""Which settings NAME.c, the standalone program, gives its env.  env folder -> Given

The program is read as a compiler would, with an empty build/NAME_config.h: what that header
sets comes from the ini and cannot drift from it.
"""
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from .....base import limited
from .....base.spec import Spec
from .....env import probe
from .....env.syntax import Node
from . import read
from .functions import Function
from .model import Source

_KEEP_GOING = 0x200         # CXTranslationUnit_KeepGoing: past a header that is not installed


@dataclass(frozen=True)
class Given:
    """A constant that the program stores in a field of the env struct."""

    field: str
    value: int | float
    file: str
    line: int
    # the program does something on each k-th turn only
    turns: frozenset[int | float | None] = frozenset()


def settings(spec: Spec) -> list[Given]:
    """The constants that are in force when the program plays, one a field and function."""
    program = spec.folder / f"{spec.name}.c"
    if not program.is_file():
        return []
    code = _read(program, spec)
    main = code.functions.get("main")
    if main is None:
        return []
    everywhere: dict[str, Given | None] = {}
    for variable in code.globals.values():
        if variable.file == program.name and variable.element == "RECORD" and variable.tree:
            everywhere.update(_in_force(variable.tree, main, variable.file, spec))
    found = []
    for function in code.reach("main"):
        if function.file == program.name:
            given = _in_force(function.tree, function, function.file, spec)
            if "" in given:
                everywhere.clear()
            for name in given:
                everywhere.pop(name, None)
            found += [one for one in given.values() if one]
    found += [one for one in everywhere.values() if one]
    nodes = [node for function in code.reach("main") if function.file == program.name
             for node in function.nodes]
    turns = frozenset(node.children[1].value for node in nodes if node.op == "%")
    return [replace(given, turns=turns) for given in
            sorted(found, key=lambda given: (given.file, given.line, given.field))]


def _in_force(tree: Node, function: Function, file: str, spec: Spec) -> dict[str, Given | None]:
    """Field -> its last value; None where that is no constant. "" if the ini was asked."""
    last: dict[str, Given | None] = {}
    for name, node, value in _stores(tree, spec):
        if name == "":                      # NAME_configure: every setting is the ini's
            last.clear()
        constant = _constant(value, function) if name else None
        last[name] = None if constant is None else Given(name, constant, file, node.line)
    return last


def _read(program: Path, spec: Spec) -> Source:
    config = spec.folder / "build" / f"{spec.name}_config.h"
    name, env = spec.name, f"{spec.struct}* env"
    stub = ("#define NUM_ATNS 1\ntypedef struct PufferNet PufferNet;\n"
            "void puffernet_free(PufferNet* net);\n"
            f"void {name}_configure({env});\nvoid {name}_allocate({env});\n"
            f"void {name}_free({env});\nvoid {name}_act({env}, PufferNet* policy);\n"
            f"PufferNet* {name}_policy({env}, int argc, char** argv);\n"
            if not spec.binding else "")
    flags = [*probe.clang_flags(spec.folder), "-Wno-everything"]
    return read.filled(spec.folder, limited.call(
        "puffer_sdk.checking.collect.c.source.collecting:of_program",
        {"folder": str(spec.folder), "main": str(program), "flags": flags,
         "unsaved": {str(config): stub}, "options": _KEEP_GOING}, what=program.name, where=program))


def _stores(tree: Node, spec: Spec) -> Iterator[tuple[str, Node, Node]]:
    """(field, where, value) in order; a field of "" stands for all of them.

    A store that only some branch makes says what the program can do, not what it is.
    """
    for node in tree.walk():
        if any(up.kind in ("if", "switch", "choice") for up in node.up()):
            continue
        if node.kind == "call" and node.name == f"{spec.name}_configure":
            yield "", node, node
            continue
        if len(node.children) != 2:
            continue
        target = node.children[0]
        is_store = target.kind == "designator" or (node.op == "=" and target.kind == "member")
        if is_store and _is_setting(target, spec):
            yield target.name, node, node.children[1]


def _is_setting(node: Node, spec: Spec) -> bool:
    """Whether this names a field of the env struct itself."""
    return node.owner is not None and \
        node.owner.removeprefix("struct ") == spec.struct.removeprefix("struct ")


def _constant(node: Node, function: Function) -> int | float | None:
    """The value of a constant, or of a variable that never changes after it was declared."""
    value = node.value
    bare = node.bare()
    if value is None and bare.kind == "name" and bare.key is not None:
        declared = [n for n in function.nodes
                    if n.kind == "variable" and n.key == bare.key and n.children]
        changed = any(n.writes and n.children[0].key == bare.key for n in function.nodes)
        if len(declared) == 1 and not changed:
            return declared[0].children[-1].value
        if bare.key in function.source.globals:
            variable = function.source.globals[bare.key]
            if not variable.is_mutable and variable.tree and variable.tree.children:
                return variable.tree.children[-1].value
    return value if value is not None or bare is node else bare.value
