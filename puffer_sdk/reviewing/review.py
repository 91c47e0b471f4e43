"""Review an untrusted environment.  a folder or a patch -> Review

    review("their_env")                     check, in a sandbox
    review("0001-new-env.patch")            applied to a copy of this checkout, then the same

reviewed_copy.py makes a copy. sandbox.py runs puffer-sdk on it, isolated from this machine;
resource_meter.py limits it; inside.py runs there. The output comes from where untrusted code ran:
it is validated, and shown without control characters.
"""
from __future__ import annotations

import base64
import json
import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path

from ..base import files, paths, ui
from ..base.errors import BUG, FINDINGS, OK, RUN, UsageError
from ..base.records import Json
from ..checking.collect.c import driver
from ..checking.report import beyond
from ..settings import config, outside_libraries, torch_class
from ..settings.table import KEYS
from ..toolchain.libraries import are_intact
from . import inside, reviewed_copy, sandbox
from .resource_meter import Ended, Limits
from .sandbox import Sandbox

STEPS = ("check", "build", "train", "report")
DONE_WORDS = {OK: "done", FINDINGS: "done, with findings", 2: "refused", 3: "did not build",
              4: "failed", 5: "met a bug of puffer-sdk"}
KEPT = 40               # lines of a step's output that are kept


@dataclass
class Step:
    """What one puffer-sdk command did to one environment."""

    name: str
    status: int
    seconds: float
    lines: list[tuple[str, str | None]]     # what it printed, and a style


@dataclass
class EnvReview:
    """One environment's verdict."""

    name: str
    folder: str                             # in the folder or patch that is reviewed
    steps: list[Step] = field(default_factory=list)
    check: Json | None = None               # the document of `check --format json`
    asked: list[str] = field(default_factory=list)  # beyond its game: "fopen /x: Permission denied"
    outside: int = 0                        # places of PUF115, those that the author allows as well
    named: list[str] = field(default_factory=list)  # by its ini, beside its C: what commands run
    cause: str | None = None                # what ended the review early
    peak_memory: int = 0
    peak_processes: int = 0
    seconds: float = 0.0
    files: dict[str, bytes] = field(default_factory=dict)       # of the report

    @property
    def exit_status(self) -> int:
        return max([RUN if self.cause else OK, *(step.status for step in self.steps)])

    @property
    def verdict(self) -> str:
        return "pass" if self.exit_status == OK else "fail"

    def to_dict(self) -> dict[str, Json]:
        return {"name": self.name, "folder": self.folder, "verdict": self.verdict,
                "exit_status": self.exit_status, "cause": self.cause,
                "steps": [{"name": step.name, "status": step.status,
                           "seconds": step.seconds,
                           **({} if step.name == "check" and self.check else
                              {"lines": [text for text, _ in step.lines]})}
                          for step in self.steps],
                "named": self.named, "check": self.check, "seconds": round(self.seconds, 3),
                "peak_memory": self.peak_memory, "peak_processes": self.peak_processes}


@dataclass
class Review:
    """The verdict of each environment, and of all."""

    envs: list[EnvReview]
    sandbox: str                            # "bwrap", "unshare" or "none"
    limits: Limits
    changed: tuple[str, ...] = ()           # by the patch
    beside: tuple[str, ...] = ()            # changed files to read by hand, as those of no env

    @property
    def exit_status(self) -> int:
        return max(env.exit_status for env in self.envs)

    @property
    def verdict(self) -> str:
        return "pass" if self.exit_status == OK else "fail"

    def to_dict(self) -> dict[str, Json]:
        return {"verdict": self.verdict, "exit_status": self.exit_status,
                "sandbox": self.sandbox, "limits": asdict(self.limits),
                "envs": [env.to_dict() for env in self.envs],
                "changed": list(self.changed), "beside": list(self.beside)}


