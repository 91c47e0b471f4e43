"""What all worker processes of a test run share: folders that are made once and then only read."""
from __future__ import annotations

import fcntl
import os
from collections.abc import Callable
from pathlib import Path


def once(tmp_path_factory, name: str, make: Callable[[Path], object]) -> Path:
    """A folder that `make(folder)` fills, in one worker process; the others wait for it.

    Tests copy what they change. If make fails, the next worker tries again and fails likewise.
    """
    base = tmp_path_factory.getbasetemp()
    root = base.parent if os.environ.get("PYTEST_XDIST_WORKER") else base
    folder, done = root / "shared" / name, root / "shared" / f"{name}.done"
    folder.parent.mkdir(exist_ok=True)
    with open(root / "shared" / f"{name}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not done.exists():
            folder.mkdir(exist_ok=True)
            make(folder)
            done.touch()
    return folder
