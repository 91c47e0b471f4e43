"""Run folders: create, describe, list, delete.

    runs/squared/0007/
      run.json            {"status", "tag", "started", "ended", "pid", "pid_started", "host",
                           "step", "total", "evaluation", "code"}: written whole, under a
                           temporary name, then renamed
      config.ini          the resolved settings          spec.json      the header's Spec
      metrics.jsonl       one object per logged epoch    checkpoints/   *.safetensors
      best.safetensors    the best weights, by evaluations (evaluations.py)

Two processes that start at once get two folders: a run is prepared under a hidden name and
renamed to the next free number, which only one of them can take.

status      running, finished, interrupted or failed, by run.json; `killed` if that says running
            and its process is gone; `damaged` if run.json cannot be read
"""
from __future__ import annotations

import errno
import json
import os
import re
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path

from ..base import files, paths, records, ui
from ..base.errors import Damaged, PufferError, RunError, UsageError
from ..interop.python_envs import makers
from ..scoring.kept_scores import Claim
from ..settings import inifile
from .alive import is_alive, is_here, shown, this_process
from .run_records import Info, WithStatus

STATUSES = ("running", "finished", "interrupted", "failed")
Row = dict[str, float | None]       # of metrics.jsonl; None: not finite
SHOWN = 8           # digits of a hash
_TAIL = 1 << 18     # bytes of metrics.jsonl that hold its last record
_MOST = 1 << 24     # bytes of run.json and config.ini


@dataclass(frozen=True)
class Run:
    """One run's folder. Each property reads the file anew: another process may be writing."""

    folder: Path

    @property
    def number(self) -> int:
        return int(self.folder.name)

    @property
    def env(self) -> str:
        """The environment's name, as commands take it: my_env, gymnasium:CartPole-v1."""
        name = self.settings().get("base.env_name", "")
        return name if ":" in name else self.folder.parent.name

    @property
    def is_orphan(self) -> bool:
        """No environment of this name is at hand: perhaps its folder was renamed."""
        beside = self.folder.parents[2] / self.env
        return not (":" in self.env or paths.is_env_folder(beside) or paths.is_env(self.env))

    @property
    def info(self) -> Info:
        """run.json, or {} if it cannot be read."""
        try:
            return self.read_info()
        except (OSError, Damaged):
            return {}

    def read_info(self) -> Info:
        """run.json. Raises OSError, Damaged."""
        path, what = self.folder / "run.json", "the run's state"
        info: Info = records.parse(records.content(path, what, _MOST), path, what)
        records.convert(info, WithStatus, path, what)
        records.convert(info, Info, path, what)
        return info

    @property
    def damage(self) -> Damaged | None:
        """What is wrong with the files that say how the run went, as far as `runs` reads them."""
        try:
            self.read_info()
            self.read_last_metrics()
        except FileNotFoundError as error:
            return Damaged("the run's state is missing", where=error.filename or self.folder)
        except Damaged as error:
            return error
        return None

    @property
    def status(self) -> str:
        return _status(self.info)

    @property
    def tag(self) -> str:
        return str(self.info.get("tag") or "")

    @property
    def started(self) -> datetime | None:
        try:
            return datetime.fromisoformat(self.info.get("started") or "")
        except ValueError:
            return None

    @property
    def config_path(self) -> Path:
        return self.folder / "config.ini"

    @property
    def metrics_path(self) -> Path:
        return self.folder / "metrics.jsonl"

    @property
    def checkpoints_path(self) -> Path:
        return self.folder / "checkpoints"

    @property
    def best_path(self) -> Path:
        """The best weights, by evaluations (evaluations.py); there from the first one on."""
        return self.folder / "best.safetensors"

    def set_status(self, status: str, **facts: object) -> None:
        """Store the status, and facts such as step=4096 or error='...'.

        'running' also stores this process as the one that runs it. Raises RunError.
        """
        if status not in STATUSES:
            raise ValueError(f"{status!r} is not one of {STATUSES}")
        info: dict[str, object] = {**self.info, "status": status, **facts}
        if status == "running":
            info.update(this_process(), ended=None)
        elif "ended" not in facts:
            info["ended"] = _now()
        self._write(info)

    def set_progress(self, **facts: object) -> None:
        """Store facts (step=..., total=...) and keep the status. Raises RunError."""
        self._write({**self.info, **facts})

    def _write(self, info: dict[str, object]) -> None:
        files.save(self.folder / "run.json", json.dumps(info, indent=1) + "\n",
                   what="the run's state")

    def checkpoints(self) -> list[Path]:
        """Finished checkpoints, oldest first by the numbers in their names."""
        def order(path: Path) -> tuple[list[int], str]:
            return [int(part) for part in re.findall(r"\d+", path.name)], path.name
        if self.checkpoints_path.is_symlink():
            return []
        return sorted((path for path in self.checkpoints_path.glob("*.safetensors")
                       if not path.name.startswith(".")), key=order)

    def metrics(self) -> list[Row]:
        """All records, without a line that a killed writer left half. Warns of damaged ones."""
        path, bad = self.metrics_path, []
        found: list[Row] = []
        try:
            *lines, _ = records.content(path, "the metrics", 1 << 30).split(b"\n")
        except FileNotFoundError:
            return []
        except Damaged as error:
            ui.warn_once(f"{error.message}: {error.where}", error.hint)
            return []
        for number, line in enumerate(lines, 1):
            try:
                found.append(_record(line, f"{path}:{number}"))
            except Damaged as error:
                bad.append(str(error.where))
        if bad:
            ui.warn_once(f"{ui.plural(len(bad), 'damaged line')} left out of {path}",
                         details=ui.first(bad, 3))
        return found

    def last_metrics(self) -> Row:
        """The newest record that can be read, or {}; reads only the file's end."""
        try:
            return self.read_last_metrics()
        except Damaged:
            return {}

    def read_last_metrics(self) -> Row:
        """The newest record, or {}. Raises Damaged; reads only the file's end."""
        path = self.metrics_path
        try:
            with records.opened(path, "the metrics"), files.open(path) as file:
                file.seek(max(0, file.seek(0, os.SEEK_END) - _TAIL))
                *lines, _ = file.read().rsplit(b"\n", 2)       # what follows the last is half
        except FileNotFoundError:
            return {}
        return _record(lines[-1], path) if lines else {}

    @property
    def evaluation(self) -> Claim | None:
        """What the run claims at its end; None where it has not come to it, or is of an older
        version."""
        return self.info.get("evaluation")

    @property
    def codes(self) -> tuple[str, ...]:
        """Hashes of its code (provenance.py), the last one's last: the same for runs that are
        repetitions of each other. Empty for a run of an older version."""
        code = self.info.get("code")
        return (*code.get("before", ()), code["hash"]) if code else ()

    def reached(self) -> dict[str, float]:
        """Means of what the run claims, {"perf": 0.98, ..., "n": episodes}; {} without a claim."""
        if not (claim := self.evaluation):
            return {}
        score = claim["trained"]
        means = {name: mean for name, mean in score["mean"].items() if mean is not None}
        return {**means, "n": score["count"]}

    def settings(self) -> dict[str, str]:
        """config.ini as {'train.gamma': '0.99'}, unchecked; {} if it cannot be read."""
        try:
            text = records.content(self.config_path, "the run's settings", _MOST)
            entries, _, _ = inifile.parse(text.decode("utf-8-sig"), self.config_path)
        except (OSError, PufferError, UnicodeError):
            return {}
        return {f"{entry.section}.{entry.key}": entry.text for entry in entries}


