"""Where each scalar of the env struct lies.  translation unit, struct -> Layout <-> data

    layout.scalars              Scalar("ball.vx", offset 52, size 4, "float"), ...
    layout.path_at(1032)        "bricks[17]"
    layout.pointees["agents"]   the layout of what `Agent* agents` points to, "agents[].x"
"""
from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from clang.cindex import Cursor, TranslationUnit, Type

MOST = 8192         # scalars that are listed; path_at knows them all
MOST_OF_ONE = 1024  # of one field, so that a large board does not crowd out what follows it
DEEPEST = 3         # pointers to structs that hold pointers to structs


@dataclass(frozen=True)
class Stride:
    """An array around a scalar: element i lies at offset + i * stride."""

    path: str           # "agents"
    offset: int         # bytes, of element 0
    stride: int         # bytes
    count: int


@dataclass(frozen=True)
class Scalar:
    """A number or a pointer in a struct."""

    path: str                   # "agents[0].x", "ball.vx"
    offset: int                 # bytes from the struct's start
    size: int                   # bytes
    type: str                   # canonical: "float", "unsigned char *"
    arrays: tuple[Stride, ...]  # that it lies in, the outermost first
    bits: tuple[int, int] | None = None     # of a bit-field: (first bit of the byte, width)
    pointee_size: int = 0       # bytes of what a pointer points to, where that is known


@dataclass(eq=False)
class _Part:
    """A named piece of a struct: a scalar, or the fields or elements below it."""

    name: str                   # "" for an anonymous union or struct
    offset: int                 # bytes from the piece around it
    size: int
    type: str
    fields: list[_Part] = field(default_factory=list)
    element: _Part | None = None        # of an array
    count: int = 0
    bits: tuple[int, int] | None = None
    pointee_size: int = 0


@dataclass(eq=False)
class Layout:
    """The bytes of a struct."""

    prefix: str                         # "", or "agents[]" for the target of a pointer
    type: str
    size: int                           # bytes; the stride of a pointer's elements
    parts: list[_Part]
    pointees: dict[str, Layout] = field(default_factory=dict)   # path of the pointer -> layout
    scalars: list[Scalar] = field(default_factory=list)
    truncated: bool = False             # there are more than are listed

    def path_at(self, offset: int) -> str | None:
        """The path of the scalar that holds a byte; None in padding or outside.

        Behind a pointer, offsets go on from element to element: "agents[3].x".
        """
        path = self.prefix
        if path:
            path = f"{path[:-2]}[{offset // self.size}]"
            offset %= self.size
        part = _Part("", 0, self.size, self.type, self.parts)
        while part.fields or part.element:
            if part.element:
                index = offset // part.element.size if part.element.size else 0
                if not 0 <= index < part.count:
                    return None
                path, offset, part = f"{path}[{index}]", offset % part.element.size, part.element
                continue
            inner = next((p for p in part.fields if p.offset <= offset < p.offset + p.size
                          and not p.bits), None) or next(
                (p for p in part.fields if p.offset <= offset < p.offset + p.size), None)
            if inner is None:
                return None
            path, offset, part = _join(path, inner.name), offset - inner.offset, inner
        return path

    def find(self, path: str) -> Scalar | None:
        return next((scalar for scalar in self.scalars if scalar.path == path), None)

    def differences(self, one: bytes, other: bytes) -> list[tuple[str, object, object]]:
        """(path, value, value) of each number that differs between two structs.

        Not of the log, which the caller clears, nor of pointers.
        """
        return [(scalar.path, _value(scalar, one), _value(scalar, other))
                for scalar in self.scalars
                if not scalar.type.endswith("*") and not scalar.path.startswith("log.")
                and one[scalar.offset:scalar.offset + scalar.size]
                != other[scalar.offset:scalar.offset + scalar.size]]


def _value(scalar: Scalar, data: bytes) -> object:
    """What a struct's bytes hold there; bit-fields and unknown types as whole numbers."""
    raw = data[scalar.offset:scalar.offset + scalar.size]
    if scalar.type in ("float", "double", "const float", "const double"):
        code = "f" if scalar.size == 4 else "d"
        return float(f"{struct.unpack(code, raw)[0]:.{9 if code == 'f' else 17}g}")
    return int.from_bytes(raw, "little", signed="unsigned" not in scalar.type
                          and "ool" not in scalar.type)


