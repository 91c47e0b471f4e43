"""The list of experiments, each with its options.  Facts + Sizes -> Jobs"""
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import NamedTuple, Protocol, TypedDict

import numpy as np

from ...core.fact_kinds import CostFact
from ...core.facts import Facts
from . import alike, hidden
from .driver import DEBUG, FAST, SANITIZED, TRAINED, WATCHED, Kind, Runner
from .sizes import Sizes
from .source import counters, logging

PACKED, REVERSED, GUARD_HIGH, GUARD_LOW = range(4)      # layouts of harness.h
SANITIZED_SLOWER = 6
DEBUG_SLOWER = 20
SLOW_INIT = 1.0         # seconds of computing, from which on -O0 would take too long
SLOW_RESET = 0.02       # seconds, from which on `audit` learns from FEW of them, else from SOME
SOME, FEW = 16, 8
SPELL = 12              # steps, about, that follow each of them there
ROUNDS = 3              # of `again`, where a reset is slow
TRIED = 40              # forks of `effect`, below which rules/masks/ignored judges nothing
AHEAD = 48              # steps that follow each fork of `effect`
MOST_FED = 16           # elements of an array that a field of Log adds: more make a slow run
FEW_AHEAD = 8           # those of `crossed`
SHORT = 24              # steps of an episode that is to be cut off
WHOLE = "the binding steps all envs at once (MY_VEC_STEP)"


class Options(TypedDict, total=False):
    """What the plan tells an experiment: Options of play/harness.h, and what Runner.run takes."""

    agents: int
    envs: int
    steps: int
    hang: float
    settings: Mapping[str, float]
    perturb: int
    samples: Path
    bounds: Path
    hashes: Path
    dump: Path
    dump_env: int
    dump_step: int
    fed: str
    generators: str
    private: str
    ahead: int
    coverage: int
    fences: int
    layout: int
    log_length: int
    log_perf: int
    log_return: int
    only: int
    repeat: int
    reseed: int
    seek: int
    shift: int
    stores: int
    told: int
    uneven: int


class Job(NamedTuple):
    """One run of the harness."""

    name: str
    kind: Kind              # of the library that it opens
    experiment: str
    options: Options


class Lab(Protocol):
    """What plan.py has built and run; its parts run experiments of their own."""

    facts: Facts
    folder: Path
    sizes: Sizes
    runner: Runner
    built: dict[str, tuple[Path, Path]]     # kind -> program, library
    libraries: dict[str, Path]              # experiment -> what it opened
    ran: dict[str, Job]                     # by name

    def build(self, kind: Kind) -> None: ...

    def experiment(self, job: Job) -> None: ...


