"""Places of the source where a number may lose what it should tell.  Source -> Sites

    obs[OBS_ROW] = (unsigned char)(start - env->row);           "byte": what does not fit wraps
    obs[OBS_FLOOR] = (float)(lift->floor / (env->floors - 1));  "quotient": a share becomes 0 or 1
    obs[OBS_DONE] = pot->heat / env->cook_time * 10;            "product": likewise, and then 10
    unsigned int rng = env->rng;                                "copy": it may draw the same again
    env->rewards[i] = 0.0f;                                     "clear": a reward may be lost
    env->log.perf += won ? 3.0f : 0.0f;                         "share": it may be beyond 1

Whether it does is known when the code runs: collect/c/probing.py makes it count.
"""
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from .....env import syntax
from .....env.source import hide
from .....env.syntax import Node
from . import generators, logging
from .fields import COPIES
from .functions import Function
from .model import Source

_WIDE = re.compile(r"(?:const )?(?:un)?(?:signed )?(?:int|short|long|long long)")
_BYTE = re.compile(r"(?:const )?unsigned char")
_FLOAT = re.compile(r"(?:const )?(?:float|double)")
_COMPARES = {"<", ">", "<=", ">=", "==", "!=", "&&", "||", "!"}
MOST = 64


@dataclass(frozen=True)
class Site:
    """An expression, from byte `start` to `end` of its file."""

    kind: str               # "byte", "quotient", "product", "copy", "clear", "replace", "share"
    file: str
    line: int
    start: int
    end: int
    slash: int              # byte of a quotient's operator; -1
    type: str               # C type of the expression
    text: str
    goes: str               # "observations", "rewards", "perf" of the log, or "generator"
    target: str             # what it is stored to: "obs[OBS_ROW]"; the variable of a copy
    element: int | None = None      # of the observation, where the source tells
    field: str = ""         # of the env struct, that it is stored to


def sites(source: Source) -> list[Site]:
    """Of what c_reset and c_step store to observations, rewards and the log's perf, and their
    copies of generators."""
    found = {(copy.file, copy.start, copy.end): Site(
        "copy", copy.file, copy.line, copy.start, copy.end, -1, copy.type, copy.of, "generator",
        copy.name) for copy in generators.copies(source)}
    kept = {each.name for each in source.reach("c_reset")} if _keeps_rewards(source) else ()
    for function in source.reach("c_reset", "c_step"):
        for byte in filter(None, _byte_sites(source, function)):
            found.setdefault((byte.file, byte.start, byte.end), byte)
        for goes, target, value in _stores(source, function):
            nodes = list(_quotients(function, value))
            if goes == "rewards":               # every third coin may be a bonus
                nodes = [one for one in nodes if one[2].children[-1].value is None]
                if _clears(target, value):
                    if function.name in kept:
                        continue
                    nodes.append((function, "clear", value))
                elif function.name == "c_step" and _replaces(source, target, value):
                    nodes.append((function, "replace", value))
            elif goes == "perf" and _is_an_entrys(source, target):
                nodes.append((function, "share", value))
            for owner, kind, node in nodes:
                site = _site(source, owner, kind, node, goes, target, function)
                if site:
                    found.setdefault((site.file, site.start, site.end), site)
    return list(found.values())[:MOST]


def sees_all_bytes(source: Source, counted: Sequence[Site]) -> bool:
    """Whether all whole numbers that become bytes of the observation are among these sites."""
    known = {(site.file, site.start, site.end) for site in counted}
    return not any(
        any(site is None or (site.file, site.start, site.end) not in known
            for site in _byte_sites(source, function))
        or any(call.name in COPIES and source.leads_to(function, call.node.arguments[0],
                                                       "observations")
               for call in function.library_calls)
        for function in source.reach("c_reset", "c_step"))


def _byte_sites(source: Source, function: Function) -> Iterator[Site | None]:
    """Where a function stores to observations, what becomes a byte there: None where that cannot
    be counted."""
    for target, value in source.stores(function):
        for owner, place, node in _bytes(source, function, target, value):
            yield _site(source, owner, "byte", node, "observations", place, owner
                        if place is not target else function)


def _stores(source: Source, function: Function) -> Iterator[tuple[str, Node, Node]]:
    for field in ("observations", "rewards"):
        for target, value in source.stores(function, field):
            yield field, target, value
    for node in function.nodes:
        if node.kind == "binary" and node.op in syntax.ASSIGNMENTS and source.is_column(
                node.children[0], "perf"):
            yield "perf", node.children[0], node.children[1]


def _is_an_entrys(source: Source, target: Node) -> bool:
    """Whether perf takes one entry's value here, and nowhere else: n grows by 1 beside it."""
    places = {name: [node for _, node in nodes]
              for name, nodes in logging.stores(source).items()}
    return target.parent.op == "+=" and places["perf"] == [target.parent] and any(
        node.op == "x++" or node.op == "++x" or
        node.op == "+=" and node.children[1].bare().value == 1
        for node in places.get("n", ()) if node.parent is target.parent.parent)