def layout(unit: TranslationUnit, struct: str) -> Layout | None:
    """The layout of the struct (or typedef) of that name; None if the unit does not have it."""
    kind = _find(unit, struct)
    return _layout(kind, "", frozenset()) if kind is not None else None


def _find(unit: TranslationUnit | None, name: str) -> Type | None:
    """The type of a struct, by its tag or typedef."""
    tag = name.removeprefix("struct ")
    for cursor in unit.cursor.get_children() if unit is not None else ():
        is_struct = cursor.kind.name == "STRUCT_DECL" and cursor.is_definition()
        if cursor.spelling == tag and (is_struct or cursor.kind.name == "TYPEDEF_DECL"):
            found = cursor.type.get_canonical()
            if found.get_size() > 0:
                return found
    return None


def _layout(kind: Type, prefix: str, seen: frozenset[str]) -> Layout:
    spelling = kind.spelling
    found = Layout(prefix, spelling, kind.get_size(), _fields(kind))
    for path, pointee in _pointers(kind, prefix):
        if pointee.spelling not in seen | {spelling} and len(seen) < DEEPEST:
            found.pointees[path] = _layout(pointee, f"{path}[]", seen | {spelling})
    return found


def restored(facts: object) -> Layout:
    """A Layout of what dataclasses.asdict made of it; its scalars are listed here."""
    found = msgspec.convert(facts, Layout)
    _list_scalars(found)
    return found


def _list_scalars(found: Layout) -> None:
    for pointee in found.pointees.values():
        _list_scalars(pointee)
    for part in found.parts:
        room = min(MOST_OF_ONE, MOST - len(found.scalars))
        scalars = list(islice(_scalars([part], found.prefix, 0, ()), room + 1))
        found.truncated |= len(scalars) > room
        found.scalars += scalars[:room]


def _fields(kind: Type) -> list[_Part]:
    parts = []
    for cursor in kind.get_fields():
        bit = cursor.get_field_offsetof()
        if bit < 0:
            continue
        part = _part(cursor.type.get_canonical(), _name(cursor), bit // 8)
        if cursor.is_bitfield():
            width = cursor.get_bitfield_width()
            part.bits = (bit % 8, width)
            part.size = (bit % 8 + width + 7) // 8
        parts.append(part)
    return parts


def _name(cursor: Cursor) -> str:
    """Of a field; "" for an anonymous union or struct, which some clangs call `(anonymous ...)`."""
    return "" if "(" in cursor.spelling else cursor.spelling


def _part(kind: Type, name: str, offset: int) -> _Part:
    what = kind.kind.name
    part = _Part(name, offset, max(kind.get_size(), 0), kind.spelling)
    if what == "CONSTANTARRAY":
        part.count = kind.element_count
        part.element = _part(kind.element_type.get_canonical(), "", 0)
    elif what == "RECORD":
        part.fields = _fields(kind)
    elif what == "POINTER":
        part.pointee_size = max(kind.get_pointee().get_canonical().get_size(), 0)
    return part


def _scalars(parts: list[_Part], path: str, offset: int,
             arrays: tuple[Stride, ...]) -> Iterator[Scalar]:
    for part in parts:
        yield from _below(part, _join(path, part.name), offset + part.offset, arrays)


def _below(part: _Part, path: str, offset: int, arrays: tuple[Stride, ...]) -> Iterator[Scalar]:
    if part.element:
        stride = Stride(path, offset, part.element.size, part.count)
        for i in range(part.count):
            yield from _below(part.element, f"{path}[{i}]", offset + i * part.element.size,
                              (*arrays, stride))
    elif part.fields:
        yield from _scalars(part.fields, path, offset, arrays)
    elif part.size:
        yield Scalar(path, offset, part.size, part.type, arrays, part.bits, part.pointee_size)


def _pointers(kind: Type, path: str) -> Iterator[tuple[str, Type]]:
    """(path, struct type) of each field that points to a struct whose fields are known."""
    for cursor in kind.get_fields():
        inner, where = cursor.type.get_canonical(), _join(path, _name(cursor))
        while inner.kind.name == "CONSTANTARRAY":
            inner, where = inner.element_type.get_canonical(), f"{where}[]"
        if inner.kind.name == "RECORD":
            yield from _pointers(inner, where)
        elif inner.kind.name == "POINTER":
            pointee = inner.get_pointee().get_canonical()
            if pointee.kind.name == "RECORD" and pointee.get_size() > 0:
                yield where, pointee


def _join(path: str, name: str) -> str:
    return f"{path}.{name}" if path and name else path or name
