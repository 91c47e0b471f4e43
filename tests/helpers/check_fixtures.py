"""What tests of check share: copies of specimens, and results that nobody checked."""
from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from helpers.places import SPECIMENS, broken
from helpers.short_or_long import LONG

from puffer_sdk.checking.check import check
from puffer_sdk.checking.collect.c.driver import Kind
from puffer_sdk.checking.collect.c.plan import Plan
from puffer_sdk.checking.core import registry
from puffer_sdk.checking.core.result import CheckResult

QUICK = ["--budget", "0.01"]


def specimen(name: str, target: Path) -> Path:
    """A copy of the broken or correct environment NAME as the env `target`."""
    source = broken(name) if name.startswith("puf") else SPECIMENS / "correct" / name
    target.mkdir()
    for path in source.glob("*.[hci]*"):
        shutil.copy(path, target / path.name.replace(name, target.name))
    return target


def changed(folder: Path, within: Path, *changes: tuple[str, str], file: str = "") -> Path:
    """A copy of an environment in another folder, the text of its header (or a file) changed."""
    target = within / folder.name
    shutil.copytree(folder, target, ignore=shutil.ignore_patterns("build"))
    source = target / (file or f"{folder.name}.h")
    text = source.read_text()
    for old, new in changes:
        assert old in text, f"{source.name} no longer holds {old!r}"
        text = text.replace(old, new)
    source.write_text(text)
    return target


def line_of(folder: Path, text: str) -> int:
    """The number of the first line of its header that holds this text."""
    lines = (folder / f"{folder.name}.h").read_text().splitlines()
    return next(number for number, line in enumerate(lines, 1) if text in line)


def build_twice(patch: pytest.MonkeyPatch) -> None:
    """check does without three of its five builds, as where the compiler has no sanitizers and no
    -march=native."""
    def skip(plan: Plan, kind: Kind, skipped: str, lacks: str) -> None:
        plan.facts.skipped[skipped] = f"the compiler has {lacks}"

    patch.setattr(Plan, "build_other", skip)


def short_check(folder: Path, **options) -> CheckResult:
    """A check without repro programs and, in `make test`, of a quarter of the steps."""
    return check(folder, **{"prove": False, "budget": 1.0 if LONG else 0.25, **options})


def made(findings=(), *, folder=Path("/games/dock"), files=None, **parts) -> CheckResult:
    """A CheckResult that nobody checked."""
    for finding in findings:
        finding.name = finding.name or registry.load()[finding.code].name
        finding.severity = finding.severity or registry.load()[finding.code].severity
    bad = any(finding.severity == "error" for finding in findings)
    coverage = {"env_steps": 1_000, "envs": 2, "agents_per_env": 1, "terminals": 3,
                "truncations": 0, "logged": 3, "nonzero_rewards": 4, "deep": {}, "rules": 24,
                "statistics": [],
                "actions": [{"head": 0, "width": 5, "seen": 5}], "sanitized": True}
    return CheckResult(folder.name, list(findings), coverage, parts.pop("not_tested", {}),
                       "fail" if bad else "pass", 1.0, folder=folder, files=files or {}, **parts)
