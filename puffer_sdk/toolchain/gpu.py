"""Whether a GPU can be used here, and what is missing.  a driver, nvcc, cuBLASLt -> Readiness"""
from __future__ import annotations

import os
import shutil
from dataclasses import dataclass, replace
from pathlib import Path

from ..base.errors import UsageError
from . import compilers
from .cuda_finding import (
    INSTALL,
    WHEELS_CUDA,
    Driver,
    Gpu,
    Nvcc,
    find_cublaslt,
    find_driver,
    find_nvcc,
    list_archs,
    shown,
    wheels_problem,
)

OLDEST_GPU = (7, 5)                     # the oldest that CUDA 13 compiles for
OLDEST_BF16 = (8, 0)                    # the first that multiplies in bf16
OLDEST_CUDA = (12, 0)                   # of driver and nvcc: older ones create graphs otherwise
ON_CPU = "--train.device cpu"            # options that train on the CPU instead


@dataclass(frozen=True)
class Readiness:
    """What training on a GPU needs. The search ends at the first thing that is missing."""

    problem: str | None = None          # a sentence without a full stop
    hint: str | None = None
    driver: Driver | None = None
    nvcc: Nvcc | None = None
    cublaslt: Path | None = None

    @property
    def gpu(self) -> Gpu | None:
        """The one that is trained on: the first that can be."""
        usable = usable_gpus(self.driver, self.nvcc)
        return usable[0][1] if usable else None

    @property
    def reason(self) -> str:
        """Why it can run here, or why not."""
        if self.problem:
            return self.problem
        version = self.driver.version if self.driver else None
        return f"{self.gpu}, driver for CUDA {shown(version)}"


def examine(on_cpu: str = ON_CPU, precision: str = "fp32") -> Readiness:
    """Looks in the order in which things are needed; quick where there is no driver.

    on_cpu      the options that train on the CPU instead, for the hint
    precision   of the matrix products
    """
    driver = find_driver()
    problem, hint = driver_problem(driver, on_cpu)
    if problem:
        return Readiness(problem, hint, driver)
    nvcc = find_nvcc(driver)
    problem, hint = nvcc_problem(nvcc, driver)
    if nvcc is None or problem:
        return Readiness(problem, hint, driver, nvcc)
    cublaslt = find_cublaslt(nvcc.version[0], nvcc)
    problem, hint = cublaslt_problem(cublaslt, nvcc, driver)
    found = Readiness(problem, hint, driver, nvcc, cublaslt)
    gpu = found.gpu
    if problem or precision != "bf16" or gpu is None or gpu.capability >= OLDEST_BF16:
        return found
    return replace(found, problem=f"the {gpu.name} (compute capability "
                   f"{shown(gpu.capability)}) has no bf16, which {shown(OLDEST_BF16)} "
                   "brought", hint="--train.precision fp32 trains on it")


def usable_gpus(driver: Driver | None, nvcc: Nvcc | None) -> list[tuple[int, Gpu]]:
    """(number, as CUDA counts, GPU) of those that are new enough and that nvcc compiles for."""
    archs = list_archs(nvcc) if nvcc else []
    return [(number, gpu) for number, gpu in enumerate(driver.gpus if driver else ())
            if gpu.capability >= OLDEST_GPU and (not archs or gpu.arch in archs)]


def list_usable() -> list[tuple[int, Gpu]]:
    """(number, GPU) of those on this machine that can train; empty where there is none."""
    driver = find_driver()
    return usable_gpus(driver, find_nvcc(driver) if driver else None)


def has_bf16() -> bool:
    """Whether the GPU that trains multiplies in bf16; an emulated one does."""
    usable = [] if is_emulated() else list_usable()
    return not usable or usable[0][1].capability >= OLDEST_BF16


def driver_problem(driver: Driver | None,
                   on_cpu: str = ON_CPU) -> tuple[str | None, str | None]:
    """(what is wrong, what to do), or (None, None)."""
    hint = f"install NVIDIA's driver, or train on the CPU: {on_cpu}"
    if driver is None:
        return "no NVIDIA driver on this machine", hint
    if driver.problem:
        return f"the NVIDIA driver finds no GPU that it can use: {driver.problem}", hint
    if not driver.gpus:
        return "the NVIDIA driver finds no GPU", "look at CUDA_VISIBLE_DEVICES"
    if not usable_gpus(driver, None):
        gpu = driver.gpus[0]
        return (f"the {gpu.name}'s compute capability {shown(gpu.capability)} is below "
                f"{shown(OLDEST_GPU)}", f"train on the CPU: {on_cpu}")
    if driver.version and driver.version < OLDEST_CUDA:
        return (f"the driver is for CUDA {shown(driver.version)}, and {shown(OLDEST_CUDA)} or "
                "newer is needed", f"update the driver, or train on the CPU: {on_cpu}")
    return None, None


def toolkit_hint(driver: Driver | None) -> str:
    """How to get a compiler whose programs this driver runs."""
    newest = newest_cuda(driver)
    if newest >= WHEELS_CUDA:
        return f"{INSTALL}, or install NVIDIA's CUDA toolkit"
    return (f"install NVIDIA's newest CUDA toolkit {newest}, which this driver runs: "
            f"{INSTALL} brings CUDA {WHEELS_CUDA}, which needs a newer driver")


