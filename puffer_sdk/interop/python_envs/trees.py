"""A space's leaves by their numbers, nested as the space is.  Tree -> values, JSON and back"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from .interfaces import Value

Tree: TypeAlias = "int | dict[str | int, Tree] | tuple[Tree, ...]"
Path: TypeAlias = "tuple[str | int, ...]"       # keys of dicts, numbers of tuples


def path_name(path: Path) -> str:
    """For people: inventory[2]; "" for a space that is simple itself."""
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else str(part)
    return text


def nest(tree: Tree, leaf: Callable[[int], Value]) -> Value:
    """A tree with something in place of each leaf's number."""
    if isinstance(tree, dict):
        return {key: nest(child, leaf) for key, child in tree.items()}
    if isinstance(tree, tuple):
        return tuple(nest(child, leaf) for child in tree)
    return leaf(tree)


def to_json(tree: Tree) -> object:
    """JSON knows neither tuples nor keys that are numbers."""
    if isinstance(tree, dict):
        return {"dict": [[key, to_json(child)] for key, child in tree.items()]}
    return {"tuple": [to_json(child) for child in tree]} if isinstance(tree, tuple) else tree


def from_json(pairs: Any) -> Tree:
    """What to_json() gave."""
    if isinstance(pairs, int):
        return pairs
    if "dict" in pairs:
        return {key: from_json(child) for key, child in pairs["dict"]}
    return tuple(from_json(child) for child in pairs["tuple"])
