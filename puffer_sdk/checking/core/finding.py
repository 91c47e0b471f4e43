"""One fault that a rule found: where, what was expected, and what shows it."""
from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, TypedDict

from ...base.documents import says
from .repro_spec import Shows

# what an author may declare beside an element, a field of Log or c_step: `// puffer: constant`
CONSTANT, WRAPS, ASSIGNED, BANDIT = WORDS = "constant", "wraps", "assigned", "bandit"


class Elements(str):
    """Elements of a row as people write them, "3-7" or "0-1, 3", and the first range of them."""

    first: int
    last: int
    pattern: tuple[int, int] | None         # its last number, and the distance of its blocks

    def __new__(cls, first: int, last: int, text: str = "",
                pattern: tuple[int, int] | None = None) -> Elements:
        made = super().__new__(cls, text or f"{first}-{last}")
        made.first, made.last, made.pattern = first, last, pattern
        return made


def span(first: int, last: int) -> int | Elements:
    """An element, or "3-7"."""
    return first if first == last else Elements(first, last)


def limits(element: int | Elements) -> tuple[int, int]:
    """The first and the last number; of a pattern, those of its first block."""
    return (element, element) if isinstance(element, int) else (element.first, element.last)


class FileLine(TypedDict, total=False):
    """Arguments of a Finding: where it is in the author's files."""

    file: str | None
    line: int | None


class Seen(FileLine):
    """Arguments of a Finding: likewise, and when it was seen, in which experiment."""

    env: int | None
    step: int | None
    seed: int | None
    stack: list[str]
    seen_in: str


class Details(FileLine, total=False):
    """All other arguments of a Finding, for functions that hand them on."""

    env: int | None
    agent: int | None
    step: int | None
    element: int | Elements | str | None
    expected: object
    actual: object
    seed: int | None
    hint: str | None
    severity: str
    stack: list[str]
    seen_in: str
    shows: Shows
    fields: list[str]
    word: str
    beside: tuple[tuple[str, int], ...]
    remedy: object


class FindingRow(TypedDict):
    """One fault. What does not apply is null."""

    code: Annotated[str, says("of the rule: PUF302")]
    name: Annotated[str, says("of the rule: obs-stale")]
    detector: Annotated[str, says("that spoke: left-by-reset; the rule's name, where it has one")]
    severity: Annotated[str, says("error or warning")]
    message: Annotated[str, says("one sentence")]
    file: Annotated[str | None, says("relative to the environment's folder")]
    line: Annotated[int | None, says("from 1")]
    env: Annotated[int | None, says("where it was first seen, from 0")]
    agent: Annotated[int | None, says("of this env, from 0")]
    step: Annotated[int | None, says("of this env, from 0")]
    element: Annotated[int | str | None, says(
        'of the row, from 0, or a range such as "6-8"; the name of a field, in a log')]
    expected: Annotated[object, says("a number or words")]
    actual: Annotated[object, says("a number or words")]
    seed: Annotated[int | None, says("of the run")]
    repro: Annotated[str | None, says(
        "a program that shows the fault, relative to the environment's folder")]
    hint: Annotated[str | None, says("the next step")]
    stack: Annotated[list[str], says("frames, innermost first")]
    fields: Annotated[list[str], says("words of the struct that differ, with their values")]


@dataclass
class Finding:
    """One fault. Places are those of the environment's files, relative to its folder."""

    code: str
    message: str
    file: str | None = None
    line: int | None = None
    env: int | None = None
    agent: int | None = None
    step: int | None = None
    element: int | Elements | str | None = None     # the name of a field, in a log
    expected: object = None
    actual: object = None
    seed: int | None = None
    repro: str | None = None
    hint: str | None = None
    severity: str = ""                      # "" = the rule's
    name: str = ""                          # the rule's; filled in with `severity`
    stack: list[str] = field(default_factory=list)
    seen_in: str = ""                       # the experiment that showed it; "" = from the source
    shows: Shows = Shows()                  # what the rule's Proof does not tell
    fields: list[str] = field(default_factory=list)     # of the struct that differ, with values
    repro_steps: int = 0                    # of the repro's script
    word: str = ""                          # of WORDS, with which the author says that it is meant
    beside: tuple[tuple[str, int], ...] = ()    # where it may stand: (file, line); or at `line`
    remedy: object = None                   # what the rule's `fix` needs; None: no --fix

    detector: str = ""                      # that spoke; "" = the rule's only one

    @property
    def block(self) -> tuple[int, int] | None:
        """The first and last element, where they are numbers."""
        return limits(self.element) if isinstance(self.element, (int, Elements)) else None

    def to_dict(self) -> FindingRow:
        return {"code": self.code, "name": self.name, "detector": self.detector,
                "severity": self.severity, "message": self.message, "file": self.file,
                "line": self.line, "env": self.env, "agent": self.agent, "step": self.step,
                "element": self.element, "expected": self.expected, "actual": self.actual,
                "seed": self.seed, "repro": self.repro, "hint": self.hint, "stack": self.stack,
                "fields": self.fields}

    def order(self) -> tuple[object, ...]:
        """Findings are listed in this order, whatever order they were found in."""
        return (self.severity != "error", self.code, self.file or "", self.line or 0,
                self.agent if self.agent is not None else -1, self.step or 0,
                self.block or (-1, -1), self.message)
