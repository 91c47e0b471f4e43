"""Compile the CUDA kernels.  kernels/cuda_kernels.cu -> a library for the GPUs asked for

`python -m puffer_sdk.native.cuda FILE` is what `make cuda` runs. No GPU is needed for it, nor a
driver: what it proves is that every kernel compiles, without a warning.
"""
from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

from .. import paths, toolchain, ui
from ..errors import BuildError, PufferError, UsageError

ARCHS = ("80", "90", "120")             # compute capabilities: A100, H100 and H200, RTX 50
FLAGS = ("-std=c++17", "-O3", "-fmad=false",       # multiply-adds where the source says so
         "-shared", "-Xcompiler", "-fPIC,-Wall,-Wextra")
STRICT = ("--Werror", "all-warnings", "-Xcompiler", "-Werror")
TIMEOUT = 600                           # seconds; an idle core needs a few


def find_nvcc() -> str:
    """nvcc of CUDA_HOME, of CUDA_PATH, or of PATH; BuildError where there is none."""
    homes = [os.environ.get(name) for name in ("CUDA_HOME", "CUDA_PATH")]
    for place in (*(os.path.join(home, "bin") for home in homes if home), None):
        found = shutil.which("nvcc", path=place)
        if found:
            return found
    raise BuildError("there is no nvcc on this machine",
                     expected="nvcc on PATH, or CUDA_HOME set", actual="none",
                     hint="install NVIDIA's CUDA toolkit")


def source() -> Path:
    return paths.data_dir("kernels") / "cuda_kernels.cu"


def command(archs: Sequence[str] = ARCHS, *, strict: bool = False) -> list[str]:
    """How nvcc is called, but for `-o FILE`. strict: a warning is an error."""
    targets = [word for arch in archs
               for word in ("-gencode", f"arch=compute_{arch},code=sm_{arch}")]
    return [find_nvcc(), *FLAGS, *(STRICT if strict else ()), *targets,
            f"-I{paths.data_dir('kernels')}", os.fspath(source())]


def build_kernels(library: Path, archs: Sequence[str] = ARCHS, *, strict: bool = False,
                  verbose: bool = False) -> Path:
    """All kernels in one library. Raises BuildError with what nvcc said."""
    library.parent.mkdir(parents=True, exist_ok=True)
    toolchain.compile_to(library, command(archs, strict=strict), source=source(),
                         what="the CUDA kernels", verbose=verbose, timeout=TIMEOUT)
    return library


def main(arguments: Sequence[str]) -> int:
    try:
        if len(arguments) != 1:
            raise UsageError("say where the library shall go",
                             hint="python -m puffer_sdk.native.cuda build/cuda/kernels.so")
        made = build_kernels(Path(arguments[0]), strict=True, verbose=True)
    except PufferError as error:
        ui.print_error(error)
        return error.exit_status
    ui.say(f"compiled for {', '.join(f'sm_{arch}' for arch in ARCHS)}: {paths.shown(made)}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
