"""The emulated device's ways to put work off, what it counted, and commands in processes."""
from __future__ import annotations

import os
import subprocess
import sys

import cffi

from puffer_sdk.training.native import cuda

MODES = ["late", "early", "shuffled"]

COUNTED = {"allocations": 0, "waits": 1, "launches": 2, "products": 3, "copies": 4, "replays": 5}


def count(*names: str) -> dict[str, int]:
    """What the emulated device counted in this process."""
    ffi = cffi.FFI()
    ffi.cdef("int64_t device_emulated_count(int32_t what);")
    count = ffi.dlopen(os.fspath(cuda.build())).device_emulated_count
    return {name: count(COUNTED[name]) for name in names or ("allocations", "waits", "replays")}


def puffer(*words, env=None, status=0):
    done = subprocess.run([sys.executable, "-m", "puffer_sdk", *map(str, words)],
                          capture_output=True, text=True, env={**os.environ, **(env or {})})
    assert done.returncode == status, done.stderr
    return done
