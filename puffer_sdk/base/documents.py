"""What `--format json` prints.  types whose fields say what they are -> JSON schemas"""
from __future__ import annotations

from typing import Annotated, Any, TypedDict

import msgspec

_ALIKE: dict[str, type] = {}        # types that a field's schema refers to, by name
REFERENCE = "#/$defs/{name}"
DIALECT = "https://json-schema.org/draft/2020-12/schema"


def says(text: str, like: type | None = None, each: type | None = None, **more: Any
         ) -> msgspec.Meta:
    """What a field means, with its unit.

    like    the type whose fields the value has, where it is typed as a plain dict
    each    the same of each value in it
    more    what else its schema says, where the type is wider or narrower than what is printed
    """
    if like is not None:
        more.update(_refer(like))
    if each is not None:
        more["additionalProperties"] = _refer(each)
    return msgspec.Meta(description=text, extra_json_schema=more or None)


def _refer(to: type) -> dict[str, str]:
    _ALIKE[to.__name__] = to
    return {"$ref": REFERENCE.format(name=to.__name__)}


class Problem(TypedDict):
    """An error in parts."""

    message: Annotated[str, says("one sentence: what is wrong")]
    code: Annotated[str | None, says("of the rule, where `explain` has a page")]
    where: Annotated[str | None, says("a file and line, a setting or \"command line\"")]
    file: Annotated[str | None, says("the file of `where`, if it is one with a line")]
    line: Annotated[int | None, says("its line, from 1")]
    expected: Annotated[str | None, says("what would be right")]
    actual: Annotated[str | None, says("what is there instead")]
    detail: Annotated[str | None, says("further lines, such as a compiler's")]
    hint: Annotated[str | None, says("the next step")]
    exit_status: Annotated[int, says("of the command")]


class Failed(TypedDict):
    """In place of the result, of every command that fails."""

    error: Annotated[Problem, says("what went wrong")]


def schema(title: str, *documents: type) -> dict[str, Any]:
    """The JSON schema of what is one of these types."""
    types = list(documents)
    while True:
        shown, parts = msgspec.json.schema_components(types, ref_template=REFERENCE)
        more = [each for name, each in _ALIKE.items()
                if name not in parts and REFERENCE.format(name=name) in str(parts)]
        if not more:
            break
        types += more
    for name, part in parts.items():
        part["description"] = " ".join(part.get("description", "").split())
        if name in _ALIKE:              # asdict() gives all fields, also those with a default
            part["required"] = list(part["properties"])
            for field in part["properties"].values():
                field.pop("default", None)
    return {"$schema": DIALECT, "title": title, "anyOf": list(shown)[:len(documents)],
            "$defs": parts}
