"""What the child of base/limited.py is asked about an author's C.  a request -> JSON"""
from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path

from ..base.limited import PARTS
from .reader import Reader


def answer(request: dict) -> dict:
    """For the child: what header.inspect returns."""
    reader = Reader(Path(request["folder"]), flags=request["flags"])
    spec, problems = reader.run()
    return {"spec": spec and asdict(replace(spec, enums=tuple(reader.enums()))),
            "problems": [[type(error).__name__, {name: getattr(error, name)
                                                 for name in PARTS}]
                         for error in problems],
            "files": reader.files()}


def parses(request: dict) -> bool:
    """For the child: True once libclang has read a file; all that the caller, which
    reads it again, must know."""
    from clang import cindex

    cindex.Index.create().parse(request["main"], args=request["flags"],
                                unsaved_files=list(request["unsaved"].items()),
                                options=request["options"])
    return True
