"""What the author allows, and why; what he declares.  files + ini + findings -> Verdicts

    // puffer: allow(PUF305, PUF306) the first input is a constant bias
    [check] allow = PUF403 rounds are fixed; PUF313 scores are small on purpose
    OBS_TOP,            // puffer: constant
    float best;         // puffer: assigned

In C, in Python (after #) and in the ini (after # or ;) a mark covers its own line. On a line of
its own it covers the code below, up to the next brace or semicolon, in Python the next line that
is no decorator: above a function, the findings placed at that function. The ini's key covers every
finding of a code, also those without a line. A mark needs a reason. A word declares what no play
can tell: that an element is meant to be constant, a byte to wrap, a field of Log to be assigned,
every step to be an episode. It stands beside the element or the field, or where the finding
points. What is wrong with a mark is a
Note, and notes never change the verdict.
"""
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Annotated, NamedTuple, TypedDict

from ...base.documents import says
from ...base.errors import nearest
from .finding import ASSIGNED, BANDIT, CONSTANT, WORDS, WRAPS, Finding

# words that others read: collect/c/{hidden,alike}.py, env/reader.py
OTHERS = ("private", "players", "teams")
_CODES = {CONSTANT: "PUF305", WRAPS: "PUF307", ASSIGNED: "PUF422", BANDIT: "PUF408"}
_MARK = re.compile(r"(?P<open>//|/\*|^\s*[#;])\s*puffer\s*:\s*(?P<text>.*)")
_PYTHON_MARK = re.compile(r"(?P<open>#)\s*puffer\s*:\s*(?P<text>.*)")
_ALLOW = re.compile(r"allow\s*\((?P<codes>[^()]*)\)\s*[-:]*\s*(?P<reason>.*)")
_KEY = re.compile(r"(?P<codes>PUF\w*(?:[\s,]+PUF\w*)*)[\s:,-]*(?P<reason>.*)", re.IGNORECASE)
_COMMENT = re.compile(r"\s*(//|/\*|\*/|\*\s|\*$|#(?!\s*\w)|;)")
_HEAD_ENDS = re.compile(r"[{;=]|^\s*#")
_PYTHON_ENDS = re.compile(r":\s*(#.*)?$|^(?!\s*(@|def\b|class\b))")


class Allowed(NamedTuple):
    """A finding that the author allows."""

    finding: Finding
    reason: str
    where: str              # "dock.h:12", of the mark
    in_source: bool         # a mark in the code, not the ini's key


class Declared(NamedTuple):
    """A finding that the author has declared to be meant."""

    finding: Finding
    word: str
    where: str              # "dock.h:12", of the word


class NoteRow(TypedDict):
    """What is wrong with a mark that allows findings."""

    file: Annotated[str, says("relative to the environment's folder")]
    line: Annotated[int, says("from 1; 0: of the whole file")]
    text: Annotated[str, says("one sentence")]


class Note(NamedTuple):
    """What is wrong with a mark. Notes never change the verdict."""

    file: str
    line: int
    text: str

    @property
    def where(self) -> str:
        return f"{self.file}:{self.line}" if self.line else self.file

    def to_dict(self) -> NoteRow:
        return {"file": self.file, "line": self.line, "text": self.text}


@dataclass
class Mark:
    """One permission: these codes, on these lines of this file, for this reason."""

    file: str
    line: int                           # of the mark itself
    codes: tuple[str, ...]              # or the word that it declares
    reason: str
    first: int = 0                      # lines that it covers; 0 = every place
    last: int = 0
    used: set[str] = field(default_factory=set)

    @property
    def shown(self) -> str:
        return f"{self.file}:{self.line}" if self.line else self.file

    @property
    def word(self) -> str:
        return self.codes[0] if self.codes and self.codes[0] in WORDS else ""

    def covers(self, finding: Finding) -> bool:
        if self.word:
            return finding.word == self.word and any(
                self.holds(*place) for place in [(finding.file, finding.line), *finding.beside])
        return finding.code in self.codes and (
            self.first == 0 or self.holds(finding.file, finding.line))

    def holds(self, file: str | None, line: int | None) -> bool:
        return file == self.file and line is not None and self.first <= line <= self.last


class Verdicts(NamedTuple):
    """What became of the findings."""

    kept: list[Finding]
    allowed: list[Allowed]
    declared: list[Declared]
    notes: list[Note]


