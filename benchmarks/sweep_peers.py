"""The samplers that bench_sweep.py compares.  a task, a seed -> ask() and tell()

    ask()                       (handle, settings)
    tell(handle, score, cost)   score: None for a trial that failed

Optuna's samplers come from the package; PufferLib's Protein from a source distribution that the
reader has unpacked. What had to be adapted for Protein stands at its class.
"""
from __future__ import annotations

import contextlib
import importlib.util
import io
import math
import sys
import types
from pathlib import Path

import optuna

from puffer_sdk.base.errors import UsageError
from puffer_sdk.sweeping.sampler import Sampler

QUICK = ("ours", "random", "TPE", "MOTPE", "NSGA-II")
PROTEIN = "pufferlib_sweep"     # the name of its module here
optuna.logging.set_verbosity(optuna.logging.ERROR)


class Ours:
    def __init__(self, task, seed: int, method: str = "gp"):
        self.sampler = Sampler(task.space, seed=seed, minimize=task.sign < 0, method=method)

    def ask(self):
        trial = self.sampler.ask()
        return trial, trial.settings

    def tell(self, trial, score, cost):
        if score is None:
            self.sampler.fail(trial)
        else:
            self.sampler.tell(trial, score, cost)


class Peer:
    """A sampler of Optuna. It sees each setting on the axis on which it is uniform.

    several     score and log cost as two objectives
    """

    def __init__(self, task, make, several: bool):
        self.states = optuna.trial.TrialState
        word = "minimize" if task.sign < 0 else "maximize"
        self.study = optuna.create_study(sampler=make(optuna.samplers), **(
            {"directions": [word, "minimize"]} if several else {"direction": word}))
        self.several, self.space, kinds = several, task.space, optuna.distributions
        self.sides = {each.name: kinds.CategoricalDistribution(each.choices)
                      if each.kind == "choice" else kinds.IntDistribution(0, each.levels - 1)
                      if each.levels else kinds.FloatDistribution(0, 1)
                      for each in task.space.dimensions}

    def ask(self):
        trial = self.study.ask(self.sides)
        return trial, self.space.settings([
            each.unit(trial.params[each.name]) if each.kind == "choice" else
            (trial.params[each.name] + 0.5) / each.levels if each.levels else
            trial.params[each.name] for each in self.space.dimensions])

    def tell(self, trial, score, cost):
        if score is None:
            self.study.tell(trial, state=self.states.FAIL)
        else:
            self.study.tell(trial, [score, math.log(cost)] if self.several else score)


class Protein:
    """PufferLib's sampler, from the sweep.py that `load_protein` has loaded.

    Adapted, so that the tables can ask it:
    - It has no choices: one of n is a whole number from 0 to n - 1. A setting with one value is
      left out. The centre of the search is the middle of each range, and the scale "auto".
    - It maximises the score or its negative, as "minimize" does not work in it.
    - max_suggestion_cost has no limit; by default it would refuse what takes an hour, and some
      trainings of the tables take ten.
    - A trial gives one observation, at its end, with its cost in seconds. A failed one gives none,
      as in PufferLib 3.0, whose sweeps observe what a run has logged.
    - PyTorch, NumPy and random are seeded, and Pyro's store of parameters is emptied.
    Nothing else is changed, its defects included.
    """

    def __init__(self, task, seed: int):
        import pyro
        import torch

        torch.set_num_threads(1)
        pyro.clear_param_store()
        pyro.set_rng_seed(seed)
        self.sign, self.space = task.sign, task.space
        rows = {each.name: {"distribution": "int_uniform", "min": 0, "max": each.levels - 1,
                            "mean": (each.levels - 1) / 2, "scale": "auto"}
                if each.levels else
                {"distribution": "uniform", "min": 0, "max": 1, "mean": 0.5, "scale": "auto"}
                for each in task.space.dimensions if each.levels != 1}
        with contextlib.redirect_stdout(io.StringIO()):
            self.sampler = sys.modules[PROTEIN].Protein(
                {"metric": "score", "goal": "maximize", **rows}, max_suggestion_cost=math.inf)

    def ask(self):
        with contextlib.redirect_stdout(io.StringIO()):
            hypers, _ = self.sampler.suggest(None)
        return hypers, self.space.settings([
            0.5 if each.levels == 1 else (hypers[each.name] + 0.5) / each.levels
            if each.levels else hypers[each.name] for each in self.space.dimensions])

    def tell(self, hypers, score, cost):
        if score is not None:
            self.sampler.observe(hypers, self.sign * score, cost)


def load_protein(file: Path) -> str:
    """Loads the sweep.py of an unpacked pufferlib, and returns its version.

    The package around it is not imported: it needs gym, and writes into the working folder. Of the
    package, sweep.py uses the function that flattens a nested dict, and our spaces are flat.
    Raises UsageError if there is no such file, or it cannot be imported.
    """
    if not file.is_file():
        raise UsageError("there is no such file", where=file,
                         expected="pufferlib/sweep.py of an unpacked source distribution")
    package = types.ModuleType("pufferlib")
    package.unroll_nested_dict = lambda flat: flat.items()
    sys.modules["pufferlib"] = package
    described = importlib.util.spec_from_file_location(PROTEIN, file)
    module = importlib.util.module_from_spec(described)
    try:
        described.loader.exec_module(module)
    except ImportError as error:
        raise UsageError("PufferLib's sweep.py cannot be imported", where=file,
                         expected="PyTorch and pyro-ppl", actual=str(error),
                         hint="pip install torch pyro-ppl") from None
    finally:
        del sys.modules["pufferlib"]
    if not hasattr(module, "Protein"):
        raise UsageError("there is no Protein in it", where=file,
                         expected="pufferlib/sweep.py of PufferLib 3.0")
    sys.modules[PROTEIN] = module
    return _version(file)


def _version(file: Path) -> str:
    """Of the source distribution that a sweep.py lies in."""
    for name in ("PKG-INFO", "METADATA"):
        with contextlib.suppress(OSError):
            for line in (file.parent.parent / name).read_text(errors="replace").splitlines():
                if line.startswith("Version: "):
                    return line.removeprefix("Version: ").strip()
    return "unknown"


def samplers(task, seed: int) -> dict:
    """{name: a function that makes it}"""
    return {
        "ours": lambda: Ours(task, seed),
        "random": lambda: Ours(task, seed, "random"),
        "TPE": lambda: Peer(task, lambda s: s.TPESampler(
            seed=seed, multivariate=True, constant_liar=True), False),
        "MOTPE": lambda: Peer(task, lambda s: s.TPESampler(
            seed=seed, multivariate=True, constant_liar=True), True),
        "NSGA-II": lambda: Peer(task, lambda s: s.NSGAIISampler(seed=seed, population_size=20),
                                True),
        "GPSampler": lambda: Peer(task, lambda s: s.GPSampler(seed=seed), True),
        "Protein": lambda: Protein(task, seed)}
