"""Agents that the author declares to be interchangeable.  files -> how many, and where

    // puffer: players 2 alike
"""
import re
from collections.abc import Mapping
from typing import NamedTuple

_PLAYERS = re.compile(r"//\s*puffer:\s*players\s+(\d+)\s+alike\b")


class Alike(NamedTuple):
    """What is declared, and where."""

    players: int
    file: str
    line: int


def declared(files: Mapping[str, str]) -> Alike | None:
    """The first such word of these files."""
    for file, text in files.items():
        for number, line in enumerate(text.splitlines(), 1):
            match = _PLAYERS.search(line)
            if match:
                return Alike(int(match[1]), file, number)
    return None
