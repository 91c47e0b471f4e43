"""How much would be noticed?  an environment that passes -> mutants, and who caught them

    result = run("my_env", count=24)
    result.rates()          {"fault": {"planted": 18, "check": 16, "tests": 12, "either": 17}, ...}
    result.survivors        what nobody noticed

Each mutant (mutants.py) stands in a copy of the project, where `check` and the author's own tests
([check] test) are run on it. Nothing in the project itself is touched.
"""
from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import suppress
from dataclasses import dataclass, field
from inspect import signature
from pathlib import Path
from queue import Queue

from ...base import paths
from ...base.errors import FINDINGS, OK, BuildError, PufferError, RunError, UsageError
from ...env import binding, build, header
from ...env import child as isolation
from ...env.link import Link
from ...settings.config import find_ini, resolve
from ...toolchain import compilers
from . import places
from .places import FAULT, RULE, Mutant

COUNT = 24
WORKERS = 2
BUDGET = 0.5            # of the user's budget: more mutants tell more than longer runs
STEP_TIMEOUT = 2.0      # seconds: planted hangs are many
PATIENCE = 10           # times as long as without the mutant is a hang
LARGEST = 64 << 20      # bytes of a project that is copied whole; above, the env's folder alone
LEFT_OUT = {".git", ".hg", ".venv", "venv", "build", "dist", "runs", "wandb", "node_modules",
            "__pycache__", ".pytest_cache", ".ruff_cache", ".mypy_cache"}


@dataclass
class Outcome:
    """What became of one mutant."""

    mutant: Mutant
    codes: list[str]                # of check; empty = it said nothing new
    tests: bool | None = None       # True = the author's tests failed; None = there are none

    @property
    def caught(self) -> bool:
        return bool(self.codes) or bool(self.tests)

    def to_dict(self) -> dict:
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

    def to_dict(self) -> dict:
        """The JSON document; `seconds` alone differs between two runs."""
        return {"env": self.name, "seed": self.seed, "test": self.test or None,
                "possible": self.possible, "dropped": self.dropped, "rates": self.rates(),
                "mutants": [outcome.to_dict() for outcome in self.outcomes],
                "seconds": round(self.seconds, 3)}


