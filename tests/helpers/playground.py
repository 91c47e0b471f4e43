"""What tests of running environments share: `faulty`, commands in processes, comparisons."""
from __future__ import annotations

import contextlib
import json
import os
import re
import resource
import signal
import sys
import time
from pathlib import Path

import numpy as np
from helpers.places import SPECIMENS

from puffer_sdk.training import checkpoint

FAULTS = {name: int(number) for name, number in re.findall(
    r"^    ([A-Z_0-9]+) = (\d+),", (SPECIMENS / "faulty" / "faulty.h").read_text(), re.M)}
COMMAND = [sys.executable, "-m", "puffer_sdk"]
CLOCKS = ("seconds", "cpu", "sps", "time/")


def overrides(fault: str = "NO_FAULT", **env) -> dict:
    return {"env.fault": FAULTS[fault], **{f"env.{key}": value for key, value in env.items()}}


def flags(settings: dict) -> list[str]:
    return [f"--{key.replace('_', '-')}={value}" for key, value in settings.items()]


def tensors(path: Path) -> dict[str, bytes]:
    return {name: value.tobytes() for name, value in checkpoint.load(path).tensors.items()}


def rows(run: Path) -> list[dict]:
    """metrics.jsonl without what depends on the clock. Strict: NaN is not JSON."""
    def refuse(text):
        raise AssertionError(f"{text} in metrics.jsonl")

    lines = (run / "metrics.jsonl").read_text().splitlines()
    return [{key: value for key, value in json.loads(line, parse_constant=refuse).items()
             if not key.startswith(CLOCKS)} for line in lines]


def leftovers(folder: Path) -> list[Path]:
    """Temporary files that somebody forgot."""
    return [path for path in folder.rglob("*") if path.name.startswith(".")]


def good_checkpoints(run: Path) -> list[Path]:
    """The run's checkpoints, every one of them loaded and finite."""
    found = sorted((run / "checkpoints").iterdir())
    for path in found:
        assert all(np.isfinite(value).all() for value in checkpoint.load(path).tensors.values())
    return found


def limit_files() -> None:
    """In a child: no file may grow beyond 2 MB."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (2_000_000, 2_000_000))


def descendants(pid: int) -> list[int]:
    """Processes that this one started, and theirs."""
    parents = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            if fields[0] != "Z":
                parents.setdefault(int(fields[1]), []).append(int(entry.name))
    found, todo = [], [pid]
    while todo:
        children = parents.get(todo.pop(), [])
        found += children
        todo += children
    return found


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def kill(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


def wait_until(test, seconds: float = 60.0):
    """What test() gives once that is true."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        value = test()
        if value:
            return value
        time.sleep(0.02)
    raise AssertionError(f"not within {seconds} seconds")
