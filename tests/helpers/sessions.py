"""Code blocks of pages, console sessions in them, and lines without their numbers."""
from __future__ import annotations

import re
from pathlib import Path


def blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text(), re.M | re.S)


def session(text: str) -> list[tuple[str, list[str]]]:
    """A console block as (command, the lines shown under it)."""
    steps: list[tuple[str, list[str]]] = []
    for line in text.splitlines():
        if line.startswith("$ "):
            steps.append((line[2:], []))
        elif steps and line.strip():
            steps[-1][1].append(line)
    return steps


def shape(line: str) -> str:
    """A line without what differs between runs: numbers, the blanks that align them, and the time
    of evaluations, which is told where it is a large share."""
    told = re.sub(r"\s+", " ", re.sub(r"[-\d.,]*\d[\d.,]*[kM]?", "#", line)).strip()
    return re.sub(r",? # s of it evaluation", "", told)
