"""Builds an environment and runs all experiments on it.  Spec + Config -> Facts"""
from __future__ import annotations

import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import cast

import numpy as np
from numpy.typing import NDArray

from ....base.errors import BuildError
from ....env import obs_spec
from ....settings.automatic import available_cores
from ...core import statistics
from ...core.fact_kinds import (
    CostFact,
    InsideFact,
    ReachFact,
    ResidentFact,
    RunFact,
    SampleFact,
    ScriptFact,
    ShapeFact,
)
from ...core.facts import Facts, Setup
from ...core.kinds import Fact, parse
from ...core.memory_bound import Bound
from . import line_coverage, probing, variants
from .compare_traces import Traces
from .driver import (
    DEBUG,
    FAST,
    SANITIZED,
    TRAINED,
    WATCHED,
    Kind,
    Runner,
    build_library,
    build_program,
)
from .frames import own_frame, symbolize
from .jobs import Job, Jobs, Options
from .sizes import Sizes, cost_class
from .source import beginnings, sites

FURTHER, FURTHEST = 64, 4096    # steps after a choice: beyond two episodes, and at most


def gather(facts: Facts, folder: Path, *, budget: float, verbose: bool = False) -> Plan:
    """Build the environment, run every experiment, and leave the outcomes in facts.

    folder    for libraries and traces; the plan can go on for as long as it exists
    """
    plan = Plan(facts, folder, budget, verbose)
    plan.run()
    return plan


