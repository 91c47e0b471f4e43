"""Places where an environment can be broken, and how.  an env folder -> Mutants

The functions that init, c_reset, c_step and c_close reach are walked with libclang; drawing is
left alone. Each operator plants one mistake that people make.
"""
from __future__ import annotations

import difflib
import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict

import msgspec

from ..base import limited, paths
from ..env import probe
from .mutant import FAULT, OPERATORS, RULE, RULE_CHANGES, Edit, Mutant
from .reading import BUFFERS, Reader

if TYPE_CHECKING:
    from clang.cindex import Cursor

# operator, line, file, and of each edit its begin, end and text, as JSON
Row = tuple[str, int, str, list[tuple[int, int, str]]]


class Request(TypedDict):
    """The folder to read, and the compiler's flags."""

    folder: str
    flags: list[str]


def find(folder: Path) -> list[Mutant]:
    """Every mutant that the operators offer, in order of operators and lines. Raises BuildError
    where reading the header takes too much."""
    header = paths.header_of(folder)
    found = msgspec.convert(limited.call(
        "puffer_sdk.mutate.mutations:answer",
        {"folder": str(folder), "flags": probe.clang_flags(folder)},
        what=header.name, where=header), list[Row])
    return _mutants(folder, [Candidate(operator, line, file, tuple(
        Edit(begin, end, text.encode(errors="surrogateescape")) for begin, end, text in edits))
        for operator, line, file, edits in found])


def answer(request: Request) -> list[Row]:
    """For the child of base/limited.py: the candidates."""
    planter = _Planter(Path(request["folder"]), request["flags"])
    planter.run()
    return [(each.operator, each.line, each.file, [
        (edit.begin, edit.end, edit.text.decode(errors="surrogateescape"))
        for edit in each.edits]) for each in planter.found]


@dataclass(frozen=True)
class Candidate:
    """A place, and what would stand there."""

    operator: str
    line: int
    file: str                   # relative to the env's folder
    edits: tuple[Edit, ...]


