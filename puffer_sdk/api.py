"""The public functions that need more than one stage. `puffer_sdk.build` and friends live here."""
from __future__ import annotations

from collections.abc import Mapping

from . import building, config, paths


def build(env=None, settings: Mapping[str, object] | None = None, *,
          verbose: bool = False) -> building.Build:
    """Compile ENV (a folder or a name) into its library; write build/NAME_config.h.

    settings    {"env.size": 9}: over the ini's, for NAME_config.h
    Raises UsageError for a refused setting, BuildError with the author's file and line.
    """
    folder = paths.find_env(env)
    built = building.build(folder, verbose=verbose)
    resolved = config.resolve(folder, settings, spec=built.spec)
    building.binding.write_config_header(built.spec, resolved.env, built.library.parent)
    return built
