"""Each process of a machine on cores of its own.  cores of all -> this one's part

Otherwise the kernel moves processes that wait for each other from core to core, a thousand times a
second, and puts two on one core. MPI and Slurm bind processes in the same way.
"""
from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import TypedDict

from .group import Alone


class Wish(TypedDict):
    """What one process needs, and where it may run."""

    threads: int
    cores: list[int]


def divide(group: Alone, threads: int) -> tuple[int, ...]:
    """Bind this process, with all threads that it has, to its part of the cores.

    threads     that will work in this process
    Returns the numbers of the cores; () where nothing changes: there is one process on this
    machine, or they are bound already, or there are fewer cores than threads, or no Linux.
    All ranks call this.
    """
    if group.size == 1:
        return ()
    facts = group.share(Wish(threads=threads, cores=allowed()))
    beside = [rank for rank, host in enumerate(group.hosts) if host == group.hosts[group.rank]]
    cores = facts[group.rank]["cores"]
    each = len(cores) // len(beside)
    if (len(beside) == 1 or any(facts[rank]["cores"] != cores for rank in beside)
            or max(facts[rank]["threads"] for rank in beside) > each):
        return ()
    first = beside.index(group.rank) * each
    part = tuple(cores[first:first + each])
    for task in Path("/proc/self/task").iterdir():
        with contextlib.suppress(OSError):          # it has ended; or this is not permitted
            os.sched_setaffinity(int(task.name), part)
    return part


def allowed() -> list[int]:
    """Where this process may run; [] where that cannot be asked."""
    return sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []
