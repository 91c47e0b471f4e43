"""What training on an NVIDIA GPU needs.  the machine -> Findings"""
from __future__ import annotations

from ..base.errors import PufferError
from ..toolchain import cuda_finding, gpu
from .probe_program import Finding, unusable


def probe_gpu() -> Finding:
    """The driver, and the first GPU."""
    driver = cuda_finding.find_driver()
    if driver is None:
        return Finding("gpu", "optional", "no NVIDIA driver; training runs on the CPU")
    problem, hint = gpu.driver_problem(driver)
    if problem:
        return Finding("gpu", "optional", problem, hint)
    usable, count = gpu.usable_gpus(driver), len(driver.gpus)
    first = usable[0][1]
    if count == len(usable):
        several = f"{count} GPUs, the first: " if count > 1 else ""
    else:
        several = f"{count} GPUs, of which {len(usable)} can train: "
    return Finding("gpu", "ok", f"{several}{first.name} (sm_{first.arch}), "
                   f"{first.memory / 2**30:.0f} GiB, driver for CUDA "
                   + cuda_finding.shown(driver.version))


def probe_cuda() -> Finding:
    """CUDA's runtime, which the trainer is compiled against, and whether it fits the driver."""
    driver = cuda_finding.find_driver()
    runtime = cuda_finding.find_runtime(driver)
    problem, hint = gpu.runtime_problem(runtime, driver)
    return _row("cuda", problem, hint, runtime)


def probe_nvrtc() -> Finding:
    """The compiler for GPUs, and whether it knows this one."""
    found, problem, hint = gpu.find_compiler(cuda_finding.find_driver())
    return _row("nvrtc", problem, hint, f"{cuda_finding.shown(found.version)} ({found.path})"
                if found else None)


def probe_cublaslt() -> Finding:
    """The library that multiplies matrices on a GPU."""
    driver = cuda_finding.find_driver()
    runtime = cuda_finding.find_runtime(driver)
    if runtime is None:
        return Finding("cublaslt", "optional", "not looked for: there is no CUDA runtime",
                       cuda_finding.install_hint(cuda_finding.newest_cuda(driver)))
    found = cuda_finding.find_cublaslt(runtime.version[0], runtime)
    return _row("cublaslt", *gpu.cublaslt_problem(found, runtime), found)


def _row(name: str, problem: str | None, hint: str | None, found: object) -> Finding:
    if problem:
        return Finding(name, "optional", f"{problem}; training on an NVIDIA GPU needs it", hint)
    return Finding(name, "ok", str(found))


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
