"""What an author calls the elements of an observation and the actions, and which bounds are
promised.

An environment's folder -> [Field]:

    enum {
        OBS_X,                  // [0, 1]
        OBS_RAYS,               // [-1, 1] 8 values
        OBS_FUEL = OBS_RAYS + 8,
        OBS_COUNT
    };

The name is the enumerator's, the extent reaches to the next one, and the bounds are the first
`[low, high]` of the comment after it. Actions are named in the same way:

    enum { ACT_STAY, ACT_LEFT, ACT_RIGHT };     // the ids of an env with one head
    enum { HEAD_TURN, HEAD_THRUST };            // the heads of one with two, or ACT_ for HEAD_
"""
from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ...base.spec import Spec

_ENUM = re.compile(r"\benum\b[^;{]*\{[^}]*\b(?:OBS|ACT|HEAD)_\w")
_TOTAL = re.compile(r"(?:OBS|ACT|HEAD)_(?:SIZE|COUNT|NUM|N|LEN|LENGTH|TOTAL|END|DIM)")
_NUMBER = (r"[-+]?\s*(?:\d+\.?\d*(?:[eE][-+]?\d+)?|\.\d+|\d*\.?\d*\s*\*?\s*(?:pi|PI|π)|"
           r"inf(?:inity)?)f?")
_BOUNDS = re.compile(rf"[\[]\s*({_NUMBER})\s*(?:,|\.\.)\s*({_NUMBER})\s*[\])]")
_BESIDES = re.compile(r"\b(?:or|else|except)\s+(?P<a>-?\d+(?:\.\d+)?)\b|"         # or -1
                      r"(?<![\w.])(?P<b>-?\d+(?:\.\d+)?)\s*(?:=|:|if|when|where|for|means|"
                      r"unless|until|while|without|outside|before|after|once|as)(?!\w)")


@dataclass(frozen=True)
class Field:
    """Consecutive elements of the observation that share an enumerator."""

    name: str               # OBS_RAYS
    first: int              # element
    count: int
    low: float | None       # declared bounds, both or none
    high: float | None
    file: str               # relative to the environment's folder
    line: int

    @property
    def last(self) -> int:
        return self.first + self.count - 1

    @property
    def bounds(self) -> str:
        return f"[{self.low:g}, {self.high:g}]"


@dataclass(frozen=True)
class Names:
    """What an author calls things."""

    fields: tuple[Field, ...] = ()      # of the observation
    heads: tuple[str, ...] = ()         # HEAD_TURN, one for each head; empty: they have no names
    ids: tuple[str, ...] = ()           # ACT_STAY, one for each id of the only head; or empty


def read(spec: Spec, obs_size: int) -> list[Field]:
    """The fields of an observation of obs_size elements; none where no enum names them."""
    texts = _texts(spec)
    return _fields(_enums(spec, texts), texts, spec, obs_size)


def read_names(spec: Spec, obs_size: int, act_sizes: Sequence[int]) -> Names:
    """The names of an observation of obs_size elements and of heads of these sizes."""
    texts = _texts(spec)
    enums = _enums(spec, texts)
    fields = tuple(_fields(enums, texts, spec, obs_size))
    heads, ids = _full(enums, "HEAD_", len(act_sizes)), ()
    if len(act_sizes) > 1:
        heads = heads or _full(enums, "ACT_", len(act_sizes))
    elif act_sizes[0] > 1:
        ids = _full(enums, "ACT_", act_sizes[0])
    return Names(fields, heads, ids)


def _full(enums: list[list], prefix: str, count: int) -> tuple[str, ...]:
    """The names of 0 to count - 1 in an enum that names all of these and no more."""
    for enum in enums:
        names = {c[1]: c[0] for c in reversed(enum)
                 if c[0].startswith(prefix) and not _TOTAL.fullmatch(c[0])}
        if sorted(names) == list(range(count)):
            return tuple(names[value] for value in range(count))
    return ()


def _texts(spec: Spec) -> dict[Path, str]:
    return {path: path.read_text(encoding="utf-8", errors="replace")
            for path in sorted(spec.folder.glob("*.[ch]"))}


def _fields(enums: list[list], texts: dict[Path, str], spec: Spec, obs_size: int) -> list[Field]:
    found = []
    for enum in enums:
        if not any(name.startswith("OBS_") for name, *_ in enum):
            continue
        fields = _lay_out(enum, texts, spec.folder, obs_size)
        if fields and _are_indices(enum, fields, spec, texts):
            found += fields
    taken: dict[int, Field] = {}
    for field in found:                     # two enums that name the same element: the first
        taken.setdefault(field.first, field)
    return [taken[first] for first in sorted(taken)]


def named(fields: list[Field], element: int) -> Field | None:
    """The field that an element belongs to."""
    return next((f for f in fields if f.first <= element <= f.last), None)


def title(fields: list[Field], first: int, last: int) -> str:
    """What to call elements in a message: "OBS_FUEL (element 3)"."""
    plain = f"element {first}" if first == last else f"elements {first}-{last}"
    one, other = named(fields, first), named(fields, last)
    if one is None or other is None:
        return f"{plain} of the observation"
    name = one.name if one is other else f"{one.name} to {other.name}"
    return f"{name} ({plain})"


