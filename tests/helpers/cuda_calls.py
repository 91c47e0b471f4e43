"""The CUDA kernels, called with NumPy arrays: by the host shim, or by a GPU where there is one.

Every array lies in a block of exactly its size, so that a sanitizer sees a step beyond; what a
kernel may only read has to be as it was; and every call is repeated for other grids, blocks and
orders of threads, which must give the same bits.
"""
from __future__ import annotations

import os
import re
import shutil
from functools import cache
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from helpers import kernel_library
from helpers.kernel_calls import Table
from helpers.kernel_library import KERNELS, round_up

from puffer_sdk.env import abi
from puffer_sdk.toolchain import compilers
from puffer_sdk.training.native import cuda, trainer_library

SHIM_FLAGS = ("-std=c++17", "-O1", "-ffp-contract=off", "-fPIC", "-shared", "-Wall", "-Wextra",
              "-Werror", "-x", "c++")
SANITIZERS = ("-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")
# blocks, threads, order of the shim: one block, more blocks than work, odd sizes
GRIDS = ((1, 256, 0), (3, 37, 1), (2, 128, 5), (300, 32, 2))
THREADS = 256                           # CUDA_THREADS
HAS_DRIVER = Path("/dev/nvidiactl").exists()    # elsewhere nothing is compiled or skipped
# The kernels, and the emulated device, compiled to round as a GPU may: assertions then have the
# limits that hardware needs, as they have on a GPU
FUSED = os.environ.get("PUFFER_CUDA_EMULATED_FMA") == "1"
ROUNDS = HAS_DRIVER or FUSED


@cache
def ffi():
    made = abi.declare([KERNELS / "kernels.h", KERNELS / "cuda" / "contract.h"],
                       include=kernel_library.ffi())
    made.cdef("extern Kernels kernels_generic;")
    return made


@cache
def read_only() -> dict[str, set[str]]:
    """{"TickBeginArgs": {"tick", "obs", ...}}: pointers to const, which cffi does not tell."""
    text = (KERNELS / "cuda" / "contract.h").read_text()
    structs = re.findall(r"typedef struct (\w+) \{(.*?)\n\} \w+;", text, re.S)
    return {name: set(re.findall(r"^ +const \w+\* (\w+);", body, re.M)) for name, body in structs}


def find_cpp() -> str:
    return shutil.which("g++") or shutil.which("clang++") or pytest.skip("no C++ compiler")


def build_shim(folder: Path, *flags: str) -> Path:
    """kernels/cuda/kernels.cu as C++."""
    made, source = folder / "cuda_shim.so", KERNELS / "cuda" / "kernels.cu"
    compilers.compile_to(made, [find_cpp(), *flags, *SHIM_FLAGS,
                               *(cuda.FUSED_FLAGS if FUSED else ()), f"-I{KERNELS.parent}", source],
                         source=source, what="the CUDA kernels as C++")
    return made


def build_oracle(folder: Path) -> Path:
    """The generic kernels of the CPU."""
    made, source = folder / "generic.so", KERNELS / "cpu" / "generic.c"
    flags = [flag for flag in trainer_library.FLAGS if flag != "-fvisibility=hidden"]
    compilers.compile_to(made, [*compilers.find_compiler().command, *flags,
                                f"-I{KERNELS.parent}", source, "-lm"],
                         source=source, what="the generic kernels")
    return made


def open_oracle(path: Path) -> Table:
    lib = ffi().dlopen(str(path))
    table = Table(ffi().addressof(lib, "kernels_generic"))
    table.library = lib                 # the table lies in it
    return table


def blank(*shape, dtype=np.float32):
    """For a kernel to write: NaN, or all bits, wherever it does not."""
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    return np.full(size, 255, np.uint8).view(dtype).reshape(shape)


def same(first, second) -> bool:
    """Equal bit for bit, NaNs included."""
    first, second = np.ascontiguousarray(first), np.ascontiguousarray(second)
    return (first.shape == second.shape and first.dtype == second.dtype
            and first.tobytes() == second.tobytes())


