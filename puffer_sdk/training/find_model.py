"""Find a trained policy.  --load-model-path -> a checkpoint file, and its run's folder"""
from __future__ import annotations

import os
from pathlib import Path

from ..base import files, paths, ui
from ..base.errors import PufferError, UsageError
from ..scoring.words import claimed
from . import checkpoint, runs

USUAL = "best"          # what all commands take unless told otherwise


def find_model(home: Path, which: str | Path) -> Path:
    """The checkpoint file that --load-model-path names. Raises UsageError where there is none.

    which   "best" (of the newest run), "latest" (its last weights), a run's number or folder (its
            best), or a file. A run that has evaluated nothing has no best weights: its last ones
    """
    path = Path(which)
    if path.is_file():
        return files.real(path)
    if which in ("latest", "best"):
        run = runs.latest_run(home, with_checkpoint=True)
        if run is None:
            raise UsageError("there is no trained policy yet", where=home,
                             hint=f"{runs.hint_to_train(home)}; or evaluate the baselines: "
                                  "--baselines")
    elif path.suffix == ".safetensors" or (len(path.parts) > 1 and not path.exists()):
        raise checkpoint.missing(path)
    elif len(path.parts) > 1 and path.is_dir() and not (path / "run.json").is_file():
        raise UsageError("this folder is not a run", where=path,
                         expected="runs/NAME/NNNN, or a .safetensors file",
                         hint="puffer-sdk runs lists all runs")
    else:
        run = runs.find_run(home, str(which))
    found = run.checkpoints()
    if not found:
        raise UsageError("this run has no checkpoint", where=run.folder,
                         hint="puffer-sdk runs lists all runs")
    return run.best_path if which != "latest" and has_best(run) else found[-1]


def has_best(run: runs.Run) -> bool:
    """Whether evaluations have chosen weights. Format 1 chose them by the episodes that ended.
    Warns if the file is damaged."""
    if not os.path.lexists(run.best_path):
        return False
    try:
        return checkpoint.load(run.best_path).facts["format_version"] > 1
    except PufferError as error:
        ui.warn_once(f"{paths.shown(run.best_path)} is left out: {error.message}",
                     hint="the last weights of the run are taken")
        return False


def run_folder(checkpoint: Path | None) -> Path | None:
    """The folder of the run that a checkpoint belongs to; None if the file lies elsewhere."""
    if checkpoint and checkpoint.parent.name == "checkpoints":
        return checkpoint.parent.parent
    if checkpoint and (checkpoint.parent / "run.json").is_file():
        return checkpoint.parent
    return None


def which_weights(past: checkpoint.Checkpoint) -> str:
    """'the best of run 3, after 4,096 steps', 'the last of run 3, ...', or only the steps."""
    if past.facts.get("weights"):
        return f"those of {past.facts['weights']}"
    after, folder = f"after {past.step:,} steps", run_folder(past.path)
    if folder is None or not folder.name.isdigit():
        return f"trained for {past.step:,} steps"
    run, kind = int(folder.name), "the best"
    if past.path.parent.name == "checkpoints":
        last = runs.Run(folder).checkpoints()[-1:] == [past.path]
        kind = "the last" if last else "a checkpoint"
    return f"{kind} of run {run}, {after}"


def measured(past: checkpoint.Checkpoint) -> str:
    """What the run's evaluation says of these weights; '' where it says nothing."""
    return claimed(past.evaluation) if past.evaluation else ""
