"""How libclang reads an environment's C, and evaluates its constants.  a cursor -> a number"""
from __future__ import annotations

import ctypes
import re
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from clang.cindex import Cursor

# Appended after the author's source: constants to evaluate. An OBS_SIZE that names `env` is an
# error only in these lines, and errors in these lines do not count
SOURCE = """
#ifdef ACT_SIZES
static const int puffer_probe_acts[] = ACT_SIZES;
#endif
#ifdef NUM_ATNS
static const int puffer_probe_heads = NUM_ATNS;
#endif
#ifdef MY_ACTION_MASK
static const int puffer_probe_mask = MY_ACTION_MASK;
#endif
#ifdef ACTION_MASK_AT
static const int puffer_probe_mask_at = ACTION_MASK_AT;
#endif
#ifdef PUF_STEPS_PER_SEC
static const int puffer_probe_speed = PUF_STEPS_PER_SEC;
#endif
#ifdef OBS_SIZE
static const int puffer_probe_obs = OBS_SIZE;
#endif
"""
OPENMP = re.compile(r"(?m)^[ \t]*#[ \t]*pragma[ \t]+omp\b|<omp\.h>")


def clang_flags(folder: Path) -> list[str]:
    """What libclang needs to read C of this environment, library or program."""
    from ..base import paths  # here: the child that reads is given them
    from ..raylib import headers
    from ..settings import outside_libraries
    from ..toolchain import compilers

    include = [f"-I{p}" for p in (paths.include_dir(), headers.headers(), folder,
                                   *paths.checkout_includes(folder))]
    include += outside_libraries.read(folder).compile_flags
    builtin = [f"-isystem{p}" for p in compilers.include_dirs(compilers.find_compiler())]
    openmp = ["-D_OPENMP=201511"] if uses_openmp(folder) else []
    return ["-xc", "-std=gnu11", '-DPUFFER_NAME=""', "-DPUFFER_READ", "-DPLATFORM_DESKTOP",
            *openmp, *include, *builtin]


def uses_openmp(folder: Path) -> bool:
    """Whether the author's files have pragmas of OpenMP, or its functions."""
    from ..base import paths

    return any(OPENMP.search(paths.text(file)) for file in paths.c_files(folder))


def integer(cursor: Cursor) -> int | None:
    """The integer value of a constant C expression, or None."""
    value = evaluate(cursor)
    return value if isinstance(value, int) else None


def evaluate(cursor: Cursor) -> int | float | None:
    """The value of a constant C expression, or None."""
    from clang.cindex import Cursor, conf

    lib = conf.lib
    lib.clang_Cursor_Evaluate.restype = ctypes.c_void_p
    lib.clang_Cursor_Evaluate.argtypes = [Cursor]
    lib.clang_EvalResult_getKind.argtypes = [ctypes.c_void_p]
    lib.clang_EvalResult_getAsLongLong.argtypes = [ctypes.c_void_p]
    lib.clang_EvalResult_getAsLongLong.restype = ctypes.c_longlong
    lib.clang_EvalResult_getAsDouble.argtypes = [ctypes.c_void_p]
    lib.clang_EvalResult_getAsDouble.restype = ctypes.c_double
    lib.clang_EvalResult_dispose.argtypes = [ctypes.c_void_p]
    result = lib.clang_Cursor_Evaluate(cursor)
    if not result:
        return None
    try:
        kind = lib.clang_EvalResult_getKind(result)
        if kind == 1:
            return int(lib.clang_EvalResult_getAsLongLong(result))
        return float(lib.clang_EvalResult_getAsDouble(result)) if kind == 2 else None
    finally:
        lib.clang_EvalResult_dispose(result)
