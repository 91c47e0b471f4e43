"""Which processes still run.  what run.json and a sweep's store note of one -> bool"""
from __future__ import annotations

import hashlib
import os
import socket
from collections.abc import Mapping
from pathlib import Path
from typing import TypedDict


class Process(TypedDict):
    pid: int
    pid_started: int | None
    host: str           # here()


def here() -> str:
    """Twelve digits that name this machine without its name, which stays out of files."""
    return hashlib.sha256(socket.gethostname().encode()).hexdigest()[:12]


def is_here(host: object) -> bool:
    """Whether a file means this machine; earlier versions wrote its name."""
    return host in (here(), socket.gethostname())


def shown(process: Mapping[str, object]) -> str:
    """"process 71 on this machine"."""
    where = "this" if is_here(process.get("host")) else "another"
    return f"process {process.get('pid')} on {where} machine"


def this_process() -> Process:
    """This process. A later process may get the same id, so its start time belongs to it."""
    return {"pid": os.getpid(), "pid_started": _start_time(os.getpid()),
            "host": here()}


def _start_time(pid: int) -> int | None:
    """Clock ticks from boot to the start of a process; None if unknown."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
        fields = stat.rpartition(")")[2].split()    # the name before may hold anything
        return None if fields[0] == "Z" else int(fields[19])
    except (OSError, IndexError, ValueError):
        return None


def is_alive(pid: object, started: object) -> bool:
    """Whether a process of this machine, as this_process() names it, still runs."""
    if not isinstance(pid, int) or pid <= 0:
        return False
    now = _start_time(pid)
    if now is None and Path("/proc/self/stat").exists():
        return False
    if now is not None and started is not None:
        return now == started
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        pass
    return True
