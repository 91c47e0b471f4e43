"""Which variables a function stores to, through pointers and calls too.  Source -> Access

Over-approximates what may be stored, never what is shared: a store counts for every variable
that its pointer may lead to within the function.
"""
from .....env.syntax import Node
from .functions import Access, Function, Variable
from .model import Source

# key of the variable, where, whether through a pointer to it
Store = tuple[int | None, Node, bool]


class Effects:
    """The stores of each function, computed once."""

    def __init__(self, source: Source):
        self.source = source
        self.known: dict[str, list[Store]] = {}

    def stores(self, function: Function) -> list[Store]:
        if function.name in self.known:
            return self.known[function.name]
        found = self.known[function.name] = []      # a recursion adds nothing new
        for node in function.nodes:
            if node.writes and node.children:
                target = node.children[0].bare()
                if target.kind == "name":
                    found.append((target.key, node, False))
                else:
                    found += self.through(function, target, node)
            elif node.kind == "call":
                for index, argument in enumerate(node.arguments):
                    if argument.is_pointer and self.call_stores(node, index):
                        found += self.through(function, argument, node)
        return found

    def through(self, function: Function, target: Node, node: Node) -> list[Store]:
        return [(origin.key, node, True) for origin in function.pointers.origins(target)
                if origin.kind == "name"]

    def call_stores(self, call: Node, index: int) -> bool:
        """Whether a call may store through the pointer that is its argument `index`."""
        callee = self.source.functions.get(call.name)
        if callee is not None:
            if index >= len(callee.parameters):
                return False
            key = callee.parameters[index].key
            return any(stored == key and through for stored, _, through in self.stores(callee))
        return index in call.through


def accesses(source: Source, functions: list[Function]) -> list[Access]:
    """Where these functions write or mention state that outlives a call, in order of the lines."""
    effects = Effects(source)
    for function in _callees_first(source, functions):
        effects.stores(function)
    for function in functions:
        for node in function.nodes:
            if node.static and node.key is not None:
                source.statics.setdefault(node.key, Variable(
                    node.name, function.file, node.line, *node.static, function=function.name))
    variables = source.globals | source.statics
    found = []
    for function in functions:
        for key, node, _ in effects.stores(function):
            if key in variables:
                found.append(Access(variables[key], function, node, True))
        for node in function.nodes:
            if node.kind == "name" and node.key in variables:
                found.append(Access(variables[node.key], function, node, False))
    return found


def _callees_first(source: Source, functions: list[Function]) -> list[Function]:
    """These and all that they call, so that no long chain of calls is followed by recursion."""
    done: dict[str, Function] = {}
    stack = [(function, False) for function in functions]
    seen = set()
    while stack:
        function, is_left = stack.pop()
        if is_left:
            done.setdefault(function.name, function)
        elif function.name not in seen:
            seen.add(function.name)
            stack.append((function, True))
            stack += [(source.functions[name], False) for name in sorted(function.calls)]
    return list(done.values())
