"""What is compiled once and kept.  a command -> NAME-KEY.so and NAME-KEY.so.mac

A library is written under a temporary name, renamed when it is whole, and used later only if the
MAC beside it is that of its name and bytes under this user's secret (base/trust.py): one that came
with a folder is compiled anew, one in a folder that was moved is not. Several processes may do so
at once. The same holds for programs, objects and generated headers.
"""
from __future__ import annotations

import hashlib
import sys
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from platform import machine

from ..base import files, paths, trust, ui
from . import compilers

SHARED = ["-dynamiclib", "-undefined", "dynamic_lookup"] if sys.platform == "darwin" \
    else ["-shared", "-Wl,-z,lazy"]
# This machine's instructions. Apple's clang knows no -march=native on ARM
NATIVE = "-mcpu=native" if machine() in ("arm64", "aarch64") else "-march=native"


def compile_library(library: Path, command: Sequence[compilers.Word], *, source: Path, what: str,
                    verbose: bool = False, timeout: float = compilers.TIMEOUT) -> str:
    """`command -o library`, and its MAC. Raises what toolchain.compile_to does."""
    text = compilers.compile_to(library, command, source=source, what=what, verbose=verbose,
                                timeout=timeout)
    seal(library)
    return text


def compile_once(library: Path, command: Sequence[compilers.Word], *, source: Path, what: str,
                 keep: int, said: str, verbose: bool = False, fresh: bool = False,
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
        made.update(paths.content(path, 1 << 30))
    for part in parts:
        made.update(part.encode() + b"\0")
    return made.hexdigest()[:12]


def digest(file: Path) -> str:
    """64 hex digits that change with its bytes."""
    return hashlib.sha256(files.read(file)).hexdigest()


def mac_file(product: Path) -> Path:
    """Beside each product, the MAC of its name and bytes."""
    return product.with_name(f"{product.name}.mac")


def seal(product: Path) -> None:
    """Note that a command of this user made these bytes."""
    with suppress(OSError):                     # without it the next process compiles again
        files.write(mac_file(product), _mac(product))


def is_intact(product: Path) -> bool:
    """True if it exists and holds the bytes that a command of this user made."""
    return trust.is_noted(mac_file(product), lambda: _mac(product), product)


def seal_copies(folder: Path) -> None:
    """Seal the products of a folder that was copied from where all of them were intact."""
    for note in folder.rglob("*.mac"):
        seal(note.with_suffix(""))


def are_intact(folder: Path) -> bool:
    """Whether is_intact of all sealed products of a folder."""
    return all(is_intact(note.with_suffix("")) for note in folder.rglob("*.mac"))


def _mac(product: Path) -> str:
    # the folder's name as well: it holds the key where the file's does not
    return trust.mac("product", product.parent.name, product.name, digest(product))


def prune(folder: Path, name: str, *, keep: int, spare: Path, suffix: str = ".so") -> None:
    """Remove all but the newest `keep` libraries NAME-*.so of the folder, never `spare`."""
    with suppress(OSError):
        old = sorted(folder.glob(f"{name}-*{suffix}"), key=lambda path: path.stat().st_mtime)
        for library in old[:-keep]:
            if library != spare:
                files.remove(library)
                files.remove(mac_file(library))
