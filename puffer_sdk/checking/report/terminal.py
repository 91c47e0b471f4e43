"""A CheckResult for people: lines and their styles.  ui.py prints them.

    findings        in four parts each, errors first
    statistics      a table of what was observed and paid, where it is short
    exercised       how much was played, and what saw it
    not tested      rules that had nothing to look at
    allowed         what the author allows or declares, and what is wrong with those marks
    to read         the page of the manual, unless it passed
    verdict         one line, the last one
"""
import textwrap
from collections.abc import Iterable, Iterator
from pathlib import Path

from ...base import paths
from ...env import pufferlib5
from ..collect.c import learning_probe
from ..core import statistics
from ..core.finding import Finding
from ..core.result import CheckResult, LinesReached

STYLES = {"error": "bold red", "warning": "bold yellow"}
STACK = 6           # frames of a stack that are shown
MISSED = 3          # places that were not reached
LABEL = 12          # columns of "not tested  "
Line = tuple[str, str | None]       # text and its style


def lines(result: CheckResult, *, strict: bool = False, stats: bool = False, width: int = 0,
          encoding: str | None = "utf-8") -> Iterator[Line]:
    """The whole report.

    stats       the table of what was observed and paid, however long it is
    width       columns to wrap at; 0 leaves lines as long as they are
    encoding    of the terminal: its histograms are drawn in blocks, or in ASCII
    """
    yield from _wrapped(_findings(result), width)
    quantities = result.coverage["statistics"]
    if quantities and (stats or len(quantities) < statistics.COMPACT):
        yield from ((line, "dim") for line in statistics.table(quantities, encoding))
        yield "", None
    for section in (_exercised, _not_tested, _allowed):
        yield from _wrapped(section(result), width)
    if result.verdict != "pass":
        yield f"{'to read':<{LABEL - 1}} {paths.page('guides/check.md')}", None
    yield _verdict(result, strict), "bold green" if result.verdict == "pass" else "bold red"


def _findings(result: CheckResult) -> Iterator[Line]:
    explained: set[str] = set()
    for finding in result.findings:
        yield from finding_lines(finding, result.folder, more=finding.code not in explained)
        explained.add(finding.code)
        yield "", None
    for code, count in result.more.items():
        yield f"... and {count} more {code}", "dim"
    if result.more:
        yield "", None


def finding_lines(finding: Finding, folder: Path = Path(), *, more: bool = True) -> Iterator[Line]:
    """error[PUF203]: ... in the format of every error.

    folder  the environment's, that the repro's path is relative to
    more    with the command that shows the rule's page
    """
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
        file = paths.shown(folder / finding.repro)
        yield f"  repro: puffer-sdk check --replay {file} ({steps})", None
    if more:
        yield f"  more: puffer-sdk explain {finding.code}", None


def _labelled(label: str, items: Iterable[str]) -> Iterator[str]:
    """One item a line, after a label that is written once."""
    for number, item in enumerate(items):
        yield f"{'' if number else label:<{LABEL - 1}} {item}"


def _exercised(result: CheckResult) -> Iterator[Line]:
    """What was played. A line each for what else measures it."""
    seen = result.coverage
    if not seen["env_steps"]:
        return
    actions = ", ".join("continuous" if head["width"] == 1 else f"{head['seen']}/{head['width']}"
                        for head in seen["actions"])
    agents = seen["agents_per_env"] or 1
    items = [f"{seen['env_steps']:,} env steps" + (f" of {agents} agents" if agents > 1 else "")
             + f", {seen['terminals']:,} endings, {seen['nonzero_rewards']:,} rewards"
             + (f", actions {actions}" if actions else "")
             + (", without sanitizers" if seen["sanitized"] is False else "")]
    if "lines" in seen:
        items.append(_as_the_form_says(result, _lines(seen["lines"])))
    for text in _labelled("exercised", items):
        yield text, None
    for text in _labelled("deep", (f"{tool}: {said}" for tool, said in
                                   seen["deep"].items())):
        yield text, None if "not installed" not in text else "yellow"
    if result.learning:
        yield from learning_probe.lines(result.learning)


