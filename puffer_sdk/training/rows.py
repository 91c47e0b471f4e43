"""A row of metrics.jsonl.  what an epoch gave -> {"step": ..., "env/perf": ...}"""
from __future__ import annotations

import math
from collections.abc import Mapping

from ..settings.values import Config
from .checkpoint import Checkpoint
from .log_window import Window
from .rank_sync import Epoch


def epoch_row(epoch: Epoch, window: Window, config: Config, *, step: int, number: int,
              seconds: float, sps: float, rollout: float, losses: Mapping[str, float],
              timers: Mapping[str, float], ranks: int) -> dict[str, float]:
    """The keys that docs/reference/metrics.md lists, but for evaluations.

    number      of epochs
    rollout     seconds that it took
    """
    row = {"step": step, "seconds": seconds, "cpu": epoch.cpu, "sps": sps, "epoch": number,
           **{f"env/{name}": value for name, value in epoch.log.items()},
           **{f"window/{name}": value for name, value in window.means.items()},
           **losses, "time/rollout": rollout,
           **{f"time/{name}": value for name, value in timers.items()}}
    if config.vec.max_restarts:
        row["train/restarts"] = epoch.restarts
    if ranks > 1:
        row["time/waited_for"] = epoch.slowest
    if epoch.lacking:
        row["train/lacking"] = epoch.lacking
    if window.last is not None:
        row["window/age"] = (step - window.last) // config.vec.total_agents
    return row


def unlogged_row(past: Checkpoint) -> dict[str, float]:
    """The last epoch's metrics, where the run was stopped while it made its claim."""
    return {name: math.nan if value is None else value
            for name, value in past.facts.get("row") or ()}
