"""When a file of an environment is saved.  a folder -> stamps to compare, or a wait"""
from __future__ import annotations

import os
import time
from contextlib import suppress
from pathlib import Path

from ..settings.config import find_ini

EVERY = 0.3         # seconds between two looks at the folder
IGNORED = {"build", "runs", "__pycache__"}
Stamps = dict[str, tuple[int, int]]


def stamps(folder: Path) -> Stamps:
    """Time and size of each file of the author's; what we build is left out."""
    found: Stamps = {}
    ini = find_ini(folder)
    if ini and folder not in ini.parents:       # upstream's layout: config/NAME.ini
        with suppress(OSError):
            found[str(ini)] = (ini.stat().st_mtime_ns, ini.stat().st_size)
    for place, folders, files in os.walk(folder):
        folders[:] = [name for name in folders
                      if name not in IGNORED and not name.startswith(".")]
        for name in files:
            if name.startswith(".") or name.endswith(("~", ".swp", ".tmp")):
                continue
            path = os.path.join(place, name)
            try:
                about = os.stat(path)
            except OSError:             # gone between the listing and the look
                continue
            found[path] = (about.st_mtime_ns, about.st_size)
    return found


def wait(folder: Path, before: Stamps, every: float = EVERY) -> None:
    """Return once a file differs from `before` and has come to rest."""
    now = stamps(folder)
    while now == before:
        time.sleep(every)
        now = stamps(folder)
    while True:                         # editors save in several strokes
        time.sleep(every / 3)
        later = stamps(folder)
        if later == now:
            return
        now = later
