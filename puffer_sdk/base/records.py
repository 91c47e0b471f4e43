"""The typed reader of what lies in files.  JSON + a type -> a value of that type, or Damaged

Runs, checkpoints, sweeps and reports come from other versions, machines and people. Whatever is
read of them goes through here once: the sentence names the file, the key, what was expected and
what is there. Types are msgspec's, which imports in a few milliseconds: structs, TypedDicts,
dataclasses, dict[str, int]. Keys that a type does not have are kept out of it, and are no error.
"""
from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

from . import files
from .errors import Damaged, Refused

T = TypeVar("T")
Json: TypeAlias = Any    # what JSON says, before `convert` has looked at it
MOST = 64 << 20         # bytes of a file that is read as a whole


def parse(text: str | bytes, where: object, what: str = "this", *, nan: bool = True) -> Json:
    """What a JSON text holds. Raises Damaged.

    nan     whether NaN and the infinities, which are not JSON, come as they are; or else as None
    """
    try:
        value = json.loads(text, parse_constant=float if nan else lambda word: None)
        if "\\u" in text if isinstance(text, str) else b"\\u" in text:     # half of a character
            json.dumps(value, ensure_ascii=False).encode()
    except RecursionError:
        raise Damaged(f"{what} is damaged", where=where, expected="JSON",
                      actual="values within values, too deep to read") from None
    except (ValueError, UnicodeError) as error:
        raise Damaged(f"{what} is damaged", where=where, expected="JSON",
                      actual=str(error)) from None
    return value


def convert(value: object, kind: type[T], where: object, what: str = "this") -> T:
    """`value`, of a type that JSON has, as one of `kind`. Raises Damaged.

    what    "the run's state": what it is
    """
    import msgspec

    try:
        return msgspec.convert(value, kind)
    except (msgspec.ValidationError, RecursionError, OverflowError, UnicodeError) as error:
        said, _, key = str(error).partition(" - at `$")
        key = key.rstrip("`").lstrip(".")
        where = f"{where}, {key}" if key else where
        found = re.fullmatch(r"Expected (.*), got (.*)", said, re.DOTALL)
        if found:
            raise Damaged(f"{what} is damaged", where=where, expected=_plain(found[1]),
                          actual=_plain(found[2])) from None
        missing = re.fullmatch(r"Object missing required field `(\w+)`", said)
        raise Damaged(f"{what} is damaged", where=where,
                      expected=f"the key '{missing[1]}'" if missing else None,
                      actual="none" if missing else None,
                      detail=None if missing else _plain(said)) from None


_WORDS = {"str": "a text", "int": "a whole number", "float": "a number", "object": "an object",
          "array": "a list", "bool": "true or false", "null": "null"}


def _plain(said: str) -> str:
    """msgspec's words in ours."""
    return re.sub(r"`([\w |]+)`", lambda found: " or ".join(
        _WORDS.get(word, word) for word in found[1].split(" | ")), said)


def read(path: Path, kind: type[T], what: str = "this", *, most: int = MOST) -> T:
    """What a JSON file holds, of type `kind`. Raises Damaged, also for a link, a pipe, a device and
    more than `most` bytes; FileNotFoundError where there is none."""
    return convert(parse(content(path, what, most), path, what), kind, path, what)


def content(path: Path, what: str, most: int = MOST) -> bytes:
    """The bytes of a file, with the same errors."""
    with opened(path, what):
        return files.read(path, most)


@contextlib.contextmanager
def opened(path: Path, what: str) -> Iterator[None]:
    """What base/files.py refuses inside is Damaged; FileNotFoundError stays."""
    try:
        yield
    except FileNotFoundError:
        raise
    except Refused as error:
        raise Damaged(f"{what} is damaged", where=error.where, expected=error.expected,
                      actual=error.actual, hint=error.hint) from None
    except OSError as error:
        raise Damaged(f"{what} cannot be read", where=path,
                      detail=error.strerror or str(error)) from None


@contextlib.contextmanager
def read_as(what: str, where: object) -> Iterator[None]:
    """What goes wrong inside, where a part makes its own of a value, is Damaged."""
    try:
        yield
    except (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError,
            ValueError) as error:
        raise Damaged(f"{what} is damaged", where=where,
                      detail=f"{type(error).__name__}: {error}") from None
