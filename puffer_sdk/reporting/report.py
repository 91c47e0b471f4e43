"""A report for reviewers of an environment.  ENV -> report.html, .md, .json

    done = report("my_env")
    done.html, done.markdown    the page; the summary for a pull request
    done.data                   the data (JSON-able), with timings under the key "timings"
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
from typing import TypeAlias

from ..base import drafts, files, paths
from ..base.errors import FINDINGS, OK, Interrupted, UsageError
from ..env import child_process
from ..training.metrics import without_nan
from . import comparing, report_page, stages, summary
from .keeping import HINT, Facts, Keeper
from .subject import Subject, open_subject

Named: TypeAlias = str | os.PathLike[str] | None        # an environment or a file
SEEDS = 3
MOST_SEEDS = 32


@dataclass(frozen=True)
class Report:
    """A report, and where its three files are."""

    env: str
    html: Path
    markdown: Path
    json: Path
    data: Facts = field(repr=False)
    problems: list[str]
    seconds: float                          # how long it took
    kept: list[str] = field(repr=False)     # stages that an earlier report had measured

    @property
    def exit_status(self) -> int:
        return FINDINGS if self.problems else OK


def report(env: Named = None, settings: Mapping[str, object] | None = None, *,
           ini: Path | None = None, seeds: int = SEEDS, compare: Named = None, output: Named = None,
           fresh: bool = False, verbose: bool = False) -> Report:
    """Measure ENV (a folder, a name, or a Python environment: "gymnasium:ID"), and write the
    results.

    ini       a file of settings over the environment's own ini
    seeds     number of trainings, with seeds from train.seed on
    compare   an earlier report's .html or .json, or another environment, which is measured too
    output    the page, or a folder for it; the summary (.md) and the data (.json) go next to it
              [build/report.html of the environment; runs/NAME/report.html of a Python one]
    fresh     measure everything again; otherwise results for the same sources and settings are
              reused, also those of an interrupted report
    A part that fails (an environment that cannot be drawn, no emcc) is reported in a sentence.
    Raises UsageError before anything runs; BuildError if the header does not compile for
    reasons that no rule of `check` covers.
    """
    began = time.perf_counter()
    if not 1 <= seeds <= MOST_SEEDS:
        raise UsageError("--seeds is out of range", expected=f"1 to {MOST_SEEDS}", actual=seeds)
    subject = open_subject(env, settings, ini, verbose=verbose)
    target = _target(output, subject.made)
    base = _open_base(compare, settings, ini, verbose)
    try:
        keeper = Keeper(subject.kept, fresh=fresh)
        data = stages.measure(subject, keeper, seeds, verbose=verbose)
        pictures = read_pictures(data, keeper.folder)
        if compare is not None and base is not None:
            before = base if isinstance(base, dict) else stages.measure(
                base, Keeper(base.kept, fresh=fresh), seeds, verbose=verbose)
            data["comparison"] = comparing.compare(before, data, _base_name(compare))
    except Interrupted as error:
        raise Interrupted("interrupted; the results so far are kept", status=error.exit_status,
                          hint="run the same command again to continue") from None
    data = without_nan(data)
    _write(target, data, pictures)
    return Report(subject.name, target, target.with_suffix(".md"), target.with_suffix(".json"),
                  data, summary.problems(data), time.perf_counter() - began, keeper.taken)


def _target(output: Named, made: Path) -> Path:
    """The path of the page. Raises UsageError if it cannot be written there."""
    if output is None:
        target = paths.writable(made, purpose="the report") / "report.html"
        for suffix in (".json", ".md", ".html"):
            files.refuse(target.with_suffix(suffix))
        return target
    target = files.typed(output)
    if target.is_dir():
        target = target / "report.html"
    if target.suffix not in (".html", ".htm"):
        raise UsageError("invalid report file "
                         "name", where=target, expected="FILE.html, or a folder",
                         actual=target.name)
    for suffix in (".json", ".md", target.suffix):
        drafts.check(target.with_suffix(suffix), "the report")
    return target


def _open_base(compare: Named, settings: Mapping[str, object] | None, ini: Path | None,
               verbose: bool) -> Facts | Subject | None:
    """The base's data, or the environment to measure for it."""
    if compare is None:
        return None
    if Path(compare).is_file():
        return comparing.load(Path(compare))
    try:
        return open_subject(compare, settings, ini, verbose=verbose)
    except UsageError as error:
        error.message = f"--compare {os.fspath(compare)}: {error.message}"
        raise


def _base_name(compare: str | os.PathLike[str]) -> str:
    """The user's name for the base. Absolute paths are shortened: others will read the page."""
    path = Path(compare)
    return str(Path(*path.parts[-2:])) if path.is_absolute() else os.fspath(compare)


def read_pictures(data: Facts, folder: Path) -> dict[str, bytes]:
    """The GIFs that exist. Removes their paths from the data."""
    return {name: files.read(files.below(folder, found.pop("file"), "the picture"))
            for name, found in data["pictures"].items() if "file" in found}


def _write(target: Path, data: Facts, pictures: Mapping[str, bytes]) -> None:
    """Write all three files, the page last. A signal waits until they are written."""
    text = json.dumps(data, indent=1, sort_keys=True, allow_nan=False) + "\n"
    documents = {target.with_suffix(".json"): text,
                 target.with_suffix(".md"): report_page.markdown(data, target.name),
                 target: report_page.render(data, pictures)}
    with child_process.Signals() as signals:
        for path, document in documents.items():
            files.save(path, document, what="the report", hint=HINT)
    if signals.received:
        raise Interrupted("interrupted; the report was written", status=signals.status)
