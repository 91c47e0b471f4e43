"""What a report measures, stage by stage.  Subject -> data (JSON-able)

    check, trajectories, a training for each seed, evaluation, two pictures, rates
    of an environment in C, the web page; of one in Python, where training time goes

If a stage fails, a sentence replaces its numbers; the other stages still run.
"""
from __future__ import annotations

import gzip
import hashlib
import os
import re
import shutil
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from .. import __version__
from ..base import files, ui
from ..base.errors import Interrupted, PufferError, RunError, UsageError
from ..env import build as building
from ..env.child_process import Payload
from ..env.job import EnvJob
from ..settings import config
from ..training import checkpoint, runs, symptoms
from ..training.find_model import find_model
from ..training.this_machine import machine
from . import context, curves, measuring
from .keeping import HINT, Entry, Facts, Keeper, Result
from .subject import FORMAT, Subject

BUDGET = 1.0            # of check
PROFILE = 3.0           # seconds of training that are profiled
MOST_GIF = 3_000_000    # bytes of one picture: it travels inside the page


# -- all stages ------------------------------------------------------------------------------


def measure(subject: Subject, keeper: Keeper, seeds: int, *, verbose: bool = False) -> Facts:
    """The report's data: facts, and timings under the key "timings"."""
    done: dict[str, Entry] = {}
    done["check"] = _check(subject, keeper, verbose)
    done["determinism"] = _trajectories(subject, keeper)
    trained = _trainings(subject, keeper, seeds, verbose)
    training = curves.gather([entry.facts for entry in trained], subject.config,
                             subject.spec.registered if subject.spec else "")
    chosen = next((entry for entry in trained if "failed" not in entry.facts
                   and entry.facts["seed"] == training["median_seed"]), None)
    model = chosen.path(".safetensors") if chosen else None
    done["evaluation"] = _evaluation(subject, keeper, chosen, model)
    for name, played in (("random", None), ("trained", model)):
        done[f"picture-{name}"] = _picture(subject, keeper, name, played, chosen, verbose)
    for name in subject.stages:
        done[name] = STAGES[name](subject, keeper, chosen, model, verbose)
    facts = {name: entry.facts for name, entry in done.items()}
    seen = facts["determinism"].pop("statistics", None)
    if seen:                                # check has none of Python
        facts["check"]["statistics"] = seen
    return {
        "format": FORMAT, "version": __version__, "env": subject.name, "source": subject.code,
        "check": facts["check"], "training": training, "evaluation": facts["evaluation"],
        "pictures": {name: facts[f"picture-{name}"] for name in ("random", "trained")},
        "determinism": facts["determinism"], **{name: facts[name] for name in subject.stages},
        "settings": context.settings_table(subject.config, subject.source.defaults),
        "environment": context.environment(subject.about, facts["determinism"],
                                           subject.spec.hash() if subject.spec else None),
        "machine": machine(),
        "timings": {"check": done["check"].timings,
                    **{name: done[name].timings for name in subject.stages},
                    "training": [entry.timings for entry in trained if entry.timings]},
    }


def attempt(subject: Subject, work: Callable[[], Result], *, usage: bool = False) -> Result:
    """work(), or {"failed": a sentence}. usage: raise for settings that the user must fix."""
    try:
        return work()
    except Interrupted:
        raise
    except UsageError as error:
        if usage and error is not subject.broken:
            raise
        return {"failed": sentence(error, subject)}, {}
    except PufferError as error:
        return {"failed": sentence(error, subject)}, {}


def sentence(error: PufferError, subject: Subject) -> str:
    """The error and its hint, in one line without this machine's paths."""
    text = (f"{error.code}: " if error.code else "") + error.message
    if error.hint and not (isinstance(error, RunError) and error.to_check):     # check is shown
        text += f" ({error.hint})"
    return " ".join(subject.shorten(text).split())


# -- one by one ------------------------------------------------------------------------------


