"""Everything that a reviewer would ask of an environment.  ENV -> report.html, .md, .json

    done = report("my_env")
    done.html, done.markdown    the page; the summary for a pull request
    done.data                   the same as JSON-able data, timings under the key "timings"
    done.problems               why its status is 1; empty for a sound environment


Two reports of the same sources and settings differ only in their timings.
"""
from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from ..base import files, paths
from ..base.errors import FINDINGS, OK, Interrupted, UsageError
from ..env import child
from ..training import runs
from ..training.metrics import without_nan
from . import comparing, page, stages, summary
from .keeping import HINT, Keeper
from .subject import Subject, open_subject

SEEDS = 3
MOST_SEEDS = 32


@dataclass(frozen=True)
class Report:
    """A report, and where its three files are."""

    env: str
    html: Path
    markdown: Path
    json: Path
    data: dict = field(repr=False)
    problems: list[str]
    seconds: float                          # that this took
    kept: list[str] = field(repr=False)     # stages that an earlier report had measured

    @property
    def exit_status(self) -> int:
        return FINDINGS if self.problems else OK


def report(env=None, settings: Mapping[str, object] | None = None, *, seeds: int = SEEDS,
           compare: str | os.PathLike | None = None, output: str | os.PathLike | None = None,
           fresh: bool = False, verbose: bool = False) -> Report:
    """Measure ENV (a folder or a name), and write what was found.

    seeds     trainings, from train.seed on
    compare   an earlier report's .html or .json, or another environment, measured likewise
    output    the page, or a folder for it; the summary (.md) and the data (.json) go beside it
              [build/report.html of the environment]
    fresh     measure everything anew; otherwise what an earlier report has measured of the same
              sources and settings is taken over, also what an interrupted one has
    What fails in one part (an environment that cannot be drawn, no emcc) is said in a sentence.
    Raises UsageError before anything runs; BuildError where the header does not compile for
    reasons that no rule of `check` names.
    """
    began = time.perf_counter()
    if not 1 <= seeds <= MOST_SEEDS:
        raise UsageError("--seeds is out of range", expected=f"1 to {MOST_SEEDS}", actual=seeds)
    subject = open_subject(env, settings, verbose=verbose)
    target = _target(output, subject.folder)
    base = _open_base(compare, settings, verbose)
    try:
        keeper = Keeper(subject.folder, fresh=fresh)
        data = stages.measure(subject, keeper, seeds, verbose=verbose)
        pictures = read_pictures(data, keeper.folder)
        if base is not None:
            before = base if isinstance(base, dict) else stages.measure(
                base, Keeper(base.folder, fresh=fresh), seeds, verbose=verbose)
            data["comparison"] = comparing.compare(before, data, _base_name(compare))
    except Interrupted as error:
        raise Interrupted("interrupted; what was measured is kept", status=error.exit_status,
                          hint="the same command goes on from there") from None
    data = without_nan(data)
    _write(target, data, pictures)
    return Report(subject.name, target, target.with_suffix(".md"), target.with_suffix(".json"),
                  data, summary.problems(data), time.perf_counter() - began, keeper.taken)


def _target(output: str | os.PathLike | None, folder: Path) -> Path:
    """Where the page goes. Raises UsageError where it cannot."""
    if output is None:
        return paths.writable(paths.build_dir(folder), purpose="the report") / "report.html"
    target = Path(output).absolute()
    if target.is_dir():
        target = target / "report.html"
    if target.suffix not in (".html", ".htm"):
        raise UsageError("a report is a page", where=target, expected="FILE.html, or a folder",
                         actual=target.name)
    for suffix in (".json", ".md", target.suffix):
        files.check(target.with_suffix(suffix), "the report")
    return target


def _open_base(compare: str | os.PathLike | None, settings: Mapping[str, object] | None,
               verbose: bool) -> dict | Subject | None:
    """The base's data, or the environment that is to be measured for it."""
    if compare is None:
        return None
    if Path(compare).is_file():
        return comparing.load(Path(compare))
    try:
        return open_subject(compare, settings, verbose=verbose)
    except UsageError as error:
        error.message = f"--compare {os.fspath(compare)}: {error.message}"
        raise


def _base_name(compare: str | os.PathLike) -> str:
    """What the user called the base; of an absolute path its end, since a page travels."""
    path = Path(compare)
    return str(Path(*path.parts[-2:])) if path.is_absolute() else os.fspath(compare)


def read_pictures(data: Mapping, folder: Path) -> dict[str, bytes]:
    """The GIFs that there are; from here on the data does not say where."""
    return {name: (folder / found.pop("file")).read_bytes()
            for name, found in data["pictures"].items() if "file" in found}


def _write(target: Path, data: dict, pictures: Mapping[str, bytes]) -> None:
    """All three, the page last; a signal waits until they are there."""
    text = json.dumps(data, indent=1, sort_keys=True, allow_nan=False) + "\n"
    documents = {target.with_suffix(".json"): text,
                 target.with_suffix(".md"): page.markdown(data, target.name),
                 target: page.render(data, pictures)}
    with child.Signals() as signals:
        for path, document in documents.items():
            runs.write_atomically(path, document, what="the report", hint=HINT)
    if signals.received:
        raise Interrupted("interrupted; the report is written", status=signals.status)