class Plan:
    """The experiments on one environment."""

    def __init__(self, facts: Facts, folder: Path, budget: float, verbose: bool):
        self.facts, self.folder, self.budget, self.verbose = facts, folder, budget, verbose
        config = facts.config
        vec = {"total_agents": float(config.vec.total_agents)}
        self.spec = facts.known_spec
        self.runner = Runner(self.spec, folder, facts.seed, config.env, vec,
                             config.vec.step_timeout, {}, Bound(facts.memory))
        self.built: dict[str, tuple[Path, Path]] = {}       # kind -> program, library
        self.libraries: dict[str, Path] = {}                # experiment -> what it opened
        self.ran: dict[str, Job] = {}              # by name

    def run(self) -> None:
        workers = max(2, min(4, available_cores()))
        with ThreadPoolExecutor(workers) as pool:
            try:
                self.run_in(pool)
            except BaseException:       # Ctrl-C as well: nothing of ours goes on
                pool.shutdown(wait=False, cancel_futures=True)
                self.runner.stop()
                raise
        Traces(self).find_differences()
        self.read_statistics()
        self.resolve_stacks()

    def run_in(self, pool: ThreadPoolExecutor) -> None:
        sanitized = pool.submit(self.build_other, SANITIZED, "sanitized-high", "no sanitizers")
        self.build(FAST)
        watched = pool.submit(self.build_watched)
        self.probe()
        jobs = Jobs(self.facts, self.sizes, self.folder, self.runner.hang)
        started = [pool.submit(self.experiment, job) for job in jobs.first()]
        debug = pool.submit(self.build_other, DEBUG, "trace-debug", "no -fsanitize=thread")
        trained = pool.submit(self.build_other, TRAINED, "trace-trained", "no -march=native")
        watched.result()
        started += [pool.submit(self.experiment, job) for job in jobs.of_episodes()]
        sanitized.result()
        started += [pool.submit(self.experiment, job) for job in jobs.sanitized()]
        others = variants.Variants(self, pool)
        debug.result()
        trained.result()
        started += [pool.submit(self.experiment, job) for job in jobs.of_other_builds()]
        for job in started:
            job.result()
        late = pool.submit(self.look_further)
        line_coverage.read(self.facts, self.folder / "debug.gcda")
        late.result()
        others.conclude()

    # -- building

    def build(self, kind: Kind, probed: Path | None = None, counted: Sequence[str] = ()) -> None:
        program = build_program(kind, verbose=self.verbose)
        library = build_library(self.spec, kind, self.folder, probed=probed,
                                beginnings=counted, verbose=self.verbose)
        self.built[kind.name] = program, library

    def build_other(self, kind: Kind, skipped: str, lacks: str) -> None:
        try:
            self.build(kind)
        except BuildError as error:     # of the compiler: FAST names the author's errors
            self.facts.skipped[skipped] = f"the compiler has {lacks} ({error.message})"

    def build_watched(self) -> None:
        """With the sites of the header and what begins episodes counted, where that compiles."""
        facts, probed = self.facts, self.folder / "probed"
        facts.sites = probing.write(self.spec, sites.sites(facts.source), probed)
        facts.beginnings = beginnings.beginnings(facts.source)
        try:
            self.build(WATCHED, probed if facts.sites else None, facts.beginnings)
        except BuildError:
            if not facts.sites and not facts.beginnings:
                raise
            facts.sites, facts.beginnings = [], []
            self.build(WATCHED)

    # -- experiments

    def probe(self) -> None:
        made_at_once = "MY_VEC_INIT" in self.facts.source.binding_text
        self.experiment(Job("probe", FAST, "probe", {"seek": 1} if made_at_once else {}))
        shape = self.facts.fact("probe", ShapeFact)
        cost = self.facts.fact("probe", CostFact)
        resident = self.facts.fact("probe", ResidentFact)
        if resident:
            self.runner.leave_room(resident.bytes)
        if shape is None:
            spec = self.spec
            shape = cast(ShapeFact, parse({
                "fact": "shape", "agents": 1, "envs": 1, "env_agents": 1, "mask": 0,
                "truncations": 0, "alive": 0, "obs_size": spec.obs_count or 1, "heads": 1,
                "whole_steps": 0, "dtype": spec.obs_dtype}))
        self.facts.probed = shape
        if cost:
            self.facts.row = obs_spec.read(self.spec, shape.obs_size,
                                           settings=self.facts.config.env) or self.facts.row
        cells = shape.obs_size * shape.env_agents
        self.sizes = Sizes(shape.agents, cells, cells * (1 if shape.dtype == "u8" else 4),
                           cost_class(cost.seconds if cost else None),
                           cost_class(cost.reset if cost else None),
                           cost_class(cost.init if cost else None), self.budget)

    def experiment(self, job: Job) -> None:
        name, kind, experiment, options = job
        if kind.name not in self.built:
            return
        self.ran[name] = job
        program, library = self.built[kind.name]
        self.libraries[name] = library
        self.facts.setups[name] = Setup(experiment, options.get("envs", 1), options.get("steps"),
                                        options.get("uneven", 0))
        told: Options = {"agents": self.facts.agents, **options}
        self.facts.outcomes[name] = self.runner.run(name, program, library, experiment, **told)

    def look_further(self) -> None:
        """What the first experiments leave open."""
        self.look_ahead()
        run = self.facts.fact("run", RunFact)
        if run and run.entries and not run.terminals and not self.facts.shape.whole_steps:
            # rare calls of c_reset are all that tells what these entries belong to
            options = self.ran["run"].options.copy()
            options.pop("samples", None)
            options.pop("bounds", None)
            options.pop("fed", None)
            options.pop("log_perf", None)
            self.experiment(Job("hidden", WATCHED, "hidden", options))

    def look_ahead(self) -> None:
        """Where a head changed nothing within the steps of `effect`: to the end of an episode."""
        silent = {fact.head for fact in self.facts.all("effect", ReachFact)} - {
            fact.head for fact in self.facts.all("effect", ReachFact) if fact.moved}
        lengths = [fact for fact in self.facts.all("run", SampleFact) if fact.name == "length"]
        if not silent or not lengths or not lengths[0].seen:
            return
        ahead = int(min(2 * lengths[0].mean + FURTHER, FURTHEST))
        forks = self.sizes.steps(1, 512, 0.8 / ahead, touched=1, least=128)
        self.experiment(Job("effect-far", FAST, "effect",
                            Options(envs=self.sizes.envs(8), steps=forks, ahead=ahead)))

    def read_statistics(self) -> None:
        """Ranges and samples of the long run, while its file still exists."""
        run = self.facts.outcome("run")
        if run:
            shape = self.facts.shape
            self.facts.statistics = statistics.read(
                self.folder / "run.samples", run.facts, shape.dtype, shape.obs_size,
                self.facts.row.parts, self.facts.always("run", RunFact).lived)

    def script(self, envs: int, env: int, steps: int, uneven: int = 0) -> NDArray[np.float32]:
        """The actions that experiments on `envs` envs give one of them (-1: all of them).

        uneven  1: those of uneven play (play/batch.c)

        (steps, agents x heads) float32
        """
        # two proofs may want the same script at once
        path = self.folder / f"script-{envs}-{env}-{steps}-{threading.get_ident()}.f32"
        name = path.stem
        self.experiment(Job(name, FAST, "script", {
            "envs": envs, "steps": steps, "dump": path, "dump_env": env, "uneven": uneven}))
        fact = self.facts.outcomes.pop(name).first(ScriptFact)
        self.facts.setups.pop(name)
        agents = (fact.all if env < 0 else fact.agents) if fact else \
            self.facts.shape.env_agents * (envs if env < 0 else 1)
        width = agents * self.facts.shape.heads
        numbers = np.fromfile(path, np.float32) if path.is_file() else np.zeros(0, np.float32)
        return numbers[:numbers.size // width * width].reshape(-1, width)

    def resolve_stacks(self) -> None:
        """Addresses to lines, while the libraries still exist."""
        outcomes = {**self.facts.outcomes,
                    **{variant.outcome.name: variant.outcome for variant in self.facts.variants}}
        for name, outcome in outcomes.items():
            outcome.facts = [self.resolved(name, fact) for fact in outcome.facts]

    def resolved(self, name: str, fact: Fact) -> Fact:
        """A fact with the frames of its stack, if it has one."""
        if not isinstance(fact, InsideFact):
            return fact
        frames = symbolize(self.libraries[name], self.runner.base.get(name, 0), fact.stack,
                           getattr(fact, "pc", None))
        return replace(fact, frames=tuple(frames), frame=own_frame(frames, self.spec.folder))