def _clears(target: Node, value: Node) -> bool:
    """rewards[i] = 0, or = terminals[i] = 0."""
    last = value.bare()
    while last.kind == "binary" and last.op == "=":
        last = last.children[1].bare()
    return _is_plain(target) and last.value == 0


def _keeps_rewards(source: Source) -> bool:
    """Whether a step takes rewards into a variable and stores them back: c_reset between the two
    may clear them."""
    for function in source.reach("c_step"):
        taken = {node.key if node.kind == "variable" else _holder(node.children[0])
                 for node in function.nodes
                 if (node.kind == "variable" and node.children or node.op == "=")
                 and any(source.is_field(each, "rewards") for each in node.children[-1].walk())}
        if any(_holder(value) in taken - {None} for _, value in source.stores(function, "rewards")):
            return True
    return False


def _holder(node: Node) -> str | int | None:
    """The variable that this names, or is an element of."""
    node = node.bare()
    while node.kind == "index":
        node = node.children[0].bare()
    return node.key if node.kind == "name" else None


def _replaces(source: Source, target: Node, value: Node) -> bool:
    """rewards[0] = x on every step that comes so far: under no condition, and x is no sum of it."""
    return _is_plain(target) and target.parent.parent.kind == "block" and \
        target.parent.parent.parent.around is None and \
        not any(source.is_field(node, "rewards") for node in value.walk())


def _is_plain(target: Node) -> bool:
    """An assignment where to look at the target once more does no harm."""
    return target.parent.op == "=" and not any(
        node.writes or node.kind == "call" for node in target.walk())


def _bytes(source: Source, function: Function, target: Node,
           value: Node) -> Iterator[tuple[Function, Node, Node]]:
    """(function, target, whole number that becomes a byte) on the way into this element: where it
    is stored, and where the byte was made that is stored."""
    if not _BYTE.fullmatch(target.type):
        return
    waiting = [(function, target, value)]
    seen: set[str | int | None] = set()     # functions, keys of variables
    while waiting:
        owner, place, node = waiting.pop()
        if node.kind == "choice" and len(node.children) == 3:
            waiting += [(owner, place, child) for child in node.children[1:]]
        elif node.kind == "call" and node.name in source.functions and _BYTE.fullmatch(node.type):
            callee = source.functions[node.name]
            if callee.name not in seen:
                seen.add(callee.name)
                waiting += [(callee, place, result) for result in callee.pointers.results]
        elif node.kind == "cast" and _BYTE.fullmatch(node.type):
            waiting.append((owner, place, node.children[-1]))
        elif node.kind in ("name", "member", "index") and _BYTE.fullmatch(node.type):
            key = next((inner.key for inner in node.walk() if inner.key is not None), None)
            if key not in seen:
                seen.add(key)
                waiting += source.given_to(key)
        elif _WIDE.fullmatch(node.type) and node.value is None and node.op not in _COMPARES \
                and node.op not in syntax.ASSIGNMENTS:
            yield owner, place, node


def _quotients(function: Function, value: Node) -> Iterator[tuple[Function, str, Node]]:
    """Divisions of whole numbers whose result is at once made a float, or multiplied."""
    for node in value.walk():
        if node.kind == "binary" and node.op == "/" and _WIDE.fullmatch(node.type) and \
                node.value is None and node.around is not None:
            above = node.around
            if _FLOAT.fullmatch(above.type) and (above.kind == "cast" or
                                                 above.op in "+ - * / = += -=".split()):
                yield function, "quotient", node
            elif above.op == "*" and _WIDE.fullmatch(above.type) and len(above.children) == 2 and \
                    any((side.bare().value or 0) > 1 for side in above.children):
                yield function, "product", node


def _site(source: Source, owner: Function, kind: str, node: Node, goes: str, target: Node,
          function: Function) -> Site | None:
    """None where a macro wrote it: its text is not the author's to change."""
    start, end = node.start, node.end
    data = source.files.get(owner.file, "").encode()
    plain = hide(data.decode("latin-1"))
    text, slash = plain[start:end], -1
    if not text or text.count("(") != text.count(")") or ";" in text or "{" in text or \
            any((up.start, up.end) == (start, end)
                for up in node.up() if up.kind == "binary" and up.op in syntax.ASSIGNMENTS):
        return None
    if kind in ("quotient", "product"):
        left, right = node.children
        slash = plain.find("/", left.end, right.start)
        if slash < 0:
            return None
    element = target.children[1].value if target.kind == "index" else None
    return Site(kind, owner.file, node.line, start, end, slash, node.type,
                source.text(owner.file, node), goes, source.text(function.file, target),
                element if isinstance(element, int) else None,
                target.name if source.is_field(target, target.name) else "")
