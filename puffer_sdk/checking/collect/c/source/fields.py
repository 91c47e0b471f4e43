"""Which expressions lie in a field of the env struct, or in what it points to.  Source -> yes or no

    static void show(float* row) { row[0] = 1.0f; }         // in env->observations, because of
    void c_step(Game* env) { show(env->observations); }     // this

Over-approximates: a pointer leads to everything that it was ever given.
"""
from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from .....env.syntax import Node

if TYPE_CHECKING:
    from .functions import Function

# as the front end names them, the compiler's own spellings too
FILLS = {"memset", "__builtin_memset", "__memset_chk", "__builtin___memset_chk", "bzero"}
COPIES = {"memcpy", "memmove", "__builtin_memcpy", "__builtin_memmove", "__builtin___memcpy_chk",
          "__builtin___memmove_chk"}
SIZEOF = "cxx_unary_expr"                       # libclang's word, of C too
# fields of the contract: what is stored to them is more than drawn
BOUND = ("observations", "actions", "rewards", "terminals", "action_mask")
AGENT = ("struct Agent", "Agent")       # PufferLib 5.0's: it has those, and not the env struct
SHOWN = ("observations", "rewards", "terminals", "truncations", "action_mask", "log", "num_agents")


class Fields:
    """What a Source knows of the env struct. Fields of the contract go by their names."""

    binding: str
    files: dict[str, str]
    functions: dict[str, Function]

    def reach(self, *starts: str, without: tuple[str, ...] = ()) -> list[Function]:
        """The functions of `starts` and those they may call, not going through `without`."""
        seen: dict[str, Function] = {}
        stack = list(reversed(starts))
        while stack:
            name = stack.pop()
            function = self.functions.get(name)
            if function is None or name in seen or name in without:
                continue
            seen[name] = function
            stack += sorted(function.calls, reverse=True)
        return list(seen.values())

    def stepping(self) -> list[Function]:
        """What c_step runs, without c_reset."""
        return self.reach("c_step", without=("c_reset",))

    @cached_property
    def callers(self) -> dict[str, list[tuple[Function, Node]]]:
        """Function -> who calls it, and where."""
        found: dict[str, list[tuple[Function, Node]]] = {}
        for caller in self.functions.values():
            for node in caller.nodes:
                if node.kind == "call" and node.name:
                    found.setdefault(node.name, []).append((caller, node))
        return found

    @cached_property
    def struct(self) -> str:
        """The type of the env struct, which is what c_step takes; "" if it is not known."""
        step = self.functions.get("c_step")
        return step.parameters[0].pointee if step and step.parameters else ""

    def is_field(self, node: Node, name: str) -> bool:
        """Whether this is the env struct's field of that name: env->observations."""
        return node.kind in ("member", "designator") and node.name == name and \
            (node.owner == self.struct or node.owner in AGENT and name in BOUND)

    def sets(self, field: str) -> bool:
        """Whether any function stores to a field of the env struct, or hands its address on."""
        return any(self.is_field(node, field) if node.kind == "designator" else
                   (node.writes or node.op == "&") and node.children
                   and self.is_field(node.children[0], field)
                   for function in self.functions.values() for node in function.nodes)

    def fields_of(self, setting: str) -> set[int | None]:
        """The fields of structs that hold an [env] key: those that the binding stores it to, or the
        env struct's of that name."""
        if self.binding not in self.files:
            return {node.key for function in self.functions.values() for node in function.nodes
                    if self.is_field(node, setting)}
        return {node.children[0].key for function in self.functions.values()
                if function.file == self.binding for node in function.nodes
                if node.op == "=" and node.children[0].kind == "member"
                and any(inner.text == f'"{setting}"'
                        for inner in node.children[1].walk())}

    def is_only_read(self, setting: str) -> bool:
        """Whether steps read what holds an [env] key, and nothing but my_init writes it."""
        fields, stepping = self.fields_of(setting), self.stepping()
        read = any(node.key in fields for function in stepping for node in function.nodes)
        return read and not any(
            node.writes and node.children[0].key in fields
            and (function in stepping or not _bounds(node, fields))
            for function in self.reach("init", "c_reset", "c_step") for node in function.nodes)

    def is_only_drawn(self, setting: str) -> bool:
        """Whether what holds an [env] key is read to draw, or to make fields that are."""
        made, drawn = self.fields_of(setting), self.reach("c_render", "c_close")
        playing = self.reach("c_step", "c_reset", "init", "my_init", "my_vec_init")
        seen: set[int | None] = set()
        while made - seen:
            field = (made - seen).pop()
            seen.add(field)
            for node in (node for function in playing for node in function.nodes):
                if node.key != field or node.kind != "member":
                    continue
                store = next((up for up in node.up() if up.op == "="), None)
                if store is None:
                    return False
                target = store.children[0]
                while target.kind == "index" and not node.is_within(target.children[1]):
                    target = target.children[0]
                if target.kind != "member" or any(self.is_field(part, name) for name in SHOWN
                                                  for part in target.walk()):
                    return False
                made.add(target.key)
        return any(node.key in seen for function in drawn for node in function.nodes)

    def is_kept_unread(self, value: Node, functions: list[Function]) -> bool:
        """Whether a value is stored to a field, or an element of one, that none of these functions
        reads: they only store to it, or clear it."""
        store = value.around
        while store is not None and store.kind == "cast":
            store = store.around
        if store is None or store.op != "=":
            return False
        target = _array(store.children[0])
        return target.kind == "member" and all(
            _is_filled(node) for function in functions for node in function.nodes
            if node.kind == "member" and node.key == target.key)

    def computed_logs(self) -> set[str]:
        """Fields of Log that steps compute from others, which are sums: sums, unless of n."""
        found = set()
        for function in self.reach("c_step"):
            for node in function.nodes:
                if node.kind == "binary" and node.op == "=" and self.stores_column(function, node):
                    read = {inner.name for inner in node.children[1].walk()
                            if self.is_of_log(function, inner)} - {node.children[0].name}
                    if read and "n" not in read:
                        found.add(node.children[0].name)
        return found

    def stores_column(self, function: Function, node: Node) -> bool:
        """Whether an assignment is one to a field of env->log."""
        return self.is_of_log(function, node.children[0])

    def is_of_log(self, function: Function, node: Node) -> bool:
        return node.kind == "member" and bool(node.children) and \
            self.leads_to(function, node.children[0], "log")

    def is_env(self, node: Node) -> bool:
        """Whether this is the env struct, or a pointer to one."""
        return bool(self.struct) and node.type.removesuffix(" *").removeprefix(
            "const ") == self.struct

    def leads_to(self, function: Function, node: Node, field: str) -> bool:
        """Whether an lvalue or pointer lies in what a field of the env struct holds, or points to.

        Local pointers, parameters, and pointers in other structs are followed. A local array that
        is copied there as a whole counts as well.
        """
        return any(self._starts_at(function, origin, field)
                   for origin in function.pointers.origins(node))

    def _starts_at(self, function: Function, origin: Node, field: str) -> bool:
        if origin.kind == "member":
            if self.is_field(origin, field):
                return True
            given = self._pointed.get(origin.key, []) if origin.is_pointer else []
        else:
            given = [*function.given(origin.key), *self._copied.get(origin.key, ())]
        if not given:
            return False
        known = self._leading
        if (origin.key, field) not in known:
            known[origin.key, field] = False        # until it is known: pointers may go round
            known[origin.key, field] = any(self.leads_to(owner, one, field)
                                           for owner, one in given)
        return known[origin.key, field]

    def given_to(self, key: int | None) -> list[tuple[Function, Node, Node]]:
        """(function, target, value) of each assignment to a variable or field, or to an element of
        it, that is not made from its own value: `x = x + 1` goes on, `x = y - z` begins anew."""
        return self._given.get(key, [])

    @cached_property
    def _given(self) -> dict[int | None, list[tuple[Function, Node, Node]]]:
        found: dict[int | None, list[tuple[Function, Node, Node]]] = {}
        for function in self.reach("init", "c_reset", "c_step"):
            for node in function.nodes:
                if node.op == "=" and node.kind == "binary":
                    target, value = node.children
                elif node.kind == "variable" and node.children:
                    target, value = node, node.children[-1]
                else:
                    continue
                key = next((inner.key for inner in target.walk() if inner.key is not None), None)
                if key is not None and all(inner.key != key for inner in value.walk()):
                    found.setdefault(key, []).append((function, target, value))
        return found

    @cached_property
    def _leading(self) -> dict[tuple[int | None, str], bool]:
        return {}

    @cached_property
    def _pointed(self) -> dict[int | None, list[tuple[Function, Node]]]:
        """Pointer fields of any struct -> what they are given."""
        found: dict[int | None, list[tuple[Function, Node]]] = {}
        for function in self.functions.values():
            for node in function.nodes:
                if node.op == "=" and node.kind == "binary" and node.children[0].kind == "member" \
                        and node.children[0].is_pointer:
                    found.setdefault(node.children[0].key, []).append((function, node.children[1]))
        return found

    @cached_property
    def _copied(self) -> dict[int | None, list[tuple[Function, Node]]]:
        """Local arrays that memcpy() copies -> where to."""
        found: dict[int | None, list[tuple[Function, Node]]] = {}
        for function in self.functions.values():
            arrays = {node.key for node in function.nodes if node.kind == "variable"
                      and "[" in node.type}
            for call in function.library_calls:
                if call.name in COPIES and len(call.node.arguments) > 1:
                    for origin in function.pointers.origins(call.node.arguments[1]):
                        if origin.kind == "name" and origin.key in arrays:
                            found.setdefault(origin.key, []).append(
                                (function, call.node.arguments[0]))
        return found

    @cached_property
    def log(self) -> str:
        """The type of the env struct's `log`; "" where no code mentions it."""
        return next((node.type for function in self.functions.values() for node in function.nodes
                     if self.is_field(node, "log")), "")

    def is_column(self, node: Node, name: str) -> bool:
        """Whether this is the field of that name of some Log: an env's, or an agent's own."""
        return node.kind == "member" and node.name == name and node.owner == self.log


