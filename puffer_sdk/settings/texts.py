"""Numbers and actions as text.  "1e8", "100_000_000" <-> 100000000"""
from __future__ import annotations

import ast
import math
import re

from ..base.spec import SCALARS


class EnvText(float):
    """A value of [env] that is no number, which PufferLib 5.0 has: a list's first number, 0 of any
    other text; `text` is what the ini says."""

    text: str

    def __new__(cls, text: str) -> EnvText:
        try:
            value = float(parse_number(text.split(",")[0].strip())) if "," in text else 0.0
        except ValueError:
            value = 0.0
        made = super().__new__(cls, value)
        made.text = text
        return made

    def __reduce__(self) -> tuple[type[EnvText], tuple[str]]:
        return EnvText, (self.text,)

    def __eq__(self, other: object) -> bool:
        return other.text == self.text if isinstance(other, EnvText) else False

    def __hash__(self) -> int:
        return hash(self.text)


def show(value: object) -> str:
    """A value as an ini holds it; parse(show(x)) == x."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, EnvText):
        return value.text
    if isinstance(value, float):
        if value.is_integer() and abs(value) < 1e15:
            return str(int(value))
        return repr(value)
    return str(value)


def literal(text: str) -> object:
    """The value of a Python environment's keyword: a Python literal (3, 0.5, True, [1, 2], None),
    else the text itself."""
    words = {"true": True, "false": False, "none": None}
    text = text.strip()
    if text.lower() in words:
        return words[text.lower()]
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return text


WEIGHTS = "a number for each part of the reward, such as 0.7, 0.3"


def numbers_of(text: str) -> tuple[float, ...]:
    """The numbers of a list: "0.7, 0.3". Raises ValueError."""
    return tuple(float(parse_number(part.strip())) for part in text.split(",")) if text else ()


def show_numbers(text: str) -> str:
    """The same list as an ini holds it. Raises ValueError."""
    return ", ".join(map(show, numbers_of(text.strip())))


def show_literal(value: object) -> str:
    """A value as an ini holds it; literal(show_literal(x)) == x."""
    if isinstance(value, str) and value == value.strip() and literal(value) == value:
        return value
    return repr(value)


_NUMBER = re.compile(r"([+-]?)(\d+(?:_\d+)*)?(?:\.(\d+(?:_\d+)*)?)?(?:[eE]([+-]?\d{1,6}))?",
                     re.ASCII)


def parse_number(text: str) -> int | float:
    """The number that a text spells: exact for whole ones, however written (1e8, 100_000_000).

    Raises ValueError with a reason: 'not finite', 'too large', or '' for what is no number at all.
    """
    match = _NUMBER.fullmatch(text)
    if len(text) > 400 or not match or not (match[2] or match[3]):
        word = text.lower().lstrip("+-")
        raise ValueError("not finite" if word in ("nan", "inf", "infinity") else "")
    sign, whole, part, exponent = match.groups()
    whole, part = (whole or "").replace("_", ""), (part or "").replace("_", "")
    power = int(exponent or 0) - len(part)
    digits = int(whole + part)
    if digits and power + len(str(digits)) > 308:
        raise ValueError("too large")
    if power >= 0 or digits == 0:
        result = digits * 10**power if digits else 0
    elif -power < 400 and digits % 10**-power == 0:
        result = digits // 10**-power
    else:
        value = float(text.replace("_", ""))
        if not math.isfinite(value):
            raise ValueError("too large")
        return value
    return -result if sign == "-" else result


def env_value(text: str, *, free: bool) -> int | float:
    """A value of [env]. Raises ValueError as parse_number does.

    free    it may be a list or a text, as PufferLib 5.0 has them
    """
    try:
        return parse_number({"true": "1", "false": "0"}.get(text.lower(), text))
    except ValueError:
        if not (free and text):
            raise
        return EnvText(text.strip("'\""))


def has_fraction(text: str) -> bool:
    """True for a number that is not whole."""
    try:
        return isinstance(parse_number(text), float)
    except ValueError:
        return False


def parse_action(text: str) -> tuple[float, ...]:
    """'4, 2' or '{4, 2}' as numbers, one per head; () for an empty text. Raises ValueError."""
    text = text.strip().strip("{}").strip()
    return tuple(float(parse_number(part)) for part in re.split(r"\s*,\s*|\s+", text)) \
        if text else ()


def number_hint(text: str, reason: str) -> str:
    """How to write a number that parse_number refused for this reason, or ''."""
    if re.search(r"\s[#;]", text):
        return "a comment stands on a line of its own"
    if text[:1] in "'\"" and text[:1]:
        return "numbers are written without quotes"
    if "," in text:
        return "write 1_000_000, or 1e6; the decimal point is a point"
    return f"the value is {reason}" if reason else ""


def number_or_text(text: str) -> int | float | str:
    """A text of an ini as a number, where it is one."""
    try:
        return parse_number(text)
    except ValueError:
        return text


def c_expected(c_type: str) -> str:
    """What an ini may hold for a field of this type; "": of an unknown one."""
    if not c_type:
        return "a number"
    if c_type in ("float", "double"):
        return f"a number that a {c_type} holds"
    low, high = SCALARS[c_type]
    return f"a whole number from {low} to {high} ({c_type})"