class _Planter(Reader):
    """Walks one environment and collects candidates."""

    def __init__(self, folder: Path, flags: list[str]):
        super().__init__(folder, flags)
        self.found: list[Candidate] = []

    def run(self) -> None:
        self.step = self.reach("c_step")
        self.reset = self.reach("c_reset")
        self.close = self.reach("c_close")
        init = self.reach("init") + self.reach("my_init")
        every = {f.spelling: f for f in (*self.step, *self.reset, *init, *self.close)}
        for _ in range(2):                          # aliases and actions that are handed down
            for function in every.values():
                self.find_aliases(function)
                self.find_actions(function)
        names = {part: {f.spelling for f in getattr(self, part)} for part in ("step", "reset")}
        self.in_step = names["step"] - {"c_reset"}
        self.in_reset = names["reset"]
        self.in_close = {f.spelling for f in self.close}
        self.clears = any(self.clears_observations(f) for f in every.values())
        self.stores = Counter(name for f in every.values() for name in self.stored_fields(f))
        self.writers = {f.spelling for f in every.values() if self.writes_observations(f)}
        for function in every.values():
            self.function = function
            self.loops: list[Cursor] = []
            self.changed = self.changed_locals(function)
            self.walk(function, [])
        self.plant_in_whole(every)

    # -- planting

    def plant(self, operator: str, cursor: Cursor, *edits: tuple[int, int, bytes | str]) -> None:
        file = Path(cursor.location.file.name).resolve().relative_to(self.folder)
        self.text_of(cursor)
        self.found.append(Candidate(operator, cursor.location.line, str(file), tuple(
            Edit(a, b, t.encode() if isinstance(t, str) else t) for a, b, t in edits)))

    def drop(self, operator: str, cursor: Cursor) -> None:
        self.plant(operator, cursor, (cursor.extent.start.offset, cursor.extent.end.offset, ""))

    def replace(self, operator: str, cursor: Cursor, form: str) -> None:
        """form: the new text, with {} where the old one goes."""
        old = self.text_of(cursor).decode(errors="surrogateescape")
        self.plant(operator, cursor, (cursor.extent.start.offset, cursor.extent.end.offset,
                                      form.replace("{}", old).encode(errors="surrogateescape")))

    def walk(self, cursor: Cursor, parents: list[Cursor]) -> None:
        K = self.K
        inner = list(cursor.get_children())
        if parents and self.is_statement(cursor, parents[-1]):
            self.visit_statement(cursor, parents)
        if cursor.kind == K.ARRAY_SUBSCRIPT_EXPR and len(inner) == 2:
            self.visit_subscript(cursor, *inner)
        elif cursor.kind == K.FOR_STMT:
            self.visit_for(cursor, inner)
        elif cursor.kind == K.IF_STMT:
            self.visit_if(inner)
        elif cursor.kind == K.BINARY_OPERATOR and len(inner) == 2:
            self.visit_comparison(cursor, inner, parents)
        elif cursor.kind == K.SWITCH_STMT:
            self.visit_switch(inner)
        elif cursor.kind == K.DECL_STMT and parents[-1].kind == K.COMPOUND_STMT:
            self.visit_declaration(cursor, inner)
        elif cursor.kind == K.CALL_EXPR and cursor.spelling in ("calloc", "malloc"):
            argument = next(cursor.get_arguments(), None)
            if argument is not None:
                self.replace("short-alloc", argument, "({}) - 1")
        loop = self.loop_variable(cursor) if cursor.kind == K.FOR_STMT else None
        self.loops += [loop] if loop else []
        for child in inner:
            self.walk(child, [*parents, cursor])
        if loop:
            self.loops.pop()

    def is_statement(self, cursor: Cursor, parent: Cursor) -> bool:
        K = self.K
        if parent.kind == K.COMPOUND_STMT:
            return True
        inner = list(parent.get_children())
        if parent.kind == K.IF_STMT:
            return bool(cursor != inner[0])
        return parent.kind in (K.FOR_STMT, K.CASE_STMT, K.DEFAULT_STMT) and bool(
            cursor == inner[-1])

    def visit_statement(self, cursor: Cursor, parents: list[Cursor]) -> None:
        K = self.K
        cursor = self.bare(cursor)
        nested = any(p.kind in (K.IF_STMT, K.SWITCH_STMT) for p in parents)
        left, op = self.assigned(cursor)
        if left is not None:
            self.visit_assignment(cursor, left, op, nested)
        elif cursor.kind == K.CALL_EXPR:
            self.visit_call(cursor, nested)

    def visit_assignment(self, cursor: Cursor, left: Cursor, op: str, nested: bool) -> None:
        buffer, fields = self.root(left)
        here = self.function.spelling
        right = list(cursor.get_children())[-1]
        if buffer == "observations":
            self.drop("drop-sight" if self.clears else "drop-obs-write", cursor)
            parts = list(self.bare(right).get_children())
            if self.bare(right).kind == self.K.BINARY_OPERATOR and len(parts) == 2 \
                    and self.between(*parts)[2] == "/":
                self.replace("scale-obs", right, self.text_of(parts[0]).decode())
        elif buffer == "rewards":
            self.drop("drop-bonus" if nested else "drop-reward-write", cursor)
            if op.endswith("=") and not re.fullmatch(rb"[-0.f]*", self.text_of(right)):
                self.replace("scale-reward", right, "100.0f * ({})")
        elif buffer in ("terminals", "truncations"):
            self.drop("drop-terminal-write", cursor)
        elif buffer is None and "log" in fields:
            name = fields[0]
            self.drop("drop-log-n" if name == "n" else "drop-log-length" if name in (
                "episode_return", "episode_length") else "drop-score", cursor)
        elif buffer is None and fields and "rng" not in fields:
            alone = self.stores[self.field_of(left)] == 1
            self.drop("drop-update" if here not in self.in_reset else
                      "drop-setup" if alone else "drop-state-reset", cursor)
            if op in ("+=", "-=") and here not in self.in_reset:
                begin, end, _ = self.between(*cursor.get_children())
                self.plant("flip-sign", cursor, (begin, end, "-=" if op == "+=" else "+="))

    def visit_call(self, cursor: Cursor, nested: bool) -> None:
        name, here = cursor.spelling, self.function.spelling
        arguments = list(cursor.get_arguments())
        if name in ("memset", "memcpy") and arguments:
            buffer, fields = self.root(arguments[0])
            operator = {"observations": "drop-clear", "rewards": "drop-reward-write",
                        "terminals": "drop-terminal-write"}.get(buffer or "")
            if operator or (here in self.in_reset and fields and buffer is None):
                self.drop(operator or "drop-state-reset", cursor)
        elif name == "free" and here in self.in_close:
            self.drop("drop-free", cursor)
        elif name == "c_reset" and here in self.in_step:
            self.drop("drop-reset", cursor)
        elif name in self.writers:
            self.drop("drop-observe", cursor)
        elif name in self.functions and name not in ("c_close", "c_render") and (
                self.own(self.functions[name])):
            if here in self.in_reset:
                self.drop("drop-state-reset", cursor)
            elif here in self.in_step:
                self.drop("drop-update", cursor)

    def visit_subscript(self, cursor: Cursor, base: Cursor, index: Cursor) -> None:
        if self.root(base)[0] not in BUFFERS:
            return
        self.replace("shift-index", index, "{} + 1")
        names = {c.referenced.hash for c in index.walk_preorder()
                 if c.kind == self.K.DECL_REF_EXPR and c.referenced is not None}
        if names & {loop.hash for loop in self.loops}:
            self.replace("fixed-row", index, "0")

    def loop_variable(self, cursor: Cursor) -> Cursor | None:
        first = next(cursor.get_children(), None)
        if first is None or first.kind != self.K.DECL_STMT:
            return None
        return next((c for c in first.get_children() if c.kind == self.K.VAR_DECL), None)

    def visit_for(self, cursor: Cursor, inner: list[Cursor]) -> None:
        loop = self.loop_variable(cursor)
        bound = next((c for c in inner if c.kind == self.K.BINARY_OPERATOR), None)
        parts = list(bound.get_children()) if bound is not None else []
        if loop is None or len(parts) != 2 or self.between(*parts)[2] != "<":
            return
        begin, end, _ = self.between(*parts)
        body = inner[-1]
        indexed = any(c.kind == self.K.ARRAY_SUBSCRIPT_EXPR and any(
            d.kind == self.K.DECL_REF_EXPR and d.referenced == loop
            for d in list(c.get_children())[-1].walk_preorder()) for c in body.walk_preorder())
        if indexed:
            self.plant("loop-over", bound, (begin, end, "<="))
        writes = any((left := self.assigned(c)[0]) is not None
                     and self.root(left)[0] in BUFFERS for c in body.walk_preorder())
        if writes:
            self.plant("loop-under", bound, (parts[1].extent.start.offset,
                                             parts[1].extent.end.offset,
                                             self.text_of(parts[1]) + b" - 1"))

    def visit_if(self, inner: list[Cursor]) -> None:
        """Where terminal and reset both depend on the condition, negating it is another game."""
        found = set()
        for cursor in (c for part in inner[1:] for c in part.walk_preorder()):
            left = self.assigned(cursor)[0]
            if left is not None and self.root(left)[0] == "terminals":
                found.add("terminal")
            if cursor.kind in (self.K.CALL_EXPR, self.K.RETURN_STMT) and (
                    cursor.spelling in ("c_reset", "")):
                found.add("reset")
        if found == {"reset"} and self.function.spelling == "c_step":
            self.replace("negate-ending", inner[0], "!({})")

    def visit_comparison(self, cursor: Cursor, inner: list[Cursor], parents: list[Cursor]) -> None:
        begin, end, op = self.between(*inner)
        other = {"<": "<=", "<=": "<", ">": ">=", ">=": ">"}.get(op)
        if other and not (parents and parents[-1].kind == self.K.FOR_STMT):
            self.plant("loosen-bound", cursor, (begin, end, other))

    def visit_switch(self, inner: list[Cursor]) -> None:
        K = self.K
        if not inner or not self.mentions_actions(inner[0]):
            return
        cases = [c for c in inner[-1].get_children() if c.kind == K.CASE_STMT]
        labels = [next(c.get_children()) for c in cases]
        for case in cases:
            statement = list(case.get_children())[-1]
            if statement.kind.is_expression():
                self.drop("drop-action", statement)
        for one, other in zip(labels, labels[1:]):
            self.plant("swap-actions", one, *(
                (a.extent.start.offset, a.extent.end.offset, self.text_of(b))
                for a, b in ((one, other), (other, one))))

    def visit_declaration(self, cursor: Cursor, inner: list[Cursor]) -> None:
        variable = inner[0]
        parts = [c for c in variable.get_children() if c.kind.is_expression()]
        kind = variable.type.spelling
        if (len(inner) != 1 or variable.kind != self.K.VAR_DECL or not parts or "[" in kind
                or kind.startswith("const ") or kind.endswith("const")
                or self.text_of(cursor).startswith(b"static")):
            return
        value = parts[-1]
        text = self.text_of(value)
        if variable.hash in self.changed:
            begin = self.text_of(cursor).rfind(b"=", 0, value.extent.start.offset
                                               - cursor.extent.start.offset)
            self.plant("drop-init", cursor, (cursor.extent.start.offset + begin,
                                             value.extent.end.offset, ""))
        form = "static {}"
        if probe.evaluate(value) is None:
            kind = self.text_of(cursor)[:variable.location.offset - cursor.extent.start.offset]
            form = (f"static {kind.decode()}{variable.spelling}; "
                    f"{variable.spelling} = {text.decode()};")
        if self.function.spelling in self.in_step:
            self.replace("static-local", cursor, form)

    def plant_in_whole(self, every: dict[str, Cursor]) -> None:
        """Faults that are added, and those of the generator."""
        for name, operator, form in (
                ("c_step", "write-actions", "{env}->actions[0] = 0.0f;\n"),
                ("c_close", "free-shared", "__builtin_free({env}->observations);\n")):
            if name in every:
                self.insert_last(operator, every[name], form)
        if "c_reset" not in every:
            return
        file = every["c_reset"].location.file.name
        here = [f for f in every.values() if f.location.file.name == file]
        uses = [c for f in here for c in f.walk_preorder()
                if c.kind == self.K.MEMBER_REF_EXPR and c.spelling == "rng"]
        body = self.body(every["c_reset"])
        begin = body.extent.start.offset + 1
        if uses:
            env = self.parameter(every["c_reset"])
            self.plant("constant-seed", body, (begin, begin, f"\n    {env}->rng = 7;"))
            first = min(here, key=lambda f: f.extent.start.offset)
            start = first.extent.start.offset
            self.plant("shared-rng", first, (start, start, "static unsigned int shared = 1;\n"), *(
                (u.extent.start.offset, u.extent.end.offset, "shared") for u in uses))
        else:
            self.plant("constant-seed", body, (begin, begin, "\n    srand(7);"))

    def body(self, function: Cursor) -> Cursor:
        return list(function.get_children())[-1]

    def parameter(self, function: Cursor) -> str:
        return str(next(function.get_arguments()).spelling)

    def insert_last(self, operator: str, function: Cursor, form: str) -> None:
        body = self.body(function)
        last = list(body.get_children())
        if last and last[-1].kind == self.K.RETURN_STMT:
            return
        end = body.extent.end.offset - 1
        text = "    " + form.replace("{env}", self.parameter(function))
        self.plant(operator, last[-1] if last else function, (end, end, text))


