"""What this machine has and lacks.  the machine -> one Finding for each thing"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

from . import gpu_probes, probes, raylib_probes
from .probe_program import Finding

# In the order of the report
PROBES = (
    probes.probe_system,
    probes.probe_python,
    probes.probe_compiler,
    raylib_probes.probe_raylib,
    raylib_probes.probe_raylib_desktop,
    raylib_probes.probe_raylib_headless,
    raylib_probes.probe_raylib_web,
    probes.probe_libclang,
    probes.probe_cache,
    probes.probe_trainer,
    probes.probe_make,
    probes.probe_git,
    probes.probe_torch,
    gpu_probes.probe_gpu,
    gpu_probes.probe_cuda,
    gpu_probes.probe_cublaslt,
    gpu_probes.probe_nvrtc,
    gpu_probes.probe_cuda_trainer,
    probes.probe_emscripten,
    probes.probe_gdb,
    probes.probe_clang,
    probes.probe_valgrind,
)


def examine() -> list[Finding]:
    """Every finding, in the order of the report. The probes run side by side."""
    with ThreadPoolExecutor(len(PROBES)) as pool:
        return list(pool.map(_shielded, PROBES))


def is_healthy(findings: Sequence[Finding]) -> bool:
    """True if everything is there that building and checking an environment needs."""
    return all(item.status in ("ok", "optional") for item in findings)


def _shielded(probe: Callable[[], Finding]) -> Finding:
    try:
        return probe()
    except Exception as error:      # noqa: BLE001   one broken probe must not hide the others
        name = probe.__name__.removeprefix("probe_")
        return Finding(name, "missing", f"could not be examined: {error}")
