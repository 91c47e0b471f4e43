"""Isolate a play within a process.  a library -> its own static variables and random numbers

Environments may use static variables, rand() and the generators of Python's modules. An evaluation
during a training must neither read nor change those of the training's envs.
"""
from __future__ import annotations

import contextlib
import copy
import ctypes
import random
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np

from ..base import files
from ..env.library import EnvLibrary, Library

STATE = 256             # bytes of rand()'s own state, the most that libc takes


def copy_of(library: EnvLibrary) -> EnvLibrary:
    """The library once more, with static variables of its own. Of Python: in one worker process,
    besides those of the training, and without the factor that its rewards have."""
    if isinstance(library, Library):
        with files.private("puffer-apart-") as home:        # what is open stays
            files.write(home / "copy.so", files.read(library.path))
            return Library(home / "copy.so", library.folder)
    alone: Any = copy.copy(library)
    alone.reward_scale, alone.workers = 1.0, min(1, alone.workers)
    found: EnvLibrary = alone
    return found


@contextlib.contextmanager
def own_random(seed: int) -> Iterator[None]:
    """Inside, the process-wide generators start from `seed`; after it they go on as before."""
    libc, room = ctypes.CDLL(None), ctypes.create_string_buffer(STATE)
    libc.initstate.restype = ctypes.c_void_p
    libc.initstate.argtypes = [ctypes.c_uint, ctypes.c_void_p, ctypes.c_size_t]
    libc.setstate.argtypes = [ctypes.c_void_p]
    seed &= 2**32 - 1
    before = libc.initstate(seed, room, STATE)
    of_python, of_numpy = random.getstate(), np.random.get_state()  # noqa: NPY002
    torch = sys.modules.get("torch")
    of_torch = torch.get_rng_state() if torch else None
    random.seed(seed)
    np.random.seed(seed)  # noqa: NPY002
    try:
        yield
    finally:
        libc.setstate(before)
        random.setstate(of_python)
        np.random.set_state(of_numpy)  # noqa: NPY002
        if torch:
            torch.set_rng_state(of_torch)