def library_hint(driver: Driver | None, name: str, wheel: str, major: int) -> str:
    """How to get one of CUDA's libraries, for a compiler of this major version."""
    if major < WHEELS_CUDA:
        return f"pip install {wheel}-cu{major}, or install {name} of CUDA {major}"
    if newest_cuda(driver) >= WHEELS_CUDA:
        return f"{INSTALL}, or install {name} of CUDA {major}"
    return toolkit_hint(driver)


def newest_cuda(driver: Driver | None) -> int:
    """The major version that it runs; of an unknown driver, that of INSTALL: it may run it."""
    return driver.version[0] if driver and driver.version else WHEELS_CUDA


def nvcc_problem(nvcc: Nvcc | None, driver: Driver | None = None) -> tuple[str | None, str | None]:
    """Whether nvcc is there, and makes what this driver and one of its GPUs run."""
    if nvcc is None:
        if os.environ.get("PUFFER_NVCC"):
            return "PUFFER_NVCC names no nvcc that runs", "correct it, or unset it"
        wheels = wheels_problem()
        return ("no nvcc" + ("" if wheels in (None, "not installed")
                             else f" (of NVIDIA's wheels, {wheels})"), toolkit_hint(driver))
    if nvcc.version < OLDEST_CUDA:
        return (f"nvcc is {shown(nvcc.version)}, and {shown(OLDEST_CUDA)} or newer is needed",
                toolkit_hint(driver))
    if driver and driver.version and nvcc.version[0] > driver.version[0]:
        return (f"the driver is for CUDA {shown(driver.version)}, nvcc is "
                f"{shown(nvcc.version)}: it would not run",
                f"update the driver, or install NVIDIA's CUDA toolkit {driver.version[0]}; "
                "PUFFER_NVCC names an nvcc that is not on PATH")
    new = usable_gpus(driver, None)
    if new and not usable_gpus(driver, nvcc):
        return (f"nvcc {shown(nvcc.version)} does not know this GPU "
                f"(sm_{new[0][1].arch})", toolkit_hint(driver))
    if host_compiler() is None:
        return "nvcc needs g++, which is not there", compilers.install_hint("g++")
    return None, None


def cublaslt_problem(cublaslt: Path | None, nvcc: Nvcc,
                     driver: Driver | None = None) -> tuple[str | None, str | None]:
    if cublaslt is not None:
        return None, None
    if os.environ.get("PUFFER_CUBLASLT"):
        return "PUFFER_CUBLASLT names no library that is there", "correct it, or unset it"
    major = nvcc.version[0]
    return (f"no cuBLASLt (libcublasLt.so.{major})",
            library_hint(driver, "cuBLAS", "nvidia-cublas", major))


def require_gpus(count: int) -> None:
    """Raises UsageError where there are fewer."""
    if is_emulated():
        said = os.environ.get("PUFFER_CUDA_EMULATED_GPUS") or "1"
        if not said.isdecimal() or int(said) < 1:
            raise UsageError("PUFFER_CUDA_EMULATED_GPUS must be the number of emulated GPUs",
                             where="PUFFER_CUDA_EMULATED_GPUS", expected="1 or more",
                             actual=f"'{said}'", hint="unset it: there is 1")
        there = int(said)
        hint = "set PUFFER_CUDA_EMULATED_GPUS"
    else:
        there = len(list_usable())
        hint = "look at CUDA_VISIBLE_DEVICES, or lower train.gpus"
    if count > there:
        verb = "is" if there == 1 else "are"
        raise UsageError(f"train.gpus requires {count} GPUs, and there {verb} {there}",
                         where="train.gpus", expected=f"at most {there}", actual=count, hint=hint)


def emulated_name(where: str) -> str:
    """ "a GPU" or "2 GPUs", said to be emulated where they are."""
    article, noun = where.split()
    if not is_emulated():
        return where
    return f"{'an' if article == 'a' else article} emulated {noun}"


def is_emulated() -> bool:
    """True if PUFFER_CUDA asks for an imitated GPU."""
    asked = os.environ.get("PUFFER_CUDA", "")
    if asked not in ("", "emulated"):
        raise UsageError("PUFFER_CUDA has an invalid value", where="PUFFER_CUDA",
                         expected="emulated, or nothing", actual=f"'{asked}'", hint="unset it")
    return asked == "emulated"


def reason() -> str:
    """Why the native trainer runs on a GPU here, or why not, as a part of a sentence."""
    if is_emulated():
        return "PUFFER_CUDA=emulated"
    return examine().reason


def choose_device(setting: str, asked: str = "train.device cuda", on_cpu: str = ON_CPU,
                  precision: str = "fp32") -> tuple[str, str]:
    """train.device of the native trainer -> ("cuda" or "cpu", why). auto imitates no GPU.

    asked       what asks for a GPU, if one is asked for
    on_cpu      the options that train on the CPU instead, for the hint
    precision   train.precision
    Raises UsageError where a GPU is asked for and cannot be used.
    """
    if setting == "cpu":
        return "cpu", "train.device is cpu"
    if setting == "cuda" and is_emulated():
        return "cuda", reason()
    found = examine(on_cpu, precision)
    if not found.problem:
        return "cuda", found.reason
    if setting == "cuda":
        raise UsageError(f"cannot train on a GPU: {found.problem}", where=asked,
                         hint=found.hint)
    return "cpu", found.problem


def host_compiler() -> str | None:
    """The C++ compiler that nvcc calls."""
    return shutil.which(os.environ.get("NVCC_CCBIN") or "g++")
