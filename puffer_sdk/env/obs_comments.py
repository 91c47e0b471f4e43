"""What a comment says of elements of a row.  "[0, 1]", "grid 11 x 11 of 3 ids" -> bounds, a shape

The forms are those of obs_spec.py. What stands in a comment of a size is a number, a macro, an
enumerator or a setting.
"""
from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import TypedDict

Numbers = Callable[[str], int | None]       # a size in a comment -> its value

_NUMBER = (r"[-+]?\s*(?:\d+\.?\d*(?:[eE][-+]?\d+)?|\.\d+|\d*\.?\d*\s*\*?\s*(?:pi|PI|π)|"
           r"inf(?:inity)?)f?")
_BOUNDS = re.compile(rf"[\[]\s*({_NUMBER})\s*(?:,|\.\.)\s*({_NUMBER})\s*[\])]")
_BESIDES = re.compile(rf"\s*also\s+({_NUMBER})")
_SIZE = r"(\d+|(?:env\s*->\s*)?[A-Za-z_]\w*|\([^()]+\))"
_SHAPE = re.compile(rf"\b(grid|image|list)\s+{_SIZE}\s+x\s+{_SIZE}(?:\s+x\s+{_SIZE})?(?!\w)")
_IDS = re.compile(rf"{_SIZE}\s+ids\b")
_CELL = re.compile(rf"\bof\s*\(((?:{_SIZE}\s+ids|number)(?:\s*,\s*(?:{_SIZE}\s+ids|number))*)\)")
_CODE = re.compile(r"env\s*->|\(|[A-Z][A-Z0-9_]*$")          # "of ids" is English
_MASK = re.compile(r"\bmask\s+(\d+)\b")


class Declared(TypedDict, total=False):
    """What a comment may say of an obs_spec.ObsField."""

    kind: str
    shape: tuple[int, ...]
    ids: int
    cell: tuple[int, ...]
    mask: int
    unclear: str


def may_describe(text: str) -> bool:
    """Whether a source has a comment of a shape or of ids; quick, where read() is not."""
    return bool(_SHAPE.search(text) or _IDS.search(text))


def parse_bounds(comment: str) -> tuple[float, float] | None:
    """The first `[low, high]` of a comment, as numbers; None where there is none.

    "[0, 1] also -1" goes from -1.
    """
    for match in _BOUNDS.finditer(comment):
        low, high = _number(match[1]), _number(match[2])
        if low is None or high is None or low >= high:
            continue
        beside = _BESIDES.match(comment, match.end())
        also = _number(beside[1]) if beside else None
        return (low, high) if also is None else (min(low, also), max(high, also))
    return None


def parse_shape(comment: str, numbers: Numbers) -> Declared:
    """The kind, shape, ids and mask that a comment declares, as fields of a ObsField.

    numbers     a text of _SIZE -> its value, or None
    """
    found: Declared = {}
    if match := _SHAPE.search(comment):
        texts = [text for text in match.groups()[1:] if text]
        sizes = [size for text in texts if (size := numbers(text)) is not None]
        if len(sizes) < len(texts):
            found["unclear"] = next(text for text in texts if numbers(text) is None)
        else:
            found["kind"], found["shape"] = match[1], tuple(sizes)
            if match[1] == "list" and (mask := _MASK.search(comment)):
                found["mask"] = int(mask[1])
    if match := _CELL.search(comment):
        kinds = [_IDS.fullmatch(kind.strip()) for kind in match[1].split(",")]
        counts = [numbers(kind[1]) if kind else 0 for kind in kinds]
        if None in counts:
            found["unclear"] = match[1]
        else:
            found["cell"] = tuple(count or 0 for count in counts)
            if len(found.get("shape", ())) == 2 and len(counts) > 1:
                found["shape"] = (*found["shape"], len(counts))
    elif match := _IDS.search(comment):
        if ids := numbers(match[1]):
            found["ids"] = ids
        elif _CODE.match(match[1]):
            found["unclear"] = match[1]
    return found


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


def calculate(text: str, known: Mapping[str, int]) -> int | None:
    """The value of plain arithmetic over known names; None where it is more than that."""
    text = re.sub(r"(?:env\s*->\s*)?\b([A-Za-z_]\w*)",
                  lambda m: str(known.get(m[1], m[0])), text)
    if not re.fullmatch(r"[\d\s+*()-]+", text) or "**" in text:
        return None
    with suppress(SyntaxError, TypeError):
        return int(eval(text, {"__builtins__": {}}))  # noqa: S307    only digits and + - * ( )
    return None
