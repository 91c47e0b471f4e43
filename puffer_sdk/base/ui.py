"""The only printer. stdout carries only results; progress, warnings and errors go to stderr.

No escape codes reach a pipe, NO_COLOR or TERM=dumb. When the reader of stdout or
stderr goes away, the command goes on, and what it prints there is discarded.

Names, tags and texts come from files that others wrote: `visible` shows their control characters,
and everything that is printed goes through it.
"""
from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from typing import IO, TYPE_CHECKING, Any

from .errors import PufferError, RunError, brief

if TYPE_CHECKING:
    from rich import progress
    from rich.console import Console, ConsoleOptions, RenderableType
    from rich.segment import Segment
    from rich.text import Text

verbose = False             # whether this command was asked to say more
printed = False             # whether this command has written a result to stdout
_muted = False
_warned: set[str] = set()


# control characters but for tab and newline; what turns the direction of writing or ends a line;
# halves of characters
_HIDDEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069"
                     "\ud800-\udfff]")
_COLOURS = re.compile(r"(\x1b\[[\d;]*m)")


def visible(text: object, *, line: bool = False) -> str:
    """The text, with <U+001B> in place of each control character but tab and newline.

    line    in place of those as well: it is to stay on its line
    """
    def show(found: re.Match[str]) -> str:
        return f"<U+{ord(found[0]):04X}>"

    text = _HIDDEN.sub(show, str(text))
    return re.sub(r"[\t\n]", show, text) if line else text


def open_streams() -> None:
    """Descriptors 0 to 2 and their streams exist from here on, though the caller closed them.

    Otherwise the next file that is opened would take their place, and prints would go there.
    """
    for fd in range(3):
        try:
            os.fstat(fd)
        except OSError:                 # open() takes the lowest number that is free: this one
            os.open(os.devnull, os.O_RDWR)
    if sys.stdout is None:
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):     # "±" where the locale has no such character
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")


def console(stderr: bool = False) -> Console:
    """The rich console for stdout, or for stderr. Plain without a terminal."""
    return _console(stderr)         # by position: the cache tells the ways to call it apart


@cache
def _console(stderr: bool) -> Console:
    from rich.console import Console
    from rich.segment import Segment

    class Lasting(Console):
        def on_broken_pipe(self) -> None:       # rich would end the process
            _silence(self.file)

        def render_str(self, text: str, **options: Any) -> Text:
            return super().render_str(visible(text), **options)

        def render(self, renderable: RenderableType,
                   options: ConsoleOptions | None = None) -> Iterator[Segment]:
            for text, style, control in super().render(renderable, options):
                yield Segment(text if control else visible(text), style, control)

    stream = sys.stderr if stderr else sys.stdout
    fancy = (stream.isatty() and os.environ.get("TERM") != "dumb"
             and not os.environ.get("NO_COLOR"))
    return Lasting(stderr=stderr, highlight=False, markup=False, emoji=False, soft_wrap=True,
                   no_color=not fancy, force_terminal=None if fancy else False)