def create_run(runs_dir: Path, tag: str = "", total: int | None = None,
               number: int | None = None) -> Run:
    """A new run folder, its status 'running'. Raises RunError.

    number  of the folder, which must not exist; None: the next
    """
    info = {"status": "running", "tag": tag, "started": _now(), "ended": None, **this_process(),
            "step": 0, "total": total}
    draft = None
    try:
        files.mkdir(runs_dir)
        draft = runs_dir / f".new-{os.getpid()}-{os.urandom(4).hex()}"
        files.mkdir(draft / "checkpoints")
        files.write(draft / "run.json", json.dumps(info, indent=1) + "\n")
        if number is None:
            number = max((run.number for run in list_runs(runs_dir)), default=0) + 1
        while not _take(draft, runs_dir / f"{number:04d}"):
            number += 1
    except OSError as error:
        if draft is not None:
            files.rmtree(draft, ignore_errors=True)
        raise RunError("cannot create a run folder", where=runs_dir,
                       detail=error.strerror or str(error),
                       hint="free some space, or choose another place: --runs-dir") from None
    return Run(runs_dir / f"{number:04d}")


def _take(draft: Path, target: Path) -> bool:
    """Rename draft to target unless target exists: a run is never an empty folder."""
    try:
        files.rename(draft, target)
    except OSError as error:
        if error.errno in (errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR):
            return False
        raise
    return True


def list_runs(runs_dir: Path) -> list[Run]:
    """All runs of one environment, oldest first."""
    try:
        names = [item.name for item in os.scandir(runs_dir) if item.is_dir()]
    except OSError:
        return []
    return [Run(runs_dir / name) for name in
            sorted((name for name in names if re.fullmatch(r"\d{4,}", name)), key=int)]