def is_zero(function: Function, value: Node) -> bool:
    """Whether a struct is all zeros: `(Log){0}`, or a variable that is declared as that and that
    nothing is stored to."""
    value = value.bare()
    if value.kind == "name":
        made = next((node for node in function.nodes
                     if node.kind == "variable" and node.key == value.key and node.children), None)
        return made is not None and is_zero(function, made.children[-1]) and not any(
            (node.writes or node.op == "&") and any(
                inner.key == value.key for inner in node.children[0].walk())
            for node in function.nodes)
    return value.kind in ("literal", "list") and all(
        node.kind in ("literal", "list") or node.bare().value == 0 for node in value.walk())


def field_of(node: Node) -> int | None:
    """The field of `.field = node`, or of `x->field = node`."""
    inner = node
    while inner.around is not None and (inner.around.kind == "cast" or inner.around.op == "&"):
        inner = inner.around
    up = inner.around
    if up is None or not up.children or up.children[-1] is not inner or up.children[0] is inner:
        return None
    target = up.children[0]
    stored = target.kind == "designator" or (up.op == "=" and target.kind == "member")
    return target.key if stored else None


def _array(target: Node) -> Node:
    """What an element is of: env->lit of env->lit[i]."""
    while target.kind == "index" and target.children:
        target = target.children[0].bare()
    return target