def _silence(stream: IO[str]) -> None:
    """Whoever read this stream has gone: send it nowhere."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def is_interactive() -> bool:
    """True when stderr is a terminal that can redraw, so live displays make sense."""
    return console(stderr=True).is_terminal


def width() -> int:
    """Columns of the terminal that stdout is, for wrapping; 0 where it is not one."""
    shown = console()
    return min(shown.width, 100) if sys.stdout.isatty() else 0


def clear() -> None:
    """An empty screen, where stdout is a terminal; and warnings are shown afresh."""
    _warned.clear()
    if console().is_terminal:
        sys.stdout.write("\x1b[2J\x1b[3J\x1b[H")


def out(text: str = "", style: str | None = None) -> None:
    """One line of result, to stdout. A closed stdout is not an error."""
    _print(text, style=style)


def out_plain(text: str) -> None:
    """Lines that carry their own colours, to stdout."""
    parts = _COLOURS.split(text)
    text = "".join(part if place % 2 else visible(part) for place, part in enumerate(parts))
    try:
        sys.stdout.write(text if text.endswith("\n") else text + "\n")
        sys.stdout.flush()
    except OSError as error:
        _silence(sys.stdout)
        if not isinstance(error, BrokenPipeError):
            raise RunError("cannot write the result to stdout",
                           detail=error.strerror or str(error)) from None


def out_renderable(item: RenderableType) -> None:
    """A rich table, to stdout; as wide as it is where that is no terminal."""
    if not sys.stdout.isatty():
        console().size = (10_000, 25)
    _print(item)


def say(text: str, style: str | None = None) -> None:
    """One line of progress, to stderr."""
    _print(text, stderr=True, style=style)


def say_once(text: str) -> None:
    """The same line is shown once a process."""
    if text not in _warned:
        _warned.add(text)
        say(text)


def _print(item: RenderableType, *, stderr: bool = False, style: str | None = None) -> None:
    """Print; where the reader has gone away, send this and the rest nowhere."""
    global printed
    stream = sys.stderr if stderr else sys.stdout
    printed |= not stderr
    try:
        console(stderr).print(item, style=style)
        stream.flush()
    except OSError as error:
        _silence(stream)
        if not stderr and not isinstance(error, BrokenPipeError):
            raise RunError("cannot write the result to stdout",
                           detail=error.strerror or str(error)) from None


@contextmanager
def without_warnings() -> Iterator[None]:
    """Inside, nothing is warned of: what matters of it is part of a result."""
    global _muted
    before, _muted = _muted, True
    try:
        yield
    finally:
        _muted = before


def warn(text: str, hint: str | None = None, details: Sequence[str] = ()) -> None:
    """A warning to stderr; the work goes on. details: a line each."""
    if _muted:
        return
    lines = [f"warning: {brief(text)}", *(f"  {brief(line)}" for line in details)]
    lines += [f"  hint: {brief(hint)}"] * bool(hint)
    say("\n".join(visible(line, line=True) for line in lines), style="yellow")


def warn_once(text: str, hint: str | None = None, details: Sequence[str] = ()) -> None:
    """The same warning is shown once a process."""
    if text not in _warned and not _muted:
        _warned.add(text)
        warn(text, hint, details)


def print_error(error: PufferError) -> None:
    """An error in its four parts, to stderr."""
    from rich.text import Text

    if error.quiet:
        return
    lines = [visible(line, line=True) for line in error.lines()]
    head, colon, rest = lines[0].partition(": ")
    if head.startswith("error"):
        text = Text(head, style="bold red") + Text(colon + rest, style="bold")
    else:
        text = Text(lines[0])
    for line in lines[1:]:
        text.append("\n" + line, style="cyan" if line.lstrip().startswith("hint:") else None)
    _print(text, stderr=True)


def plural(count: int, word: str) -> str:
    """'1 episode', '2,000 episodes'"""
    return f"{count:,} {word}{'s' * (count != 1)}"


def first(items: Sequence[str], most: int) -> list[str]:
    """The first of them, and 'and 3 more' where there are more than that."""
    left = len(items) - most
    return [*items[:most], f"and {left} more"] if left > 0 else [*items]


class Progress:
    """A progress bar on a terminal, nothing elsewhere. update(what, done, total) moves it."""

    def __init__(self) -> None:
        self.bar: progress.Progress | None = None
        self.tasks: dict[str, progress.TaskID] = {}

    def __enter__(self) -> Progress:
        if is_interactive():
            from rich import progress
            self.bar = progress.Progress(progress.TextColumn("{task.description:>10}"),
                                         progress.BarColumn(), progress.TaskProgressColumn(),
                                         console=console(stderr=True), transient=True)
            self.bar.start()
        return self

    def __exit__(self, *exc: object) -> None:
        if self.bar:
            self.bar.stop()

    def update(self, what: str, done: float, total: float) -> None:
        if self.bar is None:
            return
        if what not in self.tasks:
            self.tasks[what] = self.bar.add_task(what, total=total)
        self.bar.update(self.tasks[what], completed=done, total=total)
