"""The row that one agent observes: its parts, as the author's C names and describes them.

NAME.h -> ObsSpec:

    enum {
        OBS_X,                          // [0, 1]
        OBS_RAYS,                       // [-1, 1] eight numbers
        OBS_TOOL = OBS_RAYS + 8,        // 5 ids
        OBS_SHIPS,                      // list 6 x 4, mask 0
        OBS_BOARD = OBS_SHIPS + 24,     // grid 11 x 11 of 3 ids
        OBS_COUNT = OBS_BOARD + 121
    };
    #define OBS_SIZE (env->size * env->size)     // grid env->size x env->size of 3 ids

A part begins at its enumerator and reaches to the next one. Where no enum names parts, the comment
above or after OBS_SIZE describes the row as a whole. In a comment count

    [low, high]         the bounds of each number; `[0, 1] also -1`: or -1
    N ids               each number is one of 0 to N - 1, and means nothing by its size
    grid H x W          rows of cells; H x W x C with C numbers a cell; `of (16 ids, 64 ids,
                        number)` where the numbers of a cell are of several kinds
    image H x W x C     the same, of pixels from 0 to 255
    list N x W          up to N things, W numbers each; `mask K`: number K is 1 where there is one

Sizes are numbers, macros, enumerators or settings (`env->size`). Actions have names as well:

    enum { ACT_STAY, ACT_LEFT, ACT_RIGHT };     // the ids of an env with one head
    enum { HEAD_TURN, HEAD_THRUST };            // the heads of one with two, or ACT_ for HEAD_
"""
from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from ..base import paths
from ..base.spec import Enumerator, Spec
from .obs_comments import Numbers, calculate, parse_bounds, parse_shape

Enum = tuple[Enumerator, ...]

_ENUM = re.compile(r"\benum\b[^;{]*\{[^}]*\b(?:OBS|ACT|HEAD)_\w")
_TOTAL = re.compile(r"(?:OBS|ACT|HEAD)_(?:SIZE|COUNT|NUM|N|LEN|LENGTH|TOTAL|END|DIM)")


@dataclass(frozen=True)
class ObsField:
    """Consecutive elements of the row that belong together."""

    name: str               # OBS_RAYS; "" for a row without names
    first: int              # element
    count: int
    low: float | None       # declared bounds, both or none
    high: float | None
    file: str               # relative to the environment's folder
    line: int
    kind: str = "numbers"   # "numbers", "grid", "image" or "list"
    shape: tuple[int, ...] = ()     # as declared; () = (count,)
    ids: int = 0            # each number is one of so many ids; 0: a number
    cell: tuple[int, ...] = ()      # of each number of a cell: of how many ids, 0: a number
    mask: int | None = None         # of a list: which number of a thing says that it is there
    unclear: str = ""       # a declared size that is no number, macro, enumerator or setting

    @property
    def last(self) -> int:
        return self.first + self.count - 1

    @property
    def limits(self) -> tuple[float, float] | None:
        """What no element may leave: the bounds, or the ids; None: nothing is promised."""
        if self.low is not None and self.high is not None:
            return self.low, self.high
        return (0.0, self.ids - 1.0) if self.ids else None

    @property
    def promises(self) -> tuple[tuple[slice, tuple[float, float]], ...]:
        """Elements of the row, and what they may not leave; by the number of a cell where these
        are of several kinds."""
        end = self.last + 1
        if self.limits is not None:
            return ((slice(self.first, end), self.limits),)
        return tuple((slice(self.first + number, end, len(self.cell)), (0.0, ids - 1.0))
                     for number, ids in enumerate(self.cell) if ids)

    @property
    def fits(self) -> bool:
        """Whether the shape has as many elements as there are, and a list has its mask."""
        return (not self.shape or math.prod(self.shape) == self.count) and (
            not self.cell or len(self.cell) == (*self.shape, 1)[2]) and (
            self.mask is None or (self.kind == "list" and self.mask < self.shape[1]))

    @property
    def described(self) -> str:
        """As in the comment: "grid 11 x 11 of 3 ids"; "" where it says nothing."""
        words = []
        if self.shape:
            words.append(f"{self.kind} {' x '.join(map(str, self.shape))}"
                         + (f", mask {self.mask}" if self.mask is not None else ""))
        if self.ids:
            words.append(f"{self.ids} ids")
        if self.cell:
            words.append(f"({', '.join(f'{ids} ids' if ids else 'number' for ids in self.cell)})")
        text = " of ".join(words)
        bounds = "" if self.low is None else f"[{self.low:g}, {self.high:g}]"
        return " ".join(filter(None, [text, bounds]))


