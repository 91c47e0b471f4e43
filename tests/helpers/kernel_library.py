"""kernels/ and the probes of tests/kernels, compiled into a library; memory to call it with.

Every output lies between canaries: a call that writes anywhere but where its contract lets it
fails.
"""
from __future__ import annotations

import platform
from functools import cache
from pathlib import Path

import numpy as np
from helpers.places import TESTS

from puffer_sdk.base import paths
from puffer_sdk.env import abi
from puffer_sdk.toolchain import compilers
from puffer_sdk.training.native import trainer_library

HERE = TESTS / "kernels"
KERNELS = paths.data_dir("kernels")
MACHINE_FLAGS = {"generic": [], "scalar": [], "neon": [], "avx2": ["-mavx2", "-mfma"],
                 "avx512": ["-mavx512f", "-mavx512vl", "-mavx512bw", "-mavx512dq", "-mfma"]}
ROWS_PADDED = 16                    # KERNEL_ROWS
CANARY = np.float32(-12345.678)
RUBBISH = np.float32(77.25)         # finite, in places that a kernel may read and must not use
try:
    FLAGS = set(Path("/proc/cpuinfo").read_text().split())
except OSError:                     # not Linux: the paths that need no flag
    FLAGS = set()
IS_ARM = platform.machine() in ("aarch64", "arm64")
# what this CPU has: instruction sets, and tables of kernels
PATHS = ["generic", "scalar", *["neon"] * IS_ARM, *["avx2"] * ({"avx2", "fma"} <= FLAGS),
         *["avx512"] * ({"avx512f", "avx512vl", "avx512bw", "avx512dq"} <= FLAGS)]
TABLES = [*PATHS, *["bf16"] * ("avx512_bf16" in FLAGS)]


def includes() -> list[str]:
    return [f"-I{folder}" for folder in (HERE, KERNELS.parent)]


def build(folder: Path) -> Path:
    """kernels/cpu/*.c and tests/kernels/*.c -> a library in `folder`, with the trainer's flags."""
    compiler = compilers.find_compiler().command
    here = {"x86_64": ("avx2", "avx512"), "aarch64": ("neon",), "arm64": ("neon",)}
    parts = []
    for name in ("generic", "scalar", *here.get(platform.machine(), ())):
        simd = "simd_single.h" if name == "scalar" else f"kernels/simd/{name}.h"
        parts.append(folder / f"math_{name}.o")
        compilers.compile_to(parts[-1], [
            *compiler, *trainer_library.FLAGS, "-c", *MACHINE_FLAGS[name], *includes(),
            f'-DPROBE_SIMD="{simd}"', f"-DPROBE_NAME={name}", HERE / "math.c"],
            source=HERE / "math.c", what="the probes of arithmetic.h")
    made = folder / "kernels.so"
    compilers.compile_to(made, [
        *compiler, *trainer_library.FLAGS, *includes(), *sorted((KERNELS / "cpu").glob("*.c")),
        HERE / "probe.c", HERE / "single.c", *parts, "-lm"],
        source=HERE / "probe.c", what="the kernels")
    return made


@cache
def ffi():
    kernels = abi.declare([KERNELS / "kernels.h"])
    return abi.declare([HERE / "probe.h"], include=kernels)


# ---- memory -----------------------------------------------------------------------------------

KINDS = {"float32": "float*", "float64": "double*", "int32": "int32_t*", "uint8": "uint8_t*",
         "uint32": "uint32_t*"}


def pointer(array):
    """Of contiguous memory, which the caller keeps alive; None is NULL."""
    if array is None:
        return ffi().NULL
    assert array.flags.c_contiguous
    return ffi().cast(KINDS[array.dtype.name], array.ctypes.data)


def pointers(arrays):
    """An array of pointers; None is NULL. Arrays must outlive it."""
    return ffi().new("float*[]", [pointer(one) for one in arrays])


def round_up(value, unit):
    return -(-value // unit) * unit


class Out:
    """(rows, ld) floats for a kernel to write the first `width` of each row, among canaries."""

    def __init__(self, rows, ld, width, start=None):
        self.whole = np.full(rows * ld + 65, CANARY, np.float32)
        self.array = self.whole[33:33 + rows * ld].reshape(rows, ld)      # at an odd address
        self.width = width
        if start is not None:
            self.array[:, :np.shape(start)[1]] = start

    @property
    def pointer(self):
        return pointer(self.array)

    def done(self, used=None):
        """The written part, once nothing else was touched; its first `used` columns."""
        rest = self.whole.copy()
        rest[33:-32].reshape(self.array.shape)[:, :self.width] = CANARY
        assert (rest == CANARY).all(), "written outside"
        return self.array[:, :self.width if used is None else used].copy()


def wide(array, ld, fill=RUBBISH):
    """(R, n) -> (R, ld): the lanes beyond n hold rubbish."""
    array = np.asarray(array, np.float32)
    out = np.full((len(array), ld), fill, np.float32)
    out[:, :array.shape[1]] = array
    return out


def per_row(values, fill=RUBBISH):
    """[R] -> [R padded to KERNEL_ROWS]"""
    return wide(np.reshape(values, (1, -1)), round_up(len(values), ROWS_PADDED), fill)[0]