@dataclass
class Jobs:
    """All jobs on one environment; why others are left out is in facts.skipped."""

    facts: Facts
    sizes: Sizes
    folder: Path            # of the files that experiments write
    hang: float             # seconds of silence after which an env hangs

    def first(self) -> list[Job]:
        """What the fast build runs, the longest first."""
        probe = self.facts.outcomes["probe"]
        if not probe.ended:
            return []
        s, whole = self.sizes, self.facts.shape.whole_steps
        scanned = 0.1 if self.facts.shape.dtype == "u8" else 0.3
        wide = max(4, min(64, 256 // self.facts.shape.env_agents))
        envs = s.envs(wide, 1 << 18)
        jobs = [Job("run", FAST, "run", {
            "envs": envs, "steps": s.steps(envs, (1 << 20) / envs, 4.0, touched=scanned),
            "samples": self.folder / "run.samples", **self.bounds(), **self.log_places(),
            **self.fed()})]
        few, told = s.envs(8), self.facts.told_agents
        trace = Options(envs=few, steps=s.steps(few, 8192, 0.5, touched=0.3))
        jobs += [Job(name, FAST, "trace", {**trace, "hashes": self.folder / f"{name}.u64", **extra})
                 for name, extra in self.traces(few, whole).items()]
        jobs += [
            Job("guard-high", FAST, "guard", Options(
                envs=few, layout=GUARD_HIGH, steps=s.steps(few, 16384, 0.5))),
            Job("guard-low", FAST, "guard", Options(
                envs=few, layout=GUARD_LOW, steps=s.steps(few, 16384, 0.5))),
            Job("fences", FAST, "guard", Options(
                envs=envs, fences=1, uneven=1, layout=GUARD_HIGH,
                steps=s.steps(envs, min(16384, (1 << 20) / envs), 1.0))),
            Job("poison", FAST, "poison", Options(
                envs=few, told=told, steps=s.steps(
                    few, 2048, 0.3, touched=2, least=64 // self.facts.shape.env_agents))),
            Job("stale", FAST, "stale", Options(envs=few, steps=s.steps(few, 8192, 0.5))),
            Job("columns", FAST, "columns", Options(envs=few, steps=s.steps(few, 8192, 0.3))),
            Job("rewrite", FAST, "rewrite", Options(
                envs=few, told=told, steps=s.steps(few, 2048, 0.7, touched=12, slower=3),
                hang=min(1.0, self.hang))),
            Job("memory", FAST, "memory", Options(
                envs=2, repeat=s.resets, steps=s.steps(2, 1024, 0.05))),
            Job("again", FAST, "again", Options(envs=few) if s.reset_seconds < SLOW_RESET
                and few > ROUNDS else Options(envs=few, repeat=ROUNDS)),
        ]
        if self.facts.known_spec.writes_final_obs:
            long = Options(envs=few, steps=s.steps(few, 8192, 0.3))
            jobs += [Job("finals", FAST, "finals", long),
                     Job("finals-short", FAST, "finals", {**long, "settings": self.clocks()})]
        jobs.append(Job("mirror", FAST, "mirror", Options(
            envs=few, steps=s.steps(few, 4096, 0.3, touched=4, least=256))))
        if whole:
            self.facts.skipped["packed"] = WHOLE
        else:
            jobs.append(Job("packed", FAST, "packed", Options(
                envs=few, steps=s.steps(few, 2048, 0.5, touched=few))))
        return jobs

    def clocks(self) -> dict[str, float]:
        """[env] keys that a count of steps is compared with, as short as a game may be."""
        limits = counters.limits(self.facts.source)
        return {key: float(SHORT) for key, value in self.facts.config.env.items()
                if key in limits and value == int(value) and value > SHORT}

    @cached_property
    def generators(self) -> str:
        return hidden.as_option(hidden.generators(self.facts))

    def bounds(self) -> Options:
        """A file of the bounds that the author declares, a hair wider: they are rounded."""
        declared = [promise for part in self.facts.row.described for promise in part.promises]
        if not declared:
            return {}
        low = np.full(self.facts.shape.obs_size, -np.inf)
        high = -low
        for elements, (least, most) in declared:
            slack = 1e-5 * max(abs(b) for b in (least, most, 1.0) if math.isfinite(b))
            low[elements], high[elements] = least - slack, most + slack
        path = self.folder / "run.bounds"
        np.stack([low, high]).astype(np.float32).tofile(path)
        return {"bounds": path}

    def log_places(self) -> Options:
        """Where Log holds what can be measured, in floats from its start."""
        places: Options = {}
        at = 0
        for one in self.facts.known_spec.log_fields:
            if one.length is None and at < 64:
                if one.name == "perf":
                    places["log_perf"] = at
                elif one.name == "episode_return":
                    places["log_return"] = at
                elif one.name == "episode_length":
                    places["log_length"] = at
            at += one.length or 1
        return places

    def fed(self) -> Options:
        """Where those numbers of the struct lie that fields of Log add."""
        layout, at = self.facts.layout, 0
        found: list[str] = []
        if layout is None:
            return {}
        added = logging.added(self.facts.source)
        for one in self.facts.known_spec.log_fields:
            paths = logging.paths(self.facts.source, *added[one.name]) if one.name in added else ()
            places = [scalar for scalar in layout.scalars if scalar.bits is None
                      and re.sub(r"\[\d+\]", "", scalar.path) in paths] if paths else []
            if len(paths) == 1 and len(places) <= MOST_FED:
                found += [f"{at}:{scalar.offset}:{scalar.size}" for scalar in places]
            at += one.length or 1
        return {"fed": ",".join(found)} if found else {}

    def of_episodes(self) -> list[Job]:
        """What happens when an episode ends, and what an action changes."""
        s, few = self.sizes, self.sizes.envs(8)
        if not self.facts.outcomes["probe"].ended:
            return []
        jobs = [Job("fresh", FAST, "fresh", Options(envs=few, steps=s.steps(few, 1024, 0.2),
                                              generators=self.generators))]
        if self.facts.shape.whole_steps:
            for name in ("audit", "effect", "openings", "reseed", "crossed", "places"):
                self.facts.skipped[name] = WHOLE
            return jobs
        forks = s.steps(1, 2048, 0.8 / AHEAD, touched=1, least=512 if s.seconds < 5e-5 else 128)
        private = hidden.places(self.facts)
        if private:
            jobs.append(Job("private", FAST, "private", Options(
                envs=few, steps=s.steps(1, 1024, 0.3, touched=1, least=128),
                private=",".join(place.option for place in private))))
        if self.facts.shape.env_agents > 1:
            if alike.declared(self.facts.source.files):
                many = s.envs(64)
                jobs.append(Job("places", FAST, "places", Options(
                    envs=many, steps=s.steps(many, 4096, 1.5, touched=4))))
            choices = 1 + min(self.facts.shape.env_agents, 8) * self.facts.shape.heads
            jobs.append(Job("crossed", FAST, "crossed", Options(envs=few, steps=s.steps(
                1, max(512, min(1024, 128 * choices), 48 * choices), 0.4 / FEW_AHEAD, least=128))))
        if forks < TRIED:
            self.facts.skipped["effect"] = "too few moments were tried"
        else:
            jobs.append(Job("effect", FAST, "effect", Options(envs=few, steps=forks)))
        if self.facts.shape.mask:
            jobs.append(Job("masks", FAST, "masks", Options(
                envs=few, steps=s.steps(1, 2048, 0.1, least=256))))
        return [*jobs,
                Job("audit", WATCHED, "audit", Options(
                    envs=few, repeat=SOME if s.reset_seconds + SPELL * s.seconds < SLOW_RESET
                    else FEW,
                    steps=s.steps(few, 4096, 0.7, touched=12, least=512, slower=3))),
                Job("openings", FAST, "openings", Options(envs=few, steps=s.resets)),
                Job("reseed", FAST, "reseed", Options(
                    envs=few, steps=s.steps(few, 4096, 0.2)))]

    def traces(self, envs: int, whole: int) -> dict[str, Options]:
        """The same run under other circumstances; all must give the same bytes."""
        last = envs - 1
        draws: Options = {"generators": self.generators}
        jobs: dict[str, Options] = {
            "trace-base": draws, "trace-moved": {"shift": 1, "perturb": 165},
                "trace-again": {"repeat": 1}, "trace-seeded": {"reseed": 1, **draws}}
        if whole:
            self.facts.skipped["trace-reversed"] = WHOLE
        else:
            jobs |= {"trace-reversed": {"layout": REVERSED}, "trace-alone-first": {"only": 0},
                     "trace-alone-last": {"only": last}}
        return jobs

    def sanitized(self) -> list[Job]:
        """Rows between guards, under sanitizers; with --deep, 64 times as long."""
        s = self.sizes
        envs = 4 if s.cells < 4096 else 2
        longer = 64 if "--deep" in self.facts.options else 1
        steps = s.steps(envs, 8192 * longer, longer**0.5, slower=SANITIZED_SLOWER)
        return [Job("sanitized-high", SANITIZED, "guard",
                 Options(envs=envs, layout=GUARD_HIGH, steps=steps, hang=2 * self.hang)),
                Job("sanitized-low", SANITIZED, "guard",
                 Options(envs=envs, layout=GUARD_LOW, uneven=1, hang=2 * self.hang,
                      steps=max(steps // 4, min(steps, 64))))]

    def of_other_builds(self) -> list[Job]:
        """Traces of the -O0 build, from one thread and from two, and of the -O3 build."""
        base = self.facts.outcomes.get("trace-base")
        probe = self.facts.outcomes["probe"]
        if not probe.ended or (base and not base.ended):
            return []
        s, few = self.sizes, self.sizes.envs(8)
        steps = s.steps(few, 4096, 0.4, slower=DEBUG_SLOWER)
        jobs = [Job("trace-debug", DEBUG, "trace", Options(
                    envs=few, steps=steps, coverage=1, stores=1)),
                Job("trace-trained", TRAINED, "trace", Options(
                    envs=few, steps=s.steps(few, 8192, 0.5, touched=0.3)))]
        if self.facts.always("probe", CostFact).init > SLOW_INIT:
            self.facts.skipped |= dict.fromkeys(("trace-debug", "trace-threads"), (
                "init takes seconds: it was not played without optimization"))
            del jobs[0]
        elif self.facts.shape.whole_steps:
            self.facts.skipped["trace-threads"] = WHOLE
        else:
            jobs.append(Job("trace-threads", DEBUG, "threads", Options(
                envs=few, steps=min(512, steps))))
        return [job._replace(options={**job.options, "hashes": self.folder / f"{job.name}.u64"})
                for job in jobs]
