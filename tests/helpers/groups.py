"""Processes of one group: started by hand, or by torchrun; found by their rank.

    with Group(2, [sys.executable, "-c", SCRIPT]) as group:
        out = group.finish()                        # [(status, stdout, stderr)] in order of ranks
"""
from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

from helpers.playground import descendants, kill

TORCHRUN = [sys.executable, "-m", "torch.distributed.run", "--standalone"]


def free_port() -> int:
    with socket.socket() as place:
        place.bind(("127.0.0.1", 0))
        return place.getsockname()[1]


class Group:
    """So many processes, each with a rank in its environment; all are ended with the block.

    words    of the command; or one list for each rank
    """

    def __init__(self, size: int, words, **options):
        each = words if isinstance(words[0], list) else [words] * size
        meeting = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port())}
        self.processes = [subprocess.Popen(
            [str(word) for word in each[rank]], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            text=True, start_new_session=True, **options, env={
                **os.environ, **meeting, "RANK": str(rank), "WORLD_SIZE": str(size),
                "LOCAL_RANK": str(rank), "LOCAL_WORLD_SIZE": str(size)}) for rank in range(size)]

    def __enter__(self) -> Group:
        return self

    def __exit__(self, *exc) -> None:
        for process in self.processes:
            for pid in [process.pid, *descendants(process.pid)]:
                kill(pid)
            process.wait()
            process.stdout.close()
            process.stderr.close()

    def finish(self, limit: float = 120) -> list[tuple[int, str, str]]:
        found = [process.communicate(timeout=limit) for process in self.processes]
        return [(process.returncode, *texts) for process, texts in zip(self.processes, found)]


def find_rank(launcher: int, rank: int) -> tuple[int, int] | None:
    """(parent, child) of a rank among what this launcher has started; None while they are not
    there."""
    for pid in descendants(launcher):
        try:
            environ = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
            words = Path(f"/proc/{pid}/cmdline").read_bytes()
        except OSError:
            continue
        if b"RANK=%d" % rank in environ and b"child_main" not in words:
            children = [child for child in descendants(pid) if b"child_main" in command(child)]
            return (pid, children[0]) if children else None
    return None


def command(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""
