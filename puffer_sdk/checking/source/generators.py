"""Copies of a random generator's state that are drawn from and never stored back.

    unsigned int rng = env->rng;        // Source -> Copy("place_dog", "rng", "env->rng", ...)
    dog->x = random_between(&rng, 0.0f, env->width);

The next call draws the same numbers, unless something else has moved env->rng meanwhile: that is
known when the code runs.
"""
from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from ...env import syntax
from ...env.syntax import Node
from .model import Function, Source

_STATE = re.compile(r"rng|seed|rand", re.IGNORECASE)


@dataclass(frozen=True)
class Copy:
    """A local variable that is given a generator's state."""

    function: str
    name: str               # of the variable
    of: str                 # "env->rng"
    file: str
    line: int
    start: int              # bytes of the file that it is given: "env->rng"
    end: int
    type: str


def copies(source: Source) -> Iterator[Copy]:
    """Of what c_reset and c_step run, where that may store it back but never does."""
    for function in source.reach("c_reset", "c_step"):
        for node in function.nodes:
            if node.kind == "variable" and node.children and _is_word(node):
                given = node.children[-1].bare()
                if given.kind == "member" and _STATE.search(given.name) and (
                        _may_store(given) and _draws(function, node)
                        and not _is_stored(function, node)):
                    yield Copy(function.name, node.name, source.text(function.file, given),
                               function.file, node.line, given.start,
                               given.end, node.type)


def _is_word(node: Node) -> bool:
    """An unsigned whole number, as generators' states are."""
    return node.type.startswith("unsigned") and "*" not in node.type and "[" not in node.type


def _may_store(member: Node) -> bool:
    """Whether the struct can be written to: an observation that looks ahead takes a const one."""
    return not any("const" in inner.type for inner in member.children)


def _draws(function: Function, variable: Node) -> bool:
    """Whether a function takes its address, which is how one is drawn from."""
    for node in function.nodes:
        if node.op == "&" and node.kind == "unary" and node.children[0].key == variable.key:
            above = node.parent
            while above is not None and above.kind == "cast":
                above = above.parent
            if above is not None and (above.kind in ("call", "variable")
                                      or above.op in syntax.ASSIGNMENTS):
                return True
    return False


def _is_stored(function: Function, variable: Node) -> bool:
    """Whether its value goes anywhere else afterwards: back, to the caller, to a function."""
    for node in function.nodes:
        if node.kind == "call" and any(one.bare().kind == "name" and one.bare().key == variable.key
                                       for one in node.arguments):
            return True
        stores = node.op in syntax.ASSIGNMENTS and node.kind == "binary" \
            and node.children[0].kind != "name"
        if (stores or node.kind == "return") and any(
                inner.key == variable.key and inner.kind == "name" and not _is_address(inner)
                for inner in (node.children[1] if stores else node).walk()):
            return True
    return False


def _is_address(node: Node) -> bool:
    return node.parent is not None and node.parent.op == "&" and node.parent.kind == "unary"
