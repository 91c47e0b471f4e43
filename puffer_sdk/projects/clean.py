"""Remove what we made, and nothing else.  an env's folder, its runs, the cache -> free space

A file is removed if we write to its folder and its name is one of ours; generated text must also
say so in its first line. Everything else stays, and is listed. Links are not followed or removed.
"""
from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from ..base import files, paths
from ..base.codes import CODE
from ..base.errors import RunError
from ..training import runs

HEX = r"[0-9a-f]{12}"
DRAFT = r"[a-z0-9_]{8}"                 # tempfile's part of a name, left by a killed process
GENERATED = b"Generated from "          # in the first line of .c and .h files
REPRO = rf"repro_{CODE}"
REPORT = r"report\.(html|md|json)"
PROGRAM = r"(emulated|sm_\d+)"         # of a GPU
KEPT = r"(so|cubin|(so|cubin)\.mac|sha256)"   # the last one: of earlier versions
STAGE = r"[a-z]+-[0-9a-f]{16}\.(json|gif|safetensors)"

# folder below build/ -> names of ours in it; NAME stands for the environment's
BUILD = {
    "": (r"binding\.c", r"NAME_player\.c", r"NAME_config\.h", r"puffernet\.h",
         r"compile_commands\.json", rf"NAME-{HEX}\.{KEPT}", r"NAME-(local|fast)",
         r"\.NAME-(local|fast|web)\.(mac|json)", r"NAME_page\.html", r"NAME_policy\.bin",
         rf"NAME_{PROGRAM}-{HEX}\.{KEPT}",
         rf"\.NAME_{PROGRAM}-{HEX}-{DRAFT}\.(so|cubin|sha256|cc)",
         rf"\.NAME-({HEX}|local|fast)-{DRAFT}(\.so|\.sha256)?", r"\.probe\.[\d-]+",
         REPORT, rf"\.{REPORT}\.\d+"),
    "web": (r"index\.(html|js|wasm|data)",),
    "check": (rf"{REPRO}(\.c)?", rf"\.{REPRO}-{DRAFT}"),
    "report": (STAGE, rf"\.{STAGE}\.\d+", "runs"),
    "debug": (rf"{REPRO}(-batch)?(\.gdb|\.lldb)?", rf"\.{REPRO}.*-{DRAFT}(\.gdb|\.lldb)?"),
}
# folder below the cache -> what we keep in it, files and whole folders
CACHE = {
    "harness": (HEX, rf"msan-{HEX}"),
    "raylib": (rf"\w+-[\d.]+-{HEX}", rf"headers-[\d.]+-{HEX}", r"source-[\d.]+", r"lib",
               rf"\.raylib-{DRAFT}"),
    "screen": (rf"\.?puffer_screen-{HEX}(-{DRAFT})?\.{KEPT}",),
    "toolchain": (r"include-[0-9a-f]{16}\.json", rf"\.include-[0-9a-f]{{16}}-{DRAFT}\.json"),
    "trainer": (rf"\.?puffer_\w+-{HEX}(-{DRAFT})?\.{KEPT}",),
}


@dataclass
class Part:
    """One thing to clean: what goes, what stays, and how much that frees."""

    what: str                                       # "build", "runs" or "cache"
    folder: Path
    goes: list[Path] = field(default_factory=list)      # files, and folders with all in them
    folders: list[Path] = field(default_factory=list)   # removed if they are then empty
    kept: list[Path] = field(default_factory=list)
    runs: list[runs.Run] = field(default_factory=list)
    files: int = 0
    bytes: int = 0

    def to_dict(self) -> dict[str, object]:
        return {"what": self.what, "folder": str(self.folder), "files": self.files,
                "bytes": self.bytes, "runs": len(self.runs),
                "kept": [str(path) for path in self.kept]}

    def add(self, path: Path) -> None:
        files, size = measure(path)
        self.files, self.bytes = self.files + files, self.bytes + size
        self.goes.append(path)


def find_build(env_folder: Path) -> list[Part]:
    """What build, check, debug, play, eval and report left for this environment."""
    home = paths.build_dir(env_folder)
    found = []
    for folder in (home, paths.stand_in(home)):     # the second: if home cannot be written
        part = Part("build", folder)
        if folder.is_symlink():
            part.kept.append(folder)
        elif folder.is_dir():
            _gather(part, folder, {name: tuple(pattern.replace("NAME", re.escape(env_folder.name))
                                               for pattern in patterns)
                                   for name, patterns in BUILD.items()})
        if part.goes or part.kept or part.folders:
            found.append(part)
    return found


