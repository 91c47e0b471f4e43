"""Actions whose effect has further conditions: a shelf must be there to be lifted.  Source -> ids

    if (action == LIFT && env->map[env->at] == SHELF) { ... }
    case LIFT: lift(env);               // and lift() begins with a test

Whether such an action does anything is for the play to meet, so that no moments of random play show
that it does nothing.
"""
from __future__ import annotations

from .....base.spec import Spec
from .....env.syntax import Node
from .actions import Actions
from .model import TESTS, Function, Source

DEEPEST = 8         # locals and parameters through which an action is followed


def ids(source: Source, spec: Spec | None) -> set[tuple[int, int]]:
    """(head, value) of each action that c_step compares with, to do something under conditions."""
    if spec is None or not spec.act_widths:
        return set()
    functions = source.reach("c_step", *source.batch_steps(), without=("c_render", "c_close"))
    actions, found = Actions(source, spec, functions), set()
    for function in functions:
        for node in function.nodes:
            if node.kind == "case":
                switch = next((up for up in node.up() if up.kind == "switch"), None)
                compared, value = switch and switch.children[0], node.children[0].value
                does = _after(node)
                more = any(_has_test(source, part) for part in does)
            elif node.op == "==" and node.kind == "binary":
                branch = next((up for up in node.up() if up.kind == "if"), None)
                if branch is None or not node.is_within(branch.children[0]):
                    continue
                compared, value = node.children[0], node.children[1].bare().value
                more = any(n.op == "&&" for n in branch.children[0].walk()) or _has_test(
                    source, branch.children[1])
            else:
                continue
            if more and compared is not None and value is not None:
                found |= {(head, int(value)) for head in _heads(actions, function, compared)}
    return found


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