def _check(subject: Subject, keeper: Keeper, verbose: bool) -> Entry:
    from ..checking.check import check

    def work(entry: Entry) -> Result:
        result = check(subject.ref, settings=subject.settings, ini=subject.ini, budget=BUDGET,
                       verbose=verbose)
        document: Facts = {**result.to_dict()}
        coverage = document["coverage"]
        seconds = coverage.pop("seconds")
        return ({"verdict": document["verdict"], "findings": document["findings"], **coverage},
                {"seconds": seconds})

    return keeper.stage("check", "check", [subject.key, subject.values()],
                        lambda entry: attempt(subject, lambda: work(entry)))


def _trajectories(subject: Subject, keeper: Keeper) -> Entry:
    """The same play three times, each in its own process, the last on two threads or workers."""
    def work() -> Result:
        found: list[Facts] = []
        for threads in subject.deals:
            own = subject.job(threads)
            found.append(subject.run("trajectories", measuring.TrajectoriesJob(
                own.opener, own.config, envs=subject.envs, ticks=subject.ticks,
                parts=() if found else subject.parts)))
            if len(found) == 1:         # an env seeded with time() must differ: wait for the
                time.sleep(1.01 - time.time() % 1)              # next second
        first = found[0]
        return {"hash": first["hash"], "hashes": [one["hash"] for one in found],
                "same": len({one["hash"] for one in found}) == 1,
                "envs": first["envs"], "ticks": first["ticks"], "about": first["about"],
                "statistics": first["statistics"], "spread": subject.spread}, {}

    return keeper.stage("trajectories", "determinism", [subject.key, subject.values("env")],
                        lambda entry: attempt(subject, work, usage=True))


def _trainings(subject: Subject, keeper: Keeper, seeds: int, verbose: bool) -> list[Entry]:
    """One entry per seed; after a failure, no more are tried."""
    first: int = subject.config.train.seed
    found: list[Entry] = []
    files.mkdir(keeper.folder / "runs" / subject.source.place)      # no link leads to other runs
    for number in range(seeds):
        seed = first + number
        parts = [subject.key, {**subject.values("base", "env", "vec", "policy", "train"),
                               "train.seed": seed, "goal": subject.config.eval.goal}]
        found.append(keeper.stage(
            "training", f"training, seed {seed} ({number + 1} of {seeds})", parts,
            partial(_attempt_train, subject, keeper, seed, verbose), ".safetensors"))
        if "failed" in found[-1].facts:
            break
        for run in runs.list_runs(subject.source.runs_dir(keeper.folder / "runs")):
            if run.tag == found[-1].key and run.status == "finished":
                runs.delete_run(run)            # its policy and its curves are in the entry
    return found


def _attempt_train(subject: Subject, keeper: Keeper, seed: int, verbose: bool,
                   entry: Entry) -> Result:
    return attempt(subject, lambda: _train(subject, keeper, entry, seed, verbose), usage=True)


def _train(subject: Subject, keeper: Keeper, entry: Entry, seed: int, verbose: bool) -> Result:
    from ..training.train import train

    subject.job()                               # raises if it is not built
    home = keeper.folder / "runs"
    run, resume = _unfinished(subject.source.runs_dir(home), entry.key)
    if run is None or run.status != "finished":
        result = train(subject.ref, {**subject.settings, "train.seed": seed}, tag=entry.key,
                       resume=str(run.number) if run and resume else None, ini=subject.ini,
                       runs_dir=home, verbose=verbose)
        assert result and not isinstance(result, int)        # in this process
        run = runs.Run(result.folder)
    last = run.checkpoints()[-1]
    path = find_model(run.folder.parent, run.folder)
    past, facts = checkpoint.load(path), checkpoint.load(last).facts
    goal = facts.get("goal")
    files.save(entry.path(".safetensors"), files.read(path), what="the policy",
               hint=HINT)
    rows = run.metrics()
    aim = subject.config.eval.goal or (subject.spec.registered if subject.spec else "")
    why = symptoms.symptoms_of(run, symptoms.missed(aim, run.evaluation))
    return ({"why": why, "seed": seed, "steps": facts["step"], "epochs": facts["epoch"],
             "goal_step": goal["step"] if goal else None, "weights": _hash_tensors(past.tensors),
             "claim": run.evaluation, "final": run.reached(),
             "curves": curves.sample(rows, subject.config)},
            {"seed": seed, "seconds": facts["seconds"],
             "goal_seconds": goal["seconds"] if goal else None,
             "steps_per_second": facts["step"] / max(facts["seconds"], 1e-9)})


