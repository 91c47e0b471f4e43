"""Which run to resume, and from which checkpoint.  --resume RUN, or a restarted group -> Past"""
from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from ..base import records, ui
from ..base.errors import PufferError, UsageError
from ..distributed.rank import Place
from ..interop.python_envs.env_source import CompiledSource, Prepared, PythonSource
from . import checkpoint, runs
from .locks import is_locked, still_running
from .run_records import Counters


@dataclass(frozen=True)
class Past:
    """A run to resume, and the checkpoint to start from."""

    run: runs.Run
    checkpoint: checkpoint.Checkpoint


def find_resumable(home: Path, which: str) -> Past:
    """The run that --resume names, with its newest readable checkpoint.

    Warns of a damaged checkpoint and takes the one before it.
    """
    run = runs.find_run(home, which, "--resume")
    if run.status == "running" and is_locked(run):
        raise still_running(run)
    found = run.checkpoints()
    if not found:
        other = runs.latest_run(home, with_checkpoint=True)
        raise UsageError("this run has no checkpoint to resume from", where=run.folder,
                         hint="start a new run without --resume"
                         + (f", or take the newest that has one: --resume {other.number}"
                            if other else ""))
    with suppress(FileNotFoundError):       # said where the settings are read
        records.content(run.config_path, "the run's settings")
    for path in reversed(found):
        try:
            past = checkpoint.load(path)
            records.convert(past.facts["counters"], Counters, f"{path}, counters",
                            "the checkpoint's metadata")
            return Past(run, past)
        except PufferError as error:
            ui.warn(f"skipping {path.name}: {error.message}")
    raise UsageError("none of this run's checkpoints can be read", where=run.folder,
                     hint="start a new run without --resume")


def prepare_past(source: CompiledSource | PythonSource, past: Past,
                 settings: Mapping[str, object] | None, *, verbose: bool) -> Prepared:
    """The environment with the settings that the run saved, and these over them.

    If they do not fit because the run is of another environment, the error says so.
    """
    try:
        return replace(source, theirs=True).prepare(settings, ini=past.run.config_path,
                                                    verbose=verbose)
    except UsageError as error:
        theirs = past.checkpoint.facts["env"].get("name")
        if theirs != source.name:
            error.hint = "; ".join(filter(None, [
                error.hint, f"this run is of {theirs}, and `puffer-sdk runs {source.name}` lists "
                f"those of {source.name}"]))
        raise


def find_restarted(home: Path, place: Place | None) -> runs.Run | None:
    """The run of a group that torchrun has started again; it may have no checkpoint yet.

    Warns where there is none: another machine may have taken rank 0's place, or it ended before
    its first step.
    """
    if place is None or not place.restarts or not place.group_id:
        return None
    for run in reversed(runs.list_runs(home)):
        if (run.info.get("group") or {}).get("id") == place.group_id:
            return run
    ui.warn(f"the group was restarted, and its run is not in {home}: starting a new run",
            "if rank 0 may restart on another machine, put runs on a shared disk: --runs-dir")
    return None