def apply(findings: Iterable[Finding], files: Mapping[str, str], ini: tuple[str, int, str] | None,
          rules: Mapping[str, str], untested: Iterable[str]) -> Verdicts:
    """Which findings stay, which are allowed or declared, and what is wrong with the marks.

    files       the text of each file that may hold marks
    ini         the ini's name, and the line and value of [check] allow
    rules       code -> name of every rule
    untested    codes of rules that could not look, or that depend on the clock: a mark for them
                may be right although nothing was found
    """
    notes: list[Note] = []
    marks = [mark for name, text in sorted(files.items()) for mark in read(name, text, notes)]
    if ini:
        marks += read_key(*ini, notes)
    kept, allowed, declared = [], [], []
    for finding in findings:
        covering = [mark for mark in marks if mark.covers(finding)]
        for mark in covering:
            mark.used.add(finding.code)
        if covering and covering[0].word:
            declared.append(Declared(finding, covering[0].word, covering[0].shown))
        elif covering:
            mark = covering[0]
            allowed.append(Allowed(finding, mark.reason, mark.shown, mark.first > 0))
        else:
            kept.append(finding)
    for mark in marks:
        notes += _faults(mark, rules, set(untested))
    return Verdicts(kept, allowed, declared, sorted(notes))


def read(name: str, text: str, notes: list[Note]) -> Iterator[Mark]:
    """The marks in a file's comments. A comment that only looks like one becomes a Note."""
    lines, python = text.splitlines(), name.endswith(".py")
    for number, line in enumerate(lines, 1):
        found = (_PYTHON_MARK if python else _MARK).search(line)
        if not found or (found["open"].strip() in "#;") != name.endswith((".ini", ".py")):
            continue
        said = found["text"].partition("*/")[0] if found["open"] == "/*" else found["text"]
        word, _, more = said.strip().partition(" ")
        match = _ALLOW.match(said.strip())
        if not match and word not in WORDS:
            if word not in OTHERS:
                notes.append(Note(name, number, f"'puffer: {said.strip()}' is not understood; "
                                                "write puffer: allow(CODE) and the reason"))
            continue
        first = last = number
        if not line[:found.start()].strip():
            first, last = _code_below(lines, number, _PYTHON_ENDS if python else _HEAD_ENDS)
        if not match:
            yield Mark(name, number, (word,), more, first, last)
            continue
        yield Mark(name, number, _codes(match["codes"]), match["reason"].strip(), first, last)


def _code_below(lines: list[str], number: int, ends: re.Pattern[str]) -> tuple[int, int]:
    """The lines of the statement, or of the head of the function, that follows a comment."""
    first = number + 1
    while first <= len(lines) and (not lines[first - 1].strip()
                                   or _COMMENT.match(lines[first - 1])):
        first += 1
    last = first
    while last < min(len(lines), first + 8) and not ends.search(lines[last - 1]):
        last += 1
    return first, last


def read_key(name: str, line: int, value: str, notes: list[Note]) -> Iterator[Mark]:
    """The marks of `[check] allow = CODE, CODE reason; CODE reason`."""
    for part in filter(None, (part.strip() for part in value.split(";"))):
        match = _KEY.match(part)
        if match:
            yield Mark(name, line, _codes(match["codes"]), match["reason"].strip())
        else:
            notes.append(Note(name, line, f"[check] allow: '{part}' begins with no code; write "
                                          "allow = CODE and the reason"))


def _codes(text: str) -> tuple[str, ...]:
    return tuple(word.upper() if word.upper().startswith("PUF") else word
                 for word in re.split(r"[\s,]+", text.strip()) if word)


def _faults(mark: Mark, rules: Mapping[str, str], untested: set[str]) -> Iterator[Note]:
    if mark.word:
        if not mark.used and _CODES[mark.word] not in untested:
            yield Note(mark.file, mark.line, f"'puffer: {mark.word}' declares nothing: no such "
                                             "finding here")
        return
    listed = ", ".join(mark.codes)
    if not mark.codes:
        yield Note(mark.file, mark.line, "allow() names no code")
    elif not mark.reason:
        yield Note(mark.file, mark.line, f"allow({listed}) gives no reason: add after it why "
                                         "this is right here")
    for code in mark.codes:
        if code not in rules:
            named = next((c for c, name in rules.items() if name == code.lower()), None)
            close = named or nearest(code, [known for known in rules if known[:4] == code[:4]])
            yield Note(mark.file, mark.line, f"allow({code}): there is no rule {code}"
                                             + (f"; did you mean {close}?" if close else ""))
        elif code not in mark.used and code not in untested:
            yield Note(mark.file, mark.line, f"allow({code}) allows nothing: no such finding here")