def review(source: str | Path | bytes, *, base: Path | None = None, box: Sandbox | None = None,
           limits: Limits | None = None, strict: bool = False, budget: float = 1.0,
           build: bool = False, train: int = 0, report: bool = False,
           on_progress: Callable[[str, int, int], None] | None = None) -> Review:
    """Check an untrusted environment.

    source      a folder; or a patch, as a file or as its bytes
    base        the folder that a patch applies to; None: the current git checkout
    box         from sandbox.find(); Sandbox("none") runs the code without isolation
    strict, budget      as for check
    build, train, report    also run these commands; train: for so many steps
    Raises UsageError for what cannot be reviewed, and if there is no sandbox.
    """
    box = box or sandbox.find()
    limits = limits or Limits()
    steps = _steps({"strict": strict, "budget": budget}, build, train, report)
    with files.private("puffer-review-") as name:
        place = files.real(name)
        if box.name != "none":
            place.chmod(0o755)
        copy = _copy(source, base, place / "in", limits)
        envs = []
        for number, env in enumerate(copy.envs):
            if on_progress:
                on_progress("reviewing", number, len(copy.envs))
            for line in _linked(copy.folder / env):
                ui.say(f"{env}: {line}")
            scratch = place / f"scratch-{number}"
            files.mkdir(scratch)
            envs.append(_review_env(env, copy, box, limits, steps, scratch))
    return Review(envs, box.name, limits, copy.changed, copy.beside)


def _steps(options: Mapping[str, object], build: bool, train: int, report: bool
           ) -> list[inside.Step]:
    """What inside.py will run: a function and its words."""
    command = "puffer_sdk.__main__:run"
    steps: list[inside.Step] = [
        {"name": "check", "words": ["puffer_sdk.reviewing.inside:check_main", "{env}",
                                    json.dumps(options)]}]
    if build:
        steps.append({"name": "build", "words": [command, "build", "{env}"]})
    if train:
        steps.append({"name": "train", "words": [command, "train", "{env}",
                                                 "--train.total-timesteps", str(train)]})
    if report:
        steps.append({"name": "report", "files": True,
                      "words": [command, "report", "{env}", "--output", "{out}/report.html"]})
    return steps


