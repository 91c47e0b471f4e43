"""Find a trained policy.  --load-model-path -> a checkpoint file, and its run's folder"""
from __future__ import annotations

from pathlib import Path

from ..base.errors import UsageError
from . import checkpoint, runs


def find_model(home: Path, which: str | Path, *, best: bool = False) -> Path:
    """The checkpoint file that --load-model-path names. Raises UsageError where there is none.

    which   "latest", "best" (of the newest run), a run's number or folder, or a file
    best    of a run, its best weights instead of its last; "latest" stays the last
    """
    path, best = Path(which), which == "best" or (best and which != "latest")
    if path.is_file():
        return path.resolve()
    if which in ("latest", "best"):
        run = runs.latest_run(home, with_checkpoint=True)
        if run is None:
            raise UsageError("there is no trained policy yet", where=home,
                             hint=f"{runs.hint_to_train(home)}; or evaluate the baselines: "
                                  "--baselines")
    elif path.suffix == ".safetensors" or (len(path.parts) > 1 and not path.exists()):
        raise checkpoint.missing(path)
    elif len(path.parts) > 1 and path.is_dir() and not (path / "run.json").is_file():
        raise UsageError("this folder is no run", where=path,
                         expected="runs/NAME/NNNN, or a .safetensors file",
                         hint="puffer-sdk runs lists what there is")
    else:
        run = runs.find_run(home, str(which))
    found = run.checkpoints()
    if not found:
        raise UsageError("this run has no checkpoint", where=run.folder,
                         hint="puffer-sdk runs lists what there is")
    return run.best_path if best and run.best_path.is_file() else found[-1]


def run_folder(checkpoint: Path | None) -> Path | None:
    """The folder of the run that a checkpoint belongs to; None if the file lies elsewhere."""
    if checkpoint and checkpoint.parent.name == "checkpoints":
        return checkpoint.parent.parent
    if checkpoint and (checkpoint.parent / "run.json").is_file():
        return checkpoint.parent
    return None
