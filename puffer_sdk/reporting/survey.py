"""Try every environment of a folder.  a PufferLib checkout -> a row and a picture each, a page

    result = survey("../PufferLib", output="ocean")
    result.passed           only where every part of every row passed

For each environment: build it, step it at random, check it, record it; with options, compile all of
its programs, train on it, and compare eval with training. A part that fails does not stop the other
parts or rows. Of the checkout, only the environments' build/ folders are written.
"""
from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from ..base import files, paths, ui
from ..base.errors import BuildError, Interrupted, NotAnEnv, PufferError, UsageError
from ..checking import check
from ..env import build, child_process, lacking
from ..env.child_pipe import Link
from ..env.job import EnvJob
from ..pictures import record
from ..settings import config
from . import report_page, try_env
from .keeping import Facts
from .try_env import caught

STEPS = 1_000_000       # agent steps that the rate is measured over ...
SECONDS = 10.0          # ... or as many as this long gives
AGENTS = 256
TICKS = 150             # of a picture
WIDTH = 360             # pixels
# parts that say less than an error -> the verdict where nothing else is wrong
LATE = {"recording": "recording failed", "drawing": "drawing was not tested",
        "agreement": "eval differs from training",
        "learning": "does not beat random play", "compared": "eval was not compared"}


@dataclass
class Row:
    """What one environment did. None: an earlier part failed."""

    name: str
    folder: str                                 # relative to the checkout
    obs: str | None = None                      # "121 u8"
    actions: str | None = None                  # "5", or "9x5"
    agents: int | None = None                   # of one env
    rate: float | None = None                   # agent steps a second, random actions, one thread
    check: str | None = None                    # "pass", "fail"
    findings: list[Facts] = field(default_factory=list)         # severity, code, message, place
    not_tested: dict[str, str] = field(default_factory=dict)
    picture: str | None = None                  # relative to the page
    files: dict[str, str] = field(default_factory=dict)         # name -> git's hash of the file
    programs: dict[str, str] = field(default_factory=dict)      # target -> "" or why it failed
    training: list[Facts] = field(default_factory=list)         # try_env.learn()
    agreement: list[Facts] = field(default_factory=list)        # try_env.agree()
    problems: dict[str, str] = field(default_factory=dict)      # part -> why it failed

    @property
    def passed(self) -> bool:
        return not self.problems and self.check == "pass"

    @property
    def verdict(self) -> str:
        """"passed", "found 2 errors", or the first part that failed: a picture counts late, what
        it learns last."""
        part = self._part()
        errors = sum(finding["severity"] == "error" for finding in self.findings)
        if part is None:
            return f"found {errors} error{'s' * (errors > 1)}" if errors else "passed"
        return LATE.get(part, f"{part} failed")

    @property
    def reason(self) -> str:
        """Why, as a sentence, where a part failed; else empty."""
        part = self._part()
        return self.problems[part] if part else ""

    def _part(self) -> str | None:
        """Of the parts that failed, the one that the verdict names; None: the findings decide."""
        errors = any(finding["severity"] == "error" for finding in self.findings)
        failed = [part for part in self.problems if part not in LATE]
        failed += [] if errors else [part for part in LATE if part in self.problems]
        return failed[0] if failed else None

    def to_dict(self) -> Facts:
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


def survey(source: str | os.PathLike[str], output: str | os.PathLike[str] = "ocean-survey", *,
           only: Sequence[str] = (), budget: float = 1.0, programs: bool = False,
           train: int | None = None,
           on_row: Callable[[Row], object] = lambda row: None) -> Survey:
    """Try the environments in source/ocean, or in source itself.

    only        names; [all]
    budget      factor on the length of check's experiments
    programs    compile the desktop, web and CUDA programs, too
    train       agent steps to train each for; then its play is compared with random play, and eval
                with training
    on_row      called with each Row when it is done
    Raises UsageError where there is no environment, or none of a given name.
    """
    source, output = files.typed(source), files.typed(output)
    found = find(source)
    missing = [name for name in only if name not in {folder.name for folder in found}]
    if missing:
        raise UsageError(f"there is no environment {missing[0]}", where=source,
                         expected=", ".join(folder.name for folder in found))
    with files.refused("cannot write the survey", where=output, hint="choose another --output"):
        files.mkdir(output)
    done = Survey([], output / "index.html", output / "survey.json")
    for folder in found:
        if not only or folder.name in only:
            with ui.without_warnings():         # hundreds, of settings that change no row
                row = try_one(folder, source, output, budget)
                if programs and "build" not in row.problems:
                    try_programs(folder, row)
                if train and not {"build", "stepping"} & set(row.problems):
                    try_training(folder, row, train, output / "runs")
            number_as_before(folder, row)
            done.rows.append(row)
            _write(done, source)        # after each one: Ctrl-C loses none
            on_row(row)
    return done


def _write(done: Survey, source: Path) -> None:
    passed = sum(row.passed for row in done.rows)
    files.write(done.page, report_page.template("reporting/survey.html.jinja").render(
        rows=done.rows, passed=passed, source=source.name))
    files.write(done.json, json.dumps({"commit": try_env.commit_of(source), "passed": passed,
                                       "rows": [row.to_dict() for row in done.rows]}, indent=1))


def find(source: Path) -> list[Path]:
    """All folders of source/ocean, or those of source that are environments. Raises UsageError if
    none is an environment."""
    for place in (source / "ocean", source):
        found = sorted(filter(paths.is_env_folder, place.glob("*")))
        if found and place is not source:
            return sorted(path for path in place.glob("[!.]*") if path.is_dir())
        if found:
            return found
    raise UsageError("no environments found", where=source,
                     expected="ocean/NAME/NAME.h, as in a PufferLib 4.0 checkout")


