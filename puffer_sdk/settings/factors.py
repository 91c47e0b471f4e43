"""Factors of the numbers of an observation, as text.  "0.5 x 12, 1 x 3" <-> 15 factors"""
from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import groupby

from ..base.errors import UsageError
from .texts import parse_number, show

WORDS = "a factor above 0, such as 0.0625; or factors with counts, such as 0.0625 x 2304, 1 x 3"
MOST = 1e6
BYTE = 255                          # what the scale_obs of earlier versions divided by
_RUN = re.compile(r"\s*([^\s,x*]+)\s*(?:[x*]\s*(\d+)\s*)?", re.ASCII)


def parse(text: str) -> list[tuple[float, int]]:
    """[(factor, count)]; a count of 0 stands for all numbers. Raises ValueError."""
    runs = []
    for part in text.split(","):
        match = _RUN.fullmatch(part)
        if not match:
            raise ValueError("")
        runs.append((float(parse_number(match[1])), int(match[2] or 0)))
    if not all(0 < factor <= MOST for factor, _ in runs):
        raise ValueError("")
    if len(runs) > 1 and not all(count for _, count in runs):
        raise ValueError("each factor needs its count")
    return runs


def canonical(text: str) -> str:
    """The same factors as an ini holds them. Raises ValueError."""
    runs = parse(text)
    if not runs[0][1]:
        return show(runs[0][0])
    return ", ".join(f"{show(factor)} x {count}" for factor, count in runs)


def join(factors: Sequence[float]) -> str:
    """The text of a factor for each number."""
    runs = [(factor, len(list(group))) for factor, group in groupby(map(float, factors))]
    if len(runs) == 1:
        return show(runs[0][0])
    return ", ".join(f"{show(factor)} x {count}" for factor, count in runs)


def expand(text: str, size: int) -> list[float]:
    """A factor for each of `size` numbers. Raises UsageError where the counts are of another row.
    """
    runs = parse(text)
    if not runs[0][1]:
        return [runs[0][0]] * size
    found = sum(count for _, count in runs)
    if found != size:
        raise UsageError("train.obs_scale does not fit the observation",
                         expected=f"factors for {size} numbers", actual=f"factors for {found}",
                         hint="one factor without a count holds for all numbers")
    return [factor for factor, count in runs for _ in range(count)]


def from_former(train: Mapping[str, object], *, in_bytes: bool, own_network: bool) -> str | None:
    """obs_scale of the scale_obs and encoder_scale that earlier versions had in its place; None:
    chosen automatically.

    own_network     policy.torch_class, which never had an encoder_scale
    """
    scaled, factor = train.get("scale_obs"), train.get("encoder_scale")
    if scaled is None and not factor:
        return None
    if own_network or not factor or not isinstance(factor, (int, float)):
        factor = 1.0
    return show(factor / BYTE if scaled and in_bytes else factor)