def find_runs(env_folder: Path, runs_dir: Path | None = None) -> list[Part]:
    """All runs of this environment, and what is left of runs that never began."""
    folder = paths.runs_dir(env_folder, runs_dir)
    part = Part("runs", folder)
    if folder.is_symlink() or not folder.is_dir():
        return []
    for item in sorted(os.scandir(folder), key=lambda item: item.name):
        path = Path(item.path)
        if item.is_dir(follow_symlinks=False) and (path / "run.json").is_file() \
                and re.fullmatch(r"\d{4,}", item.name):
            part.runs.append(runs.Run(path))
            files, size = measure(path)
            part.files, part.bytes = part.files + files, part.bytes + size
        elif item.is_dir(follow_symlinks=False) and re.fullmatch(
                rf"\.new-({DRAFT}|\d+-[0-9a-f]{{8}})|\.deleted-\d+-\d+", item.name):
            part.add(path)
        else:
            part.kept.append(path)
    part.folders = [folder, folder.parent]
    return [part] if part.runs or part.goes else []


def find_cache() -> list[Part]:
    """What this machine keeps for all environments: compiled once, and made again when needed."""
    home = paths.cache_dir()
    part = Part("cache", home)
    for name, patterns in CACHE.items():
        folder = home / name
        if folder.is_dir() and not folder.is_symlink():
            _gather(part, folder, {"": patterns})
    examples = home / "examples"
    if examples.is_dir() and not examples.is_symlink():
        for folder in sorted(examples.iterdir()):
            for build in find_build(folder) if paths.is_env_folder(
                    paths.data_dir("examples") / folder.name) else ():
                part.goes += build.goes
                part.kept += build.kept
                part.folders += [*build.folders, folder]
                part.files, part.bytes = part.files + build.files, part.bytes + build.bytes
        part.folders.append(examples)
    part.folders.append(home)
    return [part] if part.goes else []


def _gather(part: Part, home: Path, known: dict[str, tuple[str, ...]]) -> None:
    """Sort the contents of home and of its known folders into what goes and what stays."""
    for name, patterns in known.items():
        folder = home / name
        if folder.is_symlink() or not folder.is_dir():
            continue
        for item in sorted(os.scandir(folder), key=lambda item: item.name):
            path = Path(item.path)
            is_folder = item.is_dir(follow_symlinks=False)
            if not name and is_folder and item.name in known:
                continue
            ours = not item.is_symlink() and any(re.fullmatch(pattern, item.name)
                                                 for pattern in patterns)
            if ours and (is_folder or _says_so(path)):
                part.add(path)
            else:
                part.kept.append(path)
        if name:
            part.folders.append(folder)
    part.folders.append(home)


def _says_so(path: Path) -> bool:
    """False for a generated .c or .h file that an author has taken over."""
    if path.suffix not in (".c", ".h"):
        return True
    try:
        first = paths.content(path)[:400].partition(b"\n")[0]
    except OSError:
        return False
    own = b"written by `puffer-sdk check`" if path.name.startswith("repro_") else GENERATED
    return own in first or (path.name in ("puffernet.h", "puffernet_layers.h")
                            and path.name.encode() in first)


def measure(path: Path) -> tuple[int, int]:
    """Number of files below a path, and their bytes on disk. A link counts as itself."""
    try:
        if path.is_symlink() or not path.is_dir():
            return 1, path.lstat().st_blocks * 512
        inside = [measure(Path(item.path)) for item in os.scandir(path)]
    except OSError:
        return 0, 0
    return sum(files for files, _ in inside), sum(size for _, size in inside)


def remove(part: Part) -> None:
    """Remove it. If a run is in progress, nothing is removed. Raises UsageError, RunError."""
    for run in part.runs:
        if run.status == "running":
            runs.delete_run(run)            # raises, saying why
    for run in part.runs:
        runs.delete_run(run)
    for path in part.goes:
        try:
            if path.is_dir() and not path.is_symlink():
                files.rmtree(path)
            else:
                files.remove(path)
        except OSError as error:
            raise RunError("cannot remove this", where=path,
                           detail=error.strerror or str(error)) from None
    for folder in part.folders:
        with suppress(OSError):             # it holds something else
            files.rmdir(folder)


def running(parts: list[Part]) -> Iterator[runs.Run]:
    """Runs that cannot be removed now."""
    return (run for part in parts for run in part.runs if run.status == "running")