def _unfinished(home: Path, tag: str) -> tuple[runs.Run | None, bool]:
    """The run of this tag that an earlier report began, and whether there is a point to go on
    from. A checkpoint from which training would take another way than it does uninterrupted is
    none (training/train_worker.py). What else was left lying there is removed.
    """
    from ..training.locks import is_locked

    found, resume = None, False
    for run in runs.list_runs(home):
        if is_locked(run):
            continue
        regular = [path for path in run.checkpoints()
                   if int(path.stem) and checkpoint.leads_back(path)]
        if run.tag == tag and run.status == "finished" and run.checkpoints():
            found, resume = run, False
        elif run.tag == tag and regular and found is None:
            for path in set(run.checkpoints()) - set(regular):
                files.remove(path)
            found, resume = run, True
        elif run.status != "running":
            runs.delete_run(run)
    return found, resume


def _hash_tensors(tensors: Mapping[str, NDArray[np.generic]]) -> str:
    digest = hashlib.sha256()
    for name in sorted(tensors):
        digest.update(name.encode() + b"\0" + tensors[name].tobytes())
    return digest.hexdigest()


def _untrained() -> Result:
    return {"failed": "there is no trained policy"}, {}


def _evaluation(subject: Subject, keeper: Keeper, chosen: Entry | None,
                model: Path | None) -> Entry:
    from ..policy.evaluate import evaluate

    def work() -> Result:
        subject.job()
        with ui.Progress() as bar:
            result = evaluate(subject.ref, subject.settings, model=model, ini=subject.ini,
                              output=Path(os.devnull), on_progress=bar.update)
        facts: Facts = {**result.to_dict()}
        for name in ("env", "checkpoint"):
            facts.pop(name)
        histograms = curves.of_episodes(facts["policies"])
        for score in facts["policies"].values():
            score.pop("episodes")
        return {**facts, "seed": chosen.facts["seed"] if chosen else None,
                "histograms": histograms}, {}

    parts = [subject.key, subject.values("env", "eval", "vec"), chosen.key if chosen else None]
    return keeper.stage("evaluation", "evaluation", parts,
                        lambda entry: attempt(subject, work, usage=True))


def _picture(subject: Subject, keeper: Keeper, name: str, model: Path | None,
             chosen: Entry | None, verbose: bool) -> Entry:
    """A GIF; a shorter one if the whole would be too large."""
    from ..pictures.record import record

    def work(entry: Entry) -> Result:
        subject.job()
        ticks = None
        with files.private("puffer-report-") as home:
            gif = home / "film.gif"
            for _ in range(3):
                with ui.Progress() as bar:
                    film = record(subject.ref, subject.settings, gif=gif, ini=subject.ini,
                                  model=model, ticks=ticks, on_progress=bar.update,
                                  verbose=verbose)
                size = gif.stat().st_size
                if size <= MOST_GIF:
                    break
                ticks = max(1, int(film.frames * 0.9 * MOST_GIF / size))
            with files.refused("cannot write the image", where=entry.folder, hint=HINT):
                files.move(gif, entry.path(".gif"))
        return {"file": entry.path(".gif").name, "frames": film.frames,
                "seconds": film.seconds, "fps": film.fps, "width": film.width,
                "height": film.height, "bytes": size, "episodes": len(film.episodes)}, {}

    parts = [subject.key, name, subject.values("env", "eval", "vec"),
             chosen.key if name == "trained" and chosen else None]
    if name == "trained" and model is None:
        return keeper.stage("picture", f"picture, {name}", parts, lambda entry: _untrained())
    return keeper.stage("picture", f"picture, {name}", parts,
                        lambda entry: attempt(subject, lambda: work(entry)), ".gif")


