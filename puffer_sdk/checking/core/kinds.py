"""The kinds of facts that the harness writes.  facts.def -> a frozen dataclass for each kind

    kinds()["head"]                                    fields: kind, head, width
    parse({"fact": "head", "head": 0, "width": 5})     -> the dataclass with these values
"""
from __future__ import annotations

import re
from dataclasses import dataclass, field, make_dataclass
from functools import cache
from pathlib import Path
from typing import NamedTuple

DEFINITION = Path(__file__).parents[1] / "play" / "facts.def"
_NUMBER = (int, float)
_TYPES: dict[str, tuple] = {    # macro of facts.def -> types in JSON
    "INT": (int,), "REAL": _NUMBER, "VALUE": (*_NUMBER, str), "TEXT": (str,), "HEX": (str,),
    "PLACE": (list,), "LIST": (list,), "STACK": (list,)}
_PYTHON = {"INT": "int", "REAL": "float", "VALUE": "float | str", "TEXT": "str", "HEX": "int",
           "PLACE": "list[int]", "LIST": "list", "STACK": "list[int]"}
_TOKEN = re.compile(r"(?P<macro>[A-Z_]+)(?:\((?P<name>\w+)[^)]*\))?")


class FactError(ValueError):
    """A fact, or a question for one, that facts.def does not have."""


class Field(NamedTuple):
    """One field of a kind."""

    name: str
    macro: str              # INT, TEXT, ...
    optional: bool          # between IF and FI


@dataclass(frozen=True)
class Fact:
    """What all kinds have in common."""

    kind: str


def definitions(text: str) -> dict[str, list[Field]]:
    """kind -> its fields, from the text of a facts.def."""
    text = re.sub(r"/\*.*?\*/|//[^\n]*", " ", text, flags=re.DOTALL)
    groups = {match[1]: match[2] for match in re.finditer(r"#define (\w+) +([^\n]*)", text)}
    text = re.sub(r"#[^\n]*", " ", text)
    for name, body in groups.items():
        text = re.sub(rf"\b{name}\b", body, text)
    found: dict[str, list[Field]] = {}
    kind, optional = "", False
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
        elif macro in _TYPES and name:
            found[kind].append(Field(name, macro, optional))
        else:
            raise FactError(f"facts.def has no type '{token[0]}' (in '{kind}')")
    return found


@cache
def all_fields() -> dict[str, list[Field]]:
    return definitions(DEFINITION.read_text())


@cache
def kinds() -> dict[str, type[Fact]]:
    """kind -> its dataclass. A kind with a stack also has `frames` and `frame`: see plan.py."""
    found = {}
    for kind, members in all_fields().items():
        columns: list[tuple] = [(one.name, _PYTHON[one.macro]) for one in members
                                if not one.optional]
        columns += [(one.name, f"{_PYTHON[one.macro]} | None", field(default=None))
                    for one in members if one.optional]
        if any(one.macro == "STACK" for one in members):
            columns += [("frames", "tuple", field(default=())),
                        ("frame", "object", field(default=None))]
        title = "".join(word.title() for word in kind.split("_"))
        found[kind] = make_dataclass(title, columns, bases=(Fact,), frozen=True)
    return found


def known(kind: str) -> str:
    """The kind, or an error where facts.def does not have it."""
    if kind not in all_fields():
        raise FactError(f"facts.def has no kind '{kind}'")
    return kind


def parse(row: dict) -> Fact:
    """The fact of one line of JSON."""
    kind = known(row.get("fact", ""))
    given = {key: value for key, value in row.items() if key != "fact"}
    for one in all_fields()[kind]:
        if one.name not in given:
            if one.optional:
                continue
            raise FactError(f"a fact '{kind}' has no '{one.name}'")
        value = given[one.name]
        if not isinstance(value, _TYPES[one.macro]) or isinstance(value, bool):
            raise FactError(f"a fact '{kind}' has {value!r} for '{one.name}' "
                            f"({_PYTHON[one.macro]})")
        if one.macro == "HEX":
            given[one.name] = int(value, 16)
        elif one.macro == "STACK":
            given[one.name] = [int(address, 16) for address in value]
    unknown = given.keys() - {one.name for one in all_fields()[kind]}
    if unknown:
        raise FactError(f"a fact '{kind}' has '{min(unknown)}', which facts.def does not have")
    return kinds()[kind](kind, **given)
