"""Fields that count, and what they are compared with.  Source -> ends of loops, limits

    for (int i = 0; i < env->frameskip; i++) { env->tick++; move(env); }
    if (env->tick >= env->max_ticks) ...
    env->log.episode_length += env->tick;

An episode's length is a number of frames here, and max_ticks is a limit of it.
"""
from collections.abc import Iterator

from .....env.syntax import Node
from .model import Source

_COMPARES = ("<", "<=", ">", ">=", "==", "!=")


def ends(source: Source, column: str) -> Iterator[Node]:
    """What the counter is compared with, of each loop that repeats a place which counts what the
    log's `column` takes."""
    counted = _counted(source, column)
    for end, body in _repeats(source):
        if _counts(source, body, counted):
            yield end


def repeated(source: Source) -> set[str]:
    """Fields of the env struct that say how often c_step repeats something: frame skips."""
    return {end.bare().name for end, _ in _repeats(source)
            if source.is_field(end.bare(), end.bare().name)}


def _repeats(source: Source) -> Iterator[tuple[Node, Node]]:
    """(end, body) of each loop that does the same again: it makes no use of its counter, as a loop
    over agents or other things does."""
    for function in source.stepping():
        for loop in function.nodes:
            if loop.kind != "for_stmt" or len(loop.children) != 4:
                continue
            begin, until, _, body = loop.children
            mine = {node.key for node in begin.walk() if node.kind == "variable" or (
                node.parent.op == "=" and node.parent.children[0] is node)} - {None}
            ends = [node.children[1] for node in until.walk() if node.op in ("<", "<=", "!=")
                    and node.children[0].bare().key in mine]
            if ends and not any(node.key in mine for node in body.walk()):
                yield ends[0], body


def limits(source: Source) -> set[str]:
    """Fields of the env struct that are compared with a field that is only counted up and begun
    again."""
    stores: dict[int | None, list[Node]] = {}
    functions = source.reach("init", "c_reset", "c_step")
    for function in functions:
        for node in function.nodes:
            if node.writes and node.children[0].kind == "member":
                stores.setdefault(node.children[0].key, []).append(node)
    counters = {key for key, nodes in stores.items() if any(map(_is_count, nodes)) and all(
        _is_count(node) or node.op == "=" and node.children[1].value is not None
        for node in nodes)}
    found = set()
    for function in functions:
        for node in function.nodes:
            if node.kind == "binary" and node.op in _COMPARES:
                for one, other in (node.children, reversed(node.children)):
                    if any(inner.key in counters for inner in one.walk()):
                        found |= {inner.name for inner in other.walk()
                                  if source.is_field(inner, inner.name)}
    return found


def _is_count(node: Node) -> bool:
    return node.op in ("x++", "++x") or node.op == "+=" and node.children[1].value is not None


def _counted(source: Source, column: str) -> set[int | None]:
    """Fields that go into the column, and itself."""
    found = set()
    for function in source.reach("c_step"):
        for node in function.nodes:
            if node.writes and source.is_column(node.children[0], column):
                found |= {inner.key for inner in node.walk() if inner.kind == "member"}
    return found


def _counts(source: Source, body: Node, counted: set[int | None]) -> bool:
    """Whether a pass adds to one of these fields, itself or in what it calls."""
    called = source.reach(*{node.name for node in body.walk() if node.kind == "call"})
    nodes = [*body.walk(), *(node for function in called for node in function.nodes)]
    return any(node.op in ("x++", "++x", "+=") and node.children[0].kind == "member"
               and node.children[0].key in counted for node in nodes)
