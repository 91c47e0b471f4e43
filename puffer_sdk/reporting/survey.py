"""Try every environment of a folder.  a PufferLib checkout -> a row and a picture each, a page

    result = survey("../PufferLib", output="ocean")
    result.passed           only where every part of every row passed

For each environment: build it, step it at random, check it, record it. A part that fails does not
keep the others of its row, or other rows, from being tried. The environments' own build/ folders
are written to; nothing else of the checkout is.
"""
from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from ..base import files, paths
from ..base.errors import PufferError, UsageError
from ..checking import check
from ..env import build, child
from ..env.job import EnvJob
from ..env.link import Link
from ..pictures import record
from ..settings import config
from . import page

STEPS = 1_000_000       # agent steps that the rate is measured over
AGENTS = 256
TICKS = 150             # of a picture
WIDTH = 360             # pixels


@dataclass
class Row:
    """What one environment did. None: it did not get so far."""

    name: str
    folder: str                                 # relative to the checkout
    obs: str | None = None                      # "121 u8"
    actions: str | None = None                  # "5", or "9x5"
    agents: int | None = None                   # of one env
    rate: float | None = None                   # agent steps a second, random actions, one thread
    check: str | None = None                    # "pass", "fail"
    findings: list[dict] = field(default_factory=list)  # severity, code, message, place
    not_tested: dict[str, str] = field(default_factory=dict)
    picture: str | None = None                  # relative to the page
    problems: dict[str, str] = field(default_factory=dict)      # part -> why it failed

    @property
    def passed(self) -> bool:
        return not self.problems and self.check == "pass"

    @property
    def verdict(self) -> str:
        """"passed", "found 2 errors", or the first part that failed: a picture counts last."""
        failed = [part for part in self.problems if part != "recording"]
        errors = sum(finding["severity"] == "error" for finding in self.findings)
        if failed:
            return f"{failed[0]} failed"
        if errors:
            return f"found {errors} error{'s' * (errors > 1)}"
        return "recording failed" if self.problems else "passed"


    def to_dict(self) -> dict:
        """JSON-able, with what follows from the rest."""
        return {**asdict(self), "passed": self.passed, "verdict": self.verdict}


@dataclass
class Survey:
    """All rows, and where they were written."""

    rows: list[Row]
    page: Path
    json: Path

    @property
    def passed(self) -> bool:
        return all(row.passed for row in self.rows)


def survey(source: str | os.PathLike, output: str | os.PathLike = "ocean-survey", *,
           only: Sequence[str] = (), budget: float = 1.0,
           on_row: Callable[[Row], object] = lambda row: None) -> Survey:
    """Try the environments in source/ocean, or in source itself.

    only        names; [all]
    budget      factor on the length of check's experiments
    on_row      called with each Row when it is done
    Raises UsageError where there is no environment, or none of a given name.
    """
    source, output = Path(source).resolve(), Path(output).absolute()
    found = find(source)
    missing = [name for name in only if name not in {folder.name for folder in found}]
    if missing:
        raise UsageError(f"there is no environment {missing[0]}", where=source,
                         expected=", ".join(folder.name for folder in found))
    with files.refused("cannot write the survey", where=output, hint="choose another --output"):
        output.mkdir(parents=True, exist_ok=True)
    rows = []
    for folder in found:
        if not only or folder.name in only:
            rows.append(try_one(folder, source, output, budget))
            on_row(rows[-1])
    html, data = output / "index.html", output / "survey.json"
    passed = sum(row.passed for row in rows)
    files.write(html, page.template("survey.html.jinja").render(
        rows=rows, passed=passed, source=source.name))
    files.write(data, json.dumps({"passed": passed, "rows": [row.to_dict() for row in rows]},
                                 indent=1))
    return Survey(rows, html, data)


def find(source: Path) -> list[Path]:
    """Folders that hold a header of their own name. Raises UsageError if there are none."""
    for place in (source / "ocean", source):
        found = sorted(path for path in place.glob("*") if (path / f"{path.name}.h").is_file())
        if found:
            return found
    raise UsageError("no environments are there", where=source,
                     expected="ocean/NAME/NAME.h, as in a PufferLib 4.0 checkout")


def try_one(folder: Path, source: Path, output: Path, budget: float = 1.0) -> Row:
    """One environment's row; it never raises a PufferError."""
    row = Row(folder.name, str(folder.relative_to(source)))
    try:
        built = build.build(folder)
        job = EnvJob.of(built, config.resolve(folder, spec=built.spec))
    except PufferError as error:
        row.problems["build"] = _told(error)
        return row
    try:
        seen = child.run("puffer_sdk.reporting.survey:step_work", job, lambda kind, payload: None,
                         cwd=paths.working_dir(folder))
        row.obs, row.actions, row.agents, row.rate = (
            seen[key] for key in ("obs", "actions", "agents", "rate"))
    except PufferError as error:
        row.problems["stepping"] = _told(error)
    try:
        result = check.check(folder, budget=budget, prove=False)
        row.check, row.not_tested = result.verdict, result.not_tested
        row.findings = [{"severity": f.severity, "code": f.code, "message": f.message,
                         "place": f"{f.file}:{f.line}" if f.line else f.file}
                        for f in result.findings]
    except PufferError as error:
        row.problems["check"] = _told(error)
    try:
        record.record(folder, gif=output / f"{folder.name}.gif", model=None, ticks=TICKS,
                      width=WIDTH, force=True)
        row.picture = f"{folder.name}.gif"
    except PufferError as error:
        row.problems["recording"] = _told(error)
    return row


def _told(error: PufferError) -> str:
    return (error.message + (f" ({error.where})" if error.where else "")
            + (f"; {error.hint}" if error.hint else ""))


def step_work(job: EnvJob, link: Link) -> dict:
    """In the child: step at random, STEPS agent steps in all."""
    import numpy as np

    from ..env.vec import VecEnv

    library, settings = job.open(), job.config.env
    agents = library.agents_per_env(settings)
    total = max(1, AGENTS // agents) * agents
    rng = np.random.default_rng(0)
    with VecEnv(library, total_agents=total, env_settings=settings, watches=link.watches()) as vec:
        vec.reset()
        began, steps = time.perf_counter(), 0
        while steps < STEPS:
            for head, width in enumerate(vec.act_sizes):
                vec.actions[:, head] = (rng.integers(width, size=total) if width > 1
                                        else rng.uniform(-1, 1, total))
            vec.step()
            steps += total
        seconds = time.perf_counter() - began
        about = vec.description
        kind = "u8" if about.obs_dtype.itemsize == 1 else "f32"
        return {"obs": f"{about.obs_size} {kind}", "rate": steps / seconds, "agents": agents,
                "actions": "x".join(map(str, about.act_sizes))}
