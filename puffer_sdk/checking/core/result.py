"""What a check found.  findings, coverage -> CheckResult"""
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypedDict

from ...base.errors import FINDINGS, OK
from .finding import Finding
from .statistics import QuantityRow
from .suppressions import Allowed, Declared, Note

PER_RULE = 8            # findings of one rule that are listed


class LinesReached(TypedDict):
    """Of the functions that c_step and c_reset reach."""

    reached: int | None     # lines; None: they were not counted
    total: int | None
    missed: list[str]       # "dock.h:8-9"
    skipped: str | None     # why they were not


class HeadSeen(TypedDict):
    """Values of one head of the actions that were played."""

    head: int
    width: int
    seen: int


class Asked(TypedDict):
    """What the env asked of the machine; denied: why it failed, or ""."""

    call: str
    what: str
    denied: str


class Played(TypedDict):
    """How much was exercised."""

    env_steps: int
    envs: int
    agents_per_env: int | None
    terminals: int
    truncations: int
    logged: float
    nonzero_rewards: int
    actions: list[HeadSeen]
    statistics: list[QuantityRow]
    deep: dict[str, str]            # tool of --deep -> what it did
    sanitized: bool | None
    asked: list[Asked]
    rules: int


class Coverage(Played, total=False):
    """Of an environment in C, with what its lines say."""

    lines: LinesReached


class Score(TypedDict):
    """A mean over envs, and the half width of its interval of 95 %."""

    mean: float
    interval: float


class LearningSummary(TypedDict, total=False):
    """What --learn found: scores and a verdict; or why it was skipped; or what was not finite."""

    steps: int
    unit: str
    verdict: str
    scores: dict[str, Score]
    skipped: str
    nan: str
    step: int
    row: int
    element: int
    value: str | None


@dataclass
class CheckResult:
    """What a check found. `findings` are sorted, errors first."""

    name: str
    findings: list[Finding]
    coverage: Coverage
    not_tested: dict[str, str]          # code -> why
    verdict: str                        # "pass" or "fail"
    seconds: float
    suppressed: list[Allowed] = field(default_factory=list)
    more: dict[str, int] = field(default_factory=dict)      # code -> findings beyond PER_RULE
    learning: LearningSummary | None = None        # what learning.py found, with `learn`
    notes: list[Note] = field(default_factory=list)         # on the marks that allow findings
    folder: Path = Path()
    files: dict[str, bytes] = field(default_factory=dict)   # as they were checked, by name
    declared: list[Declared] = field(default_factory=list)  # what the author says is meant
    explained: dict[str, list[str]] = field(default_factory=dict)   # rule -> codes that explain it

    @property
    def exit_status(self) -> int:
        return OK if self.verdict == "pass" else FINDINGS

    def to_dict(self) -> dict[str, object]:
        """The JSON document; only `seconds` differs between two runs."""
        return {"findings": [finding.to_dict() for finding in self.findings],
                "coverage": {**self.coverage, "not_tested": self.not_tested,
                             "not_tested_because": self.explained, "more": self.more,
                             "suppressed": [{"code": finding.code, "message": finding.message,
                                             "file": finding.file, "line": finding.line,
                                             "reason": reason, "allowed_at": where}
                                            for finding, reason, where, _ in self.suppressed],
                             "notes": [note.to_dict() for note in self.notes],
                             **({"learning": self.learning} if self.learning else {}),
                             "seconds": round(self.seconds, 3)},
                "declared": {"count": len(self.declared), "list": [
                    {"word": word, "code": finding.code, "message": finding.message,
                     "declared_at": where} for finding, word, where in self.declared]},
                "verdict": self.verdict}


def limit(findings: list[Finding]) -> tuple[list[Finding], dict[str, int]]:
    """The first PER_RULE findings of each rule, and how many more there are."""
    counts: Counter[str] = Counter()
    kept = []
    for finding in findings:
        counts[finding.code] += 1
        if counts[finding.code] <= PER_RULE:
            kept.append(finding)
    return kept, {code: n - PER_RULE for code, n in sorted(counts.items()) if n > PER_RULE}
