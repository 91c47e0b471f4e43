"""How trying this machine's GPU ended, kept for the next run.  Readiness <-> Outcome

A success and a failure both hold until what they depend on changes: the driver, the GPUs, CUDA's
libraries, the host's compiler, the C library, this version. training/native/gpu_trial.py tries the
GPU; this file only keeps the result.
"""
from __future__ import annotations

import json
import os
import platform
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from .. import __version__
from ..base import files, paths, records, ui
from ..base.errors import Damaged
from . import compilers, gpu
from .cuda_finding import list_gpus
from .libraries import key_of, prune

NAME, SUFFIX, KEEP = "gpu_trial", ".json", 4
VARIABLES = ("CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER", "CPATH", "CPLUS_INCLUDE_PATH")


@dataclass(frozen=True)
class Outcome:
    """How it ended.

    problem   a part of a sentence; None: the GPU trains
    detail    the compiler's or the driver's own lines
    hint      what helps
    boot      the start of the system that a failure lasts until; "": until something changes
    """

    problem: str | None = None
    detail: str | None = None
    hint: str | None = None
    boot: str = ""


def read(found: gpu.Readiness) -> Outcome | None:
    """What was kept for this machine as it is now; None if it was not tried."""
    if found.problem:
        return None
    with suppress(OSError, Damaged):
        kept = records.read(_file(found), Outcome)
        if kept.boot in ("", this_boot()):
            return kept
    return None


def write(found: gpu.Readiness, outcome: Outcome) -> None:
    with suppress(OSError):                     # without it the next run tries again
        file = _file(found)
        files.mkdir(file.parent)
        files.write(file, json.dumps(asdict(outcome)))
        prune(file.parent, NAME, keep=KEEP, spare=file, suffix=SUFFIX)


def choose_device(precision: str) -> tuple[str, str]:
    """train.device = auto of the native trainer -> ("cuda" or "cpu", why).

    precision   train.precision
    """
    device, why = gpu.choose_device("auto", precision=precision)
    kept = read(gpu.examine()) if device == "cuda" else None
    return ("cpu", kept.problem) if kept and kept.problem else (device, why)


def warn_of_unused(reason: str) -> None:
    """A warning where `auto` chose the CPU on a machine that has a GPU which nobody has hidden.

    reason   why it did
    """
    found = gpu.examine()
    hidden = os.environ.get("CUDA_VISIBLE_DEVICES") in ("", "-1")
    if hidden or (found.problem and not list_gpus()):
        return
    if found.problem:
        ui.warn_once(f"this machine lists a GPU, and the network trains on the CPU: {reason}",
                     hint=found.hint)
    else:
        warn_of_failure(reason)


def warn_of_failure(reason: str) -> None:
    ui.warn_once(f"the GPU cannot be used, and the network trains on the CPU: {reason}; "
                 "puffer-sdk doctor says more")


def this_boot() -> str:
    """What names the time since the system was started; "" where it has no name."""
    with suppress(OSError):
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    return ""


def _file(found: gpu.Readiness) -> Path:
    libraries = (found.runtime.library if found.runtime else None,
                 found.compiler.path if found.compiler else None, found.cublaslt)
    parts = [__version__, repr(found.driver), str(found.runtime), str(found.compiler),
             *map(_stamp, libraries), compilers.find_compiler().key, "-".join(platform.libc_ver()),
             *(os.environ.get(name, "") for name in VARIABLES), *_sources()]
    return paths.cache_dir() / "trainer" / f"{NAME}-{key_of((), parts)}{SUFFIX}"


def _stamp(path: Path | str | None) -> str:
    return f"{path} {os.stat(path).st_mtime_ns}" if path else ""


def _sources() -> list[str]:
    """The trainer's files, for those who change them."""
    return [_stamp(path) for name in ("kernels", "trainer")
            for path in sorted(paths.data_dir(name).rglob("*")) if path.is_file()]
