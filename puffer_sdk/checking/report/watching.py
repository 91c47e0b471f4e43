"""check --watch: check again whenever a file of the environment is saved.  Ends with Ctrl-C."""
import time
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path

from ...base import ui
from ...base.errors import PufferError
from ...env.watch import stamps, wait
from ..core.result import CheckResult
from . import terminal

Report = Callable[[CheckResult], Iterable[terminal.Line]]


def watch(folder: Path, check: Callable[[], CheckResult], lines: Report = terminal.lines,
          *, rounds: int | None = None) -> int:
    """Check, show, wait for a change, again. Ctrl-C is the way out (the caller's status 130).

    lines       the report of a result: texts and their styles
    rounds      ends the loop, for tests

    A header that does not compile is shown and waited for.
    """
    last: CheckResult | None = None
    status = 0
    while rounds is None or rounds > 0:
        before = stamps(folder)         # a save during the check is a change, too
        last, status = _round(folder, check, last, lines)
        if rounds is not None:
            rounds -= 1
            if rounds == 0:
                break
        wait(folder, before)
    return status


def _round(folder: Path, check: Callable[[], CheckResult], last: CheckResult | None,
           lines: Report) -> tuple[CheckResult | None, int]:
    """One check on a clean screen: the report, and what has changed since the last one."""
    if ui.console().is_terminal:
        ui.say(f"checking {folder.name} ...", style="dim")
    try:
        result = check()
    except PufferError as error:
        ui.clear()
        ui.print_error(error)
        _footer("not checked")
        return last, error.exit_status
    ui.clear()
    for text, style in lines(result):
        ui.out(text, style=style)
    _footer(changes(last, result) if last else "")
    return result, result.exit_status


def _footer(said: str) -> None:
    ui.out(f"{time.strftime('%H:%M:%S')}  {said + '; ' if said else ''}"
           "waiting for a change, Ctrl-C ends", style="dim")


def changes(before: CheckResult, after: CheckResult) -> str:
    """'fixed PUF302, new PUF201': findings that went and came, by code."""
    old, new = (Counter(finding.code for finding in result.findings) + Counter(result.more)
                for result in (before, after))
    excused = (Counter(a.finding.code for a in after.suppressed)
               - Counter(a.finding.code for a in before.suppressed)) & (old - new)
    said = [f"{word} {_listed(codes)}" for word, codes in
            (("fixed", old - new - excused), ("allowed", excused), ("new", new - old)) if codes]
    if said:
        return ", ".join(said)
    return "the same findings" if new else "nothing found, as before"


def _listed(codes: Counter[str]) -> str:
    return ", ".join(code + (f" ({count})" if count > 1 else "")
                     for code, count in sorted(codes.items()))
