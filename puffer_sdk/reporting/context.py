"""The context of the numbers.  a Subject -> settings and environment, JSON-able"""
from __future__ import annotations

from collections.abc import Mapping

from ..settings.table import AUTO, KEYS
from ..settings.texts import show
from ..settings.values import Config
from .keeping import Facts


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
