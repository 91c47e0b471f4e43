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


def for_cuda(device: str = "cuda/device.cu") -> list[Path]:
    """What the trainer for GPUs is compiled of, in a fixed order: the kernels, a device, C files.

    device    the file of trainer/device that implements device.h
    """
    kernels, trainer = home() / "kernels", home() / "trainer"
    return [kernels / "cuda" / "kernels.cu", trainer / "device" / device,
            *sorted((trainer / "cuda").glob("*.c")), *sorted((trainer / "common").glob("*.c"))]


def include_dirs() -> list[Path]:
    return [home(), paths.include_dir()]


def headers(*endings: str) -> list[Path]:
    """Every header of kernels/ and trainer/ with one of these endings, in a fixed order."""
    return [path for name in ("kernels", "trainer") for ending in endings
            for path in sorted((home() / name).rglob(f"*{ending}"))]
