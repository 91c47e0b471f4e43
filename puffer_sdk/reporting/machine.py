"""The context of the numbers.  a Subject -> settings, environment and machine, JSON-able"""
from __future__ import annotations

import os
import platform
from functools import cache
from importlib import metadata
from pathlib import Path

from .. import __version__
from ..settings.config import Config
from ..settings.table import KEYS, show
from ..toolchain import compilers


@cache
def machine() -> dict:
    """The machine and the compiler that the numbers were measured with."""
    from ..settings.consistency import available_cores

    compiler = compilers.find_compiler()
    return {"cpu": _cpu(), "cores": available_cores(), "memory_gib": _memory(),
            "system": f"{platform.system()} {platform.machine()}",
            "compiler": compiler.banner or f"{compiler.kind} {compiler.version}",
            "python": platform.python_version(),
            "numpy": metadata.version("numpy"), "puffer_sdk": __version__}


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


def settings_table(config: Config) -> list[dict]:
    """Every setting: its value, its default, and where the value comes from.

    differs     it was set to a value other than the default; [env] has no defaults
    """
    rows = []
    for full, value in config.items():
        key = KEYS.get(full) if not full.startswith("env.") else None
        origin = config.origin.get(full, "")
        default = None if key is None else show(key.default)
        chosen = origin.startswith("auto: ")
        differs = key is not None and not chosen and origin != "" and show(value) != default \
            and full != "base.env_name"
        rows.append({"name": full, "value": show(value), "default": default, "origin": origin,
                     "differs": differs})
    return rows


def environment(subject, determinism: dict) -> dict:
    """What an agent sees and does, from the running environment, else from the header."""
    spec, about = subject.spec, determinism.get("about") or {}
    flags = subject.build.command[1:] if subject.build else []
    plain = [flag for flag in flags if "/" not in flag and flag not in ("-o", "-include")
             and not flag.startswith("-DPUFFER")]
    return {"struct": spec.struct if spec else None,
            "binding": "written by hand" if spec and spec.binding else "generated",
            "agents_per_env": about.get("agents_per_env"),
            "obs_size": about.get("obs_size", spec.obs_count if spec else None),
            "obs_dtype": about.get("obs_dtype"),
            "act_sizes": about.get("act_sizes", list(spec.act_widths or ()) if spec else None),
            "mask_size": about.get("mask_size"), "has_truncations": about.get("has_truncations"),
            "log_names": about.get("log_names", list(spec.log_names) if spec else None),
            "spec_hash": spec.hash() if spec else None, "flags": plain}
