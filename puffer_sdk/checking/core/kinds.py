"""The kinds of facts that the harness writes.  facts.def -> a frozen dataclass for each kind

    parse({"fact": "head", "head": 0, "width": 5})     -> HeadFact(kind="head", head=0, width=5)

Rules import the classes from fact_kinds.py. What facts.def names once for several kinds is their
base: crash, hang and others are InsideFacts.
"""
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, make_dataclass
from functools import cache
from pathlib import Path
from typing import NamedTuple

DEFINITION = Path(__file__).parents[1] / "play" / "facts.def"
_NUMBER = (int, float)
_TYPES: dict[str, tuple[type, ...]] = {    # macro of facts.def -> types in JSON
    "INT": (int,), "REAL": _NUMBER, "VALUE": (*_NUMBER, str), "TEXT": (str,), "HEX": (str,),
    "PLACE": (list,), "LIST": (list,), "STACK": (list,)}
_PYTHON = {"INT": "int", "REAL": "float", "VALUE": "float | str", "TEXT": "str", "HEX": "int",
           "PLACE": "list[int]", "STACK": "list[int]"}
_FRAMES = {"frames": "tuple[Frame, ...]", "frame": "Frame | None"}      # of a stack: see plan.py
_TOKEN = re.compile(r"(?P<macro>[A-Z_]+)(?:\((?P<name>\w+)(?:, *(?P<more>[^)]*))?\))?")
_STUB = '''"""The fields of facts, as `make docs-tables` reads them from play/facts.def."""
from dataclasses import dataclass

from ..collect.c.frames import Frame
from .kinds import Fact

'''


class FactError(ValueError):
    """A fact, or a question for one, that facts.def does not have."""


class Field(NamedTuple):
    """One field of a kind."""

    name: str
    macro: str              # INT, TEXT, ...
    optional: bool          # between IF and FI
    group: str = ""         # the #define that it is from
    listed: str = ""        # type of a LIST

    @property
    def type(self) -> str:
        """In Python."""
        return (self.listed or _PYTHON[self.macro]) + (" | None" if self.optional else "")


@dataclass(frozen=True)
class Fact:
    """What all kinds have in common."""

    kind: str


def definitions(text: str) -> dict[str, list[Field]]:
    """kind -> its fields, from the text of a facts.def."""
    text = re.sub(r"/\*.*?\*/|//[^\n]*|\\\n", " ", text, flags=re.DOTALL)
    groups = {match[1]: match[2] for match in re.finditer(r"#define (\w+) +([^\n]*)", text)}
    text = re.sub(r"#[^\n]*", " ", text)
    for name, body in groups.items():
        text = re.sub(rf"\b{name}\b", f"GROUP({name}) {body} GROUP()", text)
    found: dict[str, list[Field]] = {}
    kind, group, optional = "", "", False
    for token in _TOKEN.finditer(text):
        macro, name = token["macro"], token["name"]
        if macro == "FACT":
            if name in found:
                raise FactError(f"facts.def has the kind '{name}' twice")
            kind, found[name] = name, []
        elif macro == "END":
            if name != kind:
                raise FactError(f"facts.def ends '{name}' within '{kind}'")
        elif macro in ("IF", "FI"):
            optional = macro == "IF"
        elif macro == "GROUP":
            group = name or ""
        elif macro in _TYPES and name and (macro != "LIST" or token["more"]):
            found[kind].append(Field(name, macro, optional, group,
                                     (token["more"] or "") if macro == "LIST" else ""))
        else:
            raise FactError(f"facts.def has no type '{token[0]}' (in '{kind}')")
    return found


@cache
def all_fields() -> dict[str, list[Field]]:
    return definitions(DEFINITION.read_text())


def title(name: str) -> str:
    """The class of a kind, or of what several kinds share: SEEN_AT -> SeenAtFact."""
    return "".join(word.title() for word in name.split("_")) + "Fact"


@cache
def members() -> dict[str, tuple[tuple[str, ...], list[Field]]]:
    """Class -> its bases, and the fields of its own; bases come before what is made of them."""
    found: dict[str, tuple[tuple[str, ...], list[Field]]] = {}
    for kind, fields in all_fields().items():
        groups = list(dict.fromkeys(one.group for one in fields if one.group))
        for group in groups:
            found[title(group)] = ("Fact",), [one for one in fields if one.group == group]
        found[title(kind)] = (tuple(map(title, groups)) or ("Fact",),
                              [one for one in fields if not one.group])
    return found


@cache
def classes() -> dict[str, type[Fact]]:
    """Name -> dataclass."""
    found: dict[str, type[Fact]] = {"Fact": Fact}
    for name, (bases, fields) in members().items():
        columns: list[tuple[str, str] | tuple[str, str, object]] = [
            (one.name, one.type, field(default=None)) if one.optional else (one.name, one.type)
            for one in fields]
        if any(one.macro == "STACK" for one in fields):
            columns += [(key, kind, field(default=() if key == "frames" else None))
                        for key, kind in _FRAMES.items()]
        found[name] = make_dataclass(name, columns, bases=tuple(found[one] for one in bases),
                                     frozen=True, kw_only=True)
    return found


def stub() -> str:
    """The text of fact_kinds.pyi."""
    return _STUB + "\n".join(_stub_of(name, *each) for name, each in members().items())


def _stub_of(name: str, bases: tuple[str, ...], fields: list[Field]) -> str:
    columns = {one.name: one.type for one in fields}
    if any(one.macro == "STACK" for one in fields):
        columns.update(_FRAMES)
    given = {"frames": " = ...", "frame": " = ..."}     # what has a default
    given |= {one.name: " = ..." for one in fields if one.optional}
    lines = [f"    {key}: {kind}{given.get(key, '')}" for key, kind in columns.items()]
    # rules make no facts and change none; but plan.py replaces what is of a stack
    made = ["@dataclass(frozen=True, kw_only=True)"] if "frames" in columns else []
    return "\n".join([*made, f"class {name}({', '.join(bases)}):", *(lines or ["    ..."])]) + "\n"


def known(kind: str) -> str:
    """The kind, or an error where facts.def does not have it."""
    if kind not in all_fields():
        raise FactError(f"facts.def has no kind '{kind}'")
    return kind


def parse(row: Mapping[str, object]) -> Fact:
    """The fact of one line of JSON."""
    kind = known(str(row.get("fact", "")))
    given = {key: value for key, value in row.items() if key != "fact"}
    for one in all_fields()[kind]:
        if one.name not in given:
            if one.optional:
                continue
            raise FactError(f"a fact '{kind}' has no '{one.name}'")
        value = given[one.name]
        if not isinstance(value, _TYPES[one.macro]) or isinstance(value, bool):
            raise FactError(f"a fact '{kind}' has {value!r} for '{one.name}' "
                            f"({one.type.partition(' |')[0]})")
        if one.macro == "HEX":
            given[one.name] = int(str(value), 16)
        elif isinstance(value, list) and one.macro == "STACK":
            given[one.name] = [int(address, 16) for address in value]
    unknown = given.keys() - {one.name for one in all_fields()[kind]}
    if unknown:
        raise FactError(f"a fact '{kind}' has '{min(unknown)}', which facts.def does not have")
    return classes()[title(kind)](kind, **given)
