"""Compare runs.  two runs -> what differs; many -> the best"""
from __future__ import annotations

from typing import TypedDict

from .runs import SHOWN, Run


class Compared(TypedDict):
    """Of two runs, by key; None where one of them lacks it."""

    settings: dict[str, tuple[str | None, str | None]]
    code: dict[str, tuple[str | None, str | None]]      # hashes of files, versions of packages
    origin: dict[str, tuple[str | None, str | None]]    # commit, machine, command
    metrics: dict[str, tuple[float | None, float | None]]


class Best(TypedDict):
    metric: str
    value: float
    run: int


def compare_runs(first: Run, second: Run) -> Compared:
    """The settings and the code in which two runs differ, where they came from, and all metrics.

    Metrics are the last record of each: what was claimed first, then the window's means, without
    single epochs' and times.
    """
    mine, theirs = first.settings(), second.settings()
    settings = _differing(mine, theirs)
    a, b = first.last_metrics(), second.last_metrics()
    out = ("time/", "env/") if any(key.startswith("window/") for key in a | b) else ("time/",)
    keys = [key for key in dict.fromkeys([*a, *b]) if not key.startswith(out)]
    kinds = ("claim/", "window/", "env/")
    keys.sort(key=lambda key: (next((at for at, kind in enumerate(kinds) if key.startswith(kind)),
                                    len(kinds)), "/" in key))
    return {"settings": settings, "code": _differing(_code(first), _code(second)),
            "origin": _differing(_origin(first), _origin(second)),
            "metrics": {key: (a.get(key), b.get(key)) for key in keys}}


def _differing(mine: dict[str, str], theirs: dict[str, str]
               ) -> dict[str, tuple[str | None, str | None]]:
    return {key: (mine.get(key), theirs.get(key)) for key in dict.fromkeys([*mine, *theirs])
            if mine.get(key) != theirs.get(key)}


def _code(run: Run) -> dict[str, str]:
    """Hashes of the run's files and versions of its packages; "" where nobody noted them."""
    code = run.info.get("code")
    if not code:
        return {"code": "not known"}
    hashes = {name: each["sha256"][:SHOWN] for name, each in code["files"].items()
              if not name.endswith(".ini")}
    return {**hashes, **code.get("packages", {})}


def _origin(run: Run) -> dict[str, str]:
    code = run.info.get("code")
    if not code:
        return {}
    commit = code.get("commit")
    told = f"{commit[:12]}{' and changes' if code.get('dirty') else ''}" if commit else "none"
    facts = code.get("machine")
    return {"commit": told, "command": code.get("command", ""),
            **{name: str(value) for name, value in (facts or {}).items()}}


def best_score(runs: list[Run]) -> Best | None:
    """The best win_rate that a run reached, or else perf, or score."""
    last = [(run, run.reached()) for run in runs]
    for metric in ("win_rate", "perf", "score"):
        scored = [(means[metric], run.number) for run, means in last if metric in means]
        if scored:
            value, number = max(scored)
            return {"metric": metric, "value": value, "run": number}
    return None
