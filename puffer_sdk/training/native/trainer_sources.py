"""Which C and CUDA files make the native trainers, and where their headers are found."""
from __future__ import annotations

from pathlib import Path

from ...base import paths
from ...base.errors import BuildError

CPU_FOLDERS = ("kernels/cpu", "trainer/common", "trainer/cpu")


def home() -> Path:
    """The folder of kernels/ and trainer/: our C says #include "kernels/kernels.h"."""
    return paths.data_dir("kernels").parent


def for_cpu() -> list[Path]:
    """What the CPU trainer is compiled of, in a fixed order."""
    found = [path for folder in CPU_FOLDERS for path in sorted((home() / folder).glob("*.c"))]
    if not found:
        raise BuildError("the sources of the native trainer are missing",
                         where=paths.data_dir("trainer"), hint="reinstall puffer-sdk")
    return found


def for_cuda() -> list[Path]:
    """What the C compiler makes the trainer for GPUs of, in a fixed order: two files of C++, C."""
    return [launcher(), home() / "trainer" / "device" / "cuda" / "device.cc", *_of_cuda()]


def for_emulated() -> list[Path]:
    """The same for an emulated GPU, whose kernels the C compiler makes too."""
    return [kernels(), home() / "trainer" / "device" / "emulated" / "device.cc", *_of_cuda()]


def _of_cuda() -> list[Path]:
    return [path for name in ("cuda", "common")
            for path in sorted((home() / "trainer" / name).glob("*.c"))]


def kernels() -> Path:
    """All CUDA kernels, which NVRTC compiles."""
    return home() / "kernels" / "cuda" / "kernels.cu"


def launcher() -> Path:
    """What launches them on a GPU."""
    return home() / "kernels" / "cuda" / "launch.cc"


def runtime_headers() -> Path:
    """What the headers of CUDA's runtime lack where there is no nvcc."""
    return home() / "trainer" / "device" / "cuda"


def include_dirs() -> list[Path]:
    return [home(), paths.include_dir()]


def headers(*endings: str) -> list[Path]:
    """Every header of kernels/ and trainer/ with one of these endings, in a fixed order."""
    return [path for name in ("kernels", "trainer") for ending in endings
            for path in sorted((home() / name).rglob(f"*{ending}"))]
