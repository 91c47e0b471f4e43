"""Actions whose effect has further conditions: a shelf must be there to be lifted.  Source -> ids

    if (action == LIFT && env->map[env->at] == SHELF) { ... }
    case LIFT: lift(env);               // and lift() begins with a test

Whether such an action does anything is for the play to meet, so that no moments of random play show
that it does nothing. But a condition that asks for what nothing else than the action brings about
is never met: `if (env->burns != 0) env->burns = 9;`.
"""
import operator
from collections.abc import Callable, Iterator

from .....base.spec import Spec
from .....env.syntax import Node
from .actions import Actions
from .functions import Function
from .model import TESTS, Source

COMPARE = {"==": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le,
           ">": operator.gt, ">=": operator.ge}
DEEPEST = 8         # locals and parameters through which an action is followed


def ids(source: Source, spec: Spec | None) -> set[tuple[int, int]]:
    """(head, value) of each action that c_step compares with, to do something under conditions."""
    if spec is None or not spec.act_widths:
        return set()
    functions = source.reach("c_step", *source.batch_steps(), without=("c_render", "c_close"))
    actions, found = Actions(source, spec, functions), set()
    for function in functions:
        for node in function.nodes:
            for compared, value, more, does, inner in _comparisons(source, function, node):
                if more and compared is not None and value is not None and not any(
                        _is_never_met(source, term, does)
                        for one in inner for term in _conjuncts(one.children[0])):
                    found |= {(head, int(value)) for head in _heads(actions, function, compared)}
    return found


def _comparisons(source: Source, function: Function, node: Node
                 ) -> Iterator[tuple[Node | None, float | None, bool, list[Node], list[Node]]]:
    """What is compared, with which number, whether there are more conditions, what is done then,
    and the tests before it."""
    if node.kind == "case":
        switch = next((up for up in node.up() if up.kind == "switch"), None)
        does = _after(node)
        yield (switch and switch.children[0], node.children[0].value,
               any(_has_test(source, part) for part in does), does,
               [part for part in does if part.kind == "if"][:1])
    elif node.op == "==" and node.kind == "binary":
        for branch in _branches(function, node):
            does = branch.children[1:2]
            yield (node.children[0], node.children[1].bare().value,
                   any(each.op == "&&" for each in branch.children[0].walk())
                   or _has_test(source, branch.children[1]), does,
                   [branch, *(part for part in does[0].children if part.kind == "if")][:2])


def _branches(function: Function, node: Node) -> list[Node]:
    """The ifs that ask for it: `if (a == 5 && near)`, `int on = a == 5; if (on && near)`."""
    up = next((up for up in node.up() if up.kind in ("if", "variable") or up.op == "="), None)
    if up is None:
        return []
    if up.kind == "if":
        return [up] if node.is_within(up.children[0]) else []
    key = up.key if up.kind == "variable" else up.children[0].key
    return [] if key is None else [
        each for each in function.nodes if each.kind == "if"
        and any(part.kind == "name" and part.key == key for part in each.children[0].walk())]


def _conjuncts(test: Node) -> Iterator[Node]:
    test = test.bare()
    if test.op == "&&":
        for part in test.children:
            yield from _conjuncts(part)
    else:
        yield test


def _is_never_met(source: Source, term: Node, does: list[Node]) -> bool:
    """Whether a field is compared with a number, and all that is stored to it elsewhere fails:
    zeros at first, other constants, and what only counts down."""
    compare: Callable[[float, float], bool] = operator.ne
    number: float | None = 0                # a field alone
    if term.op == "!":
        term, compare = term.children[0].bare(), operator.eq
    elif term.op in COMPARE:
        compare, number = COMPARE[term.op], term.children[1].bare().value
        term = term.children[0].bare()
    if term.kind != "member" or number is None:
        return False
    stores = [node for function in source.functions.values() for node in function.nodes
              if node.writes and node.children[0].key == term.key]
    values: set[float] = {0}
    for node in stores:
        if "--" in node.op or node.op == "-=" or any(node.is_within(part) for part in does):
            continue
        value = node.children[1].bare().value if node.op == "=" else None
        if value is None:
            return False
        values.add(value)
    return bool(stores) and not any(compare(value, number) for value in values)


def _after(case: Node) -> list[Node]:
    """What follows on a case, up to the next one."""
    beside = case.parent.children
    rest = beside[next(i for i, node in enumerate(beside) if node is case) + 1:]
    until = next((i for i, node in enumerate(rest) if node.kind in ("case", "default_stmt")),
                 len(rest))
    return [*case.children[1:], *rest[:until]]


def _has_test(source: Source, part: Node) -> bool:
    """Whether it does something on a condition, or calls a function of the author's that does."""
    if any(node.kind in TESTS for node in part.walk()):
        return True
    called = {node.name for node in part.walk() if node.kind == "call"} & set(source.functions)
    return any(node.kind in TESTS for name in called - {"c_reset"}
               for node in source.functions[name].nodes)


def _heads(actions: Actions, function: Function, node: Node, depth: int = 0) -> set[int]:
    """Heads that an expression may be the action of, whatever else it may be."""
    found: set[int] = set()
    for inner in node.walk():
        head = actions.head(function, inner)
        if head is not None:
            found.add(head)
        elif inner.kind == "name" and depth < DEEPEST:
            for value in _values(function, inner.key):
                found |= _heads(actions, function, value, depth + 1)
            for caller, value in function.given(inner.key):
                found |= _heads(actions, caller, value, depth + 1)
    return found


def _values(function: Function, key: int | None) -> list[Node]:
    """What a local is given."""
    return [node.children[-1] for node in function.nodes if node.children and key is not None and (
        (node.kind == "variable" and node.key == key)
        or (node.op == "=" and node.children[0].key == key))]
