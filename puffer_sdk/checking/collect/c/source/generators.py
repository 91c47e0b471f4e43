"""Copies of a random generator's state that are drawn from and never stored back.

    unsigned int rng = env->rng;        // Source -> Copy("place_dog", "rng", "env->rng", ...)
    dog->x = random_between(&rng, 0.0f, env->width);

The next call draws the same numbers, unless something else has moved env->rng meanwhile: that is
known when the code runs. A generator is known by what is done to its state: it is multiplied by a
large number, or turned over by shifts of itself, or handed to rand_r().
"""
from collections.abc import Iterator
from dataclasses import dataclass

from .....env import syntax
from .....env.syntax import Node
from .functions import Function
from .model import INTEGER, Source

LARGE, HUGE = 256, 1 << 24  # factors and terms from which on a result is no size or score
DEEPEST = 4         # functions through which a pointer to a state is followed


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
                if given.kind == "member" and _may_store(given) and _draws(
                        source, function, node, source.is_field(given, "rng")) and not (
                        _is_stored(function, node)):
                    yield Copy(function.name, node.name, source.text(function.file, given),
                               function.file, node.line, given.start,
                               given.end, node.type)


def begun_anew(source: Source) -> Iterator[tuple[Function, str, int]]:
    """(function, variable, line) of the generators that each call of c_reset begins anew: local
    variables that are given a number, and go on from nothing but themselves."""
    for function in source.reach("c_reset"):
        for node in function.nodes:
            if node.kind == "variable" and node.children and INTEGER.fullmatch(node.type) and \
                    isinstance(node.children[-1].value, int) and _goes_on(source, function, node):
                yield function, node.name, node.line


DICE = {"rand", "random", "rand_r", "GetRandomValue", "puffer_rand", "puffer_random_value"}


def are_drawn_from(source: Source) -> bool:
    """Whether c_reset and c_step make a generator's next state anywhere."""
    return any(node.writes and is_advance(function, node) or node.name == "rand_r"
               for function in source.reach("c_reset", "c_step") for node in function.nodes)


def are_read_by_reset(source: Source) -> bool:
    """Whether c_reset reads env->rng, another generator, or a library's random numbers."""
    return any(node.writes and is_advance(function, node) or node.name in DICE
               or source.is_field(node, "rng")
               for function in source.reach("c_reset") for node in function.nodes)


def _goes_on(source: Source, function: Function, variable: Node) -> bool:
    """Whether it is drawn from, and nothing else goes into it."""
    stores = [node for node in function.nodes
              if node.writes and node.children[0].key == variable.key]
    alone = all(inner.key in (None, variable.key) for store in stores for inner in store.walk()
                if inner.kind in ("name", "member", "call"))
    return alone and (any(is_advance(function, store) for store in stores)
                      or _draws(source, function, variable))


def _is_word(node: Node) -> bool:
    """An unsigned whole number, as generators' states are."""
    return node.type.startswith("unsigned") and "*" not in node.type and "[" not in node.type


def _may_store(member: Node) -> bool:
    """Whether the struct can be written to: an observation that looks ahead takes a const one."""
    return not any("const" in inner.type for inner in member.children)


def _draws(source: Source, function: Function, variable: Node, is_state: bool = False) -> bool:
    """Whether it is drawn from: by a function that takes its address.

    is_state    it is known to be a generator's: then whatever stores to it draws from it
    """
    return any(_advances(source, call, index, is_state)
               for call, index in _handed(function, variable.key))


def _handed(function: Function, key: int | None) -> Iterator[tuple[Node, int]]:
    """(call, number of the argument) of the calls that a pointer to it goes to."""
    for node in function.nodes:
        if node.kind == "call":
            for index, argument in enumerate(node.arguments):
                if argument.is_pointer and any(
                        origin.key == key for origin in function.pointers.origins(argument)):
                    yield node, index


def _advances(source: Source, call: Node, index: int, is_state: bool, depth: int = 0) -> bool:
    """Whether a call turns a generator's state into the next one, through this pointer."""
    if call.name == "rand_r":
        return True
    callee = source.functions.get(call.name)
    if callee is None or index >= len(callee.parameters) or depth > DEEPEST:
        return False
    key = callee.parameters[index].key
    return any(is_state or is_advance(callee, node) for node in callee.nodes if node.writes and any(
        origin.key == key for origin in callee.pointers.origins(node.children[0]))) or any(
            _advances(source, inner, at, is_state, depth + 1) for inner, at in _handed(callee, key))


def is_advance(function: Function, store: Node, deeper: bool = True) -> bool:
    """Whether an assignment makes a generator's next state: `s = s * 1664525u + 1`, `s ^= s << 13`,
    and `x = *s; x ^= x << 13; *s = x`."""
    target, value = store.children[0], store.children[-1]
    parts = [(store.op.removesuffix("="), target, value)] if store.op != "=" else []
    parts += [(node.op, node.children[0], node.children[1]) for node in value.walk()
              if node.kind == "binary" and len(node.children) == 2]
    for op, *sides in parts:
        factors = [side.bare().value for side in sides]
        if op == "*" and any(isinstance(f, int) and abs(f) >= LARGE for f in factors):
            return True
        if op == "+" and any(isinstance(f, int) and abs(f) >= HUGE for f in factors):
            return True
        if op == "^" and any(inner.op in ("<<", ">>") for side in sides for inner in side.walk()):
            return True
    bare = value.bare()
    return deeper and bare.kind == "name" and any(
        is_advance(function, node, False) for node in function.nodes
        if node.writes and node is not store and node.children[0].kind == "name"
        and node.children[0].key == bare.key)


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
    return node.around is not None and node.around.op == "&" and node.around.kind == "unary"
