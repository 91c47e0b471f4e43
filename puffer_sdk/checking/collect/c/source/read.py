"""Reads an environment's C files, in a child process.  Folder -> Source

header.py checks declarations; a Source holds the bodies. Both come from one reading.
"""
from pathlib import Path

import msgspec

from .....base import paths
from .....base.errors import PufferError
from .....base.spec import Spec
from .....env import header
from .....env.contract import MOST_BYTES
from . import layout
from .functions import Function, Parameter, Variable
from .model import Source
from .rows import Collected


def examine(folder: Path) -> tuple[Spec | None, list[PufferError], Source]:
    """What header.inspect returns, and the C files, build products left out."""
    spec, problems, answer = header.ask(
        folder, "puffer_sdk.checking.collect.c.source.collecting:of_env")
    source = filled(folder, answer["source"])
    if spec and spec.binding:
        source.binding = spec.binding.name
    return spec, problems, source


def read(folder: Path) -> Source:
    """The Source alone."""
    return examine(folder)[2]


def filled(folder: Path, facts: object) -> Source:
    """A Source of what the child has collected."""
    collected = msgspec.convert(facts, Collected)
    source = Source(Path(folder).resolve())
    for path in paths.c_files(source.folder):
        try:
            source.files[path.name] = paths.content(path, MOST_BYTES).decode("utf-8", "replace")
        except OSError:
            continue
    for name, file, line, body_line, body, parameters, rows in collected["functions"]:
        source.functions[name] = Function(name, file, line, body_line, body,
                                          [Parameter(*each) for each in parameters], rows, source)
    for key, name, file, line, kind, tree in collected["variables"]:
        source.globals[key] = Variable(name, file, line, *kind, rows=tree)
    if collected["layout"] is not None:
        source.layout = layout.restored(collected["layout"])
    return source
