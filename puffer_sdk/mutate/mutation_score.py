"""How much would be noticed?  an environment that passes -> mutants, and who caught them

    result = run("my_env", count=24)
    result.rates()          {"fault": {"planted": 18, "check": 16, "tests": 12, "either": 17}, ...}
    result.survivors        what nobody noticed

bench.py runs `check` and the author's own tests ([check] test) on each mutant, in a copy of the
project. Nothing in the project itself is touched.
"""
import os
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field
from pathlib import Path
from queue import Queue

from ..base import files, paths
from ..base.errors import FINDINGS, OK
from ..env import header
from ..settings.config import resolve
from . import mutations
from .bench import Bench, Exam
from .mutant import FAULT, RULE, Mutant, sample

COUNT = 24
WORKERS = 2
BUDGET = 0.5            # of the user's budget: more mutants tell more than longer runs
Progress = Callable[[str, int, int], None]     # what, done, total
STEP_TIMEOUT = 2.0      # seconds: planted hangs are many


@dataclass
class Outcome:
    """What became of one mutant."""

    mutant: Mutant
    codes: list[str]                # of check; empty = it said nothing new
    tests: bool | None = None       # True = the author's tests failed; None = there are none

    @property
    def caught(self) -> bool:
        return bool(self.codes) or bool(self.tests)

    def to_dict(self) -> dict[str, object]:
        m = self.mutant
        return {"id": m.id, "operator": m.operator, "kind": m.kind, "file": m.file,
                "line": m.line, "check": self.codes, "tests": self.tests, "diff": m.diff}


@dataclass
class MutationResult:
    """All mutants of a run, in the order of their operators and lines."""

    name: str
    seed: int
    test: str                       # the author's test command; "" = none
    outcomes: list[Outcome]
    dropped: dict[str, int]         # candidates that were not run: "refused", "equivalent"
    possible: int                   # places that the operators found
    seconds: float = field(default=0.0, compare=False)

    @property
    def survivors(self) -> list[Outcome]:
        return [outcome for outcome in self.outcomes if not outcome.caught]

    def rates(self) -> dict[str, dict[str, int]]:
        """Counts by kind: planted, caught by check, by the tests, by either."""
        return {kind: self.count([o for o in self.outcomes if o.mutant.kind == kind])
                for kind in (FAULT, RULE)}

    def operators(self) -> dict[str, dict[str, int]]:
        """The same by operator."""
        names = dict.fromkeys(o.mutant.operator for o in self.outcomes)
        return {name: self.count([o for o in self.outcomes if o.mutant.operator == name])
                for name in names}

    @staticmethod
    def count(outcomes: list[Outcome]) -> dict[str, int]:
        return {"planted": len(outcomes), "check": sum(bool(o.codes) for o in outcomes),
                "tests": sum(bool(o.tests) for o in outcomes),
                "either": sum(o.caught for o in outcomes)}

    def exit_status(self, strict: bool) -> int:
        """Rates are information; with `strict`, a fault that nobody noticed is a finding."""
        missed = any(o.mutant.kind == FAULT for o in self.survivors)
        return FINDINGS if strict and missed else OK

    def to_dict(self) -> dict[str, object]:
        """The JSON document; only `seconds` differs between two runs."""
        return {"env": self.name, "seed": self.seed, "test": self.test or None,
                "possible": self.possible, "dropped": self.dropped, "rates": self.rates(),
                "mutants": [outcome.to_dict() for outcome in self.outcomes],
                "seconds": round(self.seconds, 3)}


def run(env: str | os.PathLike[str] | None = None, *, settings: Mapping[str, object] | None = None,
        ini: Path | None = None, count: int = COUNT, seed: int = 42, budget: float = 1.0,
        on_progress: Progress = lambda what, done, total: None
        ) -> MutationResult:
    """Plant up to `count` mutants, one at a time, and see who catches them.

    Rule changes are planted only where tests exist: nothing else could notice them.

    seed      of check, and of which mutants are taken
    budget    as in check(); half of it is used
    Raises UsageError where the environment, as it is, does not pass check or its own tests.
    """
    began = time.perf_counter()
    folder = paths.find_env(env)
    ini = Path(ini).absolute() if ini else None
    config = resolve(folder, settings, header.read(folder), over=[ini] if ini else [],
                     warn_unread=False)
    if config.vec.step_timeout > STEP_TIMEOUT:
        settings = {**(settings or {}), "vec.step_timeout": str(STEP_TIMEOUT)}
    exam = Exam({key: str(value) for key, value in (settings or {}).items()}, seed,
                budget * BUDGET, ini)
    with files.private("puffer-mutants-") as name:
        benches = [Bench(folder, Path(name) / f"{i}", exam, config.check.test)
                   for i in range(WORKERS)]
        try:
            on_progress("without", 0, 1)
            benches[0].measure()
            for bench in benches:
                bench.copy_limits(benches[0])
            possible = [m for m in mutations.find(benches[0].folder)
                        if m.kind == FAULT or config.check.test]
            chosen, dropped = _choose(benches[0], possible, count, seed, on_progress)
            outcomes = _run_all(benches, chosen, on_progress)
        except BaseException:           # Ctrl-C as well: nothing of ours goes on
            for bench in benches:
                bench.stop()
            raise
    order = {mutant.id: i for i, mutant in enumerate(possible)}
    outcomes.sort(key=lambda outcome: order[outcome.mutant.id])
    return MutationResult(folder.name, seed, config.check.test, outcomes, dropped, len(possible),
                          time.perf_counter() - began)


def _choose(bench: Bench, possible: list[Mutant], count: int, seed: int,
            on_progress: Progress) -> tuple[list[Mutant], dict[str, int]]:
    """The first `count` mutants of the sample that compile, and to something new."""
    seen, chosen = {bench.compiled()}, list[Mutant]()
    dropped = {"refused": 0, "equivalent": 0}
    for mutant in sample(possible, seed):
        if len(chosen) == count:
            break
        on_progress("planting", len(chosen), count)
        with bench.planted(mutant):
            code = bench.compiled()
        if code is None or code in seen:
            dropped["refused" if code is None else "equivalent"] += 1
            continue
        seen.add(code)
        chosen.append(mutant)
    return chosen, dropped


def _run_all(benches: list[Bench], chosen: list[Mutant],
             on_progress: Progress) -> list[Outcome]:
    free: Queue[Bench] = Queue()
    for bench in benches:
        free.put(bench)

    def one(mutant: Mutant) -> Outcome:
        bench = free.get()
        try:
            return Outcome(mutant, *bench.caught_by(mutant))
        finally:
            free.put(bench)

    outcomes = []
    with ThreadPoolExecutor(len(benches)) as pool:
        jobs = [pool.submit(one, mutant) for mutant in chosen]
        try:
            for job in as_completed(jobs):
                outcomes.append(job.result())
                on_progress("mutants", len(outcomes), len(chosen))
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            for bench in benches:
                bench.stop()
            raise
    return outcomes
