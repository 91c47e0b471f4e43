"""Compare runs.  two runs -> what differs; many -> the best"""
from __future__ import annotations

from typing import TypedDict

from .runs import Run


class Compared(TypedDict):
    """Of two runs, by key; None where one of them lacks it."""

    settings: dict[str, tuple[str | None, str | None]]
    metrics: dict[str, tuple[float | None, float | None]]


class Best(TypedDict):
    metric: str
    value: float
    run: int


def compare_runs(first: Run, second: Run) -> Compared:
    """The settings in which two runs differ, and all metrics of both.

    Metrics are the last record of each: what was claimed first, then the window's means, without
    single epochs' and times.
    """
    mine, theirs = first.settings(), second.settings()
    settings = {key: (mine.get(key), theirs.get(key)) for key in dict.fromkeys([*mine, *theirs])
                if mine.get(key) != theirs.get(key)}
    a, b = first.last_metrics(), second.last_metrics()
    out = ("time/", "env/") if any(key.startswith("window/") for key in a | b) else ("time/",)
    keys = [key for key in dict.fromkeys([*a, *b]) if not key.startswith(out)]
    kinds = ("claim/", "window/", "env/")
    keys.sort(key=lambda key: (next((at for at, kind in enumerate(kinds) if key.startswith(kind)),
                                    len(kinds)), "/" in key))
    return {"settings": settings, "metrics": {key: (a.get(key), b.get(key)) for key in keys}}


def best_score(runs: list[Run]) -> Best | None:
    """The best perf that a run reached, or else score."""
    last = [(run, run.reached()) for run in runs]
    for metric in ("perf", "score"):
        scored = [(means[metric], run.number) for run, means in last if metric in means]
        if scored:
            value, number = max(scored)
            return {"metric": metric, "value": value, "run": number}
    return None
