"""raylib for processes that do not draw.  raylib's headers -> C whose functions return zero"""
from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Function:
    """One declaration: `returns name(parameters)`, in C's own words."""

    returns: str
    name: str
    parameters: tuple[str, ...]         # "Vector2 center", "...", none for (void)


_PROTOTYPE = re.compile(r"^[ \t]*(?!typedef\b)(?P<returns>[A-Za-z_][\w \t]*?[ \t*]+)"
                        r"(?P<name>[A-Za-z_]\w*)\((?P<parameters>[^()]*)\);", re.MULTILINE)


def functions(header: str) -> list[Function]:
    """The functions that a raylib header declares."""
    text = re.sub(r"/\*.*?\*/|//[^\n]*", "", header, flags=re.DOTALL)
    found = []
    for match in _PROTOTYPE.finditer(text):
        words = [" ".join(item.split()) for item in match["parameters"].split(",")]
        found.append(Function(" ".join(match["returns"].split()), match["name"],
                              tuple(word for word in words if word not in ("", "void"))))
    return found


def _null_definition(function: Function) -> str:
    names = [re.sub(r"\[.*", "", item).split("*")[-1].split()[-1]
             for item in function.parameters if item != "..."]
    unused = "".join(f"(void){name}; " for name in names)
    if function.name == "TextFormat":
        result = 'return ""; '                  # callers print what it returns
    elif function.returns == "void":
        result = ""
    elif function.returns.endswith("*") or _is_number(function.returns):
        result = "return 0; "
    else:
        result = f"return ({function.returns}){{0}}; "
    space = "" if function.returns.endswith("*") else " "
    head = f"{function.returns}{space}{function.name}({', '.join(function.parameters) or 'void'})"
    return f"{head} {{ {unused}{result}}}"


def _is_number(kind: str) -> bool:
    return set(kind.split()) <= {"unsigned", "signed", "bool", "char", "short", "int", "long",
                                 "float", "double"}


def text(wheel: str, headers: Mapping[str, str]) -> str:
    """C source: every function that the headers declare, returning zero.

    wheel       the wheel's name and version
    headers     file name -> text of raylib.h and rlgl.h
    """
    parts = []
    for name, header in headers.items():
        declared = functions(header)
        parts += [f"\n// {name}: {len(declared)} functions", *map(_null_definition, declared)]
    return "\n".join([f"// raylib_null.c -- made by puffer-sdk from the {wheel} wheel: raylib for",
                      "// processes that do not draw. Every function returns zero.",
                      "#define PUFFER_NO_COMPAT",
                      '#include "raylib.h"', '#include "rlgl.h"', *parts, ""])
