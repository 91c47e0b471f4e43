"""Measure what a sandbox uses.  a command and its limits -> what it printed, and what ended it

setrlimit limits single processes, not their sum, and AddressSanitizer needs unlimited address
space. So this process looks at all descendants of the command twenty times per second, and ends
them all when together they exceed a limit.
"""
from __future__ import annotations

import os
import selectors
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from ..base import process_memory
from ..base.errors import RunError

PERIOD = 0.05                   # seconds between two measurements
OUTPUT = 64 << 20               # bytes that it may print


@dataclass(frozen=True)
class Limits:
    """What everything in the sandbox may use together."""

    memory: int = 4 << 30       # bytes, without the files in /tmp
    disk: int = 1 << 30         # bytes of files in /tmp, which are kept in memory
    seconds: float = 600.0
    files: int = 200_000        # in /tmp: even empty ones use memory that nothing else counts
    processes: int = 256        # threads count as processes for the kernel's own limit


@dataclass(frozen=True)
class Ended:
    """How a command ended."""

    status: int                 # its exit status; negative: the signal
    stdout: bytes
    stderr: bytes
    cause: str | None           # the limit that ended it; None: it ended by itself
    seconds: float
    peak_memory: int            # bytes, at the measurements
    peak_processes: int


class _Exceeded(Exception):
    pass


def run(command: Sequence[str], *, env: Mapping[str, str], limits: Limits, stdin: bytes = b"",
        cwd: str | os.PathLike[str] = "/") -> Ended:
    """Run a command and all that it starts, within limits."""
    began = time.monotonic()
    try:
        child = subprocess.Popen(list(command), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                 stderr=subprocess.PIPE, env=dict(env), cwd=cwd,
                                 start_new_session=True)
    except OSError as error:
        raise RunError("the sandbox does not start", where=command[0],
                       detail=error.strerror or str(error)) from None
    assert child.stdin and child.stdout and child.stderr
    use = _Use(child.pid, limits)
    said, complained = bytearray(), bytearray()
    streams = {child.stdout.fileno(): said, child.stderr.fileno(): complained}
    cause = None
    try:
        with suppress(BrokenPipeError):
            child.stdin.write(stdin)
            child.stdin.close()
        _listen(child, streams, use, began)
    except _Exceeded as limit:
        cause = str(limit)
    finally:
        _end(child, use)
    return Ended(child.returncode, bytes(said), bytes(complained), cause, time.monotonic() - began,
                 use.memory, use.processes)


def _listen(child: subprocess.Popen[bytes], streams: dict[int, bytearray], use: _Use,
            began: float) -> None:
    """Read until the command has ended and printed everything. Raises _Exceeded at a limit.

    streams     what each file descriptor has printed
    """
    looked = 0.0
    with selectors.DefaultSelector() as selector:
        for stream in streams:
            selector.register(stream, selectors.EVENT_READ)
        while selector.get_map() or child.poll() is None:
            for key, _ in selector.select(PERIOD):
                chunk = os.read(key.fd, 1 << 16)
                streams[key.fd] += chunk
                if not chunk:
                    selector.unregister(key.fd)
            if not selector.get_map():
                with suppress(subprocess.TimeoutExpired):
                    child.wait(PERIOD)
            now = time.monotonic()
            if now - looked >= PERIOD:
                looked = now
                use.look()
            if now - began > use.limits.seconds:
                raise _Exceeded(f"it ran for more than {use.limits.seconds:g} seconds")
            if sum(map(len, streams.values())) > OUTPUT:
                raise _Exceeded(f"it printed more than {OUTPUT >> 20} MB")
            if child.poll() is not None and not use.descendants():
                _drain(selector, streams)
                return


def _drain(selector: selectors.BaseSelector, streams: dict[int, bytearray]) -> None:
    """Read what is left in the pipes of a command that has ended."""
    for key, _ in selector.select(0):
        while chunk := os.read(key.fd, 1 << 16):
            streams[key.fd] += chunk
            if len(streams[key.fd]) > OUTPUT:
                return


def _end(child: subprocess.Popen[bytes], use: _Use) -> None:
    """Kill whatever is left. When the namespace's first process dies, so do all others in it."""
    left = use.descendants()
    for pid in (child.pid, *left):
        with suppress(ProcessLookupError, PermissionError):
            os.kill(pid, signal.SIGKILL)
    child.wait()
    deadline = time.monotonic() + 10
    while any(_is_alive(pid) for pid in left) and time.monotonic() < deadline:
        for pid in left:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.01)
    for stream in filter(None, (child.stdout, child.stderr)):
        stream.close()


def _is_alive(pid: int) -> bool:
    state = _stat(pid)
    return state is not None and state[0] not in "ZX"


def _stat(pid: int | str) -> tuple[str, int] | None:
    """(state, parent) of a process; None if it has gone."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(errors="replace")
    except OSError:
        return None
    state, parent = text.rpartition(")")[2].split()[:2]
    return state, int(parent)


class _Use:
    """What the descendants of a process use. Peaks stay."""

    def __init__(self, pid: int, limits: Limits):
        self.pid, self.limits = pid, limits
        self.memory = self.processes = 0
        self._looks = 0

    def descendants(self) -> list[int]:
        """All living descendants, without the process itself."""
        children: dict[int, list[int]] = {}
        for name in os.listdir("/proc"):
            if name.isdigit() and (state := _stat(name)) and state[0] not in "ZX":
                children.setdefault(state[1], []).append(int(name))
        todo = [self.pid]
        found: list[int] = []
        while todo:
            below = children.get(todo.pop(), [])
            found += below
            todo += below
        return found

    def look(self) -> None:
        """Measure. Raises _Exceeded."""
        pids = [self.pid, *self.descendants()]
        self.processes = max(self.processes, len(pids))
        if len(pids) > self.limits.processes:
            raise _Exceeded(f"it had more than {self.limits.processes} processes")
        used = sum(map(process_memory.used_by, pids))
        self._looks += 1
        if self._looks % 10 == 0:               # slow: it opens a folder for every process
            used += _unmapped(pids)
            if _files_of(pids) > self.limits.files:
                raise _Exceeded(f"it made more than {self.limits.files:,} files")
        self.memory = max(self.memory, used)
        if used > self.limits.memory:
            raise _Exceeded(f"it used more than {self.limits.memory / (1 << 30):.3g} GB of memory")


def _files_of(pids: list[int]) -> int:
    """Files in these processes' /tmp, if it is their own."""
    for pid in reversed(pids):
        with suppress(OSError):
            place = f"/proc/{pid}/root/tmp"
            if os.stat(place).st_dev != os.stat("/tmp").st_dev:
                facts = os.statvfs(place)
                return facts.f_files - facts.f_ffree
    return 0


def _unmapped(pids: list[int]) -> int:
    """Bytes of memory files (memfd_create), which need not be mapped."""
    seen: dict[tuple[int, int], int] = {}
    for pid in pids:
        with suppress(OSError):
            for fd in os.listdir(f"/proc/{pid}/fd"):
                link = f"/proc/{pid}/fd/{fd}"
                with suppress(OSError):
                    if os.readlink(link).startswith("/memfd:"):
                        facts = os.stat(link)
                        seen[facts.st_dev, facts.st_ino] = 512 * facts.st_blocks
    return sum(seen.values())
