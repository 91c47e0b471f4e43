"""C of ours that Python calls, compiled once for a machine.  NAME.c, NAME.h -> functions"""
from __future__ import annotations

import os
from contextlib import suppress
from functools import cached_property
from pathlib import Path

import cffi

from ..base import paths
from ..base.errors import RunError
from ..toolchain import compilers
from ..toolchain.libraries import SHARED, compile_once, key_of
from . import abi

FLAGS = ("-std=gnu11", "-O2", "-fPIC", "-Wall", *SHARED)
KEEP = 4


class Helper:
    """NAME.c and NAME.h, whose declarations may use the environment ABI's types.

    what    the library, in an error
    said    what the reader is told while it is compiled
    """

    def __init__(self, source: Path, what: str, said: str, flags: tuple[str, ...] = ()):
        self.source, self.header = source, source.with_suffix(".h")
        self.what, self.said, self.flags = what, said, (*FLAGS, *flags)

    @cached_property
    def ffi(self) -> cffi.FFI:
        """The header's declarations."""
        return abi.declare([abi.env_header(), self.header], include=abi.ffi())

    def build(self, *, verbose: bool = False, fresh: bool = False) -> Path:
        """The library, compiled unless it is there. Raises BuildError, RunError."""
        compiler, name = compilers.find_compiler(), self.source.stem
        key = key_of([self.source, self.header, abi.env_header()],
                     [*self.flags, compiler.key, compilers.cpu_features_key()])
        folder = paths.writable(paths.cache_dir() / name, purpose=self.what)
        command = [*compiler.command, *self.flags, f"-I{paths.include_dir()}", str(self.source)]
        return compile_once(folder / f"{name}-{key}.so", command, source=self.source,
                            what=self.source.name, keep=KEEP, verbose=verbose, fresh=fresh,
                            said=self.said)

    @cached_property
    def library(self) -> abi.CObject:
        """The library, opened."""
        with suppress(OSError):         # intact, and yet of another system: a shared cache, say
            return self.ffi.dlopen(os.fspath(self.build()))
        path = self.build(fresh=True)
        try:
            return self.ffi.dlopen(os.fspath(path))
        except OSError as error:
            raise RunError(f"cannot load {self.what}", where=path, detail=str(error),
                           hint="delete the file") from None
