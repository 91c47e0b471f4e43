"""Delta debugging: the shortest, plainest script that still fails.  rows, fails -> rows

A row is the tuple of actions of one step, or RESET. `fails(rows)` plays them and returns the
number of rows that were needed, or None when the fault was not seen (or no trial is left): the
result depends on what was tried, never on how long it took.
"""
from collections import Counter
from collections.abc import Callable, Sequence

RESET = None
Row = tuple[float, ...] | None
Fails = Callable[[Sequence[Row]], int | None]


def shrink(rows: Sequence[Row], noop: tuple[float, ...], fails: Fails) -> list[Row]:
    """rows is known to fail; what comes back does as well."""
    idle = [row if row is RESET else noop for row in rows]      # does it matter what is done?
    used = fails(idle) if idle else None
    rows = _keep_tail(list(rows) if used is None else idle[:used], fails)
    rows = _drop_chunks(rows, fails)
    plain = _plain_rows(rows, noop, fails)
    plain = _plain_cells(plain, noop, fails)
    return _drop_chunks(plain, fails) if plain != rows else plain


def _keep_tail(rows: list[Row], fails: Fails) -> list[Row]:
    """Often the last few steps are enough: none, 1, 2, 4, ..."""
    count = 0
    while count < len(rows):
        tail = rows[len(rows) - count:]
        used = fails(tail)
        if used is not None:
            return tail[:used]
        count = max(2 * count, 1)
    return rows


def _drop_chunks(rows: list[Row], fails: Fails) -> list[Row]:
    """Leave out a half, a quarter, ... a single row, for as long as it still fails."""
    size = (len(rows) + 1) // 2
    while rows and size:
        begin, dropped = 0, False
        while begin < len(rows):
            shorter = rows[:begin] + rows[begin + size:]
            used = fails(shorter)
            if used is None:
                begin += size
            else:
                rows, dropped = shorter[:used], True
        if size == 1 and not dropped:
            break
        size = min(max(size // 2, 1), max(len(rows), 1))
    return rows


def _plain_rows(rows: list[Row], noop: tuple[float, ...], fails: Fails) -> list[Row]:
    """Rows that do nothing in the place of others; or, failing that, rows that are all alike."""
    def replaced(begin: int, end: int) -> list[Row]:
        return [noop if begin <= i < end and row is not RESET else row
                for i, row in enumerate(rows)]

    size = len(rows)
    while size:
        for begin in range(0, len(rows), size):
            tried = replaced(begin, begin + size)
            if tried != rows[:len(tried)] and fails(tried) is not None:
                rows = tried
        size //= 2
    busy = Counter(row for row in rows if row is not RESET and row != noop)
    for row, _ in sorted(busy.items(), key=lambda item: -item[1])[:3] if len(busy) > 1 else ():
        tried = [row if old is not RESET else old for old in rows]
        if fails(tried) is not None:
            return tried
    return rows


def _plain_cells(rows: list[Row], noop: tuple[float, ...], fails: Fails) -> list[Row]:
    """One column (an agent's head) after the other: what it does may not matter."""
    for column in range(len(noop)) if len(noop) <= 64 else ():
        tried = [row if row is RESET else row[:column] + (noop[column],) + row[column + 1:]
                 for row in rows]
        if tried != rows and fails(tried) is not None:
            rows = tried
    return rows
