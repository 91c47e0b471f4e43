"""A copy of a project in which mutants are tried, with `check` and the author's own tests."""
from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import msgspec

from ..base import files, paths, processes
from ..base.errors import BuildError, PufferError, RunError, UsageError
from ..env import binding, build, header
from ..env.child_pipe import Link
from ..env.child_process import Child
from ..settings.config import find_ini
from ..toolchain import compilers
from .mutant import Mutant

PATIENCE = 10           # times as long as without the mutant is a hang
LARGEST = 64 << 20      # bytes of a project that is copied whole; above, only the env's folder
LEFT_OUT = {".git", ".hg", ".venv", "venv", "build", "dist", "runs", "wandb", "node_modules",
            "__pycache__", ".pytest_cache", ".ruff_cache", ".mypy_cache"}


@dataclass(frozen=True)
class Exam:
    """What each mutant is checked with."""

    settings: dict[str, str]        # "section.key": value
    seed: int
    budget: float                   # as in check()
    ini: Path | None = None         # settings over those of the environment's own ini


@dataclass(frozen=True)
class CheckJob:
    """One check in a child."""

    folder: Path                    # the copy of the environment
    tmp: Path                       # where the child's temporary files go
    exam: Exam


class Found(NamedTuple):
    """What a check says of the copy."""

    failed: bool
    codes: dict[str, int]           # findings of each
    said: str


class Bench:
    """A copy of the project, in which one mutant at a time is tried."""

    def __init__(self, folder: Path, home: Path, exam: Exam, test: str):
        root = _project(folder)
        self.root, self.home = home / root.name, home
        self.folder = self.root / folder.relative_to(root)
        shutil.copytree(root, self.root, symlinks=True, ignore=_left_out)
        _copy_what_lies_outside(folder, root, self.folder)
        files.mkdir(home / "tmp")
        self.job = CheckJob(self.folder, home / "tmp", exam)
        self.test, self.stopped = test, False
        self.running: set[Child | _Group] = set()

    def stop(self) -> None:
        """End what runs, and start nothing else."""
        self.stopped = True
        for child in list(self.running):
            child.kill()

    # -- without a mutant

    def measure(self) -> None:
        """Check and test the environment as it is. Raises UsageError where that fails."""
        began = time.perf_counter()
        found = self.check(limit=600.0)
        if isinstance(found, str) or found.failed:
            said = found if isinstance(found, str) else found.said
            raise UsageError("mutants need an environment that passes check",
                             where=self.folder.name, detail=said,
                             hint="puffer-sdk check, and fix what it finds")
        self.codes = Counter(found.codes)
        self.check_limit = max(30.0, PATIENCE * (time.perf_counter() - began))
        began = time.perf_counter()
        status, said = self.run_tests(limit=1800.0) if self.test else (0, "")
        if status:
            raise UsageError("mutants need tests that pass", where=f"[check] test = {self.test}",
                             expected="exit status 0", actual=status, detail=said)
        self.test_limit = max(30.0, PATIENCE * (time.perf_counter() - began))

    def copy_limits(self, other: Bench) -> None:
        self.codes, self.check_limit = other.codes, other.check_limit
        self.test_limit = other.test_limit

    # -- with one

    def planted(self, mutant: Mutant) -> _Planted:
        return _Planted(self.folder / mutant.file, mutant.text)

    def caught_by(self, mutant: Mutant) -> tuple[list[str], bool | None]:
        """New codes of check, and whether the author's tests failed; None = there are none."""
        with self.planted(mutant):
            found = self.check(self.check_limit)
            codes = [found] if isinstance(found, str) else sorted(Counter(found.codes) - self.codes)
            failed = bool(self.run_tests(self.test_limit)[0]) if self.test else None
        return codes, failed

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

    def check(self, limit: float) -> Found | str:
        """What check finds, or one word: why it found nothing out."""
        child = Child("puffer_sdk.mutate.bench:work", self.job, cwd=self.folder)
        self.running.add(child)
        deadline = time.monotonic() + limit
        try:
            for _ in child.events():
                if time.monotonic() > deadline:
                    return "timeout"
                if self.stopped:
                    raise RunError("stopped")
            return msgspec.convert(child.result, Found | str)
        except RunError:                # it died, for want of memory perhaps
            if self.stopped:
                raise
            return "died"
        finally:
            child.kill()
            self.running.discard(child)

    def run_tests(self, limit: float) -> tuple[int, str]:
        """The author's command in the env's folder: its status, and the last it said."""
        scripts = os.path.dirname(sys.executable)
        environment = {**os.environ, "PATH": f"{scripts}{os.pathsep}{os.environ.get('PATH', '')}",
                       "TMPDIR": str(self.job.tmp)}
        child = subprocess.Popen(processes.bound(["sh", "-c", self.test]), cwd=self.folder,
                                 env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
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
        self.path, self.text, self.old = path, text, paths.content(path)

    def __enter__(self) -> None:
        files.write(self.path, self.text)

    def __exit__(self, *exc: object) -> None:
        files.write(self.path, self.old)


class _Group:
    """A child with whatever it started."""

    def __init__(self, child: subprocess.Popen[bytes]):
        self.child = child

    def kill(self) -> None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.child.pid, 9)
        self.child.wait()


def work(job: CheckJob, link: Link) -> Found | str:
    """In a child of its own: check, without proofs."""
    from ..checking.check import check

    tempfile.tempdir = str(job.tmp)
    try:
        result = check(job.folder, settings=job.exam.settings, ini=job.exam.ini,
                       seed=job.exam.seed, budget=job.exam.budget, prove=False)
    except PufferError as error:
        return f"refused: {error.message}"
    return Found(result.verdict == "fail",
                 Counter(finding.code for finding in result.findings) + Counter(result.more),
                 "\n".join(f"{each.code} {each.message}" for each in result.findings))


def _project(folder: Path) -> Path:
    """What is copied: the project around the environment, where there is one of handy size."""
    root = paths.project_root(folder)
    marked = any((root / mark).exists() for mark in (".git", "pyproject.toml"))
    return root if marked and _size(root) <= LARGEST else folder


def _copy_what_lies_outside(folder: Path, root: Path, target: Path) -> None:
    """An ini or resources above the env's folder, as PufferLib keeps them, go along."""
    ini, resources = find_ini(folder), paths.working_dir(folder) / "resources"
    if ini is not None and ini.is_file() and root not in ini.resolve().parents:
        files.write(target / f"{folder.name}.ini", paths.content(ini))
    if resources.is_dir() and root not in resources.parents:
        (target / "resources").symlink_to(resources)


def _size(root: Path) -> int:
    total = 0
    for home, folders, names in os.walk(root):
        folders[:] = [name for name in folders if name not in LEFT_OUT]
        for name in names:
            with suppress(OSError):
                total += os.lstat(os.path.join(home, name)).st_size
        if total > LARGEST:
            break
    return total


def _left_out(folder: str, names: list[str]) -> set[str]:
    return LEFT_OUT & set(names)
