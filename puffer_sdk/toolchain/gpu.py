"""Whether a GPU can be used here, and what is missing.  a driver, nvcc, cuBLASLt -> Readiness"""
from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from pathlib import Path

from ..base import ui
from ..base.errors import UsageError
from . import compilers
from .cuda_finding import (
    INSTALL,
    Driver,
    Gpu,
    Nvcc,
    find_cublaslt,
    find_driver,
    find_nvcc,
    list_archs,
    list_gpus,
    shown,
    wheels_problem,
)

OLDEST_GPU = (8, 0)                     # the first with bf16
OLDEST_NVCC = (12, 0)                   # older ones create graphs with another call
ON_CPU = "--train.device cpu"            # options that train on the CPU instead


@dataclass(frozen=True)
class Readiness:
    """What a GPU's trainer needs, as far as it was looked for: the first that lacks ends it."""

    problem: str | None = None          # a sentence without a full stop
    hint: str | None = None
    driver: Driver | None = None
    nvcc: Nvcc | None = None
    cublaslt: Path | None = None

    @property
    def gpu(self) -> Gpu | None:
        """The one that is trained on: the first."""
        return self.driver.gpus[0] if self.driver and self.driver.gpus else None

    @property
    def reason(self) -> str:
        """Why it can run here, or why not."""
        if self.problem:
            return self.problem
        return f"an {self.gpu.name} (sm_{self.gpu.arch}), driver for CUDA " \
               f"{shown(self.driver.version)}"


def examine(on_cpu: str = ON_CPU) -> Readiness:
    """Looks in the order in which things are needed; quick where there is no driver.

    on_cpu    the options that train on the CPU instead, for the hint
    """
    driver = find_driver()
    problem, hint = driver_problem(driver, on_cpu)
    if problem:
        return Readiness(problem, hint, driver)
    nvcc = find_nvcc(driver)
    problem, hint = nvcc_problem(nvcc, driver)
    if problem:
        return Readiness(problem, hint, driver, nvcc)
    cublaslt = find_cublaslt(nvcc.version[0], nvcc)
    problem, hint = cublaslt_problem(cublaslt, nvcc)
    return Readiness(problem, hint, driver, nvcc, cublaslt)


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
    gpu = driver.gpus[0]
    if gpu.capability < OLDEST_GPU:
        return (f"the {gpu.name}'s compute capability {shown(gpu.capability)} is below "
                f"{shown(OLDEST_GPU)}", f"train on the CPU: {on_cpu}")
    return None, None


def nvcc_problem(nvcc: Nvcc | None, driver: Driver | None = None) -> tuple[str | None, str | None]:
    """Whether nvcc is there, and makes what this driver and its first GPU run."""
    if nvcc is None:
        if os.environ.get("PUFFER_NVCC"):
            return "PUFFER_NVCC names no nvcc that runs", "correct it, or unset it"
        wheels = wheels_problem()
        return ("no nvcc" + ("" if wheels in (None, "not installed")
                             else f" (of NVIDIA's wheels, {wheels})"),
                f"{INSTALL}, or install NVIDIA's CUDA toolkit")
    if nvcc.version < OLDEST_NVCC:
        return (f"nvcc is {shown(nvcc.version)}, and {shown(OLDEST_NVCC)} or newer is needed",
                f"{INSTALL}, or install a newer CUDA toolkit")
    if driver and driver.version and nvcc.version[0] > driver.version[0]:
        return (f"the driver is for CUDA {shown(driver.version)}, nvcc is "
                f"{shown(nvcc.version)}: it would not run",
                f"update the driver, or point PUFFER_NVCC at an nvcc {driver.version[0]}")
    archs = list_archs(nvcc)
    if driver and driver.gpus and archs and driver.gpus[0].arch not in archs:
        return (f"nvcc {shown(nvcc.version)} does not know this GPU (sm_{driver.gpus[0].arch})",
                f"{INSTALL}, or install a newer CUDA toolkit")
    if host_compiler() is None:
        return "nvcc needs g++, which is not there", compilers.install_hint("g++")
    return None, None


def cublaslt_problem(cublaslt: Path | None, nvcc: Nvcc) -> tuple[str | None, str | None]:
    if cublaslt is not None:
        return None, None
    if os.environ.get("PUFFER_CUBLASLT"):
        return "PUFFER_CUBLASLT names no library that is there", "correct it, or unset it"
    return (f"no cuBLASLt (libcublasLt.so.{nvcc.version[0]})",
            f"{INSTALL}, or install cuBLAS of CUDA {nvcc.version[0]}")


def require_gpus(count: int) -> None:
    """Raises UsageError where there are fewer."""
    if is_emulated():
        said = os.environ.get("PUFFER_CUDA_EMULATED_GPUS") or "1"
        if not said.isdecimal() or int(said) < 1:
            raise UsageError("PUFFER_CUDA_EMULATED_GPUS says how many GPUs are imitated",
                             where="PUFFER_CUDA_EMULATED_GPUS", expected="1 or more",
                             actual=f"'{said}'", hint="unset it: there is 1")
        there = int(said)
        hint = "set PUFFER_CUDA_EMULATED_GPUS"
    else:
        driver = find_driver()
        there = len(driver.gpus) if driver else 0
        hint = "look at CUDA_VISIBLE_DEVICES, or lower train.gpus"
    if count > there:
        verb = "is" if there == 1 else "are"
        raise UsageError(f"train.gpus asks for {count} GPUs, and there {verb} {there}",
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
        raise UsageError("PUFFER_CUDA has a value that means nothing", where="PUFFER_CUDA",
                         expected="emulated, or nothing", actual=f"'{asked}'", hint="unset it")
    return asked == "emulated"


def reason() -> str:
    """Why the native trainer runs on a GPU here, or why not, as a part of a sentence."""
    if is_emulated():
        return "PUFFER_CUDA=emulated"
    return examine().reason


def choose_device(setting: str, asked: str = "train.device cuda",
                  on_cpu: str = ON_CPU) -> tuple[str, str]:
    """train.device of the native trainer -> ("cuda" or "cpu", why). auto imitates no GPU.

    asked     what asks for a GPU, if one is asked for
    on_cpu    the options that train on the CPU instead, for the hint
    Raises UsageError where a GPU is asked for and cannot be used.
    """
    if setting == "cpu":
        return "cpu", "train.device is cpu"
    if setting == "cuda" and is_emulated():
        return "cuda", reason()
    found = examine(on_cpu)
    if not found.problem:
        return "cuda", found.reason
    if setting == "cuda":
        raise UsageError(f"cannot train on a GPU: {found.problem}", where=asked,
                         hint=found.hint)
    return "cpu", found.problem


def warn_of_unused(resolved_device: str) -> None:
    """A warning where `auto` chose the CPU on a machine whose GPUs nobody has hidden."""
    if resolved_device != "cpu" or os.environ.get("CUDA_VISIBLE_DEVICES") in ("", "-1") \
            or not list_gpus():
        return
    found = examine()
    ui.warn_once(f"this machine lists a GPU, and the network trains on the CPU: {found.reason}",
                 hint=found.hint)


def host_compiler() -> str | None:
    """The C++ compiler that nvcc calls."""
    return shutil.which(os.environ.get("NVCC_CCBIN") or "g++")
