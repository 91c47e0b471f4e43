"""Headers and libraries that an environment needs beside its own.  its ini -> flags of the compiler

    [build]
    include = vendor/nle/include                            folders of headers
    library = vendor/nle/src/build, nethack, lib/libz.a     folders, names as for -l, files

Several are separated by commas. Relative ones are looked for in the environment's folder, then in
the checkout that it is in. What is written becomes -I, -L and -l with a path or a name, and no
other flag.
"""
from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..base import paths
from ..base.errors import UsageError, did_you_mean
from . import inifile
from .config import find_ini

SECTION, KEYS = "build", ("include", "library")
NAME = re.compile(r"[A-Za-z0-9_][\w.+-]*")          # of a library: no path, no flag
FILE = re.compile(r"\.(a|so|dylib)(\.\d+)*$")


@dataclass(frozen=True)
class Outside:
    """What [build] names."""

    include: tuple[Path, ...] = ()
    folders: tuple[Path, ...] = ()      # of libraries
    names: tuple[str, ...] = ()
    files: tuple[Path, ...] = ()        # libraries by their files
    entries: tuple[str, ...] = ()       # "[build] library = nethack, dl", as they stand

    @property
    def compile_flags(self) -> list[str]:
        return [f"-I{folder}" for folder in self.include]

    @property
    def link_flags(self) -> list[str]:
        """Behind the source. A library that is linked is found in its folder when it is opened."""
        homes = dict.fromkeys([*self.folders, *(path.parent for path in self.files)])
        found = [word for folder in homes for word in ("-Xlinker", "-rpath", "-Xlinker",
                                                       str(folder))]
        return [*map(str, self.files), *(f"-L{folder}" for folder in self.folders),
                *(f"-l{name}" for name in self.names), *found]

    @property
    def key(self) -> str:
        """Changes with the libraries' files."""
        states = [os.stat(path) for path in self._libraries()]
        return repr((self.link_flags, [(each.st_size, each.st_mtime_ns) for each in states]))

    def _libraries(self) -> Iterator[Path]:
        yield from self.files
        for folder in self.folders:
            for name in self.names:
                yield from sorted(folder.glob(f"lib{name}.*"))


def read(folder: Path) -> Outside:
    """What the ini of the environment in this folder asks for. Raises UsageError for a key, a flag
    or a path that cannot be used."""
    ini = find_ini(folder)
    if ini is None or not ini.is_file():
        return Outside()
    entries, _, _ = inifile.read(ini)           # faults are for settings/config.py to name
    own = [entry for entry in entries if entry.section == SECTION]
    found: dict[str, list[Any]] = {"include": [], "folders": [], "names": [], "files": []}
    for entry in own:
        where = inifile.where(ini, entry.line)
        if entry.key not in KEYS:
            raise UsageError(f"[{SECTION}] has no setting '{entry.key}'", where=where,
                             expected=" or ".join(KEYS), actual=entry.key,
                             hint=did_you_mean(entry.key, KEYS))
        for text in filter(None, map(str.strip, inifile.without_comment(entry.text).split(","))):
            kind, value = _one(entry.key, text, folder, where)
            found[kind].append(value)
    return Outside(**{kind: tuple(values) for kind, values in found.items()},
                   entries=tuple(f"[{SECTION}] {entry.key} = {entry.text}" for entry in own))


def _one(key: str, text: str, folder: Path, where: str) -> tuple[str, Path | str]:
    """What one word of [build] is, and its value."""
    if text[0] in "-@":
        raise UsageError(f"[{SECTION}] {key} does not accept flags", where=where,
                         expected="a folder" if key == "include" else "a folder, a file or a name",
                         actual=text, hint="omit -I, -L and -l: they are added automatically")
    path = _find(text, folder)
    if path is not None and path.is_dir():
        return ("include" if key == "include" else "folders"), path
    if key == "library" and path is not None and FILE.search(path.name):
        return "files", path
    if key == "library" and path is None and NAME.fullmatch(text) and not FILE.search(text):
        return "names", text
    raise UsageError(f"[{SECTION}] {key} names a path that does not exist", where=where,
                     expected="a folder" if key == "include" else
                     "a folder, a file (.a, .so) or a name as for -l", actual=text,
                     hint=f"searched in {', then '.join(map(paths.shown, _homes(folder)))}")


def _homes(folder: Path) -> list[Path]:
    return [folder, *paths.checkout_includes(folder)[:1]]


def _find(text: str, folder: Path) -> Path | None:
    for home in _homes(folder):
        path = home / os.path.expanduser(text)
        if path.exists():
            return path.resolve()
    return None
