"""One engine for environments in C and in Python.  judges of facts -> CheckResult"""
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from ...settings.config import find_ini
from ...settings.values import Config
from . import registry, suppressions
from .finding import Finding
from .result import CheckResult, Coverage, LearningSummary, limit

# The codes that a function may report, and the function; it raises NotTested if it cannot run
Judge = tuple[tuple[str, ...], Callable[[], Iterator[Finding]]]


@dataclass
class Verdict:
    """Findings on one environment, before suppressions."""

    findings: list[Finding]
    not_tested: dict[str, str]      # code -> why no judge of it could run
    explained: dict[str, list[str]]     # of these: codes of the findings that are why
    rules: int                      # codes that were tried


def judge(judges: Iterable[Judge], seed: int | None = None) -> Verdict:
    """Run every judge. Findings get their rule's name and severity, and a seed if they lack one."""
    known = registry.load()
    findings: list[Finding] = []
    reasons: dict[str, registry.NotTested] = {}
    looked: set[str] = set()
    judges = list(judges)
    for codes, function in judges:
        try:
            findings += function()
            looked |= set(codes)
        except registry.NotTested as reason:
            for code in codes:
                reasons.setdefault(code, reason)
    for finding in findings:
        finding.name = known[finding.code].name
        finding.detector = finding.detector or finding.name
        finding.severity = finding.severity or known[finding.code].severity
        finding.seed = seed if finding.seed is None else finding.seed
        if finding.word:
            meant = f"if it is meant: // puffer: {finding.word}"
            finding.hint = f"{finding.hint}; {meant}" if finding.hint else meant
    findings.sort(key=Finding.order)
    asked = {code for codes, _ in judges for code in codes}
    silent = asked - looked - {finding.code for finding in findings}
    not_tested, explained = registry.reasons({code: reasons[code] for code in silent}, findings)
    return Verdict(findings, not_tested, explained, len(asked))


def finish(name: str, verdict: Verdict, *, config: Config | None, folder: Path,
           files: Mapping[str, bytes], coverage: Coverage, strict: bool, began: float,
           learning: LearningSummary | None = None,
           prove: Callable[[list[Finding]], None] = lambda findings: None) -> CheckResult:
    """Apply suppressions, write repro programs, decide pass or fail.

    began   of time.perf_counter(), when the check began
    """
    marked = _suppress(verdict, config, folder, files)
    findings, more = limit(marked.kept)
    prove(findings)
    bad = [one for one in findings if one.severity == "error" or strict]
    return CheckResult(name, findings, coverage, verdict.not_tested, "fail" if bad else "pass",
                       time.perf_counter() - began, marked.allowed, more, learning, marked.notes,
                       folder, dict(files), marked.declared, verdict.explained)


def _suppress(verdict: Verdict, config: Config | None, folder: Path,
              files: Mapping[str, bytes]) -> suppressions.Verdicts:
    """Findings split by the marks in the files and by [check] allow."""
    known, key = registry.load(), None
    if config and config.check.allow:
        origin = config.origin["check.allow"]
        file, _, line = origin.rpartition(":")
        ini = find_ini(folder) if folder.is_dir() else None
        if not line.isdigit():
            key = (origin, 0, config.check.allow)
        elif ini is not None and Path(file).name == ini.name:
            key = (os.path.relpath(ini, folder), int(line), config.check.allow)
        else:
            key = (file, int(line), config.check.allow)
    texts = {name: data.decode("utf-8", "replace") for name, data in files.items()}
    timed = {code for code, rule in known.items() if rule.timed}
    return suppressions.apply(verdict.findings, texts, key,
                              {code: rule.name for code, rule in known.items()},
                              {*verdict.not_tested, *timed})