def folders_of_runs(root: Path, levels: int = 8) -> list[Path]:
    """Folders so many levels below that hold runs: root/my_env, root/gymnasium/CartPole-v1."""
    found = []
    for folder in sorted(root.iterdir()) if root.is_dir() else ():
        if not folder.is_dir() or folder.name.startswith("."):
            continue
        try:
            folder = paths.follow(folder)
        except UsageError as error:
            ui.warn_once(f"{error.message}: {error.where}", error.hint)
            continue
        if list_runs(folder):
            found.append(folder)
        elif levels and not (folder / "sweeps").is_dir():
            found += folders_of_runs(folder, levels - 1)
    return found


def latest_run(runs_dir: Path, *, with_checkpoint: bool = False) -> Run | None:
    """The newest run, or the newest that has a checkpoint."""
    return next((run for run in reversed(list_runs(runs_dir))
                 if not with_checkpoint or run.checkpoints()), None)


def under_other_names(runs_dir: Path) -> list[Run]:
    """The newest run with a policy of each other environment in C beside this one's runs, newest
    last.

    A renamed folder leaves its runs under the old name: those whose environment is gone come last.
    """
    found = [run for folder in folders_of_runs(runs_dir.parent) if folder != runs_dir
             and (run := latest_run(folder, with_checkpoint=True)) and ":" not in run.env]
    return sorted(found, key=lambda run: (run.is_orphan, str(run.info.get("started"))))


def hint_to_train(runs_dir: Path, option: str = "--load-model-path") -> str:
    """What to do where an environment has no runs; option: what takes one of another name, or "".
    """
    orphans = [run for run in under_other_names(runs_dir) if run.is_orphan]
    return f"puffer-sdk train {makers.typed.get(runs_dir, runs_dir.name)}" + (
        f"; or, if it was called {orphans[-1].env}: "
        f"{f'{option} {paths.shown(orphans[-1].folder)}'.lstrip()}" if orphans else "")


def find_run(runs_dir: Path, text: str, option: str = "--load-model-path") -> Run:
    """The run that '7', '0007', 'latest' or a path names. Raises UsageError; option: as above."""
    runs = list_runs(runs_dir)
    if text == "latest" and runs:
        return runs[-1]
    if re.fullmatch(r"\d+", text, re.ASCII):
        found = next((run for run in runs if run.number == int(text)), None)
        if found:
            return found
    else:
        path = files.typed(text)
        if re.fullmatch(r"\d{4,}", path.name) and (path / "run.json").is_file():
            return Run(path)
    if not runs:
        raise UsageError("there are no runs yet", where=runs_dir,
                         hint=hint_to_train(runs_dir, option))
    numbers = ", ".join(str(run.number) for run in runs[-12:])
    raise UsageError(f"there is no run '{text}'", where=runs_dir,
                     expected=("the newest of " if len(runs) > 12 else "one of ") + numbers,
                     actual=text)


def delete_run(run: Run) -> None:
    """Remove a run that is not running: all of it, or nothing. Raises UsageError, RunError."""
    if run.status == "running":
        raise UsageError(f"run {run.number} is running", where=run.folder,
                         expected="a run that has ended",
                         actual=shown(run.info),
                         hint="stop it first: Ctrl-C, or kill its process")
    grave = run.folder.with_name(f".deleted-{run.folder.name}-{os.getpid()}")
    try:
        files.rename(run.folder, grave)
        (files.remove if grave.is_symlink() else files.rmtree)(grave)
    except OSError as error:
        raise RunError(f"cannot delete run {run.number}", where=run.folder,
                       detail=error.strerror or str(error)) from None


def _record(line: bytes, where: object) -> Row:
    """One line of metrics.jsonl. Raises Damaged."""
    what = "a line of the metrics"
    row = records.convert(records.parse(line, where, what, nan=False),
                          dict[str, int | float | None], where, what)
    for name, value in row.items():
        if not (value is None and name != "step" or value is not None and -1e150 < value < 1e150):
            raise Damaged(f"{what} is damaged", where=f"{where}, {name}",
                          expected="a finite number", actual=str(value))
    return row


def _status(info: Info) -> str:
    status = info.get("status")
    if status is None or status not in STATUSES:
        return "damaged"
    if status == "running" and is_here(info.get("host")) \
            and not is_alive(info.get("pid"), info.get("pid_started")):
        return "killed"
    return status


def _now() -> str:
    return datetime.now(timezone.utc).isoformat(timespec="seconds")
