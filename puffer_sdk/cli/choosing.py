"""Ask which template, in a terminal.  keys and pictures of text -> the name that was chosen"""
from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Mapping

import click

from ..projects.env_names import TEMPLATES

PICTURES = {
    "squared": r"""
        . . . . .
        . . . . T     A  walks to T
        . . A . .
        . . . . .
        """,
    "target": r"""
        (o)       a>
             <a          a>  flies to (o)
           (o)
                 a>
        """,
    "duel": r"""
        |  .   .   .   .  |
        |  .   o   .   .  |     x, o  four in a row
        |  x   x   x   o  |
        +-----------------+
        """,
    "world": r"""
        *     o     *
           o      X      o  eats * and divides,
         *     *         X  hunts o
            o     o
        """,
    "picture": r"""
        =====------     what is left of the air
          x x     o
           x  .  o o    a picture of 48 x 48 pixels:
          x x     o     . goes to the ring, not to a cross
        """,
}
UP, DOWN = ("\x1b[A", "\x1bOA", "k"), ("\x1b[B", "\x1bOB", "j")
ENTER, LEAVE = ("\r", "\n"), ("\x1b", "q")


def can_ask() -> bool:
    """Whether somebody sits at a terminal that moves its cursor."""
    return sys.stdin.isatty() and sys.stderr.isatty() and os.environ.get("TERM", "") not in (
        "", "dumb")


def choose_template() -> str:
    """Show the templates until Enter. Raises click.Abort for Esc, q and Ctrl-C."""
    names, at, drawn = list(TEMPLATES), 0, 0
    while True:
        width = shutil.get_terminal_size().columns
        shown = [line[:width - 1] for line in frame(TEMPLATES, at)]
        back = f"\x1b[{drawn}A\r\x1b[J" if drawn else ""
        click.echo(back + "\n".join(shown), err=True)
        drawn = len(shown)
        key = read_key()
        if key in ENTER:
            return names[at]
        if key in LEAVE:
            raise click.Abort()
        at = moved(key, at, len(names))


def read_key() -> str:
    """One key; the arrows are several bytes. Raises click.Abort for Ctrl-C and Ctrl-D."""
    try:
        return click.getchar()
    except (KeyboardInterrupt, EOFError) as error:
        raise click.Abort() from error


def moved(key: str, at: int, count: int) -> int:
    """Which of `count` is marked after a key: arrows, j and k go round; a digit goes there."""
    if key.isdecimal() and 1 <= int(key) <= count:
        return int(key) - 1
    return (at + (key in DOWN) - (key in UP)) % count


def frame(lines: Mapping[str, str], at: int) -> list[str]:
    """A question, a line for each choice, and the picture of the one that is marked."""
    listed = [f"{'>' if number == at else ' '} {name:<9} {text}"
              for number, (name, text) in enumerate(lines.items())]
    picture = PICTURES.get(list(lines)[at], "\n\n\n\n\n").split("\n")[1:-1]
    return ["which template? (arrow keys and Enter; Esc leaves)", *listed, "", *picture, ""]
