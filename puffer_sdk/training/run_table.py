"""Runs as records.  an environment -> a dict for each of its runs, with its curve"""
from __future__ import annotations

from pathlib import Path
from typing import Any

from ..base import paths
from ..interop.python_envs import env_source
from ..settings.texts import number_or_text
from . import runs as kept
from .printed import RunRow


def runs(env: paths.Env | None = None, *, tag: str | None = None,
         runs_dir: Path | None = None) -> list[dict[str, Any]]:
    """The runs of ENV (a folder or a name), oldest first, as records that pandas takes as they are.

        table = pandas.DataFrame(puffer_sdk.runs("my_env", tag="five"))
        table.groupby("train.gamma")["perf"].mean()
        curves = pandas.json_normalize(puffer_sdk.runs("my_env"), "curve", ["number", "train.seed"])

    tag     only runs with this label

    A record has what `runs --format json` prints of a run; each setting by its
    full name ("train.gamma"), numbers as numbers; and curve, the records of metrics.jsonl. Raises
    UsageError where there is no such environment.
    """
    folder = env_source.find(env).runs_dir(runs_dir)
    return [{**record(run.env, run), "curve": run.metrics(),
             **{key: number_or_text(text) for key, text in run.settings().items()}}
            for run in kept.list_runs(folder) if tag in (None, run.tag)]


def record(env: str, run: kept.Run) -> RunRow:
    """One run, without its settings and its curve."""
    from ..scoring.words import fell

    info, last, reached = run.info, run.last_metrics(), run.reached()
    group = info.get("group") or {}
    seconds, steps = last.get("seconds"), last.get("step")
    done = info.get("step") if steps is None else int(steps)
    code = info.get("code")
    machine = code.get("machine") if code else None
    status = "damaged" if run.damage else run.status
    return {"env": env, "number": run.number, "status": status, "tag": run.tag,
            "started": info.get("started"), "step": done,
            "total": info.get("total"), "sps": steps / seconds if steps and seconds else None,
            "win_rate": reached.get("win_rate"), "perf": reached.get("perf"),
            "score": reached.get("score"), "episode_return": reached.get("episode_return"),
            "fell": fell(run.evaluation) if run.evaluation else "",
            "code": "+".join(each[:kept.SHOWN] for each in run.codes) or None,
            "commit": code.get("commit") if code else None,
            "dirty": code.get("dirty") if code else None,
            "command": code.get("command") if code else None,
            "cpu": machine["cpu"] if machine else None,
            "processes": group.get("size", 1), "hosts": list(dict.fromkeys(group.get("hosts", ()))),
            "checkpoints": len(run.checkpoints()), "folder": str(run.folder)}
