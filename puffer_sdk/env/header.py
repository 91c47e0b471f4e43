"""An environment's C, read in a child process.  NAME.h (or a hand-written binding.c) -> Spec

The child (limited.py, reader.py) may take 30 s and 2 GB. What it read is kept until one of the
files changes.
"""
from __future__ import annotations

import hashlib
import os
from contextlib import suppress
from pathlib import Path

from ..base import limited, paths
from ..base.errors import BuildError, DialectError, PufferError
from ..base.records import Json
from ..base.spec import Spec
from . import probe

Found = tuple[Spec | None, list[PufferError]]
_known: dict[Path, tuple[str, list[str], Found]] = {}   # folder -> signature, files, what was read


def read(folder: Path) -> Spec:
    """The Spec of the environment in folder. Raises BuildError with the first problem."""
    spec, problems = inspect(folder)
    if problems or spec is None:
        raise problems[0]
    return spec


def find(folder: Path) -> Spec | None:
    """The Spec, if one can be made; who builds it will say why not."""
    with suppress(BuildError):
        return inspect(folder)[0]
    return None


def inspect(folder: Path) -> Found:
    """The Spec, if one can be made, and all problems in order of their lines. Raises BuildError
    where reading takes too much."""
    folder = Path(folder).resolve()
    flags = probe.clang_flags(folder)
    if folder in _known:
        signature, files, (spec, problems) = _known[folder]
        if signature == _sign(folder, flags, files):
            return spec, list(problems)
    return ask(folder)[:2]


def files_of(folder: Path) -> list[Path]:
    """The files that were read for the Spec: the header and all that it includes, the compiler's
    own, too. Raises BuildError."""
    inspect(folder)
    return [Path(name) for name in _known[Path(folder).resolve()][1]]


def ask(folder: Path, target: str = "puffer_sdk.env.answers:answer"
        ) -> tuple[Spec | None, list[PufferError], Json]:
    """As inspect, read anew, and all that the child has answered.

    target  what the child calls: env/answers.py's `answer`, or what adds to it
    """
    folder = Path(folder).resolve()
    header, flags = paths.header_of(folder), probe.clang_flags(folder)
    answer = limited.call(target, {"folder": str(folder), "flags": flags}, what=header.name,
                          where=header)
    spec = _spec(answer["spec"]) if answer["spec"] else None
    problems: list[PufferError] = [_problem(*each) for each in answer["problems"]]
    _known[folder] = _sign(folder, flags, answer["files"]), answer["files"], (spec, problems)
    return spec, list(problems), answer


def refusal(problems: list[PufferError]) -> PufferError | None:
    """Of all problems, what leaves nothing to check: an environment for another interface, or one
    that no rule names, such as a compiler's. What else is wrong stands below it."""
    if not problems or problems[0].code is not None:
        return None
    first, *others = problems
    if others:
        first.detail = "\n".join(filter(None, [first.detail, "also refused:", *(
            f"{p.where}: {p.message}" + (f" ({p.code})" if p.code else "") for p in others)]))
    return first


def _sign(folder: Path, flags: list[str], files: list[str]) -> str:
    """Changes with the files that were read, and with what else lies in the author's folder."""
    names = {*os.listdir(folder)} - {paths.build_dir(folder).name}      # the first build makes it
    made = hashlib.sha256(repr((flags, sorted(names))).encode(errors="replace"))
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


def _spec(facts: Json) -> Spec:
    """A Spec as the child's JSON has it."""
    import msgspec

    return msgspec.convert(facts, Spec, dec_hook=lambda kind, value: kind(value))


def _problem(kind: str, parts: Json, lacking: str | None, upgrade: str | None) -> BuildError:
    error = (DialectError if kind == DialectError.__name__ else BuildError)(**parts)
    error.header, error.upgrade = lacking, upgrade
    return error
