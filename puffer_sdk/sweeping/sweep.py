"""Search for settings.  environment + a space of settings -> runs/NAME/sweeps/NNNN/

    sweep.ini       what was asked for            best.ini        print the best settings
    journal         all trials (store.py)         front/*.ini     those of each trial on the front
    trials/NNNN/    a run folder for each trial   sweep.html      the page

This process looks after the others (supervisor.py). The workers (sweep_worker.py) are processes of
their own.
"""
from __future__ import annotations

import contextlib
import json
import math
import os
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

from ..base import extras, files, records, trust, ui
from ..base.errors import RunError, UsageError
from ..interop.python_envs import env_source
from ..interop.python_envs.env_source import CompiledSource, Prepared, PythonSource
from ..settings.texts import show
from ..training import backends
from . import trial as trialing
from .calibration import calibrate
from .results import SweepResult, plan_ini
from .schedule import Schedule
from .storages import journal_of
from .store import Store
from .supervisor import Supervisor
from .sweep_plan import Plan, read
from .sweep_records import Folder

SEEDS = 5               # of the verdict, unless somebody says


def sweeps_dir(source: CompiledSource | PythonSource, runs_dir: Path | None = None) -> Path:
    return source.runs_dir(runs_dir) / "sweeps"


def list_sweeps(home: Path) -> list[Path]:
    """The folders of an environment's sweeps, oldest first; not those that never began."""
    return [path for path in _numbered(home) if (path / "sweep.json").is_file()]


def _numbered(home: Path) -> list[Path]:
    found = [path for path in home.glob("*") if re.fullmatch(r"\d{4,}", path.name)]
    return sorted(found, key=lambda path: int(path.name))


def find_sweep(home: Path, which: str) -> Path:
    """The folder that "latest", a number or a path names. Raises UsageError."""
    found = list_sweeps(home)
    if which == "latest" and found:
        return found[-1]
    path = Path(which)
    if (path / "sweep.json").is_file():
        return files.real(path)
    for each in found:
        if which.isdecimal() and int(each.name) == int(which):
            return each
    if not found:
        raise UsageError("there are no sweeps yet", where=home,
                         hint=f"puffer-sdk sweep {home.parent.name}")
    raise UsageError(f"there is no sweep '{which}'", where=home, actual=which,
                     expected="one of " + ", ".join(str(int(each.name)) for each in found))


def sweep(env: str | os.PathLike[str] | None = None, settings: Mapping[str, object] | None = None,
          *, resume: str | None = None, storage: str | None = None, runs_dir: Path | None = None,
          seeds: int | None = None, tag: str = "", wandb: bool = False, tensorboard: bool = False,
          ini: Path | None = None,
          show_table: Callable[..., None] | None = None, age: float = 0.0) -> SweepResult:
    """Search the settings of ENV (a folder, a name, or a Python environment: "gymnasium:ID") and
    return what was found.

    settings    {"sweep.seconds": 300, "train.total_timesteps": 1e6}: those of [sweep] say what to
                search and how; the others hold in every trial
    resume      "latest", or a sweep's number or folder: continue it
    storage     postgresql://... or grpc://HOST:PORT; None: a journal in the sweep's folder
    seeds       unseen seeds for the verdict; 0 for none. None: as before, or 5
    ini         a file of settings and [sweep] over the environment's own ini
    age         seconds that count as spent before this call
    Raises UsageError before anything runs, BuildError, RunError, Interrupted after Ctrl-C: then
    finished trials are stored, and resume continues.
    """
    began = time.monotonic() - age
    source = env_source.find(env, ini)
    extras.require("optuna", "sweep", "a sweep", where=source.label)    # before a folder is made
    home = sweeps_dir(source, runs_dir)
    given = dict(settings or {})
    if storage:
        name_storage(storage)
    if resume:
        place = find_sweep(home, resume)
        store, plan = open_sweep(place)
        if ini:
            raise UsageError("settings cannot change after the sweep has started", where="--config",
                             hint="omit it: a sweep keeps its initial settings")
        prepared = trialing.prepare(source, plan, place / "trials")
        check_same(plan, prepared, place)
        plan = _extended(store, plan, given)
        seeds = store.facts.get("seeds", SEEDS) if seeds is None else seeds
        store.note(seeds=seeds)
    else:
        seeds = SEEDS if seeds is None else seeds
        prepared = source.prepare({name: value for name, value in given.items()
                                   if not name.startswith("sweep.")})
        prepared = replace(prepared, config=backends.require(prepared.config, prepared.folder))
        prepared = prepared.with_sizes()
        plan = read(source, given, prepared.config, prepared.spec, prepared.count_agents())
        if plan.cost == "compute":
            ui.say("measuring the cost of each training phase ...")
            plan = replace(plan, weights=calibrate(source, plan))
        place = _make_folder(home)
        address = storage or journal_of(place)
        name = f"{source.label}-{place.name}"
        files.save(place / "sweep.ini", plan_ini(plan), what="the sweep's settings")
        store = Store(address, name).create(plan, open=True, beat=0, seeds=seeds,
                                            began=time.time(), spent=0.0)
        store.add(plan.start, start=True, reason="the settings to start from", seed=plan.seed)
        files.save(place / "sweep.json", json.dumps(
            {"storage": address, "name": name, "env": str(source.ref), "tag": tag,
             "mac": _mac(address)}) + "\n",
            what="the sweep")
    told_how(plan, prepared)
    schedule = Schedule(plan, seeds, before=store.facts.get("spent", 0.0), began=began)
    if resume and schedule.closes(store.trials()):
        ui.warn(f"{schedule.spent:.0f} of {plan.seconds:g} seconds were spent before: no time is "
                "left to search", "--seconds includes time spent before: --seconds "
                f"{math.ceil(plan.seconds + schedule.spent):g} doubles it")
    return Supervisor(source, place, store, schedule, runs_dir=runs_dir, tag=tag, wandb=wandb,
                      tensorboard=tensorboard, show_table=show_table).run()


