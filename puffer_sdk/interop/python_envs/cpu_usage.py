"""What the processes below this one have used.  /proc -> CPU seconds

A trial's cost counts all its processes: workers, and what an environment has started itself.
"""
from __future__ import annotations

import contextlib
import os

from ...base import processes

TICKS = os.sysconf("SC_CLK_TCK")
ENDED = (13, 14)        # fields after the name in /proc/PID/stat: ticks of children that ended


def descendants_seconds() -> float:
    """CPU seconds, so far, of all processes below this one: of those that live, and of those that
    have ended and were waited for. Without /proc, only of the latter."""
    own = os.times()
    total, left = own.children_user + own.children_system, children(os.getpid())
    while left:
        pid = left.pop()
        total += seconds_of(pid)
        left += children(pid)
    return total


def children(pid: int) -> list[int]:
    """Processes that this one has started and that live. Those of all its threads."""
    found: list[int] = []
    with contextlib.suppress(OSError):
        for thread in os.listdir(f"/proc/{pid}/task"):
            with contextlib.suppress(OSError), \
                    open(f"/proc/{pid}/task/{thread}/children") as file:
                found += map(int, file.read().split())
    return found


def seconds_of(pid: int) -> float:
    """CPU seconds of one process, and of its children that have ended. 0 where it is gone."""
    try:
        clock = processes.cpu_seconds(pid)
        with open(f"/proc/{pid}/stat") as file:
            fields = file.read().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return clock + sum(int(fields[at]) for at in ENDED) / TICKS
