"""What results were computed with.  this machine -> processor, compiler, versions, JSON-able"""
from __future__ import annotations

import os
import platform
from functools import cache
from importlib import metadata
from pathlib import Path

from .. import __version__
from ..base.errors import BuildError
from ..settings.automatic import available_cores
from ..toolchain import compilers
from .run_records import Machine


@cache
def machine() -> Machine:
    """This machine, its compiler and the versions that results depend on; no name of a host."""
    return {"cpu": _cpu(), "cores": available_cores(), "memory_gib": _memory(),
            "system": f"{platform.system()} {platform.machine()}",
            "compiler": _compiler(),
            "python": platform.python_version(),
            "numpy": metadata.version("numpy"), "puffer_sdk": __version__}


def _compiler() -> str:
    """The first line of its --version; "" where there is none."""
    try:
        compiler = compilers.find_compiler()
    except BuildError:
        return ""
    return compiler.banner or f"{compiler.kind} {compiler.version}"


def _cpu() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            name, _, value = line.partition(":")
            if name.strip() == "model name":
                return " ".join(value.split())
    except OSError:
        pass
    return platform.processor() or platform.machine()


def _memory() -> int | None:
    """Whole GiB; None if unknown."""
    try:
        return round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30)
    except (ValueError, OSError, AttributeError):
        return None
