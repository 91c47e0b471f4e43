"""State that all envs of a process share, and that changes.  Source -> Shared

Asked of what init, c_reset and c_step can reach; drawing, c_close and main may keep what they
like. init runs for one env after the other, so what it fills alike each time is a table.
"""
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from .....env.syntax import Node
from .effects import accesses
from .functions import Access, Call, Function, Variable
from .model import Source

_LEFT_OUT = ("c_render", "c_close")
_LOCKS = ("pthread_", "mtx_t", "once_flag")
_TAKES = ("pthread_mutex_lock", "pthread_spin_lock", "mtx_lock")
_GIVES = ("pthread_mutex_unlock", "pthread_spin_unlock", "mtx_unlock")
_ONCE = ("pthread_once", "call_once")


@dataclass(frozen=True)
class Shared:
    """A variable that envs share, and where it is written."""

    variable: Variable
    writer: str                             # the function of the first write
    places: list[tuple[str, int, str]]      # (file, line, function) of each write
    of_settings: bool                       # the same for all envs of the same settings


def shared_state(source: Source, dice: Iterable[Call] = ()) -> list[Shared]:
    """In the order of their declarations.

    dice    calls that draw random numbers: what depends on them is not the same each time
    """
    stepping = source.reach("c_reset", "c_step", *source.batch_steps(), without=_LEFT_OUT)
    making = [f for f in source.reach("init", "my_init", without=_LEFT_OUT) if f not in stepping]
    closing = source.reach("c_close")
    tables = _Tables(source, making, stepping, {id(call.node) for call in dice})
    found = []
    by_variable: dict[Variable, list[Access]] = {}
    for access in accesses(source, stepping + making):
        by_variable.setdefault(access.variable, []).append(access)
    for variable, mentions in by_variable.items():
        writes = [access for access in mentions if access.is_write]
        if not variable.is_mutable or not writes or _is_lock(variable) or _is_seed(mentions):
            continue
        late = [access for access in writes if access.function in stepping
                and not tables.is_once(access)]
        if not late:
            counted = _is_count(source, variable, writes, closing)
            late = [] if counted else [w for w in writes if not tables.is_alike(w)]
        if late:
            places = sorted({(w.function.file, w.node.line, w.function.name) for w in late})
            found.append(Shared(variable, late[0].function.name, places, all(
                write.function in making and tables.is_of_settings(write) for write in late)))
    return sorted(found, key=lambda one: (one.variable.file, one.variable.line,
                                          one.variable.name))


def _is_lock(variable: Variable) -> bool:
    return variable.type.startswith(_LOCKS)


def _is_seed(mentions: list[Access]) -> bool:
    """Only ever handed to rand_r, of which PUF109 speaks."""
    return all(access.node.name == "rand_r" or any(up.name == "rand_r" for up in access.node.up())
               for access in mentions)


def _is_count(source: Source, variable: Variable, writes: list[Access],
              closing: list[Function]) -> bool:
    """Counted up by each init and down by each c_close: how many envs there are."""
    if not all(write.node.op in ("x++", "++x") for write in writes):
        return False
    return any(access.variable is variable and access.node.op in ("x--", "--x")
               for access in accesses(source, closing) if access.is_write)


