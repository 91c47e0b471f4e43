"""A worker process.  a sweep's folder or storage -> trials run here, until the sweep is over

`sweep` starts main() for each of its workers; `puffer-sdk sweep --join` runs the same loop on any
machine that reaches the storage.
"""
from __future__ import annotations

import json
import sys
from pathlib import Path

from ..base import files
from ..base.errors import PufferError, UsageError
from ..interop.python_envs import env_source
from ..interop.python_envs.env_source import CompiledSource, PythonSource
from .store import Store
from .sweep import check_same, open_sweep
from .sweep_worker import Worker
from .trial import Bench


def join(target: str, source: CompiledSource | PythonSource, runs_dir: Path, *,
         name: str | None = None, wanted: dict[str, bool] | None = None, tag: str = "") -> int:
    """Work for a sweep until it is over. Returns the number of trials that it has then.

    target  the sweep's folder, or the URL of its storage
    name    of the sweep in the storage, where that holds several
    runs_dir    the folder for the trials' runs, for a storage of another machine
    Raises UsageError if there is no such sweep, or it is of another environment.
    """
    if "://" in target:
        store = Store(target, name or "")
        if not name:
            names = [study.study_name for study in store.storage.get_all_studies()
                     if study.study_name.startswith(f"{source.label}-")]
            if len(names) != 1:
                raise UsageError("which sweep?" if names else "the storage has no sweep of "
                                 f"{source.name}", where="--join",
                                 expected="one of " + ", ".join(names) if names else None,
                                 hint="--name NAME" if names else None)
            store.name = names[0]
        plan = store.open().plan()
        home = runs_dir / "sweeps" / files.name(store.name, "the sweep's name") / "trials"
    else:
        store, plan = open_sweep(files.typed(target))
        home = files.typed(target) / "trials"
    files.mkdir(home)
    bench = Bench(source, plan, home, wanted=wanted, tag=tag, group=store.name)
    try:
        check_same(plan, bench.prepared, "--join")
        Worker(store, bench).run()
    finally:
        bench.close()
    return len(store.trials())


def main(place: str, env: str, options: str) -> int:
    """A worker of the sweep in this folder; options: loggers that are wanted, and a tag, as JSON.
    Returns the exit status."""
    wanted = json.loads(options)
    tag = wanted.pop("tag", "")
    try:
        join(place, env_source.find(env), Path(place), wanted=wanted, tag=tag)
    except PufferError as error:
        print(error, file=sys.stderr)
        return error.exit_status
    return 0
