"""What a check found.  findings, coverage -> CheckResult"""
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Literal, TypedDict, cast

from ...base.documents import Failed, says
from ...base.errors import FINDINGS, OK
from .finding import Finding, FindingRow
from .statistics import QuantityRow
from .suppressions import Allowed, Declared, Note, NoteRow

PER_RULE = 8            # findings of one rule that are listed


class LinesReached(TypedDict):
    """Of the functions that c_step and c_reset reach."""

    reached: Annotated[int | None, says("lines that were played; null: they were not counted")]
    total: Annotated[int | None, says("lines that there are")]
    missed: Annotated[list[str], says('places that were not reached: "dock.h:8-9"')]
    skipped: Annotated[str | None, says("why they were not counted")]


class HeadSeen(TypedDict):
    """Values of one head of the actions that were played."""

    head: Annotated[int, says("which, from 0")]
    width: Annotated[int, says("how many values it has")]
    seen: Annotated[int, says("how many of them were tried")]


class Asked(TypedDict):
    """What the env asked of the machine beyond its game (PUF115)."""

    call: Annotated[str, says("the system call")]
    what: Annotated[str, says("its subject: a file, an address")]
    denied: Annotated[str, says('why it failed, or ""')]


class Played(TypedDict):
    """How much was exercised."""

    env_steps: Annotated[int, says("steps of envs, over all experiments")]
    envs: Annotated[int, says("envs of the long run")]
    agents_per_env: Annotated[int | None, says("agents of each; null: it changes")]
    terminals: Annotated[int, says("endings in the long run")]
    truncations: Annotated[int, says("episodes that were cut off in the long run")]
    logged: Annotated[float, says("entries of the log in the long run")]
    nonzero_rewards: Annotated[int, says("rewards other than 0 in the long run")]
    actions: Annotated[list[HeadSeen], says("heads of the actions")]
    statistics: Annotated[list[QuantityRow], says("each observed field, and the rewards")]
    deep: Annotated[dict[str, str], says("tool of --deep -> what it did")]
    sanitized: Annotated[bool | None, says("whether the sanitizers' build ran")]
    asked: Annotated[list[Asked], says("requests to the system")]
    rules: Annotated[int, says("rules that looked")]


class Coverage(Played, total=False):
    """Of an environment in C, with what its lines say."""

    lines: Annotated[LinesReached, says("lines of c_step, and of what it calls")]


class LearningScore(TypedDict):
    """A mean over envs."""

    mean: Annotated[float, says("in the unit of the summary")]
    interval: Annotated[float, says("half width of its 95 % interval")]


class LearningSummary(TypedDict, total=False):
    """What --learn found: scores and a verdict; or why it was skipped; or what was not finite."""

    steps: Annotated[int, says("agent steps of the short training")]
    unit: Annotated[str, says("what the scores are of")]
    verdict: Annotated[str, says(
        "learns; or random, constant, blind: the policy is not better than that player")]
    scores: Annotated[dict[str, LearningScore], says(
        "by player: random, idle, the best action held for ever, trained, and blind: shown another "
        "env's observations")]
    skipped: Annotated[str, says("why there was no training")]
    nan: Annotated[str, says("what was not a finite number")]
    step: Annotated[int, says("the step of it, from 0")]
    row: Annotated[int, says("its row, from 0")]
    element: Annotated[int, says("its element, from 0")]
    value: Annotated[str | None, says("the value as text")]


class AllowedFinding(TypedDict):
    """A finding that the author allows."""

    code: Annotated[str, says("of the rule")]
    message: Annotated[str, says("one sentence")]
    file: Annotated[str | None, says("relative to the environment's folder")]
    line: Annotated[int | None, says("from 1")]
    reason: Annotated[str, says("the author's")]
    allowed_at: Annotated[str, says('the mark: "dock.h:12"')]


class DeclaredFinding(TypedDict):
    """A finding that the author declares to be meant."""

    word: Annotated[str, says("constant, wraps, assigned or bandit")]
    code: Annotated[str, says("of the rule")]
    message: Annotated[str, says("one sentence")]
    declared_at: Annotated[str, says('the word: "dock.h:12"')]


class DeclaredFindings(TypedDict):
    """All that the author declares."""

    count: Annotated[int, says("how many")]
    list: Annotated[list[DeclaredFinding], says("all of them")]


class _Exercised(Coverage):
    not_tested: Annotated[dict[str, str], says("code -> why its rule could not look")]
    not_tested_because: Annotated[dict[str, list[str]], says(
        "code -> codes of the findings that cause it: fix those first")]
    more: Annotated[dict[str, int], says(
        f"code -> number of findings beyond the {PER_RULE} that are listed")]
    suppressed: Annotated[list[AllowedFinding], says("findings that are allowed")]
    notes: Annotated[list[NoteRow], says("problems with marks that allow findings")]
    seconds: Annotated[float, says("duration of the check, in seconds")]


class Exercised(_Exercised, total=False):
    """How much was exercised, and what was left out."""

    learning: Annotated[LearningSummary, says("the short training; only with --learn")]


class CheckDocument(TypedDict):
    """The result of `check`. Only `seconds` differs between two checks of one source."""

    findings: Annotated[list[FindingRow], says("errors first")]
    coverage: Annotated[Exercised, says("what was played, allowed and left out")]
    declared: Annotated[DeclaredFindings, says("findings that the author declares to be meant")]
    verdict: Annotated[Literal["pass", "fail"], says("fail: there are findings of severity error")]


class NotChecked(Failed):
    """In place of the result, where the environment could not be checked."""

    findings: Annotated[list[FindingRow], says("none")]
    verdict: Annotated[Literal["error"], says("neither pass nor fail")]


@dataclass
class CheckResult:
    """What a check found. `findings` are sorted, errors first."""

    name: str
    findings: list[Finding]
    coverage: Coverage
    not_tested: dict[str, str]          # code -> why
    verdict: Literal["pass", "fail"]
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

    def to_dict(self) -> CheckDocument:
        """The JSON document."""
        exercised: _Exercised = {
            **self.coverage, "not_tested": self.not_tested, "not_tested_because": self.explained,
            "more": self.more,
            "suppressed": [{"code": finding.code, "message": finding.message,
                            "file": finding.file, "line": finding.line,
                            "reason": reason, "allowed_at": where}
                           for finding, reason, where, _ in self.suppressed],
            "notes": [note.to_dict() for note in self.notes], "seconds": round(self.seconds, 3)}
        coverage: Exercised = {**exercised, "learning": self.learning} if self.learning \
            else cast(Exercised, exercised)
        return {"findings": [finding.to_dict() for finding in self.findings],
                "coverage": coverage,
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