def run(env: str | os.PathLike | None = None, *, settings: Mapping[str, object] | None = None,
        count: int = COUNT, seed: int = 42, budget: float = 1.0,
        on_progress: Callable[[str, int, int], None] = lambda what, done, total: None
        ) -> MutationResult:
    """Plant up to `count` mutants, one at a time, and see who catches them.

    Changes of rules are planted where there are tests, which alone could notice them.

    seed      of check, and of which mutants are taken
    budget    as in check(); half of it is used
    Raises UsageError where the environment, as it is, does not pass check or its own tests.
    """
    began = time.perf_counter()
    folder = paths.find_env(env)
    config = resolve(folder, settings, header.read(folder), warn_unread=False)
    if config.vec.step_timeout > STEP_TIMEOUT:
        settings = {**(settings or {}), "vec.step_timeout": str(STEP_TIMEOUT)}
    job = {"settings": {k: str(v) for k, v in (settings or {}).items()}, "seed": seed,
           "budget": budget * BUDGET}
    with tempfile.TemporaryDirectory(prefix="puffer-mutants-") as name:
        benches = [_Bench(folder, Path(name) / f"{i}", job, config.check.test)
                   for i in range(WORKERS)]
        try:
            on_progress("without", 0, 1)
            benches[0].measure()
            for bench in benches:
                bench.take_over(benches[0])
            possible = [m for m in places.find(benches[0].folder)
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


def _choose(bench: _Bench, possible: list[Mutant], count: int, seed: int,
            on_progress) -> tuple[list[Mutant], dict[str, int]]:
    """The first `count` mutants of the sample that compile, and to something new."""
    seen, chosen = {bench.compiled()}, []
    dropped = {"refused": 0, "equivalent": 0}
    for mutant in places.sample(possible, seed):
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


def _run_all(benches: list[_Bench], chosen: list[Mutant], on_progress) -> list[Outcome]:
    free: Queue = Queue()
    for bench in benches:
        free.put(bench)

    def one(mutant: Mutant) -> Outcome:
        bench = free.get()
        try:
            return bench.judge(mutant)
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


class _Bench:
    """A copy of the project, in which one mutant at a time is judged."""

    def __init__(self, folder: Path, home: Path, job: dict, test: str):
        root = _project(folder)
        self.root, self.home = home / root.name, home
        self.folder = self.root / folder.relative_to(root)
        shutil.copytree(root, self.root, symlinks=True, ignore=_left_out)
        _copy_what_lies_outside(folder, root, self.folder)
        (home / "tmp").mkdir()
        self.job = {**job, "folder": str(self.folder), "tmp": str(home / "tmp")}
        self.test, self.stopped = test, False
        self.running: set = set()

    def stop(self) -> None:
        """End what runs, and let nothing else begin."""
        self.stopped = True
        for child in list(self.running):
            child.kill()

    # -- without a mutant

    def measure(self) -> None:
        """How the environment fares as it is. Raises UsageError where it fares badly."""
        began = time.perf_counter()
        found = self.check(limit=600.0)
        if isinstance(found, str) or found["verdict"] == "fail":
            said = found if isinstance(found, str) else "\n".join(
                f"{finding['code']} {finding['message']}" for finding in found["findings"])
            raise UsageError("mutants need an environment that passes check",
                             where=self.folder.name, detail=said,
                             hint="puffer-sdk check, and mend what it finds")
        self.codes = _codes(found)
        self.check_limit = max(30.0, PATIENCE * (time.perf_counter() - began))
        began = time.perf_counter()
        status, said = self.run_tests(limit=1800.0) if self.test else (0, "")
        if status:
            raise UsageError("mutants need tests that pass", where=f"[check] test = {self.test}",
                             expected="exit status 0", actual=status, detail=said)
        self.test_limit = max(30.0, PATIENCE * (time.perf_counter() - began))

    def take_over(self, other: _Bench) -> None:
        self.codes, self.check_limit = other.codes, other.check_limit
        self.test_limit = other.test_limit

    # -- with one

    def planted(self, mutant: Mutant) -> _Planted:
        return _Planted(self.folder / mutant.file, mutant.text)

    def judge(self, mutant: Mutant) -> Outcome:
        with self.planted(mutant):
            found = self.check(self.check_limit)
            codes = [found] if isinstance(found, str) else sorted(_codes(found) - self.codes)
            failed = bool(self.run_tests(self.test_limit)[0]) if self.test else None
        return Outcome(mutant, codes, failed)

    def compiled(self) -> bytes | None:
        """The object code of the environment as it stands here; None where C refuses it."""
        spec = header.inspect(self.folder)[0]
        if spec is None:
            return None
        source = binding.write(spec, paths.build_dir(self.folder))
        target = self.home / "tmp" / "mutant.o"
        try:
            compilers.run_compiler(
                [*compilers.find_compiler().command, *build.library_flags(spec), "-O2", "-g0",
                 "-w", "-fPIC", "-c", str(source), "-o", str(target)],
                source=spec.header, what=spec.header.name)
        except BuildError:
            return None
        return target.read_bytes()

    def check(self, limit: float) -> dict | str:
        """check's document, or in a word why there is none."""
        child = isolation.Child("puffer_sdk.checking.mutants.score:work", self.job, cwd=self.folder)
        self.running.add(child)
        deadline = time.monotonic() + limit
        try:
            for _ in child.events():
                if time.monotonic() > deadline:
                    return "timeout"
                if self.stopped:
                    raise RunError("stopped")
            return child.result
        except RunError:                # it died, for want of memory perhaps
            if self.stopped:
                raise
            return "died"
        finally:
            child.kill()
            self.running.discard(child)

    def run_tests(self, limit: float) -> tuple[int, str]:
        """The author's command in the env's folder: its status, and the last it said."""
        beside = os.path.dirname(sys.executable)
        environment = {**os.environ, "PATH": f"{beside}{os.pathsep}{os.environ.get('PATH', '')}",
                       "TMPDIR": self.job["tmp"]}
        child = subprocess.Popen(["sh", "-c", self.test], cwd=self.folder, env=environment,
                                 stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                 stderr=subprocess.STDOUT, start_new_session=True)
        handle = _Group(child)
        self.running.add(handle)
        try:
            said = child.communicate(timeout=limit)[0].decode(errors="replace")
            return child.returncode, "\n".join(said.splitlines()[-12:])
        except subprocess.TimeoutExpired:
            return -1, f"no end after {limit:.0f} seconds"
        finally:
            handle.kill()
            self.running.discard(handle)


class _Planted:
    """The file holds the mutant's text for as long as this lasts."""

    def __init__(self, path: Path, text: bytes):
        self.path, self.text, self.old = path, text, path.read_bytes()

    def __enter__(self) -> None:
        self.path.write_bytes(self.text)

    def __exit__(self, *exc) -> None:
        self.path.write_bytes(self.old)


class _Group:
    """A child with whatever it started."""

    def __init__(self, child: subprocess.Popen):
        self.child = child

    def kill(self) -> None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.child.pid, 9)
        self.child.wait()


