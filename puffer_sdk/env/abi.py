"""Our C headers as cffi knows them.  puffer_abi.h, puffer_trainer.h -> declarations

Nothing is stated twice: structs, functions and sizes are read from the headers' own text.
"""
from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any, TypeAlias

import cffi

from ..base import paths

CObject: TypeAlias = Any    # a library, a pointer or a struct: cffi alone knows what it has


@cache
def ffi() -> cffi.FFI:
    """The environment ABI, read from puffer_abi.h."""
    return declare([env_header()])


@cache
def trainer_ffi() -> cffi.FFI:
    """The trainer's ABI, read from puffer_trainer.h; it shares the environment ABI's types."""
    return declare([env_header(), trainer_header()], include=ffi())


def env_header() -> Path:
    return paths.include_dir() / "puffer_abi.h"


def trainer_header() -> Path:
    return paths.data_dir("trainer") / "puffer_trainer.h"


def constants(*headers: Path) -> dict[str, str]:
    """{"PUFFER_ERROR_SIZE": "2048"}: what the headers define as numbers."""
    return {name: value for header in headers for name, value in
            re.findall(r"^#define ([A-Z]\w+)\s+(\d+)(?![\w.])", header.read_text(), re.M)}


@cache
def number(name: str) -> int:
    """A number of puffer_abi.h, such as PUFFER_ABI_VERSION."""
    return int(constants(env_header())[name])


def new_error() -> CObject:
    """A PufferError* that a call fills."""
    return ffi().new("PufferError*")


def text_of(given: CObject) -> str:
    """A char array or a char* that C has ended with 0."""
    said = ffi().string(given)
    return said.decode(errors="replace") if isinstance(said, bytes) else said


@cache
def error_kinds() -> dict[int, str]:
    """{1: "MISSING_KEY"}: the kinds of errors, from the header."""
    elements = ffi().typeof("enum PufferErrorKind").elements
    return {value: name.removeprefix("PUFFER_") for value, name in elements.items()}


def declare(headers: Sequence[Path], include: cffi.FFI | None = None) -> cffi.FFI:
    """The last header's declarations; those before it, which `include` knows, give numbers."""
    text = _strip(headers[-1].read_text())
    for name, value in constants(*headers).items():
        text = re.sub(rf"\b{name}\b", value, text)
    made = cffi.FFI()
    if include:
        made.include(include)
    made.cdef(text)
    return made


def _strip(text: str) -> str:
    """Only C declarations: no comments, directives or extern "C" braces."""
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
    text = re.sub(r"//[^\n]*", "", text)
    text = re.sub(r"#ifdef __cplusplus.*?#endif", "", text, flags=re.S)
    return re.sub(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", "", text, flags=re.M)
