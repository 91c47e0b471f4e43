"""Which experiments are run, how long each is, and in what order.  Spec + Config -> Facts

Lengths depend on sizes and on the cost of a step in coarse classes, never on the clock alone:
two checks of the same source see the same steps.
"""
from __future__ import annotations

import math
import os
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ...base.errors import BuildError
from ...base.spec import Spec
from ...settings.values import Config
from ..facts import Difference, Facts
from ..harness import lines
from ..harness.driver import (
    DEBUG,
    EXACT,
    FAST,
    SANITIZED,
    TRAINED,
    WATCHED,
    Kind,
    Runner,
    build_library,
    build_program,
)
from ..source import fields
from . import hidden, moments, variants

CHEAP = 5e-7            # seconds of a step of one env, below which nothing is shortened
BESIDE = {"trace-threads": "trace-debug"}        # what a trace is compared with, if not -base
PACKED, REVERSED, GUARD_HIGH, GUARD_LOW = range(4)
SANITIZED_SLOWER = 6
AHEAD = 48              # steps that follow each fork of `effect`
WHOLE = "the binding steps all envs at once (MY_VEC_STEP)"
DEBUG_SLOWER = 20


@dataclass
class Sizes:
    """What experiments cost: one env's row, and one step of it."""

    agents: int             # of the smallest tiling
    cells: int              # observation elements of one env
    row_bytes: int
    seconds: float          # of a step, in classes of a factor of four
    reset_seconds: float    # of a reset, likewise
    budget: float           # the user's factor on every length

    def envs(self, most: int, cells: int = 1 << 15) -> int:
        return max(2, min(most, cells // max(self.cells, 1)))

    @property
    def resets(self) -> int:
        """A power of two, for a tenth of a second: 256, or 16 where a reset takes 2 ms."""
        return max(16, min(256, 1 << int(math.log2(0.05 / self.reset_seconds))))

    def steps(self, envs: int, wanted: float, seconds: float = 1.0, *, least: int = 64,
              touched: float = 0.0, slower: float = 1.0) -> int:
        """As many steps as wanted, or as fit: `touched` ns for each observation element."""
        each = envs * (self.seconds * slower + 1e-9 * touched * self.cells)
        fitting = max(least, min(wanted, seconds / each) * self.budget)
        return 1 << int(math.log2(fitting))


def cost_class(cost: dict | None, key: str) -> float:
    """Seconds of a step (or reset), rounded up to CHEAP times a power of four."""
    seconds = max(cost[key] if cost else CHEAP, CHEAP)
    return CHEAP * 4 ** max(math.ceil(math.log(seconds / CHEAP, 4) - 0.25), 0)


def _differing(trace: np.ndarray, other: np.ndarray) -> np.ndarray:
    """(steps, envs) True where two traces differ, as far as both go; 0 = an env not stepped."""
    steps = min(len(trace), len(other))
    return (trace[:steps] != other[:steps]) & (trace[:steps] != 0)


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
        config: Config = facts.config
        vec = {"total_agents": float(config.vec.total_agents)}
        self.runner = Runner(facts.spec, folder, facts.seed, config.env, vec,
                             config.vec.step_timeout, {})
        self.built: dict[str, tuple[Path, Path]] = {}       # kind -> program, library
        self.libraries: dict[str, Path] = {}                # experiment -> what it opened
        self.ran: dict[str, tuple[Kind, str, dict]] = {}    # name -> kind, experiment, options

    def run(self) -> None:
        workers = max(2, min(4, len(os.sched_getaffinity(0))))
        with ThreadPoolExecutor(workers) as pool:
            try:
                self.run_in(pool)
            except BaseException:       # Ctrl-C as well: nothing of ours goes on
                pool.shutdown(wait=False, cancel_futures=True)
                self.runner.stop()
                raise
        self.find_differences()
        self.read_statistics()
        self.resolve_stacks()

    def run_in(self, pool: ThreadPoolExecutor) -> None:
        sanitized = pool.submit(self.build_other, SANITIZED, "sanitized-high", "no sanitizers")
        self.build(FAST)
        watched = pool.submit(self.build, WATCHED)
        self.probe()
        jobs = [pool.submit(self.experiment, *job) for job in self.experiments()]
        debug = pool.submit(self.build_other, DEBUG, "trace-debug", "no -fsanitize=thread")
        trained = pool.submit(self.build_other, TRAINED, "trace-trained", "no -march=native")
        watched.result()
        jobs += [pool.submit(self.experiment, *job) for job in self.episode_experiments()]
        sanitized.result()
        jobs += [pool.submit(self.experiment, *job) for job in self.sanitized_experiments()]
        others = variants.Variants(self, pool)
        debug.result()
        trained.result()
        jobs += [pool.submit(self.experiment, *job) for job in self.other_builds()]
        for job in jobs:
            job.result()
        lines.read(self.facts, self.folder / "debug.gcda")
        others.conclude()

    # -- building

    def build(self, kind: Kind) -> None:
        program = build_program(kind, verbose=self.verbose)
        library = build_library(self.spec, kind, self.folder, verbose=self.verbose)
        self.built[kind.name] = program, library

    def build_other(self, kind: Kind, skipped: str, lacks: str) -> None:
        try:
            self.build(kind)
        except BuildError as error:     # of the compiler: FAST names the author's errors
            self.facts.skipped[skipped] = f"the compiler has {lacks} ({error.message})"

    @property
    def spec(self) -> Spec:
        return self.facts.spec

    # -- experiments

    def probe(self) -> None:
        self.experiment("probe", FAST, "probe", {})
        shape = self.facts.fact("probe", "shape")
        cost = self.facts.fact("probe", "cost")
        if shape is None:
            shape = {"agents": 1, "envs": 1, "env_agents": 1, "mask": 0, "truncations": 0,
                     "obs_size": self.spec.obs_count or 1, "heads": 1, "whole_steps": 0,
                     "dtype": self.spec.obs_dtype}
        self.facts.shape = shape
        if cost:
            self.facts.fields = fields.read(self.spec, shape["obs_size"])
        cells = shape["obs_size"] * shape["env_agents"]
        self.sizes = Sizes(shape["agents"], cells, cells * (4 if shape["dtype"] == "f32" else 1),
                           cost_class(cost, "seconds"), cost_class(cost, "reset"), self.budget)

    def experiment(self, name: str, kind: Kind, experiment: str, options: dict) -> None:
        if kind.name not in self.built:
            return
        self.ran[name] = kind, experiment, options
        program, library = self.built[kind.name]
        shape = self.facts.shape
        self.libraries[name] = library
        self.facts.setups[name] = {"experiment": experiment, **options}
        outcome = self.runner.run(name, program, library, experiment,
                                  **{"agents": shape.get("agents", 1), **options})
        self.facts.outcomes[name] = outcome

    def experiments(self) -> list[tuple]:
        """(name, kind, experiment, options), the longest first."""
        probe = self.facts.outcomes["probe"]
        if not probe.ended:
            return []
        s, whole = self.sizes, self.facts.shape["whole_steps"]
        scanned = 0.3 if self.facts.shape["dtype"] == "f32" else 0.1
        wide = max(4, min(64, 256 // self.facts.shape["env_agents"]))
        envs = s.envs(wide, 1 << 18)
        jobs = [("run", FAST, "run", dict(
            envs=envs, steps=s.steps(envs, (1 << 20) / envs, 4.0, touched=scanned),
            samples=self.folder / "run.samples", **self.bounds(), **self.log_places()))]
        few = s.envs(8)
        trace = dict(envs=few, steps=s.steps(few, 8192, 0.5, touched=0.3))
        jobs += [(name, FAST, "trace", {**trace, "hashes": self.folder / f"{name}.u64", **extra})
                 for name, extra in self.traces(few, whole).items()]
        jobs += [
            ("guard-high", FAST, "guard", dict(
                envs=few, layout=GUARD_HIGH, steps=s.steps(few, 16384, 0.5))),
            ("guard-low", FAST, "guard", dict(
                envs=few, layout=GUARD_LOW, steps=s.steps(few, 16384, 0.5))),
            ("poison", FAST, "poison", dict(
                envs=few, steps=s.steps(few, 2048, 0.3, touched=2))),
            ("stale", FAST, "stale", dict(envs=few, steps=s.steps(few, 8192, 0.5))),
            ("rewrite", FAST, "rewrite", dict(
                envs=few, steps=s.steps(few, 2048, 0.7, touched=12, slower=3),
                hang=min(1.0, self.runner.hang))),
            ("memory", FAST, "memory", dict(
                envs=2, repeat=s.resets, steps=s.steps(2, 1024, 0.05))),
        ]
        jobs.append(("mirror", FAST, "mirror", dict(
            envs=few, steps=s.steps(few, 4096, 0.3, touched=4, least=256))))
        if whole:
            self.facts.skipped["packed"] = WHOLE
        else:
            jobs.append(("packed", FAST, "packed", dict(
                envs=few, steps=s.steps(few, 2048, 0.5, touched=few))))
        return jobs

    def bounds(self) -> dict:
        """A file of the bounds that the author declares, a hair wider: they are rounded."""
        declared = [f for f in self.facts.fields if f.low is not None]
        if not declared:
            return {}
        low = np.full(self.facts.shape["obs_size"], -np.inf)
        high = -low
        for one in declared:
            slack = 1e-5 * max(abs(b) for b in (one.low, one.high, 1.0) if math.isfinite(b))
            low[one.first:one.last + 1] = one.low - slack
            high[one.first:one.last + 1] = one.high + slack
        path = self.folder / "run.bounds"
        np.stack([low, high]).astype(np.float32).tofile(path)
        return {"bounds": path}

    def log_places(self) -> dict[str, int]:
        """Where Log holds what can be measured, in floats from its start."""
        wanted = {"perf": "log_perf", "episode_return": "log_return",
                  "episode_length": "log_length"}
        places, at = {}, 0
        for one in self.spec.log_fields:
            if one.name in wanted and one.length is None and at < 64:
                places[wanted[one.name]] = at
            at += 1 if one.length is None else one.length
        return places

    def episode_experiments(self) -> list[tuple]:
        """What happens when an episode ends, and what an action changes."""
        s, few = self.sizes, self.sizes.envs(8)
        if not self.facts.outcomes["probe"].ended:
            return []
        jobs = [("fresh", FAST, "fresh", dict(envs=few, steps=s.steps(few, 1024, 0.2),
                                              generators=hidden.generators(self.facts)))]
        if self.facts.shape["whole_steps"]:
            for name in ("audit", "effect", "reseed"):
                self.facts.skipped[name] = WHOLE
            return jobs
        forks = s.steps(1, 2048, 0.8 / AHEAD, least=512 if s.seconds < 5e-5 else 128)
        private = hidden.places(self.facts)
        if private:
            jobs.append(("private", FAST, "private", dict(
                envs=few, steps=s.steps(1, 1024, 0.3, least=128),
                private=",".join(place.option for place in private))))
        return [*jobs,
                ("audit", WATCHED, "audit", dict(
                    envs=few, steps=s.steps(few, 4096, 0.7, touched=2, least=512, slower=3))),
                ("effect", FAST, "effect", dict(envs=few, steps=forks)),
                ("reseed", FAST, "reseed", dict(
                    envs=few, steps=s.steps(few, 4096, 0.2)))]

    def traces(self, envs: int, whole: int) -> dict[str, dict]:
        """The same run told in other ways; all must give the same bytes."""
        last = envs - 1
        draws = {"generators": hidden.generators(self.facts, unsigned=True)}
        jobs = {"trace-base": draws, "trace-moved": {"shift": 1, "perturb": 165},
                "trace-again": {"repeat": 1}, "trace-seeded": {"reseed": 1, **draws}}
        if whole:
            self.facts.skipped["trace-reversed"] = WHOLE
        else:
            jobs |= {"trace-reversed": {"layout": REVERSED}, "trace-alone-first": {"only": 0},
                     "trace-alone-last": {"only": last}}
        return jobs

    def sanitized_experiments(self) -> list[tuple]:
        s = self.sizes
        envs = 4 if s.cells < 4096 else 2
        steps = s.steps(envs, 8192, 1.0, slower=SANITIZED_SLOWER)
        return [("sanitized-high", SANITIZED, "guard",
                 dict(envs=envs, layout=GUARD_HIGH, steps=steps, hang=2 * self.runner.hang)),
                ("sanitized-low", SANITIZED, "guard",
                 dict(envs=envs, layout=GUARD_LOW, steps=max(steps // 4, 64),
                      hang=2 * self.runner.hang))]

    def other_builds(self) -> list[tuple]:
        """Traces of the -O0 build, from one thread and from two, and of the -O3 build."""
        base = self.facts.outcomes.get("trace-base")
        probe = self.facts.outcomes["probe"]
        if not probe.ended or (base and not base.ended):
            return []
        s, few = self.sizes, self.sizes.envs(8)
        steps = s.steps(few, 4096, 0.4, slower=DEBUG_SLOWER)
        jobs = [("trace-debug", DEBUG, "trace", dict(envs=few, steps=steps, coverage=1)),
                ("trace-trained", TRAINED, "trace", dict(
                    envs=few, steps=s.steps(few, 8192, 0.5, touched=0.3)))]
        if self.facts.shape["whole_steps"]:
            self.facts.skipped["trace-threads"] = (
                "the binding steps all envs at once (MY_VEC_STEP)")
        else:
            jobs.append(("trace-threads", DEBUG, "threads", dict(
                envs=few, steps=min(512, steps))))
        return [(name, kind, experiment, {**options, "hashes": self.folder / f"{name}.u64"})
                for name, kind, experiment, options in jobs]

    # -- what follows from the outcomes

    def find_differences(self) -> None:
        """Compare the traces with trace-base; run both again up to the first difference."""
        facts = self.facts
        self.read_traces()
        for name, trace in sorted(facts.traces.items()):
            base = facts.traces.get(BESIDE.get(name, "trace-base"))
            if base is None or base is trace or name == "trace-seeded" or \
                    trace.shape[1] != base.shape[1]:
                continue
            differs = _differing(trace, base)
            if differs.any() and not (name in EXACT and self.same_without_folding(name)):
                step = int(np.flatnonzero(differs.any(axis=1))[0])
                env = int(np.flatnonzero(differs[step])[0])
                found = self.look_closer(name, step, env)
                if self.ran[name][0] == FAST:
                    facts.differences[name] = found
                else:
                    facts.build_differences[name] = found

    def read_traces(self) -> None:
        for name, outcome in self.facts.outcomes.items():
            path = self.folder / f"{name}.u64"
            traced = outcome.first("traced")
            if outcome.ended and traced and path.is_file():
                self.facts.traces[name] = np.fromfile(path, np.uint64).reshape(-1, traced["envs"])

    def same_without_folding(self, name: str) -> bool:
        """Whether two builds differ only in functions of constants that the compiler evaluates."""
        traces = [] if name == "trace-trained" else [self.facts.traces[name]]
        for which in ("trace-debug", "trace-trained")[:2 - len(traces)]:
            kind = EXACT[which]
            _, experiment, options = self.ran["trace-trained"]
            path = self.folder / f"{kind.name}.u64"
            self.build(kind)
            self.experiment(kind.name, kind, experiment, {**options, "hashes": path})
            outcome = self.facts.outcomes.pop(kind.name)
            if not outcome.ended:
                return False
            traces.append(np.fromfile(path, np.uint64).reshape(
                -1, outcome.first("traced")["envs"]))
        return not _differing(*traces).any()

    def read_statistics(self) -> None:
        """Ranges and samples of the long run, while its file still exists."""
        run = self.facts.outcome("run")
        if run:
            shape = self.facts.shape
            counts = run.first("run")
            per_env = counts["agents"] / counts["envs"]
            self.facts.statistics = moments.read(
                self.folder / "run.samples", run.facts, shape["dtype"], shape["obs_size"],
                self.facts.fields, round(counts["steps"] * per_env))

    def look_closer(self, name: str, step: int, env: int) -> Difference:
        """The first element that differs, from dumps of that env's rows at that step."""
        dumps, structs = [], []
        for which in (BESIDE.get(name, "trace-base"), name):
            path = self.folder / f"{which}.rows"
            kind, experiment, options = self.ran[which]
            options = {key: value for key, value in options.items() if key != "hashes"}
            self.experiment(f"{which}-dump", kind, experiment, {
                **options, "dump": path, "dump_step": step, "dump_env": env})
            self.facts.outcomes.pop(f"{which}-dump")
            self.facts.setups.pop(f"{which}-dump", None)
            beside = Path(f"{path}.struct")
            dumps.append(np.fromfile(path, np.uint8) if path.is_file() else np.zeros(0, np.uint8))
            structs.append(beside.read_bytes() if beside.is_file() else b"")
        found = self.locate(dumps, step, env)
        layout = self.facts.layout
        if layout and len(structs[0]) == len(structs[1]) == layout.size:
            found.fields = layout.differences(*structs)
        return found

    def locate(self, dumps: list[np.ndarray], step: int, env: int) -> Difference:
        shape = self.facts.shape
        if dumps[0].size != dumps[1].size or np.array_equal(*dumps):
            return Difference(env, step, "rows", 0, None, "one value", "another")
        width = 4 if shape["dtype"] == "f32" else 1
        per_agent = {"observations": shape["obs_size"] * width, "rewards": 4, "terminals": 4,
                     "truncations": 4 * shape["truncations"], "action_mask": shape["mask"]}
        agents = dumps[0].size // sum(per_agent.values())
        begin = 0
        for array, size in per_agent.items():
            kind = np.uint8 if array == "action_mask" or (
                array == "observations" and width == 1) else np.float32
            one, other = (dump[begin:begin + size * agents] for dump in dumps)
            begin += size * agents
            differs = np.flatnonzero(one != other)
            if differs.size:
                index = int(differs[0]) // np.dtype(kind).itemsize
                each = max(size // np.dtype(kind).itemsize, 1)
                values = [part.copy().view(kind)[index].item() for part in (one, other)]
                element = index % each if array in ("observations", "action_mask") else None
                return Difference(env, step, array, index // each, element, *values)
        return Difference(env, step, "rows", 0, None, "one value", "another")

    def script(self, envs: int, env: int, steps: int) -> np.ndarray:
        """The actions that every experiment on `envs` envs gives one of them (-1: all of them).

        (steps, agents x heads) float32
        """
        # two proofs may want the same script at once
        path = self.folder / f"script-{envs}-{env}-{steps}-{threading.get_ident()}.f32"
        name = path.stem
        self.experiment(name, FAST, "script",
                        {"envs": envs, "steps": steps, "dump": path, "dump_env": env})
        fact = self.facts.outcomes.pop(name).first("script")
        self.facts.setups.pop(name)
        agents = (fact["all"] if env < 0 else fact["agents"]) if fact else \
            self.facts.shape["env_agents"] * (envs if env < 0 else 1)
        width = agents * self.facts.shape["heads"]
        numbers = np.fromfile(path, np.float32) if path.is_file() else np.zeros(0, np.float32)
        return numbers[:numbers.size // width * width].reshape(-1, width)

    def resolve_stacks(self) -> None:
        """Addresses to lines, while the libraries still exist."""
        from ..harness.driver import own_frame, symbolize

        outcomes = {**self.facts.outcomes,
                    **{variant.outcome.name: variant.outcome for variant in self.facts.variants}}
        for name, outcome in outcomes.items():
            for fact in outcome.facts:
                if "stack" not in fact:
                    continue
                frames = symbolize(self.libraries[name], self.runner.base.get(name, 0),
                                   fact["stack"], fact.get("pc"))
                fact["frames"] = frames
                fact["frame"] = own_frame(frames, self.spec.folder)
