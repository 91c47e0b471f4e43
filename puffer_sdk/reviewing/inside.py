"""What runs inside a sandbox.  a job on stdin -> one JSON document on stdout

It copies the input to /tmp, where the environment may write, and runs each step in its own process.
Nothing is decided here: review.py reads the document, and trusts none of it.
"""
from __future__ import annotations

import base64
import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import IO, TypedDict

from ..base.processes import python
from ..base.records import Json
from ..toolchain.libraries import seal_copies

SAID = 16 << 20         # bytes of a step's output that are kept
FILES = 24 << 20        # bytes of a report that come out


class _Words(TypedDict):
    name: str
    words: list[str]


class Step(_Words, total=False):
    """A command to run: a function and its words. files: whether what it writes comes out."""

    files: bool


def main() -> int:
    job = json.load(sys.stdin)
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)                               # what libraries print is not the document
    _be_the_first_to_die()
    work = Path(tempfile.mkdtemp(prefix="work-"))
    Path(os.environ["HOME"]).mkdir(exist_ok=True)
    document: dict[str, Json] = {"steps": {}, "files": {}}
    try:
        _copy_caches(job["caches"])
        project = work / "project"
        shutil.copytree(job["source"], project, symlinks=True, copy_function=shutil.copyfile)
        if not (project / "pyproject.toml").exists():           # where runs/ is looked for
            (project / "pyproject.toml").touch()
        for step in job["steps"]:
            document["steps"][step["name"]] = _run(step, job["env"], project, work / "out",
                                                   document["files"])
    except OSError as error:
        document["failed"] = f"{error.strerror or error}"
    json.dump(document, out)
    out.close()
    return 0


def _be_the_first_to_die() -> None:
    """Whatever runs out of memory on the machine, it is one of these processes."""
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("1000")


def _copy_caches(caches: dict[str, str]) -> None:
    """What this machine has compiled and fetched already: the trainer, raylib, the harness."""
    for name, source in caches.items():
        place = Path(os.environ["PUFFER_CACHE"]) / name
        with contextlib.suppress(OSError, shutil.Error):
            shutil.copytree(source, place, symlinks=True)
            seal_copies(place)


def _run(step: Step, env: str, project: Path, place: Path, files: dict[str, str]
         ) -> dict[str, Json]:
    """A puffer-sdk command: its status, what it printed, and for a report its files."""
    words = [word.replace("{env}", f"./{env}").replace("{out}", str(place))
             for word in step["words"]]
    place.mkdir(exist_ok=True)
    began = time.monotonic()
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        child = subprocess.Popen(python(*words),
                                 stdin=subprocess.DEVNULL, stdout=out, stderr=err, cwd=project,
                                 start_new_session=True)
        try:
            status = child.wait()
        finally:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(child.pid, signal.SIGKILL)
        said = {"stdout": _read(out), "stderr": _read(err)}
    if step.get("files"):
        _collect(place, files)
    return {"status": status, "seconds": round(time.monotonic() - began, 3), **said}


def _read(stream: IO[bytes]) -> str:
    stream.seek(0)
    return stream.read(SAID).decode(errors="replace")


def _collect(folder: Path, files: dict[str, str]) -> None:
    """Files of a report, as base64, up to a size in all."""
    room = FILES
    for path in sorted(folder.rglob("*")):
        if not path.is_symlink() and path.is_file() and path.stat().st_size <= room:
            room -= path.stat().st_size
            files[path.relative_to(folder).as_posix()] = base64.b64encode(
                path.read_bytes()).decode()


def check_main(folder: str, options: str) -> int:
    """The step `check`: the report as a document and as lines, whatever comes of it."""
    from ..base import errors
    from ..checking import check
    from ..checking.report import terminal

    chosen = json.loads(options)
    try:
        result = check.check(folder, prove=False, **chosen)
    except errors.PufferError as error:
        lines = [[text, None] for text in error.lines()]
        print(json.dumps({"lines": lines, "verdict": "fail", "check": None}))
        return error.exit_status
    lines = [list(line) for line in terminal.lines(result, strict=chosen.get("strict", False))]
    print(json.dumps({"lines": lines, "verdict": result.verdict, "check": result.to_dict()}))
    return result.exit_status
