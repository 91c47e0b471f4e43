"""What all worker processes of a test run share: folders that are made once and then only read."""
from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Callable
from pathlib import Path

from puffer_sdk.base import paths, trust


def another_home(home: Path) -> dict[str, str]:
    """Variables of a user with this home folder, who has compiled what we have: to another secret
    the checker's harness and the trainer are not intact, and both users would compile them anew."""
    trust.mac("there is a secret now")
    secret = trust._config_dir() / "secret"
    if secret.is_file():
        copy = home / ".config" / "puffer-sdk" / secret.name
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(secret, copy)
    return {"HOME": str(home), "XDG_CONFIG_HOME": str(home / ".config"),
            "PUFFER_CACHE": str(paths.cache_dir())}


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
