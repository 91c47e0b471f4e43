"""The context of the numbers.  a Subject -> settings, environment and machine, JSON-able"""
from __future__ import annotations

import os
import platform
from collections.abc import Mapping
from functools import cache
from importlib import metadata
from pathlib import Path

from .. import __version__
from ..settings.table import AUTO, KEYS
from ..settings.texts import show
from ..settings.values import Config
from ..toolchain import compilers
from .keeping import Facts


@cache
def machine() -> Facts:
    """The machine and the compiler that the numbers were measured with."""
    from ..settings.automatic import available_cores

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


def settings_table(config: Config, defaults: Mapping[str, object] | None = None
                   ) -> list[Facts]:
    """Every setting: its value, its default, and where the value comes from.

    defaults    of this kind of environment, in place of the table's
    differs     it was set to a value other than the default; [env] has no defaults
    """
    rows = []
    for full, value in config.items():
        key = KEYS.get(full) if not full.startswith("env.") else None
        origin = config.origin.get(full, "")
        default = None if key is None else show((defaults or {}).get(full, key.default))
        chosen = origin.startswith("auto: ")
        if chosen and key is not None and key.default != AUTO:     # that of its kind
            default = show(value)
        differs = key is not None and not chosen and origin != "" and show(value) != default \
            and full != "base.env_name"
        rows.append({"name": full, "value": show(value), "default": default, "origin": origin,
                     "differs": differs})
    return rows


def environment(about: Facts, determinism: Facts, spec_hash: str | None) -> Facts:
    """What an agent sees and does, from the running environment, else from what it states."""
    unknown = dict.fromkeys(("agents_per_env", "obs_size", "obs_dtype", "act_sizes", "mask_size",
                             "has_truncations", "log_names"))
    return {**unknown, **about, **(determinism.get("about") or {}), "spec_hash": spec_hash}