def _whole(member: Node) -> tuple[Node, Node | None]:
    """The field, or the element of it that is meant, and what is around that."""
    inner, up = member, member.around
    while up is not None and (up.kind == "cast" or (
            up.kind == "index" and member.is_within(up.children[0]))):
        inner, up = up, up.around
    return inner, up


def _is_filled(member: Node) -> bool:
    """Whether a field is mentioned only to store to it, or to its elements."""
    inner, up = _whole(member)
    if up is None:
        return False
    if up.kind == "call":
        return up.name in FILLS and up.arguments[0] is inner
    return up.kind == SIZEOF or (up.op == "=" and up.children[0] is inner)


def is_written(member: Node) -> bool:
    """Whether a field, or an element of it, is stored to here, or handed to what may store."""
    inner, up = _whole(member)
    if up is None:
        return False
    if up.kind == "call":
        return any(one is inner and index in up.through for index, one in enumerate(up.arguments))
    return up.op == "&" or (up.writes and up.children[0] is inner)


def _bounds(store: Node, fields: set[int | None]) -> bool:
    """Whether a store only bounds a field: what it stores, or the test before it, is of it."""
    tests = [up.children[0] for up in store.up() if up.kind == "if"]
    return any(node.key in fields for part in (*store.children[1:], *tests)
               for node in part.walk())
