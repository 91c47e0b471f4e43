"""`check --replay FILE`: compile a repro program again and run it.  a .c file -> lines, status"""
import os
import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from ...base import paths
from ...base.errors import FINDINGS, OK, BuildError, RunError, UsageError, did_you_mean
from ...base.spec import Spec
from ...env import header
from . import program as repro

UNABLE = 2              # the program's status when it could not play


@dataclass(frozen=True)
class Program:
    """A repro program as check wrote it."""

    source: Path
    text: str
    expect: str         # what should hold: one of puffer_repro.h's expectations
    spec: Spec          # the environment as it is now


class Replay(NamedTuple):
    """What a replay showed: lines with their styles, and `check`'s exit status."""

    lines: list[tuple[str, str | None]]
    exit_status: int


def replay(file: str | os.PathLike[str], env: str | os.PathLike[str] | None = None, *,
           verbose: bool = False) -> Replay:
    """Compile FILE against the environment as it is now, and run it.

    file    a path, or one relative to the folder of `env`
    Status 1 if it still fails, 0 if it passes. Raises UsageError for a file that check did not
    write, BuildError when it does not compile, RunError when it could not play.
    """
    program = find(file, env)
    source, spec = program.source, program.spec
    flags = repro.flags_of(program.expect)
    try:
        executable = repro.compile_source(spec, source, source.with_suffix(""), flags,
                                          verbose=verbose)
    except BuildError as error:
        error.hint = error.hint or "if sizes or functions have changed, check again instead"
        raise
    run = repro.run_program(executable, spec, {})
    if run.status == UNABLE:
        raise RunError(f"{source.name} could not play", where=source,
                       detail=run.result.whole if run.result else run.stderr.strip()[:500],
                       hint="run check again: it writes the program anew")
    if run.status == 0:
        return Replay([(run.stdout.strip() or "passed", "bold green")], OK)
    return Replay(list(_failure_lines(run, spec.folder, verbose)), FINDINGS)


def find(file: str | os.PathLike[str], env: str | os.PathLike[str] | None = None) -> Program:
    """Read FILE, a path or one relative to the folder of `env`, and its environment.

    Raises UsageError for a file that check did not write.
    """
    source = _find(Path(file), paths.find_env(env) if env is not None else None)
    text = paths.text(source)
    expect = re.search(r'\.expect = "([\w-]+)"', text)
    if repro.MARK not in text.partition("\n")[0] or expect is None:
        raise UsageError(f"{source.name} was not written by check", where=source,
                         expected=f"a first line that says {repro.MARK}",
                         actual=text.partition("\n")[0][:60] or "an empty file",
                         hint="puffer-sdk check writes build/check/repro_PUFnnn.c")
    spec = header.read(_env_folder(source, text))
    repro.binding_path(spec)
    return Program(source, text, expect[1], spec)


def _find(file: Path, folder: Path | None) -> Path:
    for path in (file, folder / file if folder else file):
        if path.is_file():
            return path.resolve()
    near = (folder / file if folder and not file.is_absolute() else file).parent
    known = sorted(path.name for path in near.glob("repro_PUF???.c")) if near.is_dir() else []
    raise UsageError(f"there is no file {file}", where=near,
                     hint=did_you_mean(file.name, known) or
                     "puffer-sdk check writes one for each error that it can show again")


def _env_folder(source: Path, text: str) -> Path:
    """The environment that a program belongs to: two folders up, or where its command stands."""
    if len(source.parents) > 2 and paths.is_env_folder(source.parents[2]):
        return source.parents[2]
    stands = re.search(r"^//     cd (.+)$", text, re.MULTILINE)
    folder = Path(shlex.split(stands[1])[0]) if stands else source.parent
    if not paths.is_env_folder(folder):
        raise UsageError(f"the environment of {source.name} is not there", where=folder,
                         hint="run check again: it writes the program anew")
    return folder


def _failure_lines(run: repro.Run, folder: Path, verbose: bool) -> Iterator[tuple[str, str | None]]:
    """What the program said, then what a sanitizer said: its sentence, and the author's lines."""
    ended = "it did not come to its end" if run.status is None else f"status {run.status}"
    yield run.result.whole if run.result else f"the program failed ({ended})", "bold red"
    if verbose:
        for line in run.stderr.splitlines():
            yield f"  {line}", "dim"
        return
    said = re.search(r"runtime error: (.*)|(?:ERROR|WARNING): (\w+Sanitizer: "
                     r"(?:data race|[\w-]+))", run.stderr)
    if said:
        yield f"  {said[1] or said[2]}", None
    for line in repro.own_frames(run.stderr, folder):
        yield f"  | {line}", "dim"
