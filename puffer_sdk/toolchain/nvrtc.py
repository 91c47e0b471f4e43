"""NVIDIA's run-time compiler, a library.  C++ -> a cubin for one GPU; no GPU is needed

It opens its own second library by name, which is why that one is opened first.
"""
from __future__ import annotations

import ctypes
import os
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from ..base.errors import BuildError, RunError
from .cuda_finding import INSTALL, find_driver, find_library, find_nvcc, shown
from .gpu import library_hint

NAME = "libnvrtc.so"
FLAGS = ("--device-as-default-execution-space", "-fmad=false", "--std=c++20", "-w")
MAJORS = (13, 12)                       # CUDA's


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
    nvcc, NVIDIA's wheels, the system's."""
    nvcc = find_nvcc(find_driver())
    found = (find_library(f"{NAME}.{major}", "PUFFER_NVRTC", nvcc) for major in _majors())
    return next(filter(None, found), None)


def _majors() -> list[int]:
    """First that of the CUDA that the trainer is compiled with, then one that the driver knows."""
    driver = find_driver()
    nvcc = find_nvcc(driver)
    known = driver.version[0] if driver and driver.version else MAJORS[0]
    return sorted(MAJORS, key=lambda major: (not nvcc or major != nvcc.version[0], major > known))


def find() -> Nvrtc:
    """NVRTC, opened. Raises BuildError where there is none."""
    path = find_file()
    if path is None:
        given, major = os.environ.get("PUFFER_NVRTC"), _majors()[0]
        get = library_hint(find_driver(), "NVRTC", "nvidia-cuda-nvrtc", major)
        raise BuildError("environments cannot be compiled for a GPU: "
                         + ("PUFFER_NVRTC names a library that does not exist" if given else
                            f"no NVRTC ({NAME}.{major})"),
                         hint="correct it, or unset it" if given else
                         f"{get}; or run environments on the CPU: --vec.device cpu")
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
                       hint=f"{INSTALL}, or point PUFFER_NVRTC at another") from None
    return Nvrtc(path, (major.value, minor.value), library)


def compile_cubin(nvrtc: Nvrtc, text: str, arch: str, flags: tuple[str, ...] = FLAGS
                  ) -> tuple[bytes | None, str]:
    """(cubin, what it said), or (None, the errors as "file:line: error: text")."""
    library, program = nvrtc.library, ctypes.c_void_p()
    if library.nvrtcCreateProgram(ctypes.byref(program), text.encode("latin-1"), b"env.cu", 0,
                                  None, None):
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
