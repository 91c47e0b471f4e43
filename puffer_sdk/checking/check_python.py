"""check on a Python environment.  a name -> CheckResult"""
from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

from ..base import paths
from ..bridges import makers, sources
from ..bridges.makers import CALLABLE
from .collect.python import children
from .collect.python.python_facts import PythonFacts
from .core import registry, suppressions
from .core.finding import Finding
from .core.registry import NotTested
from .core.result import CheckResult, limit
from .rules.python_envs import endings, judging, numbers, repeating

JUDGES = (judging, values, endings, repeating)      # importing them makes them known


def check(name: str, *, settings: Mapping[str, object] | None = None, ini: Path | None = None,
          strict: bool = False, seed: int = 42, budget: float = 1.0, memory: int = 4 << 30,
          on_progress: Callable[[str, int, int], None] = lambda *progress: None) -> CheckResult:
    """Every rule that can be asked of objects and arrays.

    memory      bytes that a child process may use
    Raises UsageError where the name leads nowhere, RunError where no child process starts.
    """
    began = time.perf_counter()
    source = sources.find(name, ini)
    config = source.resolve(settings)
    facts = children.gather(
        makers.read_name(name, config.env), seed=seed, budget=budget, memory=memory,
        step_timeout=config.vec.step_timeout, start_timeout=config.vec.start_timeout,
        on_progress=on_progress)
    folder, files = _files(name, facts)
    findings, not_tested, explained, rules = judge(facts)
    kept = _suppress(config, findings, files, not_tested)
    findings, more = limit(kept.kept)
    bad = [each for each in findings if each.severity == "error" or strict]
    return CheckResult(source.place.name, findings, _coverage(facts, rules), not_tested,
                       "fail" if bad else "pass", time.perf_counter() - began, kept.allowed,
                       more, None, kept.notes, folder, files, kept.declared, explained)


def judge(facts: PythonFacts) -> tuple[list[Finding], dict[str, str], dict[str, list[str]], int]:
    """Findings with names and severities; what had no chance, and why; what of it because of a
    finding; how many rules there are.
    """
    rules, findings, reasons, asked = registry.load(), [], {}, set()
    for each in judging.known:
        try:
            for name in each.needs:
                if name not in facts.done:
                    raise NotTested(_why(facts, name))
            findings += list(each.function(facts))
            asked |= set(each.codes)
        except NotTested as reason:
            for code in each.codes:
                reasons.setdefault(code, reason)
    for finding in findings:
        finding.name = rules[finding.code].name
        finding.severity = finding.severity or rules[finding.code].severity
        if finding.seed is None:
            finding.seed = facts.seed
    codes = {code for each in judging.known for code in each.codes}
    findings.sort(key=Finding.order)
    unasked = {code: reasons[code] for code in codes - asked if code in reasons}
    return findings, *registry.reasons(unasked, findings), len(codes)


def _why(facts: PythonFacts, experiment: str) -> str:
    """Why an experiment did not come to its end."""
    if "opening" in facts.skipped:
        return facts.skipped["opening"]
    return facts.skipped.get(experiment, f"the environment did not survive '{experiment}'")


def _files(name: str, facts: PythonFacts) -> tuple[Path, dict[str, bytes]]:
    """The folder that findings speak of, and the file of the environment's class."""
    maker = makers.read_name(name)
    where = Path(maker.target.rpartition(":")[0])
    mine = maker.kind == CALLABLE and where.suffix == ".py"
    folder = Path(facts.shape.folder) if facts.shape else where.parent if mine else Path.cwd()
    place = facts.at("class").get("file") or (where.name if mine else None)
    files = {}
    if place:
        with suppress(OSError):
            files[place] = paths.content(folder / place)
    return folder, files


def _suppress(config, findings: list[Finding], files: Mapping[str, bytes],
              not_tested: Mapping[str, str]):
    """Take out what [check] allow and marks in the file allow."""
    known = registry.load()
    value, origin = config.check.allow, config.origin["check.allow"]
    file, _, line = origin.rpartition(":")
    key = ((file, int(line), value) if line.isdigit() else (origin, 0, value)) if value else None
    return suppressions.apply(findings, {name: data.decode("utf-8", "replace")
                                     for name, data in files.items()}, key,
                          {code: rule.name for code, rule in known.items()}, not_tested)


def _coverage(facts: PythonFacts, rules: int) -> dict:
    """How much was exercised, under the keys that compiled environments have."""
    play, shape = facts.play, facts.shape
    seen = play.seen if play else []
    return {"env_steps": sum(facts.done.values()), "envs": 1,
            "agents_per_env": len(shape.agents) if shape else None,
            "terminals": play.terminals if play else 0,
            "truncations": play.truncations if play else 0, "logged": 0,
            "nonzero_rewards": play.nonzero if play else 0,
            "actions": [{"head": head, "width": width, "seen": count}
                        for head, (width, count) in enumerate(zip(shape.sizes if shape else (),
                                                                  seen))],
            "statistics": [], "deep": {}, "sanitized": None, "asked": [], "rules": rules}
