"""Which files of code settings run, and whether they may.  FILE.py:NAME -> a file

The environment's ini and the command line may name any file; a run, a checkpoint or a sweep only
what those name now, or what this user's own command recorded (base/trust.py). Every file is checked
here before it is imported.
"""
from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Protocol

from ..base import files, trust
from ..base.errors import PufferError
from . import inifile
from .table import FUNCTIONS
from .values import Config

KEY = "policy.torch_class"
RUN = {KEY: "train, eval and check import it", **dict.fromkeys(FUNCTIONS, "train calls it"),
       "check.test": "check --mutate runs it"}


class Source(Protocol):
    """What is read here of interop/python_envs/env_source.py's sources."""

    @property
    def folder(self) -> Path | None: ...

    @property
    def over(self) -> Iterable[Path]: ...

    def own_inis(self) -> Iterable[Path]: ...


def specs(config: Config | Mapping[str, Any]) -> dict[str, str]:
    """{"policy.torch_class": "net.py:Net"}: the Python code that settings name, by full names. In:
    a Config, or settings by full names, or {section: {key: value}} as a checkpoint has them."""
    def of(full: str) -> object:
        section, _, key = full.partition(".")
        if isinstance(config, Mapping) and isinstance(part := config.get(section), Mapping):
            return part.get(key)
        return config.get(full) if isinstance(config, Mapping) else config[full]

    return {full: str(spec) for full in (KEY, *FUNCTIONS) if (spec := of(full))}


def functions(config: Config | Mapping[str, Any]) -> list[str]:
    """Those that training alone calls."""
    return [spec for full, spec in specs(config).items() if full != KEY]


def absolute(spec: str, folder: Path | None) -> str:
    """FILE.py:CLASS with the whole path of the file: next to the header, or in this folder; as it
    was where there is no such file."""
    file, colon, name = spec.rpartition(":")
    for parent in filter(None, (folder, Path.cwd())):
        path = os.path.join(parent, os.path.expanduser(file))
        if file and os.path.isfile(path):
            return f"{files.real(path)}{colon}{name}"
    return spec


def name(spec: object, folder: Path | None) -> None:
    """The command line or an ini of the environment names this class: it may be run."""
    if spec and isinstance(spec, str):
        trust.name(_thing(absolute(spec, folder)))


def named(config: Config, folder: Path | None, theirs: bool) -> Config:
    """The same settings; their code may be run, unless they come from a run or a sweep."""
    if not theirs:
        name_all(config, folder)
    return config


def name_all(config: Config | Mapping[str, Any], folder: Path | None) -> None:
    """The command line or an ini of the environment names all code of these: it may be run."""
    for spec in specs(config).values():
        name(spec, folder)


def name_given(source: Source, settings: Mapping[str, object] | None = None) -> None:
    """name() for what a source's inis and these settings of the command line say; the last counts.
    """
    said = read_named([*source.own_inis(), *source.over]) | dict(settings or {})
    name_all(said, source.folder)


def read_named(inis: Iterable[Path]) -> dict[str, str]:
    """{"policy.torch_class": "net.py:Net"}: code that inis name (RUN); the last one counts. Faults
    of the inis are not reported here."""
    found: dict[str, str] = {}
    for path in inis:
        with contextlib.suppress(PufferError):
            found |= {name: entry.text for entry in inifile.read(path)[0]
                      if (name := f"{entry.section}.{entry.key}") in RUN and entry.text}
    return found


def find(spec: str, where: object = None) -> str:
    """The FILE.py:CLASS to run for one that data names: itself, or a trusted one of the same file
    name, so that a project can be moved.

    where   the file that names it, for the error
    Raises UsageError where a terminal does not answer that it may be run.
    """
    thing = _thing(spec)
    if trust.is_named(thing):
        return spec
    for known in trust.names():
        if os.path.basename(known) == os.path.basename(thing):
            return known
    trust.require(thing, what="the settings name Python code that you did not name",
                  where=where or "policy.torch_class", verb="run")
    return spec


def _thing(spec: str) -> str:
    file, _, class_name = spec.rpartition(":")
    return f"{os.path.realpath(os.path.expanduser(file))}:{class_name}"
