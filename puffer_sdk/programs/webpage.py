"""The page around a program in the browser.  NAME.c -> the text of index.html, for emcc

NAME.c decides what the page says and which buttons a phone gets: its first line states what the
program is, its first comment explains the keys, and every KEY_ that it reads may get a button.
"""
from __future__ import annotations

import html
import re
from pathlib import Path

from ..base import paths
from ..base.spec import Spec
from ..env import binding

ARROWS = {"LEFT": (37, "A", "◀"), "UP": (38, "W", "▲"), "RIGHT": (39, "D", "▶"),
          "DOWN": (40, "S", "▼")}
NAMED = {"SPACE": (32, "space"), "ENTER": (13, "enter"), "TAB": (9, "tab")}
MOST_BUTTONS = 8        # in addition to the arrows: more do not fit under a thumb

_KEY = re.compile(r"\bKEY_([A-Z_]+|[A-Z0-9])\b")
_TITLE = re.compile(r"/[*/]\s*\S+\.c\s+--\s+(.*)")
_HELP = re.compile(r"^\s*\*\s{4,}(\S.*?\S|\S)\s{2,}(\S.*)$")


def render(spec: Spec, source: Path, *, has_policy: bool) -> str:
    """The page's text, which still holds emcc's own {{{ SCRIPT }}}."""
    text = paths.text(source)
    comment = text.partition("*/")[0] if text.lstrip().startswith("/*") else ""
    arrows, others = buttons(text)
    subtitle = about(text) if has_policy or spec.binding else "no policy yet: it plays at random"
    return binding.template("programs/runtime/page.html.jinja").render(
        title=html.escape(spec.name), subtitle=html.escape(subtitle), arrows=arrows,
        others=others, drives="KEY_LEFT_SHIFT" in text,
        help=[(html.escape(key), html.escape(what)) for key, what in explained(comment)])


def about(text: str) -> str:
    """What the program is, by the first line of NAME.c."""
    found = _TITLE.match(text.lstrip())
    if not found:
        return ""
    line = re.sub(r"^.*? in a window: ", "", found[1].strip())
    return line.removesuffix("*/").strip().removesuffix(".")


def explained(comment: str) -> list[tuple[str, str]]:
    """Pairs of a key and what it does: the indented lines of the comment's first table."""
    rows: list[tuple[str, str]] = []
    for line in comment.splitlines()[1:]:
        match = _HELP.match(line)
        if match:
            rows.append((match[1], match[2]))
        elif rows:
            break
    return rows


def buttons(text: str) -> tuple[list[dict[str, object]], list[dict[str, object]]]:
    """(arrows, others): {"name", "code", "face"} of the keys that the program reads.

    An arrow stands for a letter of WASD if the program reads only the letter.
    """
    asked = set(_KEY.findall(text))
    arrows: list[dict[str, object]] = []
    for name, (code, letter, face) in ARROWS.items():
        if name in asked:
            arrows.append({"name": name, "code": code, "face": face})
            asked.discard(letter)
        elif letter in asked:
            arrows.append({"name": name, "code": ord(letter), "face": letter})
            asked.discard(letter)
    others: list[dict[str, object]] = [
        {"name": name, "code": code, "face": face}
        for name, (code, face) in NAMED.items() if name in asked]
    others += [{"name": name, "code": ord(name), "face": name}
               for name in sorted(asked) if len(name) == 1]
    return arrows, others[:MOST_BUTTONS]
