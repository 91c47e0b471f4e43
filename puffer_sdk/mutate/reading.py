"""What the cursors of an environment mean.  libclang -> buffers, fields, texts"""
from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from ..base import paths
from ..env.reader import Reader as HeaderReader

if TYPE_CHECKING:
    from clang.cindex import Cursor

BUFFERS = ("observations", "actions", "rewards", "terminals", "truncations", "action_mask")


class Reader:
    """One environment, and questions about its expressions."""

    def __init__(self, folder: Path, flags: list[str]):
        from clang.cindex import CursorKind

        self.folder, self.K = folder, CursorKind
        reader = HeaderReader(folder, flags=flags)
        reader.find_files()
        reader.parse()
        self.unit = reader.unit
        self.functions = {c.spelling: c for c in self.unit.cursor.get_children()
                          if c.kind == CursorKind.FUNCTION_DECL and c.is_definition()}
        self.texts: dict[Path, bytes] = {}
        self.acting: set[int] = set()               # locals and parameters that hold an action
        self.alias: dict[int, str] = {}             # of a local or parameter -> the buffer it means

    def reach(self, start: str) -> list[Cursor]:
        """start and what it calls, callers first, in the author's files."""
        order: dict[str, Cursor] = {}
        stack = [start]
        while stack:
            name = stack.pop(0)
            function = self.functions.get(name)
            if function is None or name in order or not self.own(function):
                continue
            order[name] = function
            stack += [c.spelling for c in function.walk_preorder()
                      if c.kind == self.K.CALL_EXPR and c.spelling in self.functions]
        return list(order.values())

    def own(self, cursor: Cursor) -> bool:
        path = Path(cursor.location.file.name).resolve()
        return self.folder in path.parents and path.parent.name != "build"

    def text_of(self, cursor: Cursor) -> bytes:
        path = Path(cursor.location.file.name).resolve()
        if path not in self.texts:
            self.texts[path] = paths.content(path)
        return self.texts[path][cursor.extent.start.offset:cursor.extent.end.offset]

    def between(self, one: Cursor, other: Cursor) -> tuple[int, int, str]:
        """The operator between two operands: begin, end, text."""
        begin, end = one.extent.end.offset, other.extent.start.offset
        raw = self.texts[Path(one.location.file.name).resolve()][begin:end] \
            if self.text_of(one) is not None else b""
        match = re.search(rb"[-+*/%&|^<>=!]+", raw)
        return (begin + match.start(), begin + match.end(), match[0].decode()) if match \
            else (begin, begin, "")

    def bare(self, cursor: Cursor) -> Cursor:
        """An expression without the casts and parentheses around it."""
        K = self.K
        while cursor.kind in (K.UNEXPOSED_EXPR, K.PAREN_EXPR, K.CSTYLE_CAST_EXPR):
            inner = [c for c in cursor.get_children() if c.kind.is_expression()]
            if len(inner) != 1:
                break
            cursor = inner[0]
        return cursor

    def root(self, cursor: Cursor | None) -> tuple[str | None, list[str]]:
        """The buffer that an expression reaches into, or None; and the fields on the way."""
        K = self.K
        fields: list[str] = []
        while cursor is not None:
            if cursor.kind == K.MEMBER_REF_EXPR:
                fields.append(cursor.spelling)
                if cursor.spelling in BUFFERS:
                    return cursor.spelling, fields
            elif cursor.kind == K.DECL_REF_EXPR and cursor.referenced is not None:
                return self.alias.get(cursor.referenced.hash), fields
            inner = [c for c in cursor.get_children() if c.kind.is_expression()]
            cursor = inner[0] if inner else None
        return None, fields

    def find_aliases(self, function: Cursor) -> None:
        for cursor in function.walk_preorder():
            if cursor.kind == self.K.VAR_DECL and "*" in cursor.type.spelling:
                inner = [c for c in cursor.get_children() if c.kind.is_expression()]
                if inner and (buffer := self.root(inner[-1])[0]):
                    self.alias[cursor.hash] = buffer
            elif cursor.kind == self.K.CALL_EXPR and cursor.spelling in self.functions:
                params = list(self.functions[cursor.spelling].get_arguments())
                for param, value in zip(params, cursor.get_arguments()):
                    if "*" in param.type.spelling and (buffer := self.root(value)[0]):
                        self.alias[param.hash] = buffer

    def find_actions(self, function: Cursor) -> None:
        """Variables and parameters that are given an action."""
        for cursor in function.walk_preorder():
            inner = [c for c in cursor.get_children() if c.kind.is_expression()]
            if cursor.kind == self.K.VAR_DECL and inner and self.mentions_actions(inner[-1]):
                self.acting.add(cursor.hash)
            elif cursor.kind == self.K.CALL_EXPR and cursor.spelling in self.functions:
                params = self.functions[cursor.spelling].get_arguments()
                self.acting |= {param.hash for param, value in zip(params, cursor.get_arguments())
                                if self.mentions_actions(value)}

    def mentions_actions(self, cursor: Cursor) -> bool:
        return any(self.root(c)[0] == "actions" or c.referenced is not None
                   and c.referenced.hash in self.acting for c in cursor.walk_preorder())

    def assigned(self, cursor: Cursor) -> tuple[Cursor | None, str]:
        """The left side of an assignment, ++ or --, else None; and the operator."""
        K = self.K
        inner = list(cursor.get_children())
        if cursor.kind in (K.BINARY_OPERATOR, K.COMPOUND_ASSIGNMENT_OPERATOR) and len(inner) == 2:
            op = self.between(*inner)[2]
            return (inner[0], op) if op.endswith("=") and op not in ("==", "<=", ">=", "!=") \
                else (None, op)
        if cursor.kind == K.UNARY_OPERATOR and inner:
            text = self.text_of(cursor)
            if b"++" in (text[:2], text[-2:]) or b"--" in (text[:2], text[-2:]):
                return inner[0], "++"
        return None, ""

    def writes_observations(self, function: Cursor) -> bool:
        for name in {f.spelling for f in self.reach(function.spelling)}:
            for cursor in self.functions[name].walk_preorder():
                left = self.assigned(cursor)[0]
                if left is not None and self.root(left)[0] == "observations":
                    return True
            if self.clears_observations(self.functions[name], "memcpy"):
                return True
        return False

    def clears_observations(self, function: Cursor, *more: str) -> bool:
        return any(c.kind == self.K.CALL_EXPR and c.spelling in ("memset", *more)
                   and self.root(next(c.get_arguments(), None))[0] == "observations"
                   for c in function.walk_preorder())

    def field_of(self, left: Cursor) -> int:
        """Which struct field a store goes to: the same number for the same field; 0 = many."""
        left = self.bare(left)
        whole = left.type.get_canonical().kind.name == "RECORD"
        while left is not None and left.kind != self.K.MEMBER_REF_EXPR:
            left = next((c for c in left.get_children() if c.kind.is_expression()), None)
        return left.referenced.hash if left is not None and not whole else 0

    def stored_fields(self, function: Cursor) -> Iterator[int]:
        lefts = (self.assigned(cursor)[0] for cursor in function.walk_preorder())
        return (self.field_of(left) for left in lefts if left is not None)

    def changed_locals(self, function: Cursor) -> set[int]:
        found = set()
        for cursor in function.walk_preorder():
            left = self.assigned(cursor)[0]
            if left is not None and self.bare(left).kind == self.K.DECL_REF_EXPR:
                found.add(self.bare(left).referenced.hash)
        return found
