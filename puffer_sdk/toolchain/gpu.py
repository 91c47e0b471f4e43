"""Whether a GPU can be used here, and what is missing.  a driver, CUDA's libraries -> Readiness"""
from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ..base.errors import PufferError, UsageError
from . import nvrtc
from .cuda_finding import (
    Driver,
    Gpu,
    Runtime,
    find_cublaslt,
    find_driver,
    find_runtime,
    install_hint,
    newest_cuda,
    shown,
)

OLDEST_GPU = (7, 5)                     # the oldest that CUDA 13 compiles for
OLDEST_BF16 = (8, 0)                    # the first that multiplies in bf16
OLDEST_CUDA = (12, 0)                   # of driver and runtime: older ones create graphs otherwise
ON_CPU = "--train.device cpu"            # options that train on the CPU instead


@dataclass(frozen=True)
class Readiness:
    """What training on a GPU needs. The search ends at the first thing that is missing."""

    problem: str | None = None          # a sentence without a full stop
    hint: str | None = None
    driver: Driver | None = None
    runtime: Runtime | None = None
    compiler: nvrtc.Nvrtc | None = None
    cublaslt: Path | None = None

    @property
    def gpu(self) -> Gpu | None:
        """The one that is trained on: the first that can be."""
        usable = usable_gpus(self.driver, self.compiler.archs() if self.compiler else ())
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
    runtime = find_runtime(driver)
    problem, hint = runtime_problem(runtime, driver)
    if runtime is None or problem:
        return Readiness(problem, hint, driver, runtime)
    compiler, problem, hint = find_compiler(driver)
    if problem:
        return Readiness(problem, hint, driver, runtime, compiler)
    cublaslt = find_cublaslt(runtime.version[0], runtime)
    problem, hint = cublaslt_problem(cublaslt, runtime)
    found = Readiness(problem, hint, driver, runtime, compiler, cublaslt)
    gpu = found.gpu
    if problem or precision != "bf16" or gpu is None or gpu.capability >= OLDEST_BF16:
        return found
    return replace(found, problem=f"the {gpu.name} (compute capability "
                   f"{shown(gpu.capability)}) has no bf16, which {shown(OLDEST_BF16)} "
                   "brought", hint="--train.precision fp32 trains on it")


def usable_gpus(driver: Driver | None, archs: Sequence[str] = ()) -> list[tuple[int, Gpu]]:
    """(number, as CUDA counts, GPU) of those that are new enough.

    archs    what can be compiled for: ["80", "90", ...]; empty: anything
    """
    return [(number, gpu) for number, gpu in enumerate(driver.gpus if driver else ())
            if gpu.capability >= OLDEST_GPU and (not archs or gpu.arch in archs)]


def list_usable() -> list[tuple[int, Gpu]]:
    """(number, GPU) of those on this machine that can train; empty where there is none."""
    driver = find_driver()
    if not driver or not driver.gpus:
        return []
    compiler, _, _ = find_compiler(driver)
    return usable_gpus(driver, compiler.archs() if compiler else ())


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
    if not usable_gpus(driver):
        gpu = driver.gpus[0]
        return (f"the {gpu.name}'s compute capability {shown(gpu.capability)} is below "
                f"{shown(OLDEST_GPU)}", f"train on the CPU: {on_cpu}")
    if driver.version and driver.version < OLDEST_CUDA:
        return (f"the driver is for CUDA {shown(driver.version)}, and {shown(OLDEST_CUDA)} or "
                "newer is needed", f"update the driver, or train on the CPU: {on_cpu}")
    return None, None


def runtime_problem(runtime: Runtime | None,
                    driver: Driver | None = None) -> tuple[str | None, str | None]:
    """Whether it is there, and makes what this driver runs."""
    newest = newest_cuda(driver)
    if runtime is None:
        return "no CUDA runtime to compile with", install_hint(newest)
    if runtime.version < OLDEST_CUDA:
        return (f"CUDA's runtime is {shown(runtime.version)}, and {shown(OLDEST_CUDA)} or newer is "
                "needed", install_hint(newest))
    return _too_new("CUDA's runtime", runtime.version, driver)


def _too_new(what: str, version: tuple[int, int],
             driver: Driver | None) -> tuple[str | None, str | None]:
    newest = newest_cuda(driver)
    if driver is None or version[0] <= newest:
        return None, None
    return (f"the driver is for CUDA {shown(driver.version)}, {what} is {shown(version)}: it would "
            "not run", f"{install_hint(newest)}, or update the driver")


def find_compiler(driver: Driver | None) -> tuple[nvrtc.Nvrtc | None, str | None, str | None]:
    """(NVRTC, what is wrong, what to do): whether it compiles for this driver and its GPUs."""
    try:
        found = nvrtc.find()
    except PufferError as error:
        return None, error.message, error.hint
    problem, hint = _too_new("NVRTC", found.version, driver)
    new = usable_gpus(driver)
    if not problem and new and not usable_gpus(driver, found.archs()):
        problem, hint = (f"{found} does not know this GPU (sm_{new[0][1].arch})",
                         "install a newer CUDA")
    return found, problem, hint


def cublaslt_problem(cublaslt: Path | None, runtime: Runtime) -> tuple[str | None, str | None]:
    if cublaslt is not None:
        return None, None
    if os.environ.get("PUFFER_CUBLASLT"):
        return "PUFFER_CUBLASLT names no library that is there", "correct it, or unset it"
    major = runtime.version[0]
    return f"no cuBLASLt (libcublasLt.so.{major})", install_hint(major)


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