class Cuda:
    """The kernels of one library: `cuda.name(field=value, ...)` gives what they wrote.

    Fields are those of the kernel's struct in contract.h. Arrays are copied to memory that the
    kernel sees and back: the result has every array by its field's name. A dict fills a struct, a
    list of dicts an array of them; None is NULL.
    """

    def __init__(self, path: Path):
        self.lib = ffi().dlopen(str(path))
        self.exact = self.lib.cuda_kind() == self.lib.CUDA_SHIM and not FUSED
        self.grids = GRIDS
        self.numbers = {}
        while (name := self.lib.cuda_kernel_name(len(self.numbers))) != ffi().NULL:
            self.numbers[ffi().string(name).decode()] = len(self.numbers)

    def __getattr__(self, name):
        if name not in self.numbers:
            raise AttributeError(name)
        return lambda **fields: self.call(name, **fields)

    def call(self, name: str, **fields) -> SimpleNamespace:
        """By every grid; the results must not differ in a bit."""
        first, *others = (self.once(name, *grid, **fields) for grid in self.grids)
        for grid, other in zip(self.grids[1:], others):
            for field in fields:
                assert _same(getattr(first, field), getattr(other, field)), (name, grid, field)
        return first

    def once(self, name: str, blocks: int, threads: int, order: int, **fields) -> SimpleNamespace:
        kind = ffi().typeof("".join(part.title() for part in name.split("_")) + "Args")
        args, blocks_of, held = ffi().new(ffi().getctype(kind, "*")), {}, []
        assert set(fields) == set(dict(kind.fields)), set(fields) ^ set(dict(kind.fields))
        inputs = read_only()[kind.cname]
        written = {id(value) for field, value in fields.items() if field not in inputs}
        try:
            for field, value in fields.items():
                pointer = dict(kind.fields)[field].type
                if pointer.kind != "pointer":
                    setattr(args, field, value)
                elif value is not None:
                    if id(value) not in blocks_of:
                        blocks_of[id(value)] = self._put(value, pointer, held)
                    setattr(args, field, ffi().cast(pointer, blocks_of[id(value)]))
            done = self.lib.cuda_run(self.numbers[name], args, blocks, threads, order)
            assert done == 0, f"{name} <<<{blocks}, {threads}>>> did not run"
            out = SimpleNamespace()
            for field, value in fields.items():
                pointer = dict(kind.fields)[field].type
                after = value if pointer.kind != "pointer" or value is None \
                    else self._get(value, pointer, blocks_of[id(value)])
                setattr(out, field, after)
                if field in inputs and id(value) not in written:
                    assert _same(_read(value, pointer), after), f"{name} wrote to {field}"
        finally:
            for memory in held:
                self.lib.cuda_give(memory)
        return out

    def _put(self, value, pointer, held):
        if not isinstance(value, np.ndarray):
            value = np.frombuffer(bytes(ffi().buffer(_structs(value, pointer))), np.uint8)
        assert value.flags.c_contiguous
        memory = self.lib.cuda_take(max(value.nbytes, 1))
        assert memory != ffi().NULL
        held.append(memory)
        ffi().memmove(memory, np.ascontiguousarray(value).view(np.uint8).reshape(-1).data
                      if value.nbytes else b"", value.nbytes)
        return memory

    def _get(self, value, pointer, memory):
        if isinstance(value, np.ndarray):
            raw = bytes(ffi().buffer(memory, value.nbytes)) if value.nbytes else b""
            return np.frombuffer(raw, value.dtype).reshape(value.shape)
        found = _structs(value, pointer)
        ffi().memmove(found, memory, ffi().sizeof(found))
        return [_plain(one) for one in found] if isinstance(value, list) else _plain(found[0])


def _structs(value, pointer):
    """A dict, a list of them or a struct of cffi -> an array of such structs"""
    if isinstance(value, ffi().CData):
        made = ffi().new(ffi().getctype(ffi().typeof(value).item, "[1]"))
        made[0] = value[0]
        return made
    many = value if isinstance(value, list) else [value]
    return ffi().new(ffi().getctype(pointer.item, f"[{len(many)}]"), many)


def _plain(struct):
    fields = dict(ffi().typeof(struct).fields)
    read = {name: getattr(struct, name) for name in fields}
    return {name: list(one) if isinstance(one, ffi().CData) else one for name, one in read.items()}


def _same(first, second):
    if isinstance(first, np.ndarray):
        return same(first, second)
    return repr(first) == repr(second)          # NaNs too


def _read(value, pointer):
    """As a call would give it back."""
    if value is None or isinstance(value, np.ndarray):
        return value
    found = _structs(value, pointer)
    return [_plain(one) for one in found] if isinstance(value, list) else _plain(found[0])


def bf16_bits(x):
    """uint16 of float32, rounded to the nearest, ties to even"""
    bits = np.asarray(x, np.float32).view(np.uint32).astype(np.uint64)
    return ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype(np.uint16)


def segments_of(T, rows):
    """Places of ticks [s][t] in (N, T) arrays that were flattened."""
    return (np.asarray(rows)[:, None] * T + np.arange(T)).ravel()


__all__ = ["Cuda", "bf16_bits", "blank", "build_oracle", "build_shim", "open_oracle", "round_up",
           "same", "segments_of"]
