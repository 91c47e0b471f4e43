"""Sizes of a PufferLib 3 environment whose NAME.py is missing.  NAME.c, NAME.h -> sizes

The demo NAME.c allocates observations and actions, draws random actions, and fills the struct with
settings. Its text is read, never run.
"""
from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from ..env.source import hide
from . import python_env

DEPTH = 8               # names of names of ... that are followed
NUMBER = r"(?:(?:const|static|unsigned)\s+)*(?:int|size_t|unsigned|float|double)"
MEMBER = r"\b\w+\s*(?:->|\.)\s*"


@dataclass
class CSizes:
    """None: the text does not say."""

    obs_size: int | None = None
    obs_at: str = ""                            # game.c:12, where it stands
    act_sizes: tuple[int, ...] | None = None    # 1 = continuous
    act_at: str = ""
    defaults: dict[str, float] = field(default_factory=dict)    # of fields of the struct


def read(texts: Mapping[str, str], given: Mapping[str, float]) -> CSizes:
    """texts: of NAME.c and NAME.h, by their names; given: [env] of the ini."""
    texts = {name: hide(text) for name, text in texts.items()}
    made, whole = CSizes(), "\n".join(texts.values())
    constants = dict(re.findall(r"(?m)^[ \t]*#[ \t]*define[ \t]+(\w+)[ \t]+(\S.*)$", whole))
    constants |= dict(re.findall(rf"\b{NUMBER}\s+(\w+)\s*=\s*([^;,]+);", whole))
    fields: dict[str, str] = {}
    for text in reversed(texts.values()):       # what NAME.c says counts before the header
        fields |= dict(re.findall(rf"{MEMBER}(\w+)\s*=\s*([^;=]+);", text))
        fields |= dict(re.findall(r"[{,]\s*\.(\w+)\s*=\s*([^,}]+)", text))
    known = {**fields, **{name: repr(value) for name, value in given.items()},
             "num_agents": "1"}
    names = {**constants, **{f"m_{name}": text for name, text in known.items()}}
    for name in fields:
        value = _number(f"m_{name}", names)
        if value is not None:
            made.defaults[name] = value
    for file, text in texts.items():
        made.obs_size, made.obs_at = made.obs_size or _allocated(
            "observations", text, names), made.obs_at or file
        if made.obs_size is None:
            made.obs_at = ""
        made.act_sizes = made.act_sizes or _heads(text, whole, names)
        made.act_at = made.act_at or (file if made.act_sizes else "")
    return made


def _number(text: str, names: Mapping[str, str], depth: int = 0) -> float | None:
    """The value of an expression of C: numbers, names of numbers, arithmetic."""
    text = re.sub(r"\*\s*sizeof\s*\(?[\w\s*]+\)?|\((?:int|float|size_t|unsigned)\)", "", text)
    text = re.sub(rf"{MEMBER}(\w+)", r"m_\1", text)
    text = re.sub(r"(?<=[\d.])[fFuUlL]+\b", "", text).strip()
    try:
        tree = ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError, RecursionError):
        return None
    values: dict[str, float | None] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and node.id not in values:
            if depth == DEPTH or node.id not in names:
                return None
            values[node.id] = _number(names[node.id], names, depth + 1)
            if values[node.id] is None:
                return None
    value = python_env.evaluate(tree, values)
    return value if isinstance(value, (int, float)) else None


def _allocated(array: str, text: str, names: Mapping[str, str]) -> int | None:
    """The elements of one agent that calloc or malloc allocates."""
    for found in re.finditer(rf"\b{array}\s*=\s*(?:\([\w\s*]+\)\s*)?([cm]alloc)\s*\(", text):
        first = _first_argument(text[found.end():])
        value = _number(first, names)
        if value is not None and value >= 1:
            return int(value)
    return None


def _first_argument(text: str) -> str:
    depth = 0
    for at, letter in enumerate(text):
        depth += {"(": 1, ")": -1}.get(letter, 0)
        if depth < 0 or (letter == "," and not depth):
            return text[:at]
    return text


def _heads(text: str, whole: str, names: Mapping[str, str]) -> tuple[int, ...] | None:
    """The widths: those of the demo's network; floats are continuous; else what is drawn, or the
    numbers that one action is compared with."""
    if found := re.search(r"\blogit_sizes\s*\[\s*\d*\s*\]\s*=\s*\{([\d,\s]+)\}", text):
        return tuple(map(int, re.findall(r"\d+", found[1])))
    count = _allocated("actions", text, names)
    if count is None:
        return None
    if re.search(r"\bfloat\s*\*\s*actions\s*;", whole):
        return (1,) * count
    drawn = [_number(width, names) for width in re.findall(
        r"\bactions\s*\[[^]]*\]\s*=\s*(?:\(\w+\)\s*)?\(?\s*rand\s*\(\s*\)\s*%\s*(\w+)", whole)]
    widths = {int(width) for width in drawn if width and width > 1} or _compared(whole, names)
    return tuple(widths) * count if len(widths) == 1 else None


def _compared(text: str, names: Mapping[str, str]) -> set[int]:
    """{1 + the greatest number that an action is compared with}, or none."""
    own = set(re.findall(r"\bint\s+(\w+)\s*=\s*(?:\(int\)\s*)?\w+\s*->\s*actions\s*\[", text))
    action = "|".join([r"->\s*actions\s*\[[^]]*\]", *(rf"\b{name}" for name in own)])
    values = [_number(value, names) for value in re.findall(rf"(?:{action})\s*==\s*(\w+)", text)]
    most = max((int(value) for value in values if value is not None), default=0)
    return {most + 1} if most > 0 else set()
