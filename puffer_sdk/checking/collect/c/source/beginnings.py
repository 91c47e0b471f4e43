"""Functions that begin an episode as c_reset does.  Source -> their names

    static void begin(Game* env) { env->tick = 0; env->x = 4; observe(env); }
    void c_reset(Game* env) { begin(env); }

Where c_step calls begin(), it begins a new episode without a call of c_reset.
"""
from collections.abc import Iterator

from .....env.syntax import Node
from .fields import COPIES, FILLS
from .functions import Function
from .model import LOOPS, Source

SHOWN = ("observations", "rewards", "terminals", "truncations", "action_mask")
MOST = 7                # functions that the harness counts besides c_reset


def beginnings(source: Source) -> list[str]:
    """Functions of headers that do c_reset's whole work: beside them it stores nothing but rows."""
    def stores(*functions: Function) -> bool:
        return any(any(_stores(source, each)) for each in functions)

    return [function.name for function in source.reach("c_reset")
            if function.name != "c_reset" and function.file.endswith(".h")
            and _is_called_once(source, function) and stores(*source.reach(function.name))
            and not stores(*source.reach("c_reset", without=(function.name,)))][:MOST]


def _is_called_once(source: Source, function: Function, within: tuple[str, ...] = ()) -> bool:
    """Whether c_reset comes to it by one call that is in no loop: not once for each agent."""
    if function.name == "c_reset" or function.name in within:
        return function.name == "c_reset"
    calls = [(caller, node) for caller in source.reach("c_reset") for node in caller.nodes
             if node.kind == "call" and node.name == function.name]
    return len(calls) == 1 and not any(up.kind in LOOPS for up in calls[0][1].up()) and \
        _is_called_once(source, calls[0][0], (*within, function.name))


def _stores(source: Source, function: Function) -> Iterator[Node]:
    """What a function stores to anything but its own variables and the rows."""
    for node in function.nodes:
        if node.writes:
            target = node.children[0]
        elif node.kind == "call" and node.name in (*FILLS, *COPIES) and node.arguments:
            target = node.arguments[0]
        else:
            continue
        outside = any(inner.kind in ("member", "index") or inner.op == "*"
                      for inner in target.walk()) or node.kind == "call"
        if outside and not any(source.leads_to(function, target, field) for field in SHOWN):
            yield node


def are_tested(source: Source) -> bool:
    """Whether c_step comes to c_reset, or to what does its whole work, only by a test."""
    calls = [(function, node) for function in source.stepping() for node in function.nodes
             if node.kind == "call" and node.name in ("c_reset", *beginnings(source))]
    return bool(calls) and not any(source.is_certain(*call) for call in calls)


def counted_on(source: Source) -> set[str]:
    """Fields that c_reset makes from their own values: `level = (level + 1) % 5`."""
    return {node.children[0].bare().name for function in source.reach("c_reset")
            for node in function.nodes if node.writes and node.children[0].bare().kind == "member"
            and (node.op != "=" or any(inner.key == node.children[0].bare().key
                                       for inner in node.children[1].walk()))}
