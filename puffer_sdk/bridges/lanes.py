"""lanes.c, compiled and opened.  lanes.h -> the functions that wait and wake"""
from __future__ import annotations

import os
from functools import cache
from pathlib import Path

from ..base import paths
from ..base.errors import RunError
from ..env import abi
from ..toolchain import compilers
from ..toolchain.libraries import SHARED, compile_once, key_of

HEADER, SOURCE = (Path(__file__).with_name(f"lanes.{end}") for end in "hc")
FLAGS = ("-std=gnu11", "-O2", "-fPIC", "-Wall", *SHARED)
KEEP = 4


@cache
def ffi():
    """Declarations of lanes.h; it shares the environment ABI's types."""
    return abi.declare([abi.env_header(), HEADER], include=abi.ffi())


def build(*, verbose: bool = False, fresh: bool = False) -> Path:
    """The library, compiled once for a machine. Raises BuildError, RunError."""
    compiler = compilers.find_compiler()
    key = key_of([SOURCE, HEADER, abi.env_header()],
                 [*FLAGS, compiler.key, compilers.cpu_features_key()])
    folder = paths.writable(paths.cache_dir() / "lanes", purpose="the workers' library")
    command = [*compiler.command, *FLAGS, f"-I{paths.include_dir()}", str(SOURCE)]
    return compile_once(folder / f"lanes-{key}.so", command, source=SOURCE, what="lanes.c",
                        keep=KEEP, verbose=verbose, fresh=fresh,
                        said="compiling what worker processes need, once for this machine ...")


@cache
def library():
    """The library, opened."""
    try:
        return ffi().dlopen(os.fspath(build()))
    except OSError:                     # intact, and yet of another system: a shared cache, say
        path = build(fresh=True)
    try:
        return ffi().dlopen(os.fspath(path))
    except OSError as error:
        raise RunError("the workers' library does not open", where=path, detail=str(error),
                       hint="delete the file") from None
