"""Locks on run folders: one process trains a run.  a Run -> held until the block or process ends"""
from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Iterator

from ..base.errors import UsageError
from .alive import shown
from .runs import Run


@contextlib.contextmanager
def locked(run: Run) -> Iterator[None]:
    """Hold the run's lock. The system frees it if this process is killed.

    Raises UsageError where another process holds it.
    """
    fd = os.open(run.folder, os.O_RDONLY | os.O_NOFOLLOW)
    try:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise still_running(run) from None
        except OSError:                 # a file system without locks: only run.json guards the run
            pass
        yield
    finally:
        os.close(fd)


def is_locked(run: Run) -> bool:
    """Whether some process trains this run."""
    try:
        with locked(run):
            return False
    except UsageError:
        return True


def still_running(run: Run) -> UsageError:
    return UsageError("this run is still in progress", where=run.folder,
                      expected="a run that has ended",
                      actual=shown(run.info),
                      hint="stop it first, or start a new run without --resume")