def parse_bounds(comment: str, count: int = 1) -> tuple[float, float] | None:
    """The first `[low, high]` of a comment, as numbers; None where there is none.

    "[0, 1], -1 if nothing is in sight" goes from -1; "[3, 5] tiles" on 15 elements is a shape.
    """
    for match in _BOUNDS.finditer(comment):
        low, high = _number(match[1]), _number(match[2])
        if low is None or high is None or low >= high or (count > 1 and low * high == count):
            continue
        rest = comment[:match.start()] + " " + comment[match.end():]
        others = [float(m["a"] or m["b"]) for m in _BESIDES.finditer(rest)]
        return min([low, *others]), max([high, *others])
    return None


def _number(text: str) -> float | None:
    text = text.replace(" ", "").lower().replace("π", "pi").removesuffix("infinity")
    if not text or text in "+-":
        return math.inf if text != "-" else -math.inf
    sign = -1.0 if text.startswith("-") else 1.0
    text = text.lstrip("+-")
    if text.startswith("inf"):
        return sign * math.inf
    factor = 1.0
    if text.rstrip("f").endswith("pi"):
        factor, text = math.pi, text.rstrip("f")[:-2].rstrip("*") or "1"
    try:
        return sign * factor * float(text.rstrip("f"))
    except ValueError:
        return None


def _enums(spec: Spec, texts: dict[Path, str]) -> list[list]:
    """The author's enums that name such things: (name, value, path, line, column) of each."""
    if not any(_ENUM.search(text) for text in texts.values()):
        return []
    from clang import cindex

    from ...base import paths
    from ...env import header

    source = spec.binding or spec.header
    main = str(spec.folder / ".puffer_fields.c")
    flags = [*header.clang_flags(spec.folder), "-DPUFFER_PROBE", "-DPUFFER_LIBRARY", "-include",
             str(paths.include_dir() / "puffer_prelude.h"), "-Wno-everything"]
    unit = cindex.Index.create().parse(main, args=flags,
                                       unsaved_files=[(main, f'#include "{source.name}"\n')])
    found = []
    for cursor in unit.cursor.get_children():
        if cursor.kind != cindex.CursorKind.ENUM_DECL or not cursor.location.file:
            continue
        if spec.folder not in Path(cursor.location.file.name).resolve().parents:
            continue
        found.append([(c.spelling, c.enum_value, Path(c.location.file.name).resolve(),
                       c.location.line, c.location.column) for c in cursor.get_children()
                      if c.kind == cindex.CursorKind.ENUM_CONSTANT_DECL])
    return found


def _lay_out(enum: list, texts: dict[Path, str], folder: Path, obs_size: int) -> list[Field]:
    ours = [c for c in enum if c[0].startswith("OBS_") and 0 <= c[1] < obs_size
            and not _TOTAL.fullmatch(c[0])]
    starts = sorted({c[1] for c in enum if 0 <= c[1] <= obs_size} | {obs_size})
    resolved = {path.resolve(): (path, text.splitlines()) for path, text in texts.items()}
    fields, seen = [], set()
    for name, value, file, line, column in ours:
        if value in seen or file not in resolved:       # an alias of the one before
            continue
        seen.add(value)
        path, lines = resolved[file]
        count = next(s for s in starts if s > value) - value
        bounds = parse_bounds(_comment(lines, line, column, name), count)
        low, high = bounds or (None, None)
        fields.append(Field(name, value, count, low, high, path.name, line))
    return fields


def _comment(lines: list[str], line: int, column: int, name: str) -> str:
    """The comment that speaks of an enumerator: the one before the next enumerator, if there
    are two on a line with a comment each, else the last of the line."""
    text = lines[line - 1]
    rest = text[column - 1 + len(name):]
    following = re.search(r"\bOBS_\w+\s*[,=/}]", re.sub(r"//.*", "", rest))
    if following and "/*" in rest[:following.start()]:
        return rest[:following.start()]
    comments = re.findall(r"//.*|/\*.*?(?:\*/|$)", rest)
    return comments[-1] if comments else ""


def _are_indices(enum: list, fields: list[Field], spec: Spec, texts: dict[Path, str]) -> bool:
    """Whether these name elements, and not what a cell may hold (OBS_WALL)."""
    names = [name for name, *_ in enum if name.startswith("OBS_")]
    if any(field.low is not None for field in fields):
        return True
    if any(re.search(rf"\b{name}\b", spec.obs_size or "") for name in names):
        return True
    code = re.sub(r"//[^\n]*|/\*.*?\*/", "", "\n".join(texts.values()), flags=re.DOTALL)
    any_name = "|".join(map(re.escape, names))
    as_value = len(re.findall(rf"(?:[=!<>?:]=?|\breturn|\bcase)\s*\(?(?:{any_name})\b(?!\s*[+*])",
                              re.sub(r"enum[^{]*\{[^}]*\}", "", code)))
    as_index = len(re.findall(rf"\[[^\]\n]*\b(?:{any_name})\b", code))
    as_index += len(re.findall(rf"\+\s*(?:{any_name})\b", code))
    return as_index > as_value