def try_one(folder: Path, source: Path, output: Path, budget: float = 1.0) -> Row:
    """One environment's row. Raises no PufferError but Interrupted."""
    row = Row(folder.name, str(folder.relative_to(source)), files=try_env.files_of(folder))
    try:
        built = build.build(paths.find_env(folder))
        job = EnvJob.of(built, config.resolve(folder, spec=built.spec))
    except Interrupted:
        raise
    except PufferError as error:
        row.problems["build"] = why_not_built(error, folder)
        return row
    with caught(row.problems, "stepping"):
        seen = child_process.run("puffer_sdk.reporting.survey:step_work", job,
                                 lambda kind, payload: None, cwd=paths.working_dir(folder))
        row.obs, row.actions, row.agents, row.rate = (
            seen[key] for key in ("obs", "actions", "agents", "rate"))
    with caught(row.problems, "check"):
        result = check.check(folder, budget=budget, prove=False)
        row.check, row.not_tested = result.verdict, result.not_tested
        row.findings = [{"severity": f.severity, "code": f.code, "message": f.message,
                         "place": f"{f.file}:{f.line}" if f.line else f.file}
                        for f in result.findings]
    with caught(row.problems, "recording"):
        made = record.record(folder, {"eval.episodes": 1},      # an ini may ask for 10,000
                             gif=output / f"{folder.name}.gif", model=None, ticks=TICKS,
                             width=WIDTH, force=True)
        if made.missing:                # what stands in for them is no picture of the environment
            row.problems["drawing"] = f"not tested: no texture {', '.join(made.missing)}"
        else:
            row.picture = f"{folder.name}.gif"
    return row


def why_not_built(error: PufferError, folder: Path) -> str:
    """One sentence: what is missing, or what the compiler says, and where."""
    if isinstance(error, BuildError) and error.header:
        home = paths.home_of_header(error.header, folder)
        return f"{error.where} includes {error.header}, which is " + (
            f"in {home}; [build] include = {home} of the ini finds it there" if home else
            "not in the checkout; [build] include of the ini names the folder that has it")
    if isinstance(error, BuildError) and error.upgrade:
        absent = " and ".join(f"{header} ({where})"
                              for header, where in lacking.headers(folder).items())
        return (f"{error.message}; {error.upgrade} rewrites it"
                + f"; it also includes {absent}, not in the checkout" * bool(absent))
    if isinstance(error, NotAnEnv):
        return f"it needs {error.expected}, and has {error.actual}"
    return error.message + (f" ({error.where})" if error.where else "")


def number_as_before(folder: Path, row: Row) -> None:
    """Lines as the files had them before `bind --upgrade` changed them."""
    before = try_env.before_upgrade(folder)
    for finding in row.findings:
        finding["message"] = before(finding["message"])
        finding["place"] = finding["place"] and before(finding["place"])
    for texts in (row.problems, row.programs, *row.training):
        texts |= {name: before(text) for name, text in texts.items() if isinstance(text, str)}


def try_programs(folder: Path, row: Row) -> None:
    """Compile the programs into the row."""
    with caught(row.problems, "programs"):
        row.programs = try_env.build_all(folder)
    for name, why in row.programs.items():
        if why:
            row.problems[f"{name} program"] = why


def try_training(folder: Path, row: Row, steps: int, runs_dir: Path) -> None:
    """Train, evaluate and compare into the row."""
    row.training = try_env.learn(folder, row.agents or 1, steps, runs_dir)
    with caught(row.problems, "comparison"):
        row.agreement = try_env.agree(folder, row.agents or 1, runs_dir)
    judge(row)


def judge(row: Row) -> None:
    """What the row's training and comparison mean for its verdict."""
    last = row.training[-1]
    if "problem" in last:
        row.problems["training"] = last["problem"]
    elif not last["learnt"]:
        row.problems["learning"] = _not_learnt(last)
    apart = [each for each in row.agreement if not each["agrees"]]
    if apart:
        row.problems["agreement"] = "; ".join(
            f"{each['name']} {each['training']:.4g} in training, {each['eval']:.4g} in eval"
            for each in apart)
    if not row.agreement and "comparison" not in row.problems:
        row.problems["compared"] = "too little was logged to compare eval with training"


def _not_learnt(attempt: Facts) -> str:
    if attempt["measure"] is None:
        return "the environment logs nothing that play could be judged by"
    return (f"after {attempt['steps']:,} steps, {attempt['measure'].replace('_', ' ')} is "
            f"{attempt['trained'][0]:.4g}; of random play it is {attempt['random'][0]:.4g}")


def step_work(job: EnvJob, link: Link) -> Facts:
    """In the child: step at random, for STEPS agent steps or SECONDS."""
    import numpy as np

    from ..env.agent_slots import random_actions
    from ..env.copies import make_copies

    library, settings = job.open(), job.config.env
    agents = library.agents_per_env(settings, link.watches())
    rng = np.random.default_rng(0)
    with make_copies(library, max(1, AGENTS // agents), link.watches(),
                     env_settings=settings) as vec:
        vec.reset()
        began, steps, seconds = time.perf_counter(), 0, 0.0
        while steps < STEPS and seconds < SECONDS:
            vec.actions[:] = random_actions(vec, rng)
            vec.step()
            steps += vec.num_agents
            seconds = time.perf_counter() - began
        about = vec.description
        kind = {"uint8": "u8", "int32": "i32"}.get(about.obs_dtype.name, "f32")
        return {"obs": f"{about.obs_size} {kind}", "rate": steps / seconds, "agents": agents,
                "actions": "x".join(map(str, about.act_sizes))}
