"""NVIDIA's run-time compiler, a library.  CUDA C++ -> a cubin for one GPU; no GPU is needed

It opens its own second library by name, which is why that one is opened first.
"""
from __future__ import annotations

import ctypes
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from ..base.errors import BuildError, RunError
from .cuda_finding import (
    EXTRAS,
    find_driver,
    find_library,
    find_runtime,
    install_hint,
    newest_cuda,
    shown,
)

NAME = "libnvrtc.so"
FLAGS = ("--device-as-default-execution-space", "-fmad=false", "--std=c++20", "-w")


@dataclass(frozen=True)
class Nvrtc:
    """NVRTC, opened.

    path      the library
    version   (13, 0): CUDA's
    """

    path: Path
    version: tuple[int, int]
    library: ctypes.CDLL

    def __str__(self) -> str:
        return f"NVRTC {shown(self.version)}"

    def archs(self) -> list[str]:
        """The GPUs that it compiles for: ["80", "90", ...]."""
        count = ctypes.c_int()
        if self.library.nvrtcGetNumSupportedArchs(ctypes.byref(count)):
            return []
        found = (ctypes.c_int * count.value)()
        self.library.nvrtcGetSupportedArchs(found)
        return [str(number) for number in found]


def find_file() -> Path | None:
    """libnvrtc: PUFFER_NVRTC (a file, or its folder) and nothing else; or LD_LIBRARY_PATH, beside
    the runtime, NVIDIA's wheels, the system's."""
    runtime = find_runtime(find_driver())
    found = (find_library(f"{NAME}.{major}", "PUFFER_NVRTC", runtime) for major in _majors())
    return next(filter(None, found), None)


def _majors() -> list[int]:
    """First that of the runtime that the trainer is compiled against, then one that the driver
    knows."""
    driver = find_driver()
    runtime, known = find_runtime(driver), newest_cuda(driver)
    return sorted(EXTRAS, key=lambda major: (not runtime or major != runtime.version[0],
                                             major > known))


def find() -> Nvrtc:
    """NVRTC, opened. Raises BuildError where there is none."""
    path = find_file()
    if path is None:
        given, major = os.environ.get("PUFFER_NVRTC"), _majors()[0]
        raise BuildError("PUFFER_NVRTC names a library that does not exist" if given else
                         f"no NVRTC ({NAME}.{major}), which compiles for GPUs",
                         hint="correct it, or unset it" if given else install_hint(major))
    return _open(path)


@cache
def _open(path: Path) -> Nvrtc:
    try:
        for builtins in sorted(path.parent.glob("libnvrtc-builtins.so.*")):
            ctypes.CDLL(str(builtins), mode=ctypes.RTLD_GLOBAL)
        library = ctypes.CDLL(str(path))
        major, minor = ctypes.c_int(), ctypes.c_int()
        library.nvrtcVersion(ctypes.byref(major), ctypes.byref(minor))
    except (OSError, AttributeError) as error:
        raise RunError("cannot load NVRTC", where=path, detail=str(error),
                       hint=f"{install_hint(max(EXTRAS))}, or point PUFFER_NVRTC at another"
                       ) from None
    return Nvrtc(path, (major.value, minor.value), library)


def compile_cubin(nvrtc: Nvrtc, text: str, arch: str, flags: tuple[str, ...] = FLAGS,
                  headers: Mapping[str, str] | None = None) -> tuple[bytes | None, str]:
    """(cubin, what it said), or (None, the errors as "file:line: error: text").

    headers    texts that #include finds by these names: there are no system's
    """
    library, program, headers = nvrtc.library, ctypes.c_void_p(), headers or {}
    names, texts = ((ctypes.c_char_p * len(headers))(*[word.encode() for word in words])
                    for words in (headers, headers.values()))
    if library.nvrtcCreateProgram(ctypes.byref(program), text.encode("latin-1"), b"env.cu",
                                  len(headers), texts, names):
        return None, "NVRTC has no memory for the program"
    try:
        words = [f"--gpu-architecture=sm_{arch}", *flags]
        options = (ctypes.c_char_p * len(words))(*[word.encode() for word in words])
        status = library.nvrtcCompileProgram(program, len(words), options)
        said = _read(library, program, "ProgramLog").rstrip(b"\0").decode(errors="replace")
        said = re.sub(r"^(.+?)\((\d+)\): (error|catastrophic error|warning)", r"\1:\2: \3", said,
                      flags=re.M).strip()
        if status:
            return None, said or f"NVRTC ended with status {status}"
        return _read(library, program, "CUBIN"), said
    finally:
        library.nvrtcDestroyProgram(ctypes.byref(program))


def _read(library: ctypes.CDLL, program: ctypes.c_void_p, what: str) -> bytes:
    size = ctypes.c_size_t()
    getattr(library, f"nvrtcGet{what}Size")(program, ctypes.byref(size))
    buffer = ctypes.create_string_buffer(size.value)
    getattr(library, f"nvrtcGet{what}")(program, buffer)
    return buffer.raw
