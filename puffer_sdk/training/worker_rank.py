"""The parents of a run's processes: the one child of each, and the parents that write nothing.

Rank 0's parent owns the run folder and the display (train.py). The others have a folder of their
own for what their environments print, which goes away, and show nothing but errors.
"""
from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from ..base import files
from ..base.errors import Interrupted, RunError
from ..env import child_process
from ..interop.python_envs.env_source import Prepared
from ..settings.values import Config
from .runs import Run
from .train_job import TrainJob

WORK = "puffer_sdk.training.train_worker:work"


def run_child(job: TrainJob, on_event: Callable[[str, Any], None], *, log: Path, cwd: Path,
              step_timeout: float, signals: child_process.Signals) -> dict[str, float]:
    """Run the child of this process, as child_process.run does. Raises Interrupted where another
    rank was told to end: all have saved and stopped."""
    place = job.place
    try:
        done = child_process.run(WORK, job, on_event, log=log, cwd=cwd, step_timeout=step_timeout,
                                 signals=signals)
    except RunError as error:
        if place and place.size > 1 and not error.told:     # the child could not say who it was
            error.message = f"rank {place.rank} on {place.host}: {error.message}"
        raise
    if "stopped" in done:
        raise Interrupted(done["stopped"])
    return {name: done[name] for name in ("step", "seconds", "evaluating", "cpu")}


def take_choices(run: Run, config: Config, ready: Mapping[str, Any]) -> Config:
    """The settings with what the child chose, written to the run's config.ini.

    ready   the payload of its event `ready`
    """
    before = config
    for full, (value, origin) in ready["choices"].items():
        if value != config[full]:
            config = config.with_auto(full, value, origin.removeprefix("auto: "))
    if config is not before:
        files.save(run.config_path, config.to_ini(), what="the settings")
    return config


def follow(make_job: Callable[..., TrainJob], prepared: Prepared, signals: child_process.Signals
           ) -> None:
    """Be one of the processes that rank 0 leads, to the end."""
    with files.private("puffer-rank-") as name:
        folder = Path(name)
        job = make_job(checkpoints=folder / "checkpoints", best=folder / "best.safetensors")
        try:
            run_child(job, lambda kind, payload: None, log=folder / "env.log", cwd=prepared.cwd,
                      step_timeout=prepared.patience, signals=signals)
        except Interrupted as error:
            error.quiet = True          # rank 0 says what was saved
            raise
