"""A CheckResult for people: lines and their styles.  ui.py prints them."""
from __future__ import annotations

from collections.abc import Iterator

from . import CheckResult, learning, statistics
from .facts import Finding

STYLES = {"error": "bold red", "warning": "bold yellow"}
STACK = 6           # frames of a stack that are shown
MISSED = 3          # places that were not reached


def lines(result: CheckResult, *, strict: bool = False, stats: bool = False,
          encoding: str | None = "utf-8") -> Iterator[tuple[str, str | None]]:
    """Findings in four parts each, then how much was exercised, then the verdict.

    stats       the table of what was observed and paid, however long it is
    encoding    of the terminal: its histograms are drawn in blocks, or in ASCII
    """
    for finding in result.findings:
        yield from finding_lines(finding)
        yield "", None
    for code, count in result.more.items():
        yield f"... {count} more {code} not shown", "dim"
    if result.more:
        yield "", None
    quantities = result.coverage["statistics"]
    if quantities and (stats or len(quantities) < statistics.COMPACT):
        for line in statistics.table(quantities, encoding):
            yield line, "dim"
    yield from _summary(result)
    yield _verdict(result, strict), "bold green" if result.verdict == "pass" else "bold red"


def finding_lines(finding: Finding) -> Iterator[tuple[str, str | None]]:
    """error[PUF203]: ... in the format of every error."""
    yield f"{finding.severity}[{finding.code}]: {finding.message}", STYLES[finding.severity]
    place = f"{finding.file}:{finding.line}" if finding.line else finding.file
    parts = [place, *(f"{name} {value}" for name, value in (
        ("env", finding.env), ("agent", finding.agent), ("step", finding.step),
        ("element", finding.element)) if value is not None)]
    if any(parts):
        yield "  --> " + ", ".join(part for part in parts if part), None
    if finding.expected is not None:
        yield f"  expected {finding.expected}, got {finding.actual}", None
    elif finding.actual is not None:
        yield f"  got {finding.actual}", None
    for frame in finding.stack[:STACK] if len(finding.stack) > 1 else ():
        yield f"  | {frame}", "dim"
    for text in finding.fields:
        yield f"  | {text}", "dim"
    if finding.hint:
        yield f"  hint: {finding.hint}", "cyan"
    if finding.repro:
        steps = f"{finding.repro_steps} step{'s' * (finding.repro_steps != 1)}"
        yield (f"  repro: {finding.repro} ({steps}; puffer-sdk check --replay {finding.repro})",
               None)
    yield f"  more: puffer-sdk explain {finding.code}", None


def _summary(result: CheckResult) -> Iterator[tuple[str, str | None]]:
    seen = result.coverage
    if seen["env_steps"]:
        actions = ", ".join(
            "continuous" if head["width"] == 1 else f"{head['seen']}/{head['width']}"
            for head in seen["actions"])
        agents = seen["agents_per_env"] or 1
        yield (f"exercised {seen['env_steps']:,} env steps"
               + (f" of {agents} agents" if agents > 1 else "")
               + f", {seen['terminals']:,} endings, {seen['nonzero_rewards']:,} rewards"
               + (f", actions {actions}" if actions else "")
               + ("" if seen["sanitized"] else ", without sanitizers")), None
        yield from _lines(seen["lines"])
    if result.learning:
        yield from learning.lines(result.learning)
    reasons: dict[str, list[str]] = {}
    for code, reason in result.not_tested.items():
        reasons.setdefault(reason, []).append(code)
    for reason, codes in reasons.items():
        yield f"not tested: {', '.join(codes)} ({reason})", "yellow"
    for finding, reason in result.suppressed:
        yield f"allowed: {finding.code} {finding.message} ({reason})", "dim"


def _lines(lines: dict) -> Iterator[tuple[str, str | None]]:
    """How much of c_step and c_reset was reached, and the first places that were not."""
    if not lines["total"]:
        yield f"lines of c_step were not counted ({lines['skipped']})", "dim"
        return
    missed = lines["missed"][:MISSED] + (["..."] if len(lines["missed"]) > MISSED else [])
    share = int(100 * lines["reached"] / lines["total"])        # 100 % is all of them
    yield (f"reached {share} % of the lines of c_step"
           + (f" (not: {', '.join(missed)})" if missed else "")), None


def _verdict(result: CheckResult, strict: bool) -> str:
    errors = sum(f.severity == "error" for f in result.findings)
    warnings = len(result.findings) - errors
    counts = [f"{n} {word}{'s' if n > 1 else ''}" for n, word in
              ((errors, "error"), (warnings, "warning")) if n]
    found = " and ".join(counts) or "nothing found"
    note = " (--strict counts warnings)" if strict and warnings and not errors else ""
    return (f"{result.name}: {result.verdict}, {found}{note} by {result.coverage['rules']} rules "
            f"in {result.seconds:.1f} s")