def _show_rates(bar: ui.Progress, kind: str, payload: Payload) -> None:
    if kind == "progress":
        bar.update("rates", payload["done"], payload["total"])


def _rates(subject: Subject, keeper: Keeper, chosen: Entry | None, model: Path | None,
           verbose: bool) -> Entry:
    """Steps per second: in C, beside Squared, made from the template with its own settings."""
    from ..projects import scaffold
    from ..training import backends

    def work() -> Result:
        own = subject.job()
        own = replace(own, config=backends.require(own.config, verbose=verbose))
        vec, squared = subject.config.vec, None
        facts: Facts = {"agents": vec.total_agents}
        with files.private("puffer-report-") as home, ui.Progress() as bar:
            if subject.source.in_c:
                folder = scaffold.new("squared", template="squared", output_dir=home).folder
                beside = config.resolve(folder, {"vec.num_threads": vec.num_threads})
                beside = backends.require(beside, verbose=verbose)
                squared = EnvJob.of(building.build(folder), beside)
                facts |= {"threads": vec.num_threads, "squared_agents": beside.vec.total_agents}
            else:
                facts["workers"] = vec.num_workers
            found = subject.run("rates", measuring.RatesJob(own, squared, measuring.ROUNDS),
                                partial(_show_rates, bar))
        return facts, found

    return keeper.stage("rates", "speed beside Squared" if subject.source.in_c else "speed",
                        [subject.key, subject.values("env", "vec", "policy", "train")],
                        lambda entry: attempt(subject, work, usage=True))


def _profile(subject: Subject, keeper: Keeper, chosen: Entry | None, model: Path | None,
             verbose: bool) -> Entry:
    """Where the time of training goes."""
    from ..training.profiling import profile

    def work() -> Result:
        subject.job()
        with ui.Progress() as bar:
            found = profile(subject.ref, subject.settings, ini=subject.ini, seconds=PROFILE,
                            on_progress=bar.update, verbose=verbose)
        assert found                    # in this process
        return {"seconds": PROFILE}, {
            "phases": [{"name": phase.name, "share": phase.share, "ns": phase.ns_per_step}
                       for phase in found.phases],
            "steps_per_second": found.steps_per_second, "gflops": found.gflops,
            "path": found.path, "precision": found.precision, "threads": found.threads}

    return keeper.stage("profile", "profile",
                        [subject.key, subject.values("env", "vec", "policy", "train")],
                        lambda entry: attempt(subject, work, usage=True))


def _page(subject: Subject, keeper: Keeper, chosen: Entry | None, model: Path | None,
          verbose: bool) -> Entry:
    """build/web/, with the policy that the report chose."""
    from ..programs import targets

    def work() -> Result:
        subject.job()
        policy = subject.made / f"{subject.name}_policy.bin"
        before = files.read(policy) if files.is_file(policy) else None
        try:
            with ui.Progress() as bar:
                made = targets.build_program(
                    subject.home, "web", env_settings=subject.config.env, model=model,
                    on_progress=bar.update, verbose=verbose)
        finally:                        # for the author's own programs
            if before is not None:
                files.save(policy, before, what="the policy", hint=HINT)
        parts = sorted(path for path in made.path.parent.glob("index.*"))
        return {"bytes": made.bytes, "zipped": sum(_zipped(path) for path in parts),
                "files": {path.name: path.stat().st_size for path in parts},
                "warnings": len(re.findall(r"\bwarning: ", made.warnings))}, {}

    emcc = shutil.which("emcc")
    stamp = [os.path.realpath(emcc), os.stat(emcc).st_mtime_ns] if emcc else None
    return keeper.stage("web", "page", [subject.key, subject.values("env"), stamp,
                                        chosen.key if chosen else None],
                        lambda entry: attempt(subject, work))


STAGES = {"rates": _rates, "profile": _profile, "web": _page}


def _zipped(path: Path) -> int:
    """Bytes that a compressing server sends."""
    return len(gzip.compress(files.read(path), 6, mtime=0))
