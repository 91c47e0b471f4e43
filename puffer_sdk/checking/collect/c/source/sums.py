"""Loops that add up the same over another number of things.  Source -> Unlike

    for (int i = first; i < first + env->num_ducks; i++) ducks_left += env->birds[i].there;
    for (int i = 1; i < env->num_ducks; i++) ducks_left += env->birds[i].there;

Where two numbers of passes differ by a constant, one of the two is wrong. Whether ranges of the
same length begin elsewhere is not asked: that may be said in two ways.
"""
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from .....env.syntax import Node
from .functions import Function
from .model import Source, _squeeze

ONE = ""                # the name of the constant term


@dataclass(frozen=True)
class Sum:
    """name += text, in a loop of this many passes."""

    name: str
    text: str
    adds: str                               # the same text, whatever locals are called
    file: str
    line: int
    passes: tuple[tuple[str, int], ...]     # (term, factor), the constant's name is ONE
    logs: bool                              # the function mentions a log

    @property
    def count(self) -> str:
        """"env->num_ducks - 1 passes"."""
        parts = [f"{'+' if by > 0 else '-'} " + (str(abs(by)) if term == ONE else
                 f"{abs(by)} * {term}" if abs(by) > 1 else term)
                 for term, by in sorted(self.passes, key=lambda one: (one[0] == ONE, one))]
        return f"{' '.join(parts).removeprefix('+ ') or 0} passes"


def unlike(source: Source) -> Iterator[tuple[Sum, Sum]]:
    """(what a step adds up for the log, what is drawn), of every such pair."""
    drawn = [one for function in source.reach("c_render", without=("c_step", "c_reset"))
             for one in _sums(source, function)]
    for function in source.reach("c_step", without=("c_render",)):
        for mine in _sums(source, function):
            for other in drawn:
                apart = Counter(dict(mine.passes))
                apart.subtract(dict(other.passes))
                same = mine.adds == other.adds
                if same and mine.logs and {key for key, by in apart.items() if by} == {ONE}:
                    yield mine, other


def _sums(source: Source, function: Function) -> Iterator[Sum]:
    logs = any(source.is_field(node, "log") or source.log and node.type == source.log
               for node in function.nodes)
    for loop in function.nodes:
        if loop.kind != "for_stmt" or len(loop.children) != 4:
            continue
        begin, until, step, body = loop.children
        while body.kind == "block" and len(body.children) == 1:
            body = body.children[0]
        index = begin.children[-1] if begin.kind == "decl_stmt" and begin.children else begin
        if index.kind == "binary" and index.op == "=":
            counter, first = index.children[0].bare(), index.children[1]
        elif index.kind == "variable" and index.children:
            counter, first = index, index.children[-1]
        else:
            continue
        if not (body.op == "+=" and body.children[0].kind == "name" and until.op in ("<", "<=")
                and until.children[0].bare().key == counter.key and step.op in ("x++", "++x")
                and any(node.key == counter.key for node in body.children[1].walk())):
            continue
        passes = Counter(_terms(source, function, until.children[1]))
        passes.subtract(_terms(source, function, first))
        passes[ONE] += until.op == "<="
        yield Sum(body.children[0].name, _squeeze(source.text(function.file, body.children[1])),
                  _adds(source, body.children[1], counter.key), function.file, body.line,
                  tuple(sorted((key, by) for key, by in passes.items() if by)), logs)


def _adds(source: Source, node: Node, counter: int | None) -> str:
    """An expression as a text without the names of its locals: `env->birds[i].there`."""
    if node.kind in ("name", "member"):
        own = "#" if node.key == counter else "env" if source.is_env(node) else str(
            node.key if node.kind == "member" or node.key in source.globals else node.type)
    else:
        own = node.op or node.name or (str(node.value) if node.value is not None else node.kind)
    return f"{own}({','.join(_adds(source, child, counter) for child in node.children)})"


def _terms(source: Source, function: Function, node: Node, sign: int = 1) -> Counter[str]:
    """a + b - 2 -> {"a": 1, "b": 1, ONE: -2}; a local that is set once stands for its value."""
    node = node.bare()
    if isinstance(node.value, int):
        return Counter({ONE: sign * node.value})
    if node.kind == "binary" and node.op in "+-":
        found = _terms(source, function, node.children[0], sign)
        found.update(_terms(source, function, node.children[1], sign if node.op == "+" else -sign))
        return found
    made = [one for one in function.nodes if one.kind == "variable" and one.key == node.key]
    if node.kind == "name" and len(made) == 1 and made[0].children and not any(
            one.writes and one.children[0].key == node.key for one in function.nodes):
        return _terms(source, function, made[0].children[-1], sign)
    text = source.text(function.file, node)
    for name in {one.name for one in node.walk() if one.kind == "name" and source.is_env(one)}:
        text = re.sub(rf"\b{name}\b", "env", text)     # whatever the parameter is called
    return Counter({_squeeze(text): sign})
