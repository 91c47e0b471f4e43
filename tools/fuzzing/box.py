"""The folder of an input, beside files that nothing may touch.  an input -> breaches"""
from __future__ import annotations

import contextlib
import ctypes
import os
import shutil
import struct
import sys
from pathlib import Path

CORPUS = Path(__file__).resolve().parents[2] / "tests" / "corpus" / "v1"
MARK = """import pathlib
pathlib.Path(__file__).with_name("ran").write_text("")
class Net: pass
"""


class Box:
    """HOME/inside, a copy of the corpus to work in; HOME/outside, where each access counts."""

    def __init__(self, home: Path):
        self.home = home.resolve()
        self.inside, self.outside = self.home / "inside", self.home / "outside"
        shutil.copytree(CORPUS, self.inside)
        (self.outside / "folder").mkdir(parents=True)
        for name in ("kept", "folder/inner", "run.json", "kept.ini"):
            (self.outside / name).write_text("kept\n")
        (self.outside / "net.py").write_text(MARK)
        for path in self.inside.rglob("sweeps/*/*"):
            if path.name in ("sweep.json", "journal"):          # they name places
                text = path.read_text().replace("/home/me/walk/runs", f"{self.inside}/runs")
                path.write_text(text.replace("/home/me/walk", f"{self.inside}/walk"))
        self.baits = tuple(text.format(self.outside) for text in (
            "{}/kept", "{}/folder", "../outside/kept", "../../../outside/folder", "{}/net.py:Net",
            "sqlite:///{}/made.db", "journal:{}/made", "grpc://127.0.0.1:9", "{}/net.py"))
        self.kept: dict = {}            # what is read once for all inputs
        self.watch = Watch(self.outside, self.outside / "folder")
        self.before = self.state()

    def state(self) -> list:
        """The files beside the folder, without opening them."""
        found = []
        for folder in (self.home, self.outside, self.outside / "folder"):
            for entry in os.scandir(folder):
                if not entry.is_dir(follow_symlinks=False):
                    facts = entry.stat(follow_symlinks=False)
                    found.append((entry.path, facts.st_mode, facts.st_size, facts.st_mtime_ns,
                                  facts.st_ino))
                elif folder != self.home and entry.path != str(self.outside / "folder"):
                    found.append((entry.path,))
        return found

    def ready(self) -> None:
        """Count accesses from now on."""
        self.watch.accesses()
        self.before = self.state()

    def breaches(self) -> list[str]:
        """The accesses since `ready`."""
        found = self.watch.accesses()
        now = self.state()
        found += [f"{row[0]} has changed" for row in sorted({*now} ^ {*self.before})]
        self.before = now
        return found


class Watch:
    """Counts accesses to files in these folders (by inotify; without it, none)."""

    EVENTS = {1: "read", 2: "written", 8: "written", 0x20: "opened", 0x40: "moved", 0x80: "moved",
              0x100: "made", 0x200: "removed"}
    LISTED = 0x40000000         # a folder: to list it is no access to what is in it

    def __init__(self, *folders: Path):
        self.fd = -1
        if sys.platform == "linux":
            libc = ctypes.CDLL(None, use_errno=True)
            self.fd = libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
            self.names = {libc.inotify_add_watch(self.fd, os.fsencode(folder), sum(self.EVENTS)):
                          folder for folder in folders}
            if -1 in self.names:
                raise OSError(ctypes.get_errno(), "inotify_add_watch")

    def accesses(self) -> list[str]:
        """Accesses since the last call: "/a/kept opened"."""
        found = []
        with contextlib.suppress(BlockingIOError):
            while self.fd >= 0:
                data, at = os.read(self.fd, 1 << 16), 0
                while at < len(data):
                    folder, mask, _, size = struct.unpack_from("iIII", data, at)
                    name = os.fsdecode(data[at + 16:at + 16 + size].rstrip(b"\0"))
                    at += 16 + size
                    word = self.EVENTS.get(mask & 0xFFF)
                    if word and not (mask & self.LISTED and word in ("read", "opened")):
                        found.append(f"{self.names[folder] / name} {word}")
        return sorted({*found})

    def close(self) -> None:
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1