class _Tables:
    """Whether the same values are stored for every env."""

    def __init__(self, source: Source, making: list[Function], stepping: list[Function],
                 dice: set[int]):
        self.source, self.making, self.functions = source, making, making + stepping
        self.dice = dice
        self.known: dict[str, set[int]] = {}

    def is_once(self, write: Access) -> bool:
        """A store of what does not depend on the env, made by one thread: after a test of an
        atomic flag, after one of shared state under a lock, or by pthread_once."""
        function, node = write.function, write.node
        return not self.depends(function, node) and (
            self.is_called_once(function) or self.is_guarded(function, node, self.is_atomic)
            or _is_locked(node) and self.is_guarded(function, node, self.is_shared))

    def is_alike(self, write: Access) -> bool:
        """A store of what does not depend on the env, nor on what was there before."""
        node = write.node
        if node.op == "=" or node.kind == "call":
            return not self.depends(write.function, node)
        return self.is_guarded(write.function, node, self.is_shared) and not self.depends(
            write.function, node)

    def is_of_settings(self, write: Access) -> bool:
        """An assignment of what the env has from its settings alone."""
        return write.node.op == "=" and self.is_setting(write.function, write.node.children[1])

    def is_setting(self, function: Function, value: Node, seen: frozenset[int | None] = frozenset()
                   ) -> bool:
        """Whether a value comes from constants and from fields that nothing but init or my_init
        gives such values."""
        fields = [node for node in value.walk() if node.kind == "member" and any(
            self.depends(function, child) for child in node.children)]
        inside = {id(inner) for field in fields for inner in field.walk()}
        if any(self.depends(function, node) for node in value.walk()
               if id(node) not in inside and not node.children):
            return False
        known = {**self.source.globals, **self.source.statics}
        if any(self.is_shared(node) and node.key is not None and known[node.key].is_mutable
               for node in value.walk()):
            return False
        stores = [(each, node) for each in self.functions for node in each.nodes if node.writes
                  and node.children[0].key in {field.key for field in fields} - seen]
        return not any(field.name == "rng" or field.key is None for field in fields) and all(
            node.op == "=" and each in self.making
            and self.is_setting(each, node.children[1], seen | {node.children[0].key})
            for each, node in stores)

    def depends(self, function: Function, node: Node) -> bool:
        """Whether a value comes from the env, or from chance."""
        tainted = self.tainted(function)
        return any(n.key in tainted if n.kind == "name" else id(n) in self.dice
                   for n in node.walk())

    def tainted(self, function: Function) -> set[int]:
        """Parameters that are handed the env, and locals made from them."""
        if function.name in self.known:
            return self.known[function.name]
        self.known[function.name] = set()
        calls = self.calls(function)
        found = self.known[function.name] = {
            each.key for number, each in enumerate(function.parameters)
            if (any(self.depends(caller, argument) for caller, call in calls
                    for argument in call.arguments[number:number + 1])
                if calls else each.points_to_struct)}
        for _ in range(3):                  # a local of a local of a local
            before = len(found)
            for node in function.nodes:
                value = node.children[-1] if node.children else None
                key = None
                if node.kind == "variable":
                    key = node.key
                elif node.writes and node.children[0].kind == "name":
                    key = node.children[0].key
                if key is not None and value is not None and key not in self.source.globals and (
                        self.depends(function, value)):
                    found.add(key)
            if len(found) == before:
                break
        return found

    def calls(self, function: Function) -> list[tuple[Function, Node]]:
        """(caller, call)"""
        return [(caller, n) for caller in self.functions for n in caller.nodes
                if n.kind == "call" and n.name == function.name]

    def is_guarded(self, function: Function, node: Node, holds: Callable[[Node], bool],
                   seen: frozenset[str] = frozenset()) -> bool:
        """Whether a test comes first of which some node `holds`, as that of shared state does in
        `if (!ready) { fill(); ready = 1; }`."""
        inner = node
        for up in node.up():
            tests = []
            if up.kind == "if" and inner is not up.children[0]:
                tests = [up.children[0]]
            elif up.kind == "block":
                for before in up.children:
                    if before is inner:
                        break
                    if before.kind == "if" and any(n.kind == "return" for n in before.walk()):
                        tests.append(before.children[0])
            if any(holds(n) for test in tests for n in test.walk()):
                return True
            inner = up
        calls = self.calls(function)
        return bool(calls) and function.name not in seen and all(
            self.is_guarded(caller, n, holds, seen | {function.name}) for caller, n in calls)

    def is_called_once(self, function: Function, seen: frozenset[str] = frozenset()) -> bool:
        """Whether it is only ever handed to pthread_once or call_once, or called by such ones."""
        named = [(caller, node) for caller in self.functions for node in caller.nodes
                 if node.is_function and node.name == function.name]
        seen |= {function.name}
        return bool(named) and all(
            node.parent.name in _ONCE if node is not node.parent.children[0] else
            caller.name not in seen and self.is_called_once(caller, seen)
            for caller, node in named)

    def is_atomic(self, node: Node) -> bool:
        """__atomic_load_n(&ready, ...), an expression with the address of shared state; or shared
        state that is _Atomic."""
        return self.is_shared(node) and "_Atomic" in node.type or (
            node.kind == "unexposed_expr" and any(
                self.is_shared(inner) for child in node.children[:1] if child.op == "&"
                for inner in child.walk()))

    def is_shared(self, node: Node) -> bool:
        return node.kind == "name" and (node.key in self.source.globals or
                                        node.key in self.source.statics)


def _is_locked(node: Node) -> bool:
    """Whether a statement before it takes a lock, and none between them gives it back."""
    inner, held = node, False
    for up in node.up():
        for before in up.children if up.kind == "block" else ():
            if before is inner:
                break
            held = before.name in _TAKES or held and before.name not in _GIVES
        if held:
            return True
        inner = up
    return False
