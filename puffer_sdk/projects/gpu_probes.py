"""What training on an NVIDIA GPU needs.  the machine -> Findings"""
from __future__ import annotations

from ..base.errors import PufferError
from ..toolchain import cuda_finding, gpu, nvrtc
from .probing import Finding, unusable


def probe_gpu() -> Finding:
    """The driver, and the first GPU."""
    driver = cuda_finding.find_driver()
    if driver is None:
        return Finding("gpu", "optional", "no NVIDIA driver; training runs on the CPU")
    problem, hint = gpu.driver_problem(driver)
    if problem:
        return Finding("gpu", "optional", problem, hint)
    first, count = driver.gpus[0], len(driver.gpus)
    return Finding("gpu", "ok", (f"{count} GPUs, the first: " if count > 1 else "")
                   + f"{first.name} (sm_{first.arch}), {first.memory / 2**30:.0f} GiB, "
                   "driver for CUDA " + cuda_finding.shown(driver.version))


def probe_nvcc() -> Finding:
    """The CUDA compiler that would be used; cuda_trainer says whether it fits the driver."""
    nvcc = cuda_finding.find_nvcc(cuda_finding.find_driver())
    problem, hint = gpu.nvcc_problem(nvcc)
    if nvcc is None:
        return Finding("nvcc", "optional", f"{problem}; training on an NVIDIA GPU needs it", hint)
    return Finding("nvcc", "optional" if problem else "ok", problem or str(nvcc), hint)


def probe_cublaslt() -> Finding:
    """The library that multiplies matrices on a GPU."""
    nvcc = cuda_finding.find_nvcc(cuda_finding.find_driver())
    if nvcc is None:
        return Finding("cublaslt", "optional", "not looked for: there is no nvcc",
                       cuda_finding.INSTALL)
    found = cuda_finding.find_cublaslt(nvcc.version[0], nvcc)
    problem, hint = gpu.cublaslt_problem(found, nvcc)
    if problem:
        return Finding("cublaslt", "optional",
                       f"{problem}; training on an NVIDIA GPU needs it", hint)
    return Finding("cublaslt", "ok", str(found))


def probe_nvrtc() -> Finding:
    """The library that compiles environments for a GPU."""
    try:
        found = nvrtc.find()
    except PufferError as error:
        return Finding("nvrtc", "optional", error.message, error.hint)
    return Finding("nvrtc", "ok", f"{found.version[0]}.{found.version[1]} ({found.path})")


def probe_cuda_trainer() -> Finding:
    """Whether driver, compiler and library fit together, and whether the trainer is compiled."""
    from ..training.native import cuda

    try:
        if gpu.is_emulated():
            return Finding("cuda_trainer", "ok", f"an emulated GPU ({gpu.reason()})")
        found = gpu.examine()
        if found.problem:
            return Finding("cuda_trainer", "optional", f"training runs on the CPU: {found.problem}",
                           found.hint if found.driver else None)
        built = cuda.find_built()
    except PufferError as error:
        return unusable("cuda_trainer", error)
    return Finding("cuda_trainer", "ok", f"{found.reason}; "
                   + ("compiled" if built else "not compiled yet; the first training does it"))
