"""The raylib wheel's own library, for the desktop where raylib cannot be compiled.

In: the wheel's Python extension. Out: what a C program links to use it.

The extension holds all of raylib, and names of Python's that only its Python half calls. A
program that links it defines those names itself, as functions that are never called, and so
starts without a Python.
"""
from __future__ import annotations

import hashlib
import re
import subprocess
import sys
from pathlib import Path

from ..base import files, paths
from ..base.errors import BuildError
from ..toolchain import compilers
from ..toolchain.libraries import compile_library, is_intact
from . import headers


def find_library(wheel: headers.Wheel) -> Path:
    """The wheel's shared library: raylib with OpenGL, GLFW and sound."""
    found = sorted([*wheel.folder.glob("_raylib_cffi*.so"), *wheel.folder.glob("libraylib.so*")])
    if not found:
        raise BuildError(f"the {wheel} wheel holds no library", where=wheel.folder,
                         hint=f"pip install --force-reinstall {headers.PIN}")
    return found[0]


def link_flags(library: Path, *, verbose: bool = False) -> tuple[str, ...]:
    """What stands behind a program's sources to link it with the wheel's library.

    Raises BuildError where that cannot be: on macOS an extension is not a library.
    """
    if sys.platform == "darwin":
        raise BuildError("on macOS the raylib wheel cannot be linked into a program",
                         hint="allow fetching raylib's source, or set PUFFER_RAYLIB")
    stubs = _python_stubs(library, verbose)
    return (str(stubs), str(library), f"-Wl,-rpath,{library.parent}",
            "-Wl,--allow-shlib-undefined", "-lm", "-lpthread", "-ldl")


def _python_stubs(library: Path, verbose: bool) -> Path:
    """An object file with every name of Python's that the library wants."""
    names = _wanted(library)
    text = ("// python_stubs.c -- names that raylib's Python wheel leaves to Python: never called\n"
            + "".join(f"void {name}(void) {{}}\n" for name in names))
    compiler = compilers.find_compiler()
    key = hashlib.sha256(f"{compiler.key}\n{text}".encode()).hexdigest()[:16]
    home = paths.cache_dir() / "raylib" / "lib"
    target = home / f"python_stubs-{key}.o"
    if is_intact(target):
        return target
    target = paths.writable(home, purpose="raylib") / target.name
    with files.private("puffer-sdk-") as folder:
        source = Path(folder) / "python_stubs.c"
        files.write(source, text)
        compile_library(target, [*compiler.command, "-c", "-fPIC", "-w", source],
                        source=source, what="stubs for the raylib wheel", verbose=verbose)
    return target


def _wanted(library: Path) -> list[str]:
    """The names that begin with Py and are not in the library itself."""
    try:
        done = subprocess.run(["nm", "-D", "--undefined-only", library], capture_output=True,
                              text=True, check=True, timeout=30, stdin=subprocess.DEVNULL)
    except (OSError, subprocess.SubprocessError) as error:
        raise BuildError("the raylib wheel's library cannot be read", where=library,
                         detail=str(error), hint=compilers.install_hint("binutils")) from None
    return sorted(set(re.findall(r"\b[Uw] (_?Py\w+)", done.stdout)))
