"""Values of the simulation that only drawing reads: a square that glows after it was touched."""
from __future__ import annotations

from collections.abc import Iterable

from ....env.syntax import Node
from ...collect.c.source.model import Function, Source


def is_only_drawn(simulation: list[Function], source: Source, function: Function, node: Node
                  ) -> bool:
    """Whether a value goes only to fields that drawing alone reads, directly or through a local."""
    for up in node.up():
        if up.kind == "variable":
            uses = [use for use in function.nodes if use.kind == "name" and use.key == up.key]
            return bool(uses) and all(is_only_drawn(simulation, source, function, use)
                                      for use in uses)
        if up.op == "=" and node not in up.children[0].walk():
            target = up.children[0].bare()
            while target.kind not in ("member", "name") and target.children:
                target = target.children[0].bare()      # of the element of an array
            return target.kind == "member" and not _reads(simulation, target.name) and \
                _reads(source.reach("c_render"), target.name)
    return False


def _reads(functions: Iterable[Function], field: str) -> bool:
    """Whether any of them does something with a field of that name but store to it."""
    return any(node.kind == "member" and node.name == field and not any(
        up.op == "=" and node in up.children[0].walk() for up in node.up())
        for function in functions for node in function.nodes)
