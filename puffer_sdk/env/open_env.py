"""Open an environment by its folder or name: the public build, configure, load and make."""
from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from ..base import paths
from ..base.errors import UsageError
from ..base.number_limits import whole_number
from ..settings import config
from ..settings.values import Config
from . import binding, header
from . import build as building
from .copies import make_copies
from .library import Library
from .vec import VecEnv, VecOptions


def build(env: paths.Env | None = None, settings: Mapping[str, object] | None = None, *,
          ini: Path | None = None, verbose: bool = False) -> building.Build:
    """Compile ENV (a folder or a name) into its library; write build/NAME_config.h.

    settings    {"env.size": 9}: over the ini's, for NAME_config.h
    ini         a file of settings over the environment's own ini
    Raises UsageError for a refused setting, BuildError with the author's file and line.
    """
    folder = paths.find_env(env)
    built = building.build(folder, verbose=verbose)
    resolved = config.resolve(folder, settings, spec=built.spec, over=[ini] if ini else [])
    binding.write_config_header(built.spec, resolved.env, built.library.parent)
    return built


def configure(env: paths.Env | None = None, settings: Mapping[str, object] | None = None, *,
              ini: Path | None = None) -> Config:
    """Every setting of ENV (a folder or a name): defaults, its ini, the file `ini`, and these
    settings, each over those before.

        config = puffer_sdk.configure("my_env", {"train.learning_rate": 0.02})
        config.train.learning_rate, config["train.gamma"], config.env["size"]

    Raises UsageError naming the setting, what was expected and the nearest valid one.
    """
    folder = paths.find_env(env)
    return config.resolve(folder, settings, header.find(folder), over=[ini] if ini else [])


def load(env: paths.Env, *, verbose: bool = False) -> Library:
    """Build the environment if it changed, and open its library."""
    folder = paths.find_env(env)
    return Library(building.build(folder, verbose=verbose).library, folder)


def make(env: paths.Env | None = None, *, num_envs: int | None = None,
         total_agents: int | None = None, seed: int = 0, threads: int = 1, num_buffers: int = 1,
         env_settings: Mapping[str, float] | None = None, checked: bool = False) -> VecEnv:
    """A VecEnv of the environment ENV (a folder or a name), built if it changed.

    num_envs        copies; or give total_agents, the rows of all copies together
    seed            each copy's own seed derives from it and the copy's index
    threads         how many step at a time; the result does not depend on it
    env_settings    [env] values over those of the ini
    checked         step() refuses to begin before a reset, actions that no head has or the mask
                    forbids, and observations and rewards that are not finite; it takes longer.
                    Otherwise C gets what it is given: a game that was never begun, an index out
                    of range, a NaN that spreads. Trainers act legally and look by themselves
    Raises UsageError, BuildError.
    """
    if isinstance(env, str) and ":" in env and not Path(env).is_dir():
        raise UsageError(f"'{env}' is a Python environment; make() opens C ones",
                         hint=f"puffer_sdk.wrap({env!r}, num_envs=64) gives the same arrays")
    folder = paths.find_env(env)
    overrides = {f"env.{key}": str(value) for key, value in (env_settings or {}).items()}
    built = building.build(folder)
    settings = config.resolve(folder, overrides, spec=built.spec)
    library = Library(built.library, folder)
    if num_envs is not None and total_agents is not None:
        raise UsageError("give num_envs or total_agents, not both")
    options: VecOptions = {"seed": seed, "threads": threads, "num_buffers": num_buffers,
                           "env_settings": settings.env, "checked": checked}
    if total_agents is not None:
        return VecEnv(library, total_agents=total_agents, **options)
    copies = whole_number("num_envs", 1 if num_envs is None else num_envs, 1, 2**31 - 1)
    return make_copies(library, copies, **options)
