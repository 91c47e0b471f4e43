"""What the child of base/limited.py is asked about an author's C.  a request -> JSON"""
from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path

from ..base.limited import PARTS
from ..base.records import Json
from .reader import Reader


def answer(request: Json) -> Json:
    """For the child: what header.inspect returns."""
    return read(request)[1]


def read(request: Json) -> tuple[Reader, dict[str, Json]]:
    """The reader, for what else there is to ask of it, and the answer."""
    reader = Reader(Path(request["folder"]), flags=request["flags"])
    spec, problems = reader.run()
    return reader, {"spec": spec and asdict(replace(spec, enums=tuple(reader.enums()))),
                    "problems": [[type(error).__name__, {name: getattr(error, name)
                                                         for name in PARTS},
                                  getattr(error, "header", None), getattr(error, "upgrade", None)]
                                 for error in problems],
                    "files": reader.files()}
