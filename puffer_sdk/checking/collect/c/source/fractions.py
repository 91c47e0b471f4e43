"""Fractions that settings lose on the way into the game.  Source -> places"""
from collections.abc import Iterator

from .model import INTEGER, Source

_PLAYING = ("init", "c_reset", "c_step")


def cut_short(source: Source) -> dict[str, tuple[str, int, str]]:
    """Float fields of the env struct that become whole numbers at every read by the game.

    name -> (file, line, text) of the first place
    """
    found: dict[str, tuple[str, int, str]] = {}
    kept: set[str] = set()
    for function in source.reach(*_PLAYING):
        for node in function.nodes:
            if node.type not in ("float", "double") or not source.is_field(node, node.name):
                continue
            above = node.parent
            if above.op == "=" and above.children[0] is node:
                continue                    # written, as in init
            whole = above.kind in ("cast", "variable") or above.op == "="
            if whole and INTEGER.fullmatch(above.type):
                found.setdefault(node.name, (function.file, node.line,
                                             source.text(function.file, above)))
            else:
                kept.add(node.name)
    return {name: place for name, place in found.items() if name not in kept}


def divided(source: Source) -> Iterator[tuple[str, int, str, int, str]]:
    """(name, divisor, file, line, text) of whole fields of the env struct, divided by a constant
    as integers."""
    for function in source.reach(*_PLAYING):
        for node in function.nodes:
            if node.kind != "binary" or node.op != "/" or not INTEGER.fullmatch(node.type):
                continue
            field, divisor = node.children[0].bare(), node.children[1].bare().value
            if isinstance(divisor, int) and divisor > 1 and source.is_field(field, field.name):
                yield field.name, divisor, function.file, node.line, source.text(
                    function.file, node)
