"""What --batch prints.  Diagnosis -> lines and their styles"""
from __future__ import annotations

import math
import re
import textwrap
from collections.abc import Iterator, Mapping

from ..base import paths
from ..base.spec import Spec
from ..env import obs_spec
from .failure import Diagnosis, Frame

AROUND = 2          # lines of source on each side
WIDTH = 96          # columns of a long row of numbers


def lines(diagnosis: Diagnosis) -> Iterator[tuple[str, str | None]]:
    """The fault, the source around it, the author's stack with its variables, the env's rows."""
    failure = diagnosis.failure
    yield failure.said, "bold red"
    if diagnosis.frames:
        first = diagnosis.frames[0]
        if diagnosis.watched:
            when = ", after the line that caused it"
        elif diagnosis.inside:
            when = ""
        else:
            when = ", where the failing step begins" if failure.step else ", where it begins"
        yield f"  --> {first.file}:{first.line}, in {first.function}{when}", None
        yield from _source(diagnosis, first)
        yield "", None
        yield "stack", "bold"
        for frame in diagnosis.frames:
            yield f"  {frame.function} at {frame.file}:{frame.line}", None
            for line in frame.locals if diagnosis.inside else ():     # not assigned yet
                yield f"    {line}", "dim"
    for name, value in diagnosis.state.items():
        yield "", None
        title = f"env {failure.env}" if name == "env" else name + (
            f" of agent {failure.agent}" if name in ("observations", "actions") else "")
        yield title, "bold"
        if name == "observations":
            value = _by_row(failure.program.spec, value, _fields(diagnosis.state.get("env", "")))
        for line in value.splitlines():
            for part in textwrap.wrap(line, WIDTH, subsequent_indent=" ") or [""]:
                yield f"  {part}", None


def _fields(struct: str) -> dict[str, float]:
    """Numbers of the printed env struct: settings are among them."""
    return {name: float(number) for name, number in re.findall(
        r"^ *(\w+) = (-?\d+(?:\.\d+)?),?$", struct, re.M)}


def _by_row(spec: Spec, value: str, fields: Mapping[str, float]) -> str:
    """A board of observations, {0, 1, ...}, with a line for each of its rows.

    fields      what sizes in the header may name: {"size": 11}
    """
    numbers = value.strip("{}").split(", ")
    plan = obs_spec.read(spec, len(numbers), spec.act_widths or (), fields)
    columns = 0
    if plan and plan.whole and plan.whole.shape and plan.whole.fits:
        columns = math.prod(plan.whole.shape[1:])
    elif spec.obs_dtype == "u8" and not (plan and plan.described):
        side = math.isqrt(len(numbers))
        columns = side if side * side == len(numbers) else 0
    if not columns or not all(re.fullmatch(r"[-+.\w]+", number) for number in numbers):
        return value
    width = max(map(len, numbers))
    rows = [", ".join(number.rjust(width) for number in numbers[at:at + columns])
            for at in range(0, len(numbers), columns)]
    return "{" + ",\n ".join(rows) + "}"


def _source(diagnosis: Diagnosis, frame: Frame) -> Iterator[tuple[str, str | None]]:
    try:
        text = paths.text(diagnosis.failure.program.spec.folder / frame.file)
    except OSError:
        return
    source = text.splitlines()
    for number in range(max(1, frame.line - AROUND), min(len(source), frame.line + AROUND) + 1):
        mark = ">" if number == frame.line else " "
        yield f"  {mark} {number:4} | {source[number - 1]}".rstrip(), None