def _not_tested(result: CheckResult) -> Iterator[Line]:
    """Rules that had nothing to look at, those with the same reason on one line."""
    reasons: dict[str, list[str]] = {}
    for code, reason in result.not_tested.items():
        reasons.setdefault(reason, []).append(code)
    for text in _labelled("not tested", (f"{_codes(codes)}: {reason}"
                                         for reason, codes in reasons.items())):
        yield text, "yellow"


def _codes(codes: list[str]) -> str:
    return ", ".join(codes) if len(codes) <= 8 else f"{len(codes)} rules"


def _allowed(result: CheckResult) -> Iterator[Line]:
    for text in _labelled("allowed", (
            f"{finding.code} {finding.message} ({where}{': ' * bool(reason)}{reason})"
            for finding, reason, where, _ in result.suppressed)):
        yield text, "dim"
    for text in _labelled("declared", (f"{word} at {where}: {finding.code} {finding.message}"
                                       for finding, word, where in result.declared)):
        yield text, "dim"
    for text in _labelled("note", (f"{note.where}: {note.text}" for note in result.notes)):
        yield text, "yellow"


def _as_the_form_says(result: CheckResult, text: str) -> str:
    """With puf_step for c_step, if that is what the environment has."""
    is_form5 = any(paths.FORM5.search(data.decode("utf-8", "replace"))
                   for data in result.files.values())
    return pufferlib5.named(text) if is_form5 else text


def _lines(lines: LinesReached) -> str:
    """How much of c_step and c_reset was reached, and the first places that were not."""
    if not lines["total"] or lines["reached"] is None:
        return f"lines of c_step were not counted ({lines['skipped']})"
    missed = lines["missed"][:MISSED] + (["..."] if len(lines["missed"]) > MISSED else [])
    share = int(100 * lines["reached"] / lines["total"])        # 100 % is all of them
    return (f"{share} % of the lines of c_step"
            + (f" (not: {', '.join(missed)})" if missed else ""))


def _verdict(result: CheckResult, strict: bool) -> str:
    errors = sum(f.severity == "error" for f in result.findings)
    warnings = len(result.findings) - errors
    counts = [f"{n} {word}{'s' if n > 1 else ''}" for n, word in
              ((errors, "error"), (warnings, "warning")) if n]
    found = " and ".join(counts) or "nothing found"
    note = " (--strict counts warnings)" if strict and warnings and not errors else ""
    declared = f", {len(result.declared)} declared" if result.declared else ""
    return (f"{result.name}: {result.verdict}{declared}, {found}{note} by "
            f"{result.coverage['rules']} rules in {result.seconds:.1f} s" + _hidden(result))


def _hidden(result: CheckResult) -> str:
    """How many rules wait for the fix of another finding, and which."""
    causes = sorted({cause for causes in result.explained.values() for cause in causes})
    rules = f"{len(result.explained)} rule{'s' * (len(result.explained) != 1)}"
    return f"; {rules} not tested because of {', '.join(causes)}" if causes else ""


def _wrapped(section: Iterable[Line], width: int) -> Iterator[Line]:
    for text, style in section:
        for part in _wrap(text, width):
            yield part, style


def _wrap(text: str, width: int) -> list[str]:
    """Lines of at most `width` columns; what follows the first stands under its text."""
    if not width or len(text) <= width:
        return [text]
    hang = LABEL if text[LABEL - 1:LABEL] == " " and (
        text[:LABEL].strip() in ("", "exercised", "deep", "not tested", "allowed", "note")) else 4
    return textwrap.wrap(text, max(width, 40), subsequent_indent=" " * hang,
                         break_long_words=False, break_on_hyphens=False)