def _copy(source: str | Path | bytes, base: Path | None, target: Path, limits: Limits
          ) -> reviewed_copy.Copy:
    files.mkdir(target)
    if not isinstance(source, bytes):
        path = Path(os.path.expanduser(source))
        if path.is_dir():
            if base is not None:
                raise UsageError("--base is for patches", where=path, expected="a patch",
                                 actual="a folder")
            return reviewed_copy.copy_folder(path, target, limit=limits.disk // 2)
        if not path.is_file():
            raise UsageError("nothing to review", where=path,
                             expected="a folder or a patch", actual="neither")
        try:
            source = paths.content(path)
        except OSError as error:
            raise UsageError("the patch cannot be read", where=path,
                             detail=error.strerror or str(error)) from None
    return reviewed_copy.apply_patch(source, base, target, limit=limits.disk // 2)


def _review_env(env: str, copy: reviewed_copy.Copy, box: Sandbox, limits: Limits,
                steps: list[inside.Step], scratch: Path) -> EnvReview:
    """One environment in its own sandbox: it cannot change the verdict of another."""
    apart = box.name != "none"
    inputs = {"/in": copy.folder}
    caches = {}
    for number, name in enumerate(_caches(steps)):
        place = paths.cache_dir() / name
        if place.is_dir() and are_intact(place):
            inputs[f"/cache/{number}"] = place
            caches[name] = f"/cache/{number}" if apart else str(place)
    job = {"source": "/in" if apart else str(copy.folder), "env": env, "steps": steps,
           "caches": caches}
    ended = box.run(sandbox.python("puffer_sdk.reviewing.inside:main"), inputs=inputs,
                    scratch=scratch, limits=limits, stdin=json.dumps(job).encode())
    return read_outcome(env, copy.folder, ended, steps)


def _caches(steps: list[inside.Step]) -> list[str]:
    """Cache folders that save these steps a minute of compiling, or a download."""
    wanted = {step["name"] for step in steps}
    found = []
    if wanted & {"check", "report"}:
        for kind in (driver.FAST, driver.SANITIZED):
            driver.build_program(kind)
        found.append(driver.program_folder().relative_to(paths.cache_dir()).as_posix())
    if wanted & {"train", "report"}:
        found.append("trainer")
    if "report" in wanted:
        found.append("raylib")
    return found


def _named(folder: Path) -> list[str]:
    """What the inis of an environment name that commands run outside of the sandbox."""
    named = torch_class.read_named(config.own_inis(folder))
    return [plain(f"{KEYS[name].shown} = {text}: {torch_class.RUN[name]}")
            for name, text in named.items()] + _linked(folder)


def _linked(folder: Path) -> list[str]:
    """What its ini gives to the compiler: headers and libraries of others."""
    with suppress(UsageError):          # that check reports
        return [plain(f"{entry}: given to the compiler, and opened with the environment")
                for entry in outside_libraries.read(folder).entries]
    return []


# -- reading the output --------------------------------------------------------------


def read_outcome(env: str, root: Path, ended: Ended, steps: list[inside.Step]) -> EnvReview:
    """The document of inside.py as an EnvReview. Anything unexpected in it fails the review."""
    folder = files.real(root / env)
    name = folder.name
    seen = EnvReview(name, env, cause=ended.cause, seconds=ended.seconds, named=_named(folder),
                     peak_memory=ended.peak_memory, peak_processes=ended.peak_processes)
    if ended.cause:
        return seen
    try:
        document = plain(json.loads(ended.stdout.decode("utf-8", "replace")))
        if document.get("failed"):
            seen.cause = f"the sandbox failed: {document['failed']}"
            return seen
        for step in steps:
            seen.steps.append(_read_step(step["name"], document["steps"][step["name"]], seen))
        for file, data in document["files"].items():
            seen.files[file] = base64.b64decode(data, validate=True)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        said = plain(ended.stderr.decode(errors="replace")).strip().splitlines()
        seen.cause = "its result cannot be read" + (f": {said[-1]}" if said else "")
    return seen


def _read_step(name: str, facts: Mapping[str, Json], seen: EnvReview) -> Step:
    status, seconds = int(facts["status"]), float(facts["seconds"])
    if status < 0 or status > BUG:
        status = RUN
    if name == "check" and facts["stdout"].strip().startswith("{"):
        found = json.loads(facts["stdout"])
        lines = [(plain(str(text)), style if style in STYLES else None)
                 for text, style in found["lines"]]
        seen.check = found["check"]
        coverage = (seen.check or {}).get("coverage") or {}
        asked = coverage.get("asked") or ()
        seen.outside = beyond.count((seen.check or {}).get("findings"),
                                    coverage.get("suppressed"), more=coverage.get("more"))
        seen.asked = [" ".join(plain(beyond.answer(one)).split()) for one in asked]
        # A verdict must match the status
        if (found["verdict"] == "pass") != (status == OK):
            raise ValueError("the verdict contradicts the status")
        return Step(name, status, seconds, lines)
    said = (facts["stdout"] if status == OK else facts["stderr"] + facts["stdout"]).strip()
    lines = [(text, None) for text in said.splitlines()[-KEPT:]
             if not text.startswith("next ")]           # useless outside
    if name == "check" and status == OK:
        raise ValueError("a check without a report")
    return Step(name, status, seconds, lines)


STYLES = {"bold red", "bold yellow", "bold green", "dim", "cyan", "yellow"}


def plain(item: Json) -> Json:
    """The same without control characters: text from inside must not control a terminal."""
    if isinstance(item, str):
        return "".join(c if c.isprintable() or c in "\n\t" else "\N{REPLACEMENT CHARACTER}"
                       for c in item)
    if isinstance(item, list):
        return [plain(each) for each in item]
    if isinstance(item, dict):
        return {plain(key): plain(value) for key, value in item.items()}
    return item
