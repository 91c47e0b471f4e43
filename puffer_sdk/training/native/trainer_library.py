"""Compile the CPU trainer.  kernels/cpu, trainer/{common,cpu} -> puffer_trainer-KEY.so

One compiler command, once for a machine: the key covers the sources, the flags, the compiler and
the CPU, so that a home directory may be shared. What is in the cache is trusted if it is whole.
"""
from __future__ import annotations

import os
import sys
from functools import cache
from pathlib import Path
from typing import Any

from ...base import paths
from ...base.errors import BuildError, RunError
from ...env import abi
from ...toolchain import compilers
from ...toolchain.libraries import compile_once, is_intact, key_of
from . import trainer_sources

KEEP = 4            # trainers of other versions that stay in the cache
NAME = "puffer_trainer"
FLAGS = ("-std=gnu11", "-O3", "-ffp-contract=off", "-fPIC", "-fvisibility=hidden", "-pthread",
         "-dynamiclib" if sys.platform == "darwin" else "-shared")


def build_trainer(*, verbose: bool = False, fresh: bool = False, reference: bool = True) -> Path:
    """The trainer's library, compiled unless that was done before.

    fresh     compile it again, whatever the cache holds
    reference   whether the PyTorch trainer could stand in, for the hint
    Raises BuildError with the compiler's text, RunError where nothing can be written.
    """
    compiler = compilers.find_compiler()
    files = trainer_sources.for_cpu()
    folder = paths.writable(paths.cache_dir() / "trainer", purpose="the native trainer")
    library = folder / _name(compiler, files)
    command = [*compiler.command, *FLAGS, *(f"-I{place}"
               for place in trainer_sources.include_dirs()),
               *map(str, files), "-lm"]
    try:
        return compile_once(library, command, source=abi.trainer_header(), what="the trainer",
                            keep=KEEP, verbose=verbose, fresh=fresh,
                            said="compiling the trainer, once for this machine ...")
    except BuildError as error:
        error.hint = "these are our own sources: please report this with the lines above; " \
                     "until then, another compiler in CC" \
                     + (", or --train.backend torch" if reference else "")
        raise


def find_built() -> Path | None:
    """The library that build_trainer would return without compiling; leaves no trace."""
    library = paths.cache_dir() / "trainer" / _name(compilers.find_compiler(),
                                               trainer_sources.for_cpu())
    return library if is_intact(library) else None


def _name(compiler: compilers.Compiler, files: list[Path]) -> str:
    """With twelve hex digits that change with anything that the library depends on."""
    key = key_of([*files, *trainer_sources.headers(".h"), abi.env_header()],
                 [*FLAGS, compiler.key, compilers.cpu_features_key()])
    return f"{NAME}-{key}.so"


@cache
def library() -> Any:
    """The trainer, opened; compiled first where that is needed."""
    path = build_trainer()
    try:
        return abi.trainer_ffi().dlopen(os.fspath(path))
    except OSError:                     # intact, and yet of another system: a shared cache, say
        path = build_trainer(fresh=True)
    try:
        return abi.trainer_ffi().dlopen(os.fspath(path))
    except OSError as error:
        raise RunError("cannot load the native trainer", where=path, detail=str(error),
                       hint="delete the file; until this is fixed, train with "
                            "--train.backend torch"
                       ) from None


# ---- what the library can do on this machine --------------------------------------------------

PATHS = ("auto", "generic", "avx2", "avx512", "neon")      # in the order of the header's enum
PRECISIONS = ("fp32", "bf16")


def available_paths() -> list[str]:
    """The instruction sets that this library and this CPU have, by name."""
    lib = library()
    return [name for number, name in enumerate(PATHS)
            if number and lib.puffer_trainer_path_available(number)]


def has_bf16() -> bool:
    """Whether this library and this CPU multiply in bf16."""
    return matmul_rate(precision="bf16", seconds=0.001) > 0


def matmul_rate(path: str = "auto", precision: str = "fp32", threads: int = 1,
                seconds: float = 0.3, shape: tuple[int, int] = (384, 128)) -> float:
    """Best measured GFLOP/s of the trainer's own matrix products; 0 where there are none.

    shape    terms of a sum, and columns, of a product. bf16: of a layer, three times its columns;
             other shapes stay in fp32, as the encoder does
    """
    return float(library().puffer_trainer_matmul_rate(
        PATHS.index(path), PRECISIONS.index(precision), threads, *shape, seconds))
