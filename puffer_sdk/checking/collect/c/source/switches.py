"""What is the same in the whole play: constants, and settings that nothing but [env] sets.

    if (env->debug && env->tick > 9) ...        // false, with [env] debug = 0
"""
import operator
from collections.abc import Callable, Mapping

from .....env.syntax import Node
from .model import Source

_APPLY: dict[str, Callable[[float, float], float]] = {
    "<": operator.lt, ">": operator.gt, "<=": operator.le, ">=": operator.ge,
    "==": operator.eq, "!=": operator.ne, "&&": lambda a, b: a and b,
    "||": lambda a, b: a or b, "&": lambda a, b: int(a) & int(b)}


def value(source: Source, node: Node, settings: Mapping[str, float]) -> float | None:
    """Of an expression; None where it depends on the game."""
    node = node.bare()
    if isinstance(node.value, (int, float)):
        return node.value
    if node.kind in ("name", "member"):
        return _setting(source, node, settings)
    sides = [value(source, child, settings) for child in node.children]
    if node.op == "!" and sides[0] is not None:
        return float(not sides[0])
    if node.op == "&&" and any(side == 0 for side in sides):
        return 0.0
    known = [side for side in sides if side is not None]
    if node.op in _APPLY and len(sides) == len(known) == 2:
        return float(_APPLY[node.op](known[0], known[1]))
    return None


def _setting(source: Source, node: Node, settings: Mapping[str, float]) -> float | None:
    """Of a variable or field."""
    if _is_set(source, node, "init", "c_reset", "c_step"):
        return None
    if node.kind == "name":
        variable = source.globals.get(node.key or 0)
        below = variable.tree.children if variable and variable.tree else ()
        return (below[-1].value if below else 0.0) if variable else None
    if not source.is_field(node, node.name):
        return None
    given = settings.get(node.name)
    if given is not None:
        return float(given)
    return None if _is_set(source, node, "my_init", "my_vec_init") else 0.0


def _is_set(source: Source, node: Node, *starts: str) -> bool:
    return any(one.writes and one.children[0].key == node.key
               for function in source.reach(*starts) for one in function.nodes)
