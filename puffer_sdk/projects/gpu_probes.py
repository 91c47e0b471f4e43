"""What training on an NVIDIA GPU needs.  the machine -> Findings"""
from __future__ import annotations

from ..base.errors import PufferError
from ..toolchain import cuda_finding, gpu, nvrtc
from .probe_program import Finding, unusable


def probe_gpu() -> Finding:
    """The driver, and the first GPU."""
    driver = cuda_finding.find_driver()
    if driver is None:
        return Finding("gpu", "optional", "no NVIDIA driver; training runs on the CPU")
    problem, hint = gpu.driver_problem(driver)
    if problem:
        return Finding("gpu", "optional", problem, hint)
    usable, count = gpu.usable_gpus(driver, None), len(driver.gpus)
    first = usable[0][1]
    if count == len(usable):
        several = f"{count} GPUs, the first: " if count > 1 else ""
    else:
        several = f"{count} GPUs, of which {len(usable)} can train: "
    return Finding("gpu", "ok", f"{several}{first.name} (sm_{first.arch}), "
                   f"{first.memory / 2**30:.0f} GiB, driver for CUDA "
                   + cuda_finding.shown(driver.version))


def probe_nvcc() -> Finding:
    """The CUDA compiler that would be used, and whether it fits the driver."""
    driver = cuda_finding.find_driver()
    nvcc = cuda_finding.find_nvcc(driver)
    problem, hint = gpu.nvcc_problem(nvcc, driver)
    if nvcc is None:
        return Finding("nvcc", "optional", f"{problem}; training on an NVIDIA GPU needs it", hint)
    return Finding("nvcc", "optional" if problem else "ok", problem or str(nvcc), hint)


def probe_cublaslt() -> Finding:
    """The library that multiplies matrices on a GPU."""
    driver = cuda_finding.find_driver()
    nvcc = cuda_finding.find_nvcc(driver)
    if nvcc is None:
        return Finding("cublaslt", "optional", "not looked for: there is no nvcc",
                       gpu.toolkit_hint(driver))
    found = cuda_finding.find_cublaslt(nvcc.version[0], nvcc)
    problem, hint = gpu.cublaslt_problem(found, nvcc, driver)
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
    """Whether the trainer compiles for this machine's GPU and learns on it: it is tried, whatever
    was found before."""
    from ..training.native import gpu_trial

    try:
        if gpu.is_emulated():
            return Finding("cuda_trainer", "ok", f"an emulated GPU ({gpu.reason()})")
        outcome = gpu_trial.try_gpu(again=True)
    except PufferError as error:
        return unusable("cuda_trainer", error)
    if outcome.problem:
        return Finding("cuda_trainer", "optional", f"training runs on the CPU: {outcome.problem}",
                       outcome.hint if cuda_finding.find_driver() else None, outcome.detail)
    return Finding("cuda_trainer", "ok", f"trains on {gpu.examine().reason}")
