"""System calls of a worker and its processes, by strace.  a log -> counts, breaches

Without strace nothing is traced, and only inotify watches.
"""
from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterable
from pathlib import Path

CALLS = ("openat,open,creat,mkdir,mkdirat,unlink,unlinkat,rmdir,rename,renameat,renameat2,link,"
         "linkat,symlink,symlinkat,mknod,mknodat,truncate,chmod,fchmodat,connect")
LINE = re.compile(r"^\d+ +(\w+)\((.*)\) += (-?\d+)(?:<([^>]*)>)?(.*)$")
TEXT = re.compile(r'(?:(?:AT_FDCWD|\d+)<([^>]*)>, )?"((?:[^"\\]|\\.)*)"')
WRITES = re.compile(r"O_WRONLY|O_RDWR|O_CREAT|O_TRUNC")
# what any process may write: streams, its own memory
FREE = ("/dev/null", "/dev/tty", "/dev/shm/", "/dev/pts/", "/proc/self/", "/proc/thread-self/",
        "/memfd:", "pipe:", "socket:", "anon_inode:")


def command(log: Path) -> list[str]:
    """The words before a traced command; [] without strace."""
    log.unlink(missing_ok=True)
    return [] if not shutil.which("strace") else [
        "strace", "--seccomp-bpf", "-f", "-qq", "-y", "-s", "4096", "-e", "signal=none",
        "-e", f"trace={CALLS}", "-o", str(log)]


def breaches(log: Path, work: Path, kept: Iterable[Path], worker: int) -> tuple[int, list[str]]:
    """(system calls, what was written beside WORK and what is `kept`, or read of WORK/outside), of
    what the worker has started; itself, it makes the folders and changes them."""
    own = tuple(map(str, (work / "inside", work / "home", work / "tmp", *kept)))
    count, wrong = 0, set()
    if not log.is_file():
        return 0, []
    with log.open(errors="replace") as file:
        for line in file:
            if line.startswith(f"{worker} "):
                continue
            count += 1
            if said := breach(line, str(work), own):
                wrong.add(said)
    return count, sorted(wrong)[:20]


def breach(line: str, work: str, own: tuple[str, ...]) -> str | None:
    """What is wrong with a system call, or nothing. own: folders that may be written to."""
    found = LINE.match(line)
    if not found:
        return None
    call, words, result, opened, more = found.groups()
    if call == "connect":
        return f"{call}({words})" if "AF_INET" in words else None
    if int(result) < 0:
        return None
    writes = call not in ("open", "openat") or WRITES.search(words)
    paths = [opened.removesuffix(" (deleted)")] if opened else [
        os.path.normpath(os.path.join(folder or "/", name.encode().decode("unicode_escape")))
        for folder, name in TEXT.findall(words)]
    if call in ("symlink", "symlinkat"):
        paths = paths[1:]                   # the text of the link is no place
    for path in paths:
        if path.startswith(f"{work}/outside") and "O_PATH" not in words \
                and "O_DIRECTORY" not in words \
                or writes and not path.startswith(own) and not path.startswith(FREE):
            return f"{call} {path}"
    return None
