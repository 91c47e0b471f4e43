"""Calls of the user's own code.  FILE.py:NAME -> a module; a call -> its result, or where it failed
"""
from __future__ import annotations

import importlib.util
import inspect
import os
import traceback
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any, NoReturn

from ..base.errors import PufferError, RunError, UsageError

OURS = str(Path(__file__).parents[1]) + os.sep


def place_of(function: Callable[..., object]) -> str | None:
    """"file.py:3", where it is defined."""
    try:
        held = inspect.unwrap(function)
        code = held if inspect.isroutine(held) or inspect.isclass(held) else type(held)
        return f"{inspect.getsourcefile(code)}:{inspect.getsourcelines(code)[1]}"
    except (TypeError, OSError):
        return None


def line_of(error: BaseException) -> str | None:
    """The line of the user's code on which this was raised, or which called what raised it."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__)
              if not frame.filename.startswith((OURS, "<"))
              and f"{os.sep}site-packages{os.sep}" not in frame.filename]
    return f"{frames[-1].filename}:{frames[-1].lineno}" if frames else None


def call(what: str, function: Callable[..., object], *given: object) -> Any:
    """function(*given). Raises RunError, or the error of ours that it met, with its line."""
    try:
        return function(*given)
    except PufferError as error:
        error.where = line_of(error) or error.where
        raise
    except Exception as error:
        raise RunError(f"{what} failed: {type(error).__name__}", detail=str(error),
                       where=line_of(error) or place_of(function)) from error


def module_of(spec: str, key: str) -> ModuleType:
    """The module of a trusted FILE.py:NAME, imported anew. Raises UsageError."""
    def refuse(message: str, **parts: Any) -> NoReturn:
        raise UsageError(f"{key}: {message}", **{"where": spec, **parts})

    path = Path(os.path.expanduser(spec.rpartition(":")[0]))
    if not path.is_file():
        refuse("there is no such file", expected="file.py:NAME", actual=f"'{spec}'")
    found = importlib.util.spec_from_file_location(f"puffer_own_{path.stem}", path)
    if found is None or found.loader is None:
        refuse("the file does not import", expected="file.py:NAME", actual=f"'{spec}'")
    module = importlib.util.module_from_spec(found)
    try:
        found.loader.exec_module(module)
    except Exception as error:
        refuse("the file does not import", where=line_of(error) or spec,
               detail=f"{type(error).__name__}: {error}")
    return module