def work(job: dict, link: Link) -> dict | str:
    """In a child of its own: check, without proofs."""
    from ..check import check

    tempfile.tempdir = job["tmp"]
    try:
        return check(job["folder"], settings=job["settings"], seed=job["seed"],
                     budget=job["budget"], **without_proofs(check)).to_dict()
    except PufferError as error:
        return f"refused: {error.message}"


def without_proofs(check: Callable) -> dict[str, bool]:
    """What spares `check` the programs that show each fault again."""
    return {"prove": False} if "prove" in signature(check).parameters else {}


def _codes(document: dict) -> Counter:
    """Findings of a document by their codes."""
    found = Counter(finding["code"] for finding in document["findings"])
    return found + Counter(document["coverage"]["more"])


def _project(folder: Path) -> Path:
    """What is copied: the project around the environment, where there is one of handy size."""
    root = paths.project_root(folder)
    marked = any((root / mark).exists() for mark in (".git", "pyproject.toml"))
    return root if marked and _size(root) <= LARGEST else folder


def _copy_what_lies_outside(folder: Path, root: Path, target: Path) -> None:
    """An ini or resources above the env's folder, as PufferLib keeps them, go along."""
    ini, resources = find_ini(folder), paths.working_dir(folder) / "resources"
    if ini is not None and ini.is_file() and root not in ini.resolve().parents:
        shutil.copy(ini, target / f"{folder.name}.ini")
    if resources.is_dir() and root not in resources.parents:
        (target / "resources").symlink_to(resources)


def _size(root: Path) -> int:
    total = 0
    for home, folders, files in os.walk(root):
        folders[:] = [name for name in folders if name not in LEFT_OUT]
        for name in files:
            with suppress(OSError):
                total += os.lstat(os.path.join(home, name)).st_size
        if total > LARGEST:
            break
    return total


def _left_out(folder: str, names: list[str]) -> set[str]:
    return LEFT_OUT & set(names)


# -- for people ----------------------------------------------------------------------


def lines(result: MutationResult) -> Iterator[tuple[str, str | None]]:
    """A table of operators, the survivors with their diffs, then the rates."""
    tests = bool(result.test)
    head = f"{'mutants':<22}{'planted':>9}{'check':>8}" + (f"{'tests':>8}{'either':>8}"
                                                          if tests else "")
    yield head, "bold"
    for kind in (FAULT, RULE) if tests else (FAULT,):
        for name, row in result.operators().items():
            if (name in places.RULE_CHANGES) == (kind == RULE):
                yield _row(f"  {name}", row, tests), None
        yield _row(f"{kind}s", result.rates()[kind], tests), "bold"
    for outcome in result.survivors:
        mutant = outcome.mutant
        yield "", None
        yield (f"nobody noticed {mutant.id} ({mutant.kind}: it "
               f"{places.OPERATORS[mutant.operator]})"), "bold yellow"
        yield f"  --> {mutant.file}:{mutant.line}", None
        for number, text in enumerate(mutant.diff.splitlines()[2:]):
            if not text.startswith("@@"):
                yield f"  | {text}", {"-": "red", "+": "green"}.get(text[:1], "dim")
            elif number:
                yield "  ...", "dim"
    yield "", None
    faults = result.rates()[FAULT]
    yield (f"{result.name}: check caught {_share(faults['check'], faults['planted'])} of the "
           f"planted faults" + (f", the tests {_share(faults['tests'], faults['planted'])}"
                                if tests else "")
           + f", in {result.seconds:.0f} s"), "bold"
    if not tests:
        yield "  hint: to judge your own tests as well, name them: [check] test = pytest -q", "cyan"


def _row(name: str, row: dict[str, int], tests: bool) -> str:
    numbers = f"{name:<22}{row['planted']:>9}{row['check']:>8}"
    return numbers + (f"{row['tests']:>8}{row['either']:>8}" if tests else "")


def _share(part: int, whole: int) -> str:
    return f"{part} of {whole} ({part / whole:.0%})" if whole else "none"
