"""An environment's C, read in a child process.  NAME.h (or a hand-written binding.c) -> Spec

The child (limited.py, reader.py) may take 30 s and 2 GB. What it read is kept until one of the
files changes.
"""
from __future__ import annotations

import hashlib
import os
from dataclasses import fields
from pathlib import Path

from ..base import limited, paths
from ..base.errors import BuildError, DialectError, PufferError
from ..base.spec import CField, FinalObs, Remark, Spec
from . import probe

_known: dict[Path, tuple[str, list[str], tuple]] = {}   # folder -> signature, files, what was read


def read(folder: Path) -> Spec:
    """The Spec of the environment in folder. Raises BuildError with the first problem."""
    spec, problems = inspect(folder)
    if problems:
        raise problems[0]
    return spec


def inspect(folder: Path) -> tuple[Spec | None, list[PufferError]]:
    """The Spec, if one can be made, and all problems in order of their lines. Raises BuildError
    where reading takes too much."""
    folder = Path(folder).resolve()
    flags = probe.clang_flags(folder)
    if folder in _known:
        signature, files, found = _known[folder]
        if signature == _sign(folder, flags, files):
            return found[0], list(found[1])
    return ask(folder)[:2]


def ask(folder: Path, target: str = "puffer_sdk.env.answers:answer") -> tuple:
    """As inspect, read anew, and all that the child has answered.

    target  what the child calls: env/answers.py's `answer`, or what adds to it
    """
    folder = Path(folder).resolve()
    header, flags = paths.header_of(folder), probe.clang_flags(folder)
    answer = limited.call(target, {"folder": str(folder), "flags": flags}, what=header.name,
                          where=header)
    spec = answer["spec"] and _spec(answer["spec"])
    problems = [_problem(*each) for each in answer["problems"]]
    _known[folder] = _sign(folder, flags, answer["files"]), answer["files"], (spec, problems)
    return spec, list(problems), answer


def refusal(problems: list[PufferError]) -> PufferError | None:
    """Of all problems, what leaves nothing to check: an environment for another interface, or one
    that no rule names, such as a compiler's. What else is wrong stands below it."""
    first, others = (problems or [None])[0], problems[1:]
    refused = first is not None and first.code is None
    if refused and others:
        first.detail = "\n".join(filter(None, [first.detail, "also refused:", *(
            f"{p.where}: {p.message}" + (f" ({p.code})" if p.code else "") for p in others)]))
    return first if refused else None


def _sign(folder: Path, flags: list[str], files: list[str]) -> str:
    """Changes with the files that were read, and with what else lies in the author's folder."""
    made = hashlib.sha256(repr((flags, sorted(os.listdir(folder)))).encode(errors="replace"))
    for name in files:
        try:
            facts = os.stat(name)
        except OSError:
            made.update(b"gone")
            continue
        made.update(repr((name, facts.st_mtime_ns, facts.st_size, facts.st_ino)).encode(
            errors="replace"))
        if folder in Path(name).parents:
            made.update(paths.content(name))
    return made.hexdigest()


def _spec(facts: dict) -> Spec:
    """A Spec as the child's JSON has it."""
    def rows(kind, each):
        return tuple(kind(**row) for row in each)

    made = {"folder": Path(facts["folder"]), "header": Path(facts["header"]),
            "fields": rows(CField, facts["fields"]),
            "log_fields": rows(CField, facts["log_fields"]),
            "remarks": rows(Remark, facts["remarks"]),
            "functions": {name: tuple(place) for name, place in facts["functions"].items()},
            "macro_lines": {name: tuple(place) for name, place in facts["macro_lines"].items()},
            "act_widths": facts["act_widths"] and tuple(facts["act_widths"]),
            "binding": facts["binding"] and Path(facts["binding"]),
            "final_obs": facts["final_obs"] and FinalObs(**facts["final_obs"]),
            "enums": tuple(tuple(map(tuple, enum)) for enum in facts["enums"])}
    return Spec(**{each.name: made.get(each.name, facts[each.name]) for each in fields(Spec)})


def _problem(kind: str, parts: dict, lacking: str | None, upgrade: str | None) -> BuildError:
    error = (DialectError if kind == DialectError.__name__ else BuildError)(**parts)
    error.header, error.upgrade = lacking, upgrade
    return error
