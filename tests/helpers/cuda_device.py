"""The emulated device of trainer/cuda/, built and opened: device.h through cffi."""
from __future__ import annotations

import re
import tempfile
from functools import cache
from pathlib import Path

import numpy as np
from helpers import cuda_calls
from helpers.kernel_library import KERNELS

from puffer_sdk.base import paths
from puffer_sdk.env import abi
from puffer_sdk.toolchain import compilers

DEVICE = KERNELS.parent / "trainer" / "device"
FLAGS = ("-std=c++17", "-ffp-contract=off", "-fPIC", "-shared", "-Wall", "-Wextra", "-Werror",
         f"-I{KERNELS.parent}", f"-I{paths.include_dir()}")
MODES = ("late", "early", "shuffled")
HELD = []                               # folders that go when the process ends
COUNTS = ("allocations", "waits", "launches", "products", "copies", "replays")


@cache
def ffi():
    kernels = re.findall(r"^    X\((\w+), ", (KERNELS / "cuda" / "contract.h").read_text(), re.M)
    text = (DEVICE / "device.h").read_text()
    assert "CUDA_KERNELS(DEVICE_NUMBER)" in text
    text = text.replace("CUDA_KERNELS(DEVICE_NUMBER)", "".join(f"KERNEL_{k}, " for k in kernels))
    with tempfile.TemporaryDirectory() as folder:
        header = Path(folder) / "device.h"
        header.write_text(text + "\nint64_t device_emulated_count(int32_t what);\n")
        return abi.declare([KERNELS / "kernels.h", KERNELS / "cuda" / "contract.h", header],
                           include=cuda_calls.ffi())


def build(folder: Path, *flags: str) -> Path:
    """The kernels and the emulated device as one library."""
    made, source = folder / "cuda_emulated.so", DEVICE / "emulated" / "device.cc"
    compilers.compile_to(made, [cuda_calls.find_cpp(), *(flags or ("-O2",)), *FLAGS, source,
                                "-x", "c++", KERNELS / "cuda" / "kernels.cu", "-x", "none", "-ldl"],
                         source=source, what="the emulated device")
    return made


@cache
def library() -> Path:
    """The same, once for all tests of a process."""
    held = tempfile.TemporaryDirectory()
    HELD.append(held)
    return build(Path(held.name))


class Device:
    """A device, and NumPy arrays in its memory. `device.call(...)` is device_call(device, ...)."""

    def __init__(self, library: Path):
        self.lib = ffi().dlopen(str(library))
        error = ffi().new("char[2048]")
        self.device, self.held = self.lib.device_open(0, ffi().new("int32_t*"), error), []
        if self.device == ffi().NULL:
            raise RuntimeError(ffi().string(error).decode())
        self.main = self.lib.stream_open(self.device)

    def __getattr__(self, name):
        """Functions that take the device, or a stream: names as in device.h, less `device_`."""
        if hasattr(self.lib, f"device_{name}"):
            return lambda *args: getattr(self.lib, f"device_{name}")(self.device, *args)
        return getattr(self.lib, name)

    def close(self):
        self.lib.device_close(self.device)

    def stream(self):
        return self.lib.stream_open(self.device)

    def event(self):
        return self.lib.event_open(self.device)

    def count(self, what: str) -> int:
        return self.lib.device_emulated_count(COUNTS.index(what))

    def failed(self) -> str:
        text = self.lib.device_failure(self.device)
        return "" if text == ffi().NULL else ffi().string(text).decode()

    def pinned(self, shape, dtype=np.float32):
        """An array in pinned memory."""
        size = int(np.prod(shape)) * np.dtype(dtype).itemsize
        memory = self.lib.device_pinned(self.device, size)
        return np.frombuffer(ffi().buffer(memory, size), dtype).reshape(shape)

    def empty(self, size: int):
        return self.lib.device_memory(self.device, size)

    def put(self, array):
        """A copy in device memory."""
        array = np.ascontiguousarray(array)
        to = self.empty(array.nbytes)
        self.lib.stream_upload(self.main, to, at(array), array.nbytes)
        assert self.lib.stream_wait(self.main) == 0, self.failed()
        return to

    def get(self, place, shape, dtype=np.float32):
        """What is in device memory, once the device has done all that `main` was given."""
        out = np.zeros(shape, dtype)
        self.lib.stream_download(self.main, at(out), place, out.nbytes)
        assert self.lib.stream_wait(self.main) == 0, self.failed()
        return out

    def launch(self, stream, name: str, blocks: int = 2, threads: int = 64, **fields):
        """A kernel; pointers as put() or empty() gave them."""
        kind = "".join(part.title() for part in name.split("_")) + "Args"
        args = ffi().new(f"{kind}*")
        types = dict(ffi().typeof(kind).fields)
        for field, value in fields.items():
            pointer = types[field].type
            setattr(args, field, ffi().cast(pointer, value) if pointer.kind == "pointer" else value)
        self.lib.stream_launch(stream, getattr(self.lib, f"KERNEL_{name}"), args, blocks, threads)

    def product(self, m, n, k, **fields):
        """Rows lie one behind another unless told."""
        shape = {"m": m, "n": n, "k": k, "batch": 1, "ldd": n,
                 "lda": m if fields.get("transpose_a") else k,
                 "ldb": k if fields.get("transpose_b") else n, **fields}
        held = ffi().new("char[]", b"test")
        self.held.append(held)
        made = ffi().new("ProductShape*", {**shape, "label": held})
        return self.lib.product_open(self.device, made)


def at(array: np.ndarray):
    return ffi().cast("void*", array.ctypes.data)