@dataclass(frozen=True)
class ObsSpec:
    """The row of an agent, and what its actions are called."""

    size: int
    parts: tuple[ObsField, ...] = ()        # with names, in order; what lies between has none
    whole: ObsField | None = None           # what OBS_SIZE's comment says of a row without names
    heads: tuple[str, ...] = ()         # HEAD_TURN, one for each head; empty: they have no names
    ids: tuple[str, ...] = ()           # ACT_STAY, one for each id of the only head; or empty

    def to_dict(self) -> dict[str, object]:
        """For documents: sizes, names, bounds and shapes."""
        return {"size": self.size, "heads": list(self.heads), "ids": list(self.ids), "parts": [
            {"name": part.name or None, "first": part.first, "count": part.count,
             "kind": part.kind, "shape": list(part.shape or (part.count,)),
             "low": part.limits[0] if part.limits else None,
             "high": part.limits[1] if part.limits else None, "ids": part.ids or None,
             "cell": list(part.cell) or None, "mask": part.mask} for part in self.described]}

    @property
    def described(self) -> tuple[ObsField, ...]:
        """All that is said of elements: the parts, or the row as a whole."""
        return self.parts or ((self.whole,) if self.whole else ())


def read(spec: Spec, obs_size: int | None, act_sizes: Sequence[int] = (),
         settings: Mapping[str, float] | None = None) -> ObsSpec | None:
    """The row of obs_size elements under these [env] settings, and the names of these heads.

    obs_size    None: as the source tells by itself, from macros, enumerators and settings; the
                result is None if that does not suffice
    """
    texts = {path: paths.text(path) for path in paths.c_files(spec.folder)}
    enums = _enums(spec, texts)
    numbers = _numbers(texts, enums, settings or {})
    if obs_size is None:
        obs_size = spec.obs_count or numbers(spec.obs_size or "")
        if obs_size is None:
            return None
    heads = _full(enums, "HEAD_", len(act_sizes))
    ids: tuple[str, ...] = ()
    if len(act_sizes) > 1:
        heads = heads or _full(enums, "ACT_", len(act_sizes))
    elif len(act_sizes) == 1 and act_sizes[0] > 1:
        ids = _full(enums, "ACT_", act_sizes[0])
    parts = _parts(enums, texts, spec, obs_size, numbers)
    whole = None if parts else _whole(spec, texts, obs_size, numbers)
    return ObsSpec(obs_size, parts, whole, heads, ids)


def size_of(spec: Spec, env_settings: Mapping[str, float]) -> int | None:
    """OBS_SIZE under these settings; None if plain arithmetic does not give it."""
    if spec.obs_count is not None:
        return spec.obs_count
    return calculate(spec.obs_size or "", {key: int(value) for key, value in env_settings.items()})


def named(parts: Sequence[ObsField], element: int) -> ObsField | None:
    """The part that an element belongs to."""
    return next((p for p in parts if p.first <= element <= p.last), None)


def title(parts: Sequence[ObsField], first: int, last: int) -> str:
    """What to call elements in a message: "OBS_FUEL (element 3)"."""
    plain = f"element {first}" if first == last else f"elements {first}-{last}"
    one, other = named(parts, first), named(parts, last)
    if one is None or other is None:
        return f"{plain} of the observation"
    name = one.name if one is other else f"{one.name} to {other.name}"
    return f"{name} ({plain})"


def _numbers(texts: Mapping[Path, str], enums: Sequence[Enum],
             settings: Mapping[str, float]) -> Numbers:
    """What the sizes in comments stand for: macros, enumerators and settings."""
    known = {name: int(value) for name, value in settings.items() if float(value).is_integer()}
    known |= {c[0]: c[1] for enum in enums for c in enum}
    macros = re.findall(r"^\s*#\s*define\s+(\w+)[ \t]+([^\n/]+)", "\n".join(texts.values()), re.M)
    for _ in range(3):                          # macros that stand on others
        for name, text in macros:
            if (value := calculate(text, known)) is not None:
                known.setdefault(name, value)
    return partial(calculate, known=known)


