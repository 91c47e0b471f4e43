"""lanes.c, compiled and opened.  lanes.h -> the functions that wait and wake"""
from __future__ import annotations

from pathlib import Path

from ...env.helper import Helper

LANES = Helper(Path(__file__).with_name("lanes.c"), "the workers' library",
               "compiling what worker processes need, once for this machine ...")


def ffi():
    """Declarations of lanes.h; it shares the environment ABI's types."""
    return LANES.ffi


def build(*, verbose: bool = False) -> Path:
    """The library, compiled once for a machine. Raises BuildError, RunError."""
    return LANES.build(verbose=verbose)


def library():
    """The library, opened."""
    return LANES.library