def told_how(plan: Plan, prepared: Prepared) -> None:
    """Says in which processes a trial plays, where there is a choice, and what its cost counts."""
    where = prepared.opener.where_played(int(plan.fixed.get("vec.num_workers", 0)))
    if where:
        ui.say(f"each trial plays {where}" + ("; its cost is the CPU time of all its processes"
                                              if plan.cost == "cpu" else ""))


def open_sweep(place: Path) -> tuple[Store, Plan]:
    """The store and the plan of a sweep's folder. Raises UsageError if it is damaged, or names a
    storage that this user has not named."""
    try:
        facts = records.read(place / "sweep.json", Folder, "the sweep")
        address = _storage_of(place, facts)
    except OSError as error:
        raise UsageError("this is no sweep", where=place, expected="a folder that sweep made",
                         detail=error.strerror or str(error)) from None
    store = Store(address, facts.name).open()
    return store, store.plan()


def name_storage(address: str) -> None:
    """The command line names this storage: it may be opened."""
    trust.name(f"storage {address}")


def _storage_of(place: Path, facts: Folder) -> str:
    """Where the trials are: the folder's own journal, or an address that this user has named."""
    if "://" not in facts.storage:      # wherever the folder lay when the sweep began
        files.open(journal_of(place)).close()
        return journal_of(place)
    if not trust.equal(facts.mac, _mac(facts.storage)):
        trust.require(f"storage {facts.storage}", where=place / "sweep.json", verb="open",
                      what="this sweep names a storage that you did not name")
    return facts.storage


def _mac(address: str) -> str:
    return trust.mac("storage", address)


def check_same(plan: Plan, prepared: Prepared, where: Path | str) -> None:
    """Raises UsageError where this is not the environment that the sweep began with."""
    spec = prepared.spec.hash()
    if plan.spec != spec:
        raise UsageError("the sweep belongs to another environment or another version of it",
                         where=where, expected=f"fingerprint {plan.spec[:12]}", actual=spec[:12],
                         hint="scores would not be comparable: start a new sweep, or update this "
                              "machine's files")


def address_of(place: Path) -> str:
    """The storage of a sweep's folder. Raises what open_sweep does."""
    return open_sweep(place)[0].address


def _extended(store: Store, plan: Plan, given: Mapping[str, object]) -> Plan:
    """A resumed sweep may get more time or trials; its space stays."""
    may = {"sweep.seconds": ("seconds", float), "sweep.max_runs": ("runs", int),
           "sweep.workers": ("workers", int)}
    for name, value in given.items():
        if name not in may:
            raise UsageError(f"{name} cannot change after the sweep has started", where="--resume",
                             expected="--seconds, --runs or --workers",
                             hint="start a new sweep")
        field, kind = may[name]
        try:
            plan = replace(plan, **{field: kind(float(show(value)))})
        except ValueError:
            raise UsageError(f"{name} is not a number", where="--resume", expected="a number",
                             actual=show(value)) from None
    store.note_plan(plan, open=True, over=False, beat=0, judged=False, cut=-1)
    return plan


def _make_folder(home: Path) -> Path:
    """The next free number: two sweeps that start at once get two folders."""
    try:
        files.mkdir(home)
        number = max((int(each.name) for each in _numbered(home)), default=0) + 1
        while True:
            with contextlib.suppress(FileExistsError):
                place = home / f"{number:04d}"
                files.mkdir(place, new=True)
                return place
            number += 1
    except OSError as error:
        raise RunError("cannot create the sweep's folder", where=home,
                       detail=error.strerror or str(error),
                       hint="free some space, or choose another place: --runs-dir") from None
