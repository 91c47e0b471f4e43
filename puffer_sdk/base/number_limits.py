"""Numbers that callers give.  a value, its limits -> an int, or a UsageError"""
from __future__ import annotations

import operator
from typing import SupportsIndex

from .errors import UsageError


def whole_number(name: str, value: object, low: int, high: int) -> int:
    """value as an int in [low, high], or a UsageError."""
    number = operator.index(value) if isinstance(value, SupportsIndex) else None
    if number is None or not low <= number <= high:
        raise UsageError(f"{name} cannot be {value!r}", expected=f"{low} to {high}",
                         actual=repr(value))
    return number
