"""Initializers that C++ does not take, written so that it does.  {[1] = x, .b = y} -> C++20

C++ wants the names of fields in their order, all of them or none, and no indices.
"""
from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ...base.errors import BuildError
from .text_edits import Edits

if TYPE_CHECKING:
    from typing import TypeAlias

    from clang.cindex import Cursor, Type

    Step: TypeAlias = Cursor | tuple[int, int]      # a field, or the first and last of indices

_ARRAYS = ("CONSTANTARRAY", "INCOMPLETEARRAY")
_NUMBERS = {"INT", "UINT", "LONG", "ULONG", "LONGLONG", "ULONGLONG", "SHORT", "USHORT", "CHAR_S",
            "UCHAR", "SCHAR", "FLOAT", "DOUBLE"}
_NO_NUMBER = re.compile(r"(?<![\w.])[A-Za-z_]|\.\s*[A-Za-z_]|[\"'(\[]")


@dataclass
class _Part:
    """An array or a struct that is put together: its elements by number."""

    type: Type
    elements: dict[int, _Part | str] = field(default_factory=dict)


class ListWriter:
    """Rewrites the initializer lists of one text."""

    def __init__(self, text: str, edits: Edits, refuse: Callable[[int, str, str], BuildError],
                 resume: Callable[[int, int], str]):
        self.text, self.edits, self.refuse, self.resume = text, edits, refuse, resume
        self.start = 0

    def write(self, values: Cursor, kind: Type) -> None:
        """Edits the list `values` of a variable or compound literal of this type."""
        if is_plain_table(values, self.text) or not self.needs(values, kind.get_canonical()):
            return
        start, end = values.extent.start.offset, values.extent.end.offset

        def write() -> str:
            self.start = start                          # where emit() refuses
            return self.emit(self.build(values, kind.get_canonical())) + self.resume(start, end)

        self.edits.replace(start, end, write)

    def needs(self, values: Cursor, kind: Type) -> bool:
        """Whether there is an index, a chain (.a.b), a field out of its order, or a mixture."""
        last, named, plain = -1, False, False
        for child in values.get_children():
            chain = _spelt_out(self.designators(child), kind)
            if chain:
                if len(chain) > 1 or isinstance(chain[0], tuple):
                    return True
                number = _number_of(kind, chain[0])
                if number <= last:
                    return True
                last, named = number, True
                value = list(child.get_children())[-1]
                below = list(kind.get_fields())[number].type.get_canonical()
            else:
                plain = True
                value, below = child, _element(kind, 0)
            if value.kind.name == "INIT_LIST_EXPR" and below is not None and \
                    self.needs(value, below):
                return True
        return named and plain

    def designators(self, child: Cursor) -> list[Step]:
        """Of one element: fields (their cursors), and (first, last) of indices."""
        if child.kind.name != "UNEXPOSED_EXPR" or child.type.kind.name != "VOID":
            return []
        chain: list[Step] = []
        rest = list(child.get_children())[:-1]
        while rest:
            step = rest.pop(0)
            if step.kind.name == "MEMBER_REF":
                chain.append(step.referenced)
                continue
            first = last = _index(step)
            if rest and re.match(r"\s*\.\.\.", self.text[step.extent.end.offset:][:99]):
                last = _index(rest.pop(0))
            chain.append((first, last))
        return chain

    def build(self, values: Cursor, kind: Type) -> _Part:
        whole, at = _Part(kind), 0
        for child in values.get_children():
            chain = _spelt_out(self.designators(child), kind)
            if not chain:
                whole.elements[at] = self.value(child, _element(kind, at))
                at += 1
                continue
            value = list(child.get_children())[-1]
            first, last = self.span(kind, chain[0])
            for number in range(first, last + 1):
                if _is_union(kind):                     # the last one that is named holds
                    whole.elements = {k: v for k, v in whole.elements.items() if k == number}
                self.place(whole, number, chain[1:], value)
            at = last + 1
        return whole

    def span(self, kind: Type, step: Step) -> tuple[int, int]:
        if isinstance(step, tuple):
            return step
        number = _number_of(kind, step)
        return number, number

    def place(self, whole: _Part, number: int, chain: list[Step], value: Cursor) -> None:
        """Puts a value at a place that the rest of a chain leads to."""
        below = _element(whole.type, number)
        if not chain:
            whole.elements[number] = self.value(value, below)
            return
        part = whole.elements.get(number)
        if not isinstance(part, _Part):
            part = whole.elements[number] = _Part(below)
        first, last = self.span(below, chain[0])
        for inner in range(first, last + 1):
            if _is_union(below):
                part.elements = {k: v for k, v in part.elements.items() if k == inner}
            self.place(part, inner, chain[1:], value)

    def value(self, child: Cursor, kind: Type | None) -> _Part | str:
        start, end = child.extent.start.offset, child.extent.end.offset
        if child.kind.name == "INIT_LIST_EXPR" and kind is not None and (
                kind.kind.name in (*_ARRAYS, "RECORD")):
            return self.build(child, kind)
        whole = child.kind.name == "STRING_LITERAL" or (
            kind is None or child.type.get_canonical().spelling.replace("const ", "")
            == kind.spelling.replace("const ", ""))
        if kind is not None and kind.kind.name in (*_ARRAYS, "RECORD") and not whole:
            raise self.refuse(start, "this list names some of its places and leaves inner braces "
                              "out: that cannot be compiled for a GPU", "write the inner braces")
        return self.edits.flat(start, end)

    def emit(self, part: _Part | str) -> str:
        if isinstance(part, str):
            return part
        if part.type.kind.name in _ARRAYS:
            highest = max(part.elements, default=-1)
            return "{" + ", ".join(self.emit(part.elements[i]) if i in part.elements else "{}"
                                   for i in range(highest + 1)) + "}"
        names = [one.spelling for one in part.type.get_fields()]
        # NVRTC finds no field of a struct without a name: they go by their order as well
        by_order = not _is_union(part.type) and part.type.get_declaration().is_anonymous()
        if by_order or any(names[i] == "" or "(" in names[i] for i in part.elements):
            if _is_union(part.type) and max(part.elements) > 0:
                raise self.refuse(self.start, "this list gives a value to a struct without a name "
                                  "that is not its union's first member: that cannot be compiled "
                                  "for a GPU", "set its fields in lines of their own")
            return "{" + ", ".join(self.emit(part.elements[i]) if i in part.elements else "{}"
                                   for i in range(max(part.elements) + 1)) + "}"
        return "{" + ", ".join(f".{names[i]} = {self.emit(part.elements[i])}"
                               for i in sorted(part.elements)) + "}"


