"""What goes into the fields of Log.  Source -> stores, and the fields that they add

    env->log.hits += (float)env->hits;      // hits, from env->hits
    env->log.n += 1.0f;
"""
from .....env.syntax import Node
from .fields import FILLS
from .functions import Function
from .model import INTEGER, Source

DEEPEST = 8         # pointers given to pointers


def stores(source: Source) -> dict[str, list[tuple[Function, Node]]]:
    """Field of Log -> the stores to it that steps run."""
    found: dict[str, list[tuple[Function, Node]]] = {}
    for function in source.reach("c_step"):
        for node in function.nodes:
            if node.writes and source.is_column(node.children[0], node.children[0].name):
                found.setdefault(node.children[0].name, []).append((function, node))
    return found


def added(source: Source) -> dict[str, tuple[Function, Node]]:
    """Field of Log -> the field that it adds wherever n grows, and nowhere else, and in which
    function. One is 0 where the other is."""
    found, known = {}, stores(source)
    blocks = [node.parent for _, node in known.get("n", ())]
    for name, places in known.items():
        if len(places) == 1 and places[0][1].op == "+=" and any(
                places[0][1].parent is block for block in blocks):
            value = _factor(places[0][1].children[1])
            if value is not None and value.kind == "member":
                found[name] = places[0][0], value
    return found


def _factor(value: Node) -> Node | None:
    """What decides whether this is 0: x of `(float)x`, `2.0f * x`, and `x / y` of floats."""
    value = value.bare()
    while value.kind == "binary" and value.op in ("*", "/"):
        left, right = value.children
        if value.op == "/" and INTEGER.fullmatch(value.type) or not (
                value.op == "/" or left.value or right.value):
            return None
        value = (right if value.op == "*" and left.value else left).bare()
    return value


def paths(source: Source, function: Function, node: Node, deep: int = DEEPEST) -> set[str]:
    """Where a field may lie in the env struct, "cars.hits" in whichever of its cars; local pointers
    and parameters are followed. Of the struct itself: ""."""
    node = node.bare()
    if source.is_env(node):
        return {""}
    if not deep:
        return set()
    if node.kind == "member":
        return {f"{path}.{node.name}".lstrip(".")
                for path in paths(source, function, node.children[0], deep - 1)}
    if node.kind == "name":
        given = [(function, each) for each in function.pointers.given.get(node.key, ())]
        return {path for owner, each in given or function.given(node.key)
                for path in paths(source, owner, each, deep - 1)}
    if node.kind == "index" or node.op in ("&", "*", "+") and node.children:
        return paths(source, function, node.children[0], deep - 1)
    return set()


def may_fill(source: Source, name: str, element: int | None) -> bool:
    """Whether any code may store something but 0 to a field of Log, or to that element of one that
    is an array: by its name, or to a Log as a whole."""
    nodes = [node for function in source.functions.values() for node in function.nodes]
    return not source.log or any(_fills_whole(source, node) or _stores_to(
        source, node, name, element) for node in nodes)


def _stores_to(source: Source, node: Node, name: str, element: int | None) -> bool:
    if node.kind == "designator":
        return node.name == name and node.owner == source.log
    if not source.is_column(node, name):
        return False
    place = node
    indices: list[int | float | None] = []
    while place.parent.kind == "index" and place.parent.children[0] is place:
        place = place.parent
        indices.append(place.children[1].value)
    if element is not None and len(indices) == 1 and indices[0] is not None:
        if indices[0] != element:
            return False
    elif element is not None and not indices:
        return True                         # its address goes on
    return place.parent.op == "&" or place.parent.writes and place.parent.children[0] is place


def _fills_whole(source: Source, node: Node) -> bool:
    """A Log that is made of values, or that is handed on as memory: (float*)&env->log."""
    if node.kind == "list":
        return node.type == source.log and any(
            child.bare().value != 0 for child in node.children)
    given = node.children if node.kind == "cast" and node.is_pointer else \
        [node.arguments[index] for index in node.through if index < len(node.arguments)] \
        if node.kind == "call" and node.name not in {*FILLS, *source.functions} else []
    return any(each.type == f"{source.log} *" for each in given) and not (
        node.type == f"{source.log} *" or node.parent.kind == "call" and node.parent.name in FILLS)


def begins_at_zero(source: Source, field: Node) -> bool:
    """Whether c_reset sets a field to 0, as a count; fuel and lives end there."""
    return any(node.op == "=" and node.children[0].kind == "member"
               and node.children[0].key == field.key and node.children[1].bare().value == 0
               for function in source.reach("c_reset") for node in function.nodes)


def idle(source: Source) -> dict[str, Node]:
    """Field of Log -> what it adds, where no line of code ever makes that anything but 0."""
    found = {}
    for name, places in stores(source).items():
        added = [_factor(node.children[1]) if node.op == "+=" else None for _, node in places]
        values = [value for value in added if value is not None]
        if len(values) == len(added) and all(
                value.value == 0 or value.kind == "member" and not _is_counted(source, value)
                for value in values):
            found[name] = values[0]
    return found


def _is_counted(source: Source, field: Node) -> bool:
    """Whether a field is ever set to what may be something but 0, or its address is taken."""
    for function in source.functions.values():
        for node in function.nodes:
            if node.kind == "designator" and node.name == field.name:
                return True
            stores = (node.writes or node.op == "&") and node.children and any(
                inner.kind == "member" and inner.key == field.key
                for inner in node.children[0].walk())
            if stores and (node.op != "=" or node.children[1].bare().value != 0):
                return True
    return False
