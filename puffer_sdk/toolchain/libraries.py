"""Shared libraries that are compiled once and kept.  a command -> NAME-KEY.so and its digest

A library is written under a temporary name, renamed when it is whole, and trusted later only if
its bytes still hash to what the digest beside it says. Several processes may do so at once.
"""
from __future__ import annotations

import hashlib
import sys
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path

from ..base import files, ui
from . import compilers

SHARED = ["-dynamiclib", "-undefined", "dynamic_lookup"] if sys.platform == "darwin" \
    else ["-shared", "-Wl,-z,lazy"]


def compile_library(library: Path, command: Sequence[str], *, source: Path, what: str,
                    verbose: bool = False, timeout: float = compilers.TIMEOUT) -> str:
    """`command -o library`, and the digest. Raises what toolchain.compile_to does."""
    text = compilers.compile_to(library, command, source=source, what=what, verbose=verbose,
                                timeout=timeout)
    with suppress(OSError):                     # without it the next process compiles again
        files.write(digest_file(library), digest(library))
    return text


def compile_once(library: Path, command: Sequence[str], *, source: Path, what: str, keep: int,
                 said: str, verbose: bool = False, fresh: bool = False,
                 timeout: float = compilers.TIMEOUT) -> Path:
    """compile_library unless it was done before; the folder then keeps `keep` of its name.

    said    what the reader is told before it takes its time
    fresh   compile again even if it exists
    """
    if is_intact(library) and not fresh:
        return library
    ui.say(said)
    compile_library(library, command, source=source, what=what, verbose=verbose, timeout=timeout)
    prune(library.parent, library.stem.rpartition("-")[0], keep=keep, spare=library)
    return library


def key_of(files: Iterable[Path], parts: Iterable[str]) -> str:
    """Twelve hex digits that change with the bytes and names of the files, and with each part."""
    made = hashlib.sha256()
    for path in files:
        made.update(f"{path.name}\0{path.stat().st_size}\0".encode())
        made.update(path.read_bytes())
    for part in parts:
        made.update(part.encode() + b"\0")
    return made.hexdigest()[:12]


def digest_file(library: Path) -> Path:
    """Beside each library, what its bytes should hash to."""
    return library.with_suffix(".sha256")


def is_intact(library: Path) -> bool:
    """True if the library exists and holds the bytes that were compiled."""
    try:
        return files.read(digest_file(library), 200).decode() == digest(library)
    except (OSError, UnicodeDecodeError, files.Refused):
        return False


def digest(file: Path) -> str:
    return hashlib.sha256(files.read(file)).hexdigest()


def prune(folder: Path, name: str, *, keep: int, spare: Path, suffix: str = ".so") -> None:
    """Remove all but the newest `keep` libraries NAME-*.so of the folder, never `spare`."""
    with suppress(OSError):
        old = sorted(folder.glob(f"{name}-*{suffix}"), key=lambda path: path.stat().st_mtime)
        for library in old[:-keep]:
            if library != spare:
                files.remove(library)
                files.remove(digest_file(library))