def _mutants(folder: Path, candidates: list[Candidate]) -> list[Mutant]:
    """Candidates as mutants: sorted, named, the same text never twice."""
    mutants: list[Mutant] = []
    seen: set[bytes] = set()
    names: set[str] = set()
    texts: dict[str, bytes] = {}
    for each in sorted(candidates, key=lambda one: (list(OPERATORS).index(one.operator), one.file,
                                                    one.line, one.edits[0].begin)):
        if each.file not in texts:
            texts[each.file] = paths.content(folder / each.file)
        old = new = texts[each.file]
        for edit in sorted(each.edits, key=lambda edit: -edit.begin):
            new = new[:edit.begin] + edit.text + new[edit.end:]
        if new == old or new in seen:
            continue
        seen.add(new)
        name, letter = f"{each.operator}@{each.line}", ord("b")
        while name in names:
            name, letter = f"{each.operator}@{each.line}{chr(letter)}", letter + 1
        names.add(name)
        diff = "".join(difflib.unified_diff(
            old.decode(errors="replace").splitlines(True),
            new.decode(errors="replace").splitlines(True), f"a/{each.file}", f"b/{each.file}",
            n=1))
        mutants.append(Mutant(name, each.operator,
                              RULE if each.operator in RULE_CHANGES else FAULT,
                              each.file, each.line, diff, new))
    return mutants
