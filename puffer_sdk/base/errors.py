"""Every error a user can meet, with its exit status. In: facts. Out: one PufferError.

Exit statuses (also in docs/reference/exit-status.md):

    0 ok     1 findings, or a goal not met     2 usage     3 build failed     4 run failed
    5 a bug of ours     130 / 143 ended by Ctrl-C / SIGTERM
"""
from __future__ import annotations

import difflib
import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, TypedDict, TypeVar

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from .documents import Problem

Text = TypeVar("Text", str, "str | None", object)

OK, FINDINGS, USAGE, BUILD, RUN, BUG = 0, 1, 2, 3, 4, 5


class Parts(TypedDict, total=False):
    """What an error has beside its message."""

    where: object
    expected: object
    actual: object
    hint: str | None
    detail: str | None
    code: str | None


class PufferError(Exception):
    """An error in four parts: what, where, expected / actual, and what to do next.

    message   one sentence that says what went wrong
    where     "file:line" or another place, if there is one
    expected, actual    both or neither; only `expected` where nothing was found
    hint      the next step
    detail    longer text shown under the sentence, e.g. what the compiler said
    code      a rule code such as PUF103, shown in brackets
    """

    exit_status = BUG
    quiet = False       # True: another process of this command says it
    told = False        # True: the target of a child raised it, in place of dying
    printed = False     # True: the env may have printed why, and detail holds its last lines
    of_gpu = ""         # the kind of a failure that is a GPU's, or its driver's; a CPU may go on

    def __init__(self, message: str, *, where: object = None, expected: object = None,
                 actual: object = None, hint: str | None = None, detail: str | None = None,
                 code: str | None = None):
        super().__init__(message := brief(message))
        self.message = message
        self.where = None if where is None else brief(str(where))
        self.expected = brief(expected, rest=1000)      # ours, such as a list of names
        self.actual = brief(actual)
        self.hint = brief(hint, rest=1000)
        self.detail = brief_lines(detail)
        self.code = code

    def __str__(self) -> str:
        return "\n".join(self.lines())

    def sentence(self) -> str:
        """In one line, for a table: what and where, and why in the env's words, else the hint."""
        words = (self.detail or "").split("\n") if self.printed else []
        said = "; ".join([line.strip() for line in dict.fromkeys(words) if line.strip()][-2:])
        return (self.message + (f" ({self.where})" if self.where else "")
                + (f": {said}" if said else f"; {self.hint}" if self.hint else ""))

    def to_dict(self) -> Problem:
        """For programs: its parts, and where it is as a file and a line, if it is one."""
        file, _, line = (self.where or "").rpartition(":")
        return {"message": self.message, "code": self.code, "where": self.where,
                "file": file if line.isdigit() else None,
                "line": int(line) if line.isdigit() else None,
                "expected": None if self.expected is None else str(self.expected),
                "actual": None if self.actual is None else str(self.actual),
                "detail": self.detail, "hint": self.hint, "exit_status": self.exit_status}

    def lines(self) -> list[str]:
        """The error as plain text, one string a line; ui.print_error adds colour."""
        head = f"error[{self.code}]" if self.code else "error"
        out = [f"{head}: {self.message}"]
        if self.where:
            out.append(f"  --> {self.where}")
        if self.expected is not None:
            got = "" if self.actual is None else f", got {self.actual}"
            out.append(f"  expected {self.expected}{got}")
        if self.detail:
            out += ["  | " + line for line in self.detail.rstrip().splitlines()]
        if self.hint:
            out.append(f"  hint: {self.hint}")
        if self.code:
            out.append(f"  more: puffer-sdk explain {self.code}")
        return out


def brief(text: Text, longest: int = 1000, shown: int = 100, rest: int | None = None) -> Text:
    """Cuts a text that is longer than `longest`: its long words, its long quotations, or else the
    whole, each to its beginning. Anything but a text stays as it is.

    shown   characters of a word and of a quotation
    rest    of the whole, where it is still too long [shown]
    """
    def begin(whole: str, count: int = shown) -> str:
        return f"{whole[:count]}... ({len(whole):,} characters)"

    if not isinstance(text, str) or len(text) <= longest:
        return text
    for long in (rf"\S{{{longest + 1},}}", rf"(?s)'.{{{longest},}}'"):
        text = re.sub(long, lambda found: begin(found[0]), text)
    return text if len(text) <= longest else begin(text, rest or shown)


def brief_lines(text: str | None, longest: int = 10_000) -> str | None:
    """What a compiler or a library said: all lines, each of them brief."""
    if text is None or len(text) <= longest:
        return text
    return "\n".join(brief(line, longest) for line in text.split("\n"))


class UsageError(PufferError):
    """A refused argument, setting, name or checkpoint: nothing ran."""

    exit_status = USAGE


class Refused(UsageError):
    """A link, a pipe or a device is where one of our files or folders would be (files.py)."""


class NoEnvs(UsageError):
    """my_vec_init made no environment: its data are missing, perhaps."""

    printed = True


class NotAnEnv(UsageError):
    """A folder whose header is not there, or is not named as the folder is."""


class NotWhole(UsageError):
    """Whole environments do not fill total_agents. fits: a number that they fill, if known."""

    fits: int | None = None


class Damaged(UsageError):
    """A file is not what puffer-sdk wrote there, or not whole (records.py)."""


class BuildError(PufferError):
    """The environment does not follow the contract, or the compiler refused it.

    header      one that it includes and that was not found
    upgrade     the command that rewrites what is written for an older PufferLib
    """

    exit_status = BUILD
    header: str | None = None
    upgrade: str | None = None


class DialectError(BuildError):
    """The files are written for another interface: what else is wrong with them follows from that,
    or can wait."""


class RunError(PufferError):
    """Something died, hung, went non-finite, or could not be written while running.

    ended       how a process died outside of the environment's code: a signal or "exit(N)"
    to_check    the hint is to run check
    """

    exit_status = RUN
    ended = ""
    to_check = False


class EnvStopped(RunError):
    """An environment on the GPU gave up."""

    printed = True


class BadNumber(RunError):
    """Training met a NaN or an infinity.

    value        what an env wrote, where it did; None: the trainer computed it
    row, element    whose it is: the agent and its observation's element, -1 = the reward
    """

    def __init__(self, message: str, *, value: float | None = None, row: int = -1,
                 element: int = -1, **parts: Unpack[Parts]):
        super().__init__(message, **parts)
        self.value, self.row, self.element = value, row, element


class Interrupted(PufferError):
    """A signal ended the work; what could be saved was saved. Status 130 or 143."""

    def __init__(self, message: str, *, status: int = 130, **parts: Unpack[Parts]):
        super().__init__(message, **parts)
        self.exit_status = status

    def lines(self) -> list[str]:
        """Nobody's error: only the message and the next step."""
        return [self.message, *([f"  hint: {self.hint}"] if self.hint else [])]


def nearest(word: str, choices: Iterable[str]) -> str | None:
    """The choice a typist most likely meant, or None."""
    found = difflib.get_close_matches(word, list(choices), n=1, cutoff=0.6)
    return found[0] if found else None


def did_you_mean(word: str, choices: Iterable[str]) -> str | None:
    """A hint: the nearest choice, else (for a short list) all of them."""
    choices = list(choices)
    close = nearest(word, choices)
    if close:
        return f"did you mean '{close}'?"
    return f"choose from {', '.join(choices)}" if 0 < len(choices) <= 12 else None
