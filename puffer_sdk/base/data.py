"""Where the package's own data are, and how paths are shown, as texts.  a name -> a folder

paths.py gives them as Path; importing pathlib takes a tenth of the time of `puffer-sdk --help`.
"""
from __future__ import annotations

import os

PACKAGE = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))       # puffer_sdk/


def folder(name: str) -> str:
    """A data folder that wheels carry inside the package and checkouts keep beside it.

    name: 'templates', 'kernels', 'trainer', 'examples' or 'docs'.
    """
    inside = os.path.join(PACKAGE, "data", name)
    return inside if os.path.isdir(inside) else os.path.join(os.path.dirname(PACKAGE), name)


def shown(path: str | os.PathLike[str]) -> str:
    """A path as a reader here would type it: relative where it lies below, else absolute."""
    path, here = os.path.realpath(path), os.getcwd()
    return os.path.relpath(path, here) if path.startswith(os.path.join(here, "")) else path


def page(name: str) -> str:
    """A page of the documentation as messages name it. `puffer-sdk --help` says where docs/ is."""
    return f"docs/{name}"
