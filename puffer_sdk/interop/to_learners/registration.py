"""Names for gymnasium.make and make_vec.  import puffer_sdk -> "puffer/breakout"

Importing Gymnasium takes a third of a second, and most of what imports puffer_sdk needs none of it.
So the names are registered when both have been imported, in either order.
"""
from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from importlib.abc import Loader

GYMNASIUM = "gymnasium"
NAMESPACE = "puffer"


def register(env: str | os.PathLike[str], name: str | None = None) -> str:
    """Give ENV (a name or folder) a name for gymnasium.make and make_vec. Returns it.

        name = puffer_sdk.register("envs/my_env")           # "puffer/my_env"
        gymnasium.make(name, render_mode="rgb_array")
        gymnasium.make_vec(name, num_envs=64, autoreset="same_step")

    Keywords of make are those of PufferEnv, and of make_vec those of PufferVector.
    Raises UsageError where there is no such environment.
    """
    from ...base import paths

    folder = paths.find_env(env)
    name = f"{NAMESPACE}/{folder.name}" if name is None else name
    _register(name, str(folder))
    return name


def register_examples() -> None:
    """The environments that come with the package."""
    from ...base import paths

    for folder in sorted(paths.data_dir("examples").glob("*")):
        if paths.is_env_folder(folder):
            _register(f"{NAMESPACE}/{folder.name}", folder.name)


def _register(name: str, env: str) -> None:
    import gymnasium

    gymnasium.envs.registration.registry.pop(name, None)        # again, without a warning
    gymnasium.register(name, entry_point="puffer_sdk.interop.to_learners.gymnasium_env:PufferEnv",
                       vector_entry_point="puffer_sdk.interop.to_learners.gymnasium_vector:PufferVector",
                       kwargs={"env": env})


def register_when_imported() -> None:
    """register_examples now, or as soon as Gymnasium is imported."""
    if GYMNASIUM in sys.modules:
        register_examples()
    elif not any(isinstance(finder, _Waiting) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Waiting())


class _Waiting:
    """Finds Gymnasium as others would, and registers once it has been imported.

    A finder by its method: importlib.abc's base classes take 10 ms of each command's start.
    """

    def find_spec(self, fullname: str, path: Sequence[str] | None = None,
                  target: ModuleType | None = None) -> ModuleSpec | None:
        if fullname != GYMNASIUM:
            return None
        import importlib.util

        if self in sys.meta_path:
            sys.meta_path.remove(self)
        spec = importlib.util.find_spec(GYMNASIUM)
        if spec is not None and spec.loader is not None:
            spec.loader = _Loader(spec.loader)  # type: ignore[assignment]  # one by its methods
        return spec


class _Loader:
    def __init__(self, loader: Loader):
        self.loader = loader

    def __getattr__(self, name: str) -> object:
        return getattr(self.loader, name)

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self.loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        if module.__spec__ is not None:
            module.__spec__.loader = self.loader
        module.__loader__ = self.loader
        self.loader.exec_module(module)
        register_examples()
