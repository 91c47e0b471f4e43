"""Modules and files of users, imported.  "FILE.py:NAME", "MODULE:NAME" -> a callable"""
from __future__ import annotations

import hashlib
import os
import pkgutil
import sys
from collections.abc import Callable
from importlib import import_module, util
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from types import ModuleType
from typing import Any

from ...base.errors import UsageError, did_you_mean


def need(module: str, package: str, more: str = "") -> ModuleType:
    """An imported module, or a UsageError that says what to install. more: besides"""
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        if (error.name or "").split(".")[0] != module.split(".")[0]:
            raise
        raise UsageError(f"{package} is not installed",
                         hint=f"pip install {package}" + (f"; {more}" if more else "")) from None


def find_callable(target: str) -> Callable[..., Any]:
    """The object that FILE.py:NAME or MODULE:NAME names. UsageError where it is not there."""
    where, _, name = target.rpartition(":")
    module = _load_file(Path(where)) if where.endswith(".py") else import_here(where)
    found: object = module
    for part in name.split("."):
        if not hasattr(found, part):
            names = [each for each in vars(module) if not each.startswith("_")
                     and callable(getattr(module, each))]
            raise UsageError(f"{Path(where).name} has no {name}", where=where,
                             hint=did_you_mean(name, names))
        found = getattr(found, part)
    if not callable(found):
        raise UsageError(f"{target} is not a class or function", actual=type(found).__name__,
                         expected="a callable that returns an environment")
    return found


def import_here(name: str, folder: Path | None = None) -> ModuleType:
    """A module by its name; the current folder counts, as for `python -m`, but for no other name:
    what the module imports comes from there only where nothing of that name is installed.

    folder      counts in place of the current one
    """
    here, top = str(folder or os.getcwd()), name.partition(".")[0]
    if here not in sys.path:
        sys.path.append(here)
    found = None if top in sys.modules else PathFinder.find_spec(top, [here])
    try:
        if found and found.origin:              # else a folder without code
            _run_module(found, top)
        return import_module(name)
    except ModuleNotFoundError as error:
        if error.name is None or not (name == error.name or name.startswith(f"{error.name}.")):
            raise
        raise UsageError(f"there is no module {error.name}", where=name,
                         hint=did_you_mean(error.name, _beside(error.name)) or
                         "install the package that has it, or name a file: FILE.py:NAME"
                         ) from None


def _beside(name: str) -> list[str]:
    """The modules of the package in which this one was looked for."""
    package = sys.modules.get(name.rpartition(".")[0])
    return [f"{package.__name__}.{found.name}"
            for found in pkgutil.iter_modules(getattr(package, "__path__", ()))] if package else []


def _load_file(path: Path) -> ModuleType:
    if not path.is_file():
        raise UsageError("there is no such file", where=path)
    name = f"puffer_env_{hashlib.sha256(os.fsencode(path)).hexdigest()[:8]}_{path.stem}"
    if name in sys.modules:
        return sys.modules[name]
    if (path.parent / "__init__.py").is_file():
        return _of_package(path.resolve())
    if str(path.parent) not in sys.path:
        sys.path.append(str(path.parent))       # last: it hides nothing that is installed
    spec = util.spec_from_file_location(name, path)
    if spec is None:
        raise UsageError("this file is no Python module", where=path)
    return _run_module(spec, name)


def _of_package(path: Path) -> ModuleType:
    """A file of a package, under its name there: what it imports of that package is found."""
    top = next(each for each in path.parents if not (each / "__init__.py").is_file())
    name = ".".join(path.relative_to(top).with_suffix("").parts).removesuffix(".__init__")
    module = import_here(name, top)
    if Path(module.__file__ or "").resolve() != path:
        raise UsageError(f"another {name} has been imported", where=path,
                         actual=module.__file__, hint="start a new process")
    return module


def _run_module(spec: ModuleSpec, name: str) -> ModuleType:
    """A new module in sys.modules, whose code has run."""
    module = sys.modules[name] = util.module_from_spec(spec)
    try:
        if spec.loader is not None:
            spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module
