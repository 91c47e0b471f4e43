"""Shared thresholds.  counts -> whether they are enough, most, half

They mean the same in every rule. A threshold of one rule stands in its file, with a name.
"""

ENOUGH = 3          # occasions that are no accident
MOST = 0.9


def enough(count: int) -> bool:
    """Whether something was seen too often to be an accident."""
    return count >= ENOUGH


def most(count: float, of: float) -> bool:
    """Whether these are nearly all: the few others may have causes of their own."""
    return count >= MOST * of


def half(count: float, of: float) -> bool:
    """Whether these are at least half: the rule, and not the exception."""
    return 2 * count >= of
