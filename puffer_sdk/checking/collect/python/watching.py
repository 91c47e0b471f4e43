"""What an environment does beyond its game while it is played, and what it piles up."""
from __future__ import annotations

import os
import sys
import time
from collections import deque
from contextlib import suppress
from typing import SupportsIndex

from .playing import PHASE, Desk
from .python_facts import RESET, STEP

OUTSIDE = ("subprocess.Popen", "os.system", "socket.connect", "os.posix_spawn", "os.exec")
KEPT = 32
_watch: list[Watch] = []


class Watch:
    """Counts sleeps, files opened for writing, programs and connections of reset() and step()."""

    def __init__(self, desk: Desk):
        self.desk, self.slept = desk, 0
        self.opened: list[str] = []
        self.outside: list[str] = []
        self.active = False

    def start(self) -> None:
        self.active = True
        _watch[:] = [self]

    def stop(self) -> None:
        self.active = False

    @property
    def playing(self) -> bool:
        return self.active and self.desk.words[PHASE] in (RESET, STEP)


def install() -> None:
    """Hook time.sleep and the interpreter's audit events, before the environment is imported."""
    sys.addaudithook(_audit)
    original = time.sleep

    def sleep(seconds: float | SupportsIndex) -> None:
        if _watch and _watch[0].playing:
            _watch[0].slept += 1
        original(seconds)
    time.sleep = sleep


def _audit(event: str, arguments: tuple[object, ...]) -> None:
    if event != "open" and event not in OUTSIDE:
        return
    watch = _watch[0] if _watch else None
    if watch is None or not watch.playing:
        return
    if event != "open":
        if len(watch.outside) < KEPT:
            watch.outside.append(f"{event}({str(arguments[0])[:60]})")
        return
    path, mode, flags = arguments
    writes = isinstance(flags, int) and flags & (os.O_WRONLY | os.O_RDWR) \
        or isinstance(mode, str) and set(mode) & set("wax+")
    if writes and len(watch.opened) < KEPT and not str(path).endswith((".pyc", ".pyc.tmp")) \
            and "__pycache__" not in str(path):
        watch.opened.append(os.path.basename(str(path)))


class Sizes:
    """How many entries the environment's own containers have after each reset."""

    def __init__(self, inner: object):
        self.inner, self.resets = inner, 0
        self.seen: dict[str, list[int]] = {}

    def look(self) -> None:
        self.resets += 1
        for holder in (self.inner, type(self.inner)):
            for name, value in list(vars(holder).items()) if hasattr(holder, "__dict__") else ():
                if isinstance(value, (list, dict, set)) or (
                        isinstance(value, deque) and value.maxlen is None):
                    with suppress(Exception):
                        self.seen.setdefault(name, []).append(len(value))

    def grown(self) -> dict[str, tuple[int, int]]:
        """Those that only grow, with nearly every reset."""
        found = {}
        for name, sizes in self.seen.items():
            later = sizes[len(sizes) // 4:]
            rises = sum(b > a for a, b in zip(later, later[1:]))
            falls = any(b < a for a, b in zip(sizes, sizes[1:]))
            if len(later) >= 6 and not falls and rises >= 0.9 * (len(later) - 1):
                found[name] = (sizes[0], sizes[-1])
        return found
