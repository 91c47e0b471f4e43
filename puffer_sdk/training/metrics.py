"""Where metrics go during a run: metrics.jsonl always; Weights & Biases, TensorBoard on request.

All sinks get the same rows, described in docs/reference/metrics.md.
"""
from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping
from contextlib import suppress
from typing import Protocol

from ..base import extras, files
from ..base.errors import RunError
from ..base.records import Json
from ..settings.values import Config
from .runs import Run

EXTRAS = {"wandb": "wandb", "tensorboard": "tensorboardX"}     # option -> module that it needs


def require(**wanted: bool) -> None:
    """Raises UsageError if a requested sink is not installed: before anything runs."""
    for name, module in EXTRAS.items():
        if wanted.get(name):
            extras.require(module, name, f"--{name}")


def without_nan(value: Json) -> Json:
    """The same value, with None in place of what JSON cannot write: NaN and the infinities."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: without_nan(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [without_nan(item) for item in value]
    return value


class Sink(Protocol):
    def log(self, row: Mapping[str, float]) -> None: ...

    def close(self) -> None: ...


class open_sinks:
    """A context manager; log(row) sends a row of metrics to every sink.

    project, group  of wandb: the environment, unless one is named, and none
    """

    def __init__(self, run: Run, config: Config, *, wandb: bool = False,
                 tensorboard: bool = False, project: str = "", group: str | None = None):
        self.sinks: list[Sink] = [JsonLines(run)]
        if wandb:
            self.sinks.append(Wandb(run, config, project or run.folder.parent.name, group))
        if tensorboard:
            self.sinks.append(TensorBoard(run))

    def log(self, row: Mapping[str, float]) -> None:
        for sink in self.sinks:
            sink.log(row)

    def __enter__(self) -> open_sinks:
        return self

    def __exit__(self, *exc: object) -> None:
        for sink in self.sinks:
            with suppress(Exception):       # a service that is down does not fail a finished run
                sink.close()


class JsonLines:
    """metrics.jsonl: one object per line, written at once, whole or not at all."""

    def __init__(self, run: Run):
        self.path = run.metrics_path
        try:
            self.file = files.open(self.path, "ab", buffering=0)
        except OSError as error:
            raise self._refused(error) from None

    def log(self, row: Mapping[str, float]) -> None:
        line = (json.dumps(without_nan(row)) + "\n").encode()
        end = self.file.seek(0, os.SEEK_END)
        try:
            while line:
                line = line[self.file.write(line):]
        except OSError as error:
            with suppress(OSError):
                self.file.truncate(end)
            raise self._refused(error) from None

    def close(self) -> None:
        self.file.close()

    def _refused(self, error: OSError) -> RunError:
        return RunError("cannot write the metrics", where=self.path,
                        detail=error.strerror or str(error),
                        hint="free some space, or choose another place: --runs-dir")


class Wandb:
    """A Weights & Biases run named after ours. WANDB_MODE=offline works as usual."""

    def __init__(self, run: Run, config: Config, project: str, group: str | None):
        import wandb

        files.mkdir(run.folder / "wandb")           # refuses a link
        self.run = wandb.init(project=project, group=group, name=run.folder.name,
                              tags=[run.tag] if run.tag else None, dir=str(run.folder),
                              config=dict(config.items()))

    def log(self, row: Mapping[str, float]) -> None:
        self.run.log(dict(row), step=int(row["step"]))

    def close(self) -> None:
        self.run.finish()


class TensorBoard:
    """Event files under the run's tensorboard/ folder."""

    def __init__(self, run: Run):
        from tensorboardX import SummaryWriter

        files.mkdir(run.folder / "tensorboard")     # refuses a link
        self.writer = SummaryWriter(str(run.folder / "tensorboard"))

    def log(self, row: Mapping[str, float]) -> None:
        for name, value in row.items():
            if name != "step":
                self.writer.add_scalar(name, value, row["step"])

    def close(self) -> None:
        self.writer.close()