# -- C ---------------------------------------------------------------------------------------


def _enums(spec: Spec, texts: Mapping[Path, str]) -> tuple[Enum, ...]:
    """The author's enums, if one names such things."""
    if not any(_ENUM.search(text) for text in texts.values()):
        return ()
    return spec.enums


def _full(enums: Sequence[Enum], prefix: str, count: int) -> tuple[str, ...]:
    """The names of 0 to count - 1 in an enum that names all of these and no more."""
    for enum in enums if count else ():
        names = {c[1]: c[0] for c in reversed(enum)
                 if c[0].startswith(prefix) and not _TOTAL.fullmatch(c[0])}
        if sorted(names) == list(range(count)):
            return tuple(names[value] for value in range(count))
    return ()


def _parts(enums: Sequence[Enum], texts: Mapping[Path, str], spec: Spec, obs_size: int,
           numbers: Numbers) -> tuple[ObsField, ...]:
    found: list[ObsField] = []
    for enum in enums:
        if not any(name.startswith("OBS_") for name, *_ in enum):
            continue
        parts = _lay_out(enum, texts, obs_size, numbers)
        if parts and _are_indices(enum, parts, spec, texts):
            found += parts
    taken: dict[int, ObsField] = {}
    for part in found:                      # two enums that name the same element: the first
        taken.setdefault(part.first, part)
    return tuple(taken[first] for first in sorted(taken))


def _lay_out(enum: Enum, texts: Mapping[Path, str], obs_size: int,
             numbers: Numbers) -> list[ObsField]:
    ours = [c for c in enum if c[0].startswith("OBS_") and 0 <= c[1] < obs_size
            and not _TOTAL.fullmatch(c[0])]
    starts = sorted({c[1] for c in enum if 0 <= c[1] <= obs_size} | {obs_size})
    resolved = {path.resolve(): (path, text.splitlines()) for path, text in texts.items()}
    parts: list[ObsField] = []
    seen: set[int] = set()
    for name, value, file, line, column in ours:
        if value in seen or Path(file) not in resolved:         # an alias of the one before
            continue
        seen.add(value)
        path, lines = resolved[Path(file)]
        count = next(s for s in starts if s > value) - value
        comment = _comment(lines, line, column, name)
        low, high = parse_bounds(comment) or (None, None)
        parts.append(ObsField(name, value, count, low, high, path.name, line,
                          **parse_shape(comment, numbers)))
    return parts


def _whole(spec: Spec, texts: Mapping[Path, str], obs_size: int,
           numbers: Numbers) -> ObsField | None:
    """What the comment above or after OBS_SIZE says of a row without names; None: nothing."""
    file, line = spec.macro_lines.get("OBS_SIZE", ("", 0))
    lines = texts.get(spec.folder / file, "").splitlines() if file else []
    if not 0 < line <= len(lines):
        return None
    first = line - 1
    while first > 0 and lines[first - 1].lstrip().startswith("//"):
        first -= 1
    comment = " ".join(re.findall(r"//.*|/\*.*?(?:\*/|$)", "\n".join(lines[first:line])))
    shape = parse_shape(comment, numbers)
    if not shape:
        return None
    low, high = parse_bounds(comment) or (None, None)
    return ObsField("", 0, obs_size, low, high, file, line, **shape)


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


def _are_indices(enum: Enum, parts: list[ObsField], spec: Spec, texts: Mapping[Path, str]) -> bool:
    """Whether these name elements, and not what a cell may hold (OBS_WALL)."""
    names = [name for name, *_ in enum if name.startswith("OBS_")]
    if any(part.low is not None for part in parts):
        return True
    if set(names) & set(re.findall(r"\w+", spec.obs_size or "")):
        return True
    code = re.sub(r"//[^\n]*|/\*.*?\*/", "", "\n".join(texts.values()), flags=re.DOTALL)
    any_name = "|".join(map(re.escape, names))
    as_value = len(re.findall(rf"(?:[=!<>?:]=?|\breturn|\bcase)\s*\(?(?:{any_name})\b(?!\s*[+*])",
                              re.sub(r"enum[^{]*\{[^}]*\}", "", code)))
    as_index = len(re.findall(rf"\[[^\]\n]*\b(?:{any_name})\b", code))
    as_index += len(re.findall(rf"\+\s*(?:{any_name})\b", code))
    return as_index > as_value
