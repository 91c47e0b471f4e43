"""How much memory processes use together.  process ids -> bytes

From Linux's /proc; 0 where there is none. Files that are mapped do not count.
"""
from __future__ import annotations

import re
from contextlib import suppress
from pathlib import Path

FIELDS = re.compile(rb"^(?:RssAnon|RssShmem|VmSwap):\s+(\d+) kB", re.M)
SHARED_FAIRLY = re.compile(rb"^(?:Pss_Anon|Pss_Shmem|SwapPss):\s+(\d+) kB", re.M)


def used_by(pid: int) -> int:
    """Bytes that a process uses; pages that it shares with a parent count in full."""
    return _sum(f"/proc/{pid}/status", FIELDS)


def used_by_tree(pid: int) -> int:
    """Bytes that a process and all its descendants use."""
    return sum(map(used_by, tree(pid)))


def share_of_tree(pid: int) -> int:
    """The same, with shared pages divided among those who share them. Slow."""
    return sum(_sum(f"/proc/{each}/smaps_rollup", SHARED_FAIRLY) for each in tree(pid))


def tree(pid: int) -> list[int]:
    """A process and its descendants. A kernel that does not tell children gives the process."""
    found, todo = [], [pid]
    while todo:
        found.append(todo.pop())
        with suppress(OSError, ValueError):
            for task in Path(f"/proc/{found[-1]}/task").iterdir():
                todo += map(int, (task / "children").read_text().split())
    return found


def _sum(path: str, fields: re.Pattern[bytes]) -> int:
    try:
        text = Path(path).read_bytes()
    except OSError:
        return 0
    return 1024 * sum(map(int, fields.findall(text)))