def is_plain_table(cursor: Cursor, text: str) -> bool:
    """A list of nothing but numbers, for an array of numbers."""
    if cursor.kind.name != "INIT_LIST_EXPR":
        return False
    kind = cursor.type.get_canonical()
    while kind.kind.name in _ARRAYS:
        kind = kind.element_type.get_canonical()
    return kind.kind.name in _NUMBERS and not _NO_NUMBER.search(
        text, cursor.extent.start.offset, cursor.extent.end.offset)


def _index(step: Cursor) -> int:
    from ..probe import integer

    number = integer(step)
    assert number is not None           # C takes no other
    return number


def _is_union(kind: Type | None) -> bool:
    return kind is not None and kind.get_declaration().kind.name == "UNION_DECL"


def _number_of(kind: Type, wanted: Cursor) -> int:
    return [one.hash for one in kind.get_fields()].index(wanted.hash)


def _spelt_out(chain: list[Step], kind: Type) -> list[Step]:
    """With the structs and unions that have no name, which C lets a chain leave out."""
    whole: list[Step] = []
    for step in chain:
        if isinstance(step, tuple):
            path, kind = [step], _element(kind, 0)
        else:
            path = _way_to(kind, step)
            kind = step.type.get_canonical()
        whole += path
    return whole


def _way_to(kind: Type, wanted: Cursor) -> list[Cursor]:
    """The fields, from outside to inside, that lead to one; all but the last have no name."""
    for one in kind.get_fields():
        if one.hash == wanted.hash:
            return [one]
        if one.is_anonymous() or not one.spelling:
            inner = _way_to(one.type.get_canonical(), wanted)
            if inner:
                return [one, *inner]
    return []


def _element(kind: Type, number: int) -> Type | None:
    """The canonical type of an array's element, or of a struct's field; None of anything else."""
    if kind.kind.name in _ARRAYS:
        return kind.element_type.get_canonical()
    if kind.kind.name == "RECORD":
        fields = list(kind.get_fields())
        return fields[number].type.get_canonical() if number < len(fields) else None
    return None
