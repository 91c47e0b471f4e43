"""How often is often?  counts -> a word that means the same in every rule

What is told of a rule alone, such as the length of a play, stands in its file by a name.
"""
from __future__ import annotations

ENOUGH = 3          # occasions that are no accident
MOST = 0.9


def enough(count: int) -> bool:
    """No accident."""
    return count >= ENOUGH


def most(count: float, of: float) -> bool:
    """Nearly all of them: the few others may have causes of their own."""
    return count >= MOST * of


def half(count: float, of: float) -> bool:
    """Half of them at least: the rule, and not the exception."""
    return 2 * count >= of
